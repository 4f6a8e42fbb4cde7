/* The same plugin as its author built it in the days of ABI 1.0: against the frozen header. It must load for ever. */
#include "tests/abi/sluice_1_0.h"

#define PLUGIN_NAME "old"
#define STAGE_NAME "old_few_words"
#include "tests/abi/words.h"
