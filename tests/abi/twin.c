/* Another plugin with a stage that `good` has as well. */
#include "sluice.h"

#define PLUGIN_NAME "twin"
#define STAGE_NAME "few_words"
#include "tests/abi/words.h"
