/* The plugin stats: its stages. */
#include "stats.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("stats", "1.0", "MIT", &doc_stats_stage, &stats_collect_stage, &stats_merge_stage,
              &write_stats_stage);
