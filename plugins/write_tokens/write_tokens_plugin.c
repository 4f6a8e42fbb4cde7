/* The plugin write_tokens: its stages. */
#include "token_writer.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("write_tokens", "1.0", "MIT", &write_datatrove_stage, &write_memmap_stage,
              &write_mds_stage);
