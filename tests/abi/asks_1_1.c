/* A stage that asks, as its author built it in the days of ABI 1.1: against the frozen header. It must load for ever. */
#include "tests/abi/sluice_1_1.h"

#define PLUGIN_NAME "asks_1_1"
#define STAGE_NAME "asks_1_1"
#define NEEDED 1
#include "tests/abi/asks.h"
