/* The same, built against today's header. */
#include "sluice.h"

#define PLUGIN_NAME "asks_now"
#define STAGE_NAME "asks_now"
#define NEEDED 1
#include "tests/abi/asks.h"
