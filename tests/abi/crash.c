/* Crashes when it is loaded, before any check can run. */
#include <stdlib.h>

#include "tests/abi/broken.h"

__attribute__((constructor)) static void crash(void)
{
    abort();
}
