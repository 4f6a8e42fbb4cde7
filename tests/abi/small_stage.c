/* A stage struct smaller than ABI 1.0's. */
#define STAGE_SIZE 64
#include "tests/abi/broken.h"
