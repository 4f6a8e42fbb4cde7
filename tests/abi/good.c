/* A good plugin, built against today's header. */
#include "sluice.h"

#define PLUGIN_NAME "good"
#define STAGE_NAME "few_words"
#include "tests/abi/words.h"
