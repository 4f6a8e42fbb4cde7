/* Never ends being loaded. */
#include <unistd.h>

#include "tests/abi/broken.h"

__attribute__((constructor)) static void hang(void)
{
    for (;;) {
        pause();
    }
}
