/* What the stages of this plugin share: rows in the making. Depends on sluice_arrays.h. */
#ifndef DEDUP_H
#define DEDUP_H

#include <sluice_arrays.h>
#include <stddef.h>

extern const struct sluice_stage exact_keys_stage, exact_index_keys_stage, exact_drops_stage,
    exact_index_rows_stage, drop_listed_stage;
extern const struct sluice_stage span_keys_stage, span_marks_stage, span_filter_stage;
extern const struct sluice_stage bloom_grams_stage, bloom_marks_stage, bloom_collect_stage,
    bloom_filter_stage, write_bloom_stage;

/* "out of memory" */
sluice_status dedup_nomem(struct sluice_error *);

/* A copy of a config struct as a stage's shared state; the stage's close is dedup_close. */
sluice_status dedup_open(const void *config, size_t size, void **shared, struct sluice_error *);
void dedup_close(void *shared);

/* Rows of a batch in the making: up to DEDUP_COLUMNS columns, texts or fixed-width values. Zeroed memory holds no rows. Each row adds one
 * value to every column, then 1 to n. */
#define DEDUP_COLUMNS 6
struct dedup_rows {
    struct sluice_bytes offsets[DEDUP_COLUMNS], data[DEDUP_COLUMNS];
    int64_t n;
};

/* 0 when memory is refused. */
int dedup_rows_text(struct dedup_rows *, int column, const char *text, uint64_t n);
int dedup_rows_fixed(struct dedup_rows *, int column, const void *value, uint64_t n);

/* Emits the rows as a batch of n_columns; texts: bit k says that column k holds texts. The rows are empty afterwards, whatever is
 * returned; ok == 0 frees them and is "out of memory". No rows emit nothing. */
sluice_status dedup_rows_emit(struct dedup_rows *, int ok, int n_columns, unsigned texts,
                              struct sluice_emit *, struct sluice_error *);

#endif
