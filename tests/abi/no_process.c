/* A filter without process. */
#define PROCESS NULL
#include "tests/abi/broken.h"
