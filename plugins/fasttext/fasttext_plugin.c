/* The plugin fasttext: its stages. */
#include "fasttext.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("fasttext", "1.0", "MIT", &fasttext_language_stage, &fasttext_filter_stage,
              &dolma_fasttext_stage);
