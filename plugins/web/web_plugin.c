/* The plugin web: its stages. */
#include "web.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("web", "1.0", "MIT", &web_quality_stage, &web_newlines_stage, &web_repetition_stage,
              &web_lines_stage, &web_madlad_stage);
