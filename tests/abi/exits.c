/* Ends the process when asked for its descriptor. */
#include <unistd.h>

#define BEFORE _exit(0)
#include "tests/abi/broken.h"
