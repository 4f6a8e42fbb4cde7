/* dolma - taggers, attributes and mixing as in the Dolma toolkit. */
#include "dolma.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("dolma", "1.0", "MIT", &dolma_tag_stage, &dolma_attribute_stage, &dolma_mix_stage,
              &write_attributes_stage, &dolma_line_keys_stage, &dolma_line_match_stage,
              &dolma_line_join_stage, &write_attribute_files_stage);
