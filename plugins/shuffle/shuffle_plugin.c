/* The plugin shuffle: its stages. */
#include "shuffle.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("shuffle", "1.0", "MIT", &shuffle_keys_stage, &shuffle_rows_stage, &mix_sizes_stage,
              &mix_count_stage, &mix_targets_stage, &mix_cuts_stage, &mix_draw_stage,
              &mix_copies_stage, &mix_rows_stage, &holdout_stage, &holdout_first_stage);
