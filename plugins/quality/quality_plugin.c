/* The plugin quality: its stages. */
#include "quality.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("quality", "1.0", "MIT", &gopher_quality_stage, &gopher_repetition_stage,
              &fineweb_quality_stage, &c4_quality_stage, &c4_paragraph_stage, &c4_badwords_stage,
              &c4_badwords_datatrove_stage, &unigram_log_prob_stage);
