/* The same, content with a host of ABI 1.0, which it looks out for. */
#include "tests/abi/sluice_1_1.h"

#define PLUGIN_NAME "asks_either"
#define STAGE_NAME "asks_either"
#define NEEDED 0
#include "tests/abi/asks.h"
