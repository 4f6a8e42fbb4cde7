/* An option whose default its own range refuses. */
#include "sluice.h"

static const struct sluice_option table[] = {
    { .name = "x", .doc = "Nothing.", .def = "11", .min = 0, .max = 10, .type = SLUICE_OPT_INT, .offset = 0 },
};

#define OPTIONS .options = table, .n_options = 1, .option_stride = sizeof table[0], .config_size = 8,
#include "tests/abi/broken.h"
