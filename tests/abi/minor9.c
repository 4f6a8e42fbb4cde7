/* Needs a newer minor than any host of this major has. */
#define NEEDED 4000000000u
#include "tests/abi/broken.h"
