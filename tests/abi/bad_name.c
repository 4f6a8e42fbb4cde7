/* A stage whose name nobody could type in a pipeline. */
#define NAME "Keep-All"
#include "tests/abi/broken.h"
