/* For ABI 2, of which this host knows nothing. */
#define ENTRY sluice_plugin_v2
#define MAJOR 2
#include "tests/abi/broken.h"
