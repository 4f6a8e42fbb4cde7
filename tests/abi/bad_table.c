/* An option that would be stored behind the end of the config. */
#include "sluice.h"

static const struct sluice_option table[] = {
    { .name = "x", .doc = "Nothing.", .def = "1", .type = SLUICE_OPT_INT, .offset = 8 },
};

#define OPTIONS .options = table, .n_options = 1, .option_stride = sizeof table[0], .config_size = 12,
#include "tests/abi/broken.h"
