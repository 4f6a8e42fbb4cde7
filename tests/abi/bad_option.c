/* An option with a name that means something to every stage. */
#include "sluice.h"

static const struct sluice_option table[] = {
    { .name = "isolate", .doc = "Nothing.", .def = "1", .type = SLUICE_OPT_INT, .offset = 0 },
};

#define OPTIONS .options = table, .n_options = 1, .option_stride = sizeof table[0], .config_size = 8,
#include "tests/abi/broken.h"
