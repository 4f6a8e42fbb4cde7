/* Verdicts shorter than those of ABI 1.0. */
#define STRIDE 32
#include "tests/abi/broken.h"
