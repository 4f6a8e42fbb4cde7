/* select - keeps a part of the documents: by chance (sampler), by a pattern (regex) or by an
 * expression of one's own (where). This file is the plugin's descriptor. */
#include "select.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("select", "1.0", "MIT", &select_sampler_stage, &select_sampler_datatrove_stage,
              &select_regex_stage, &select_where_stage);
