/* pack - what the plugin has: see pack.c. */
#include "pack_stage.h"
#include "pack_whole.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("pack", "1.0", "MIT", &pack_stage, &pack_whole_stage, &pack_parts_stage,
              &pack_carry_stage);
