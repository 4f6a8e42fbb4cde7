/* The plugin dedup: its stages. */
#include "dedup.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("dedup", "1.1", "MIT", &exact_keys_stage, &exact_index_keys_stage, &exact_drops_stage,
              &exact_index_rows_stage, &drop_listed_stage, &merge_ops_stage, &span_keys_stage,
              &span_marks_stage, &span_filter_stage, &bloom_grams_stage, &bloom_marks_stage,
              &bloom_collect_stage, &bloom_filter_stage, &write_bloom_stage);
