/* Exports the symbol of ABI 1 and says it is for ABI 3. */
#define MAJOR 3
#include "tests/abi/broken.h"
