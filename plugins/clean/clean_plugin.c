/* The plugin clean: its stages. */
#include "clean.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("clean", "1.0", "MIT", &clean_pii_stage, &clean_pii_datatrove_stage,
              &clean_symbol_lines_stage);
