/* The stages of this plugin, and the headers that all of them need. */
#ifndef DEDUP_H
#define DEDUP_H

#include <sluice_rows.h>
#include <sluice_stage.h>
#include <sluice_state.h>
#include <sluice_verdicts.h>
#include <stddef.h>

extern const struct sluice_stage exact_keys_stage, exact_index_keys_stage, exact_drops_stage,
    exact_index_rows_stage, drop_listed_stage, merge_ops_stage;
extern const struct sluice_stage span_keys_stage, span_marks_stage, span_filter_stage;
extern const struct sluice_stage bloom_grams_stage, bloom_marks_stage, bloom_collect_stage,
    bloom_filter_stage, write_bloom_stage;

#endif
