/* What the stages of `mix` share: the columns that pass between them, rows in the making, and
 * sources by name. Depends on shuffle.h, mixture.h. */
#ifndef MIX_H
#define MIX_H

#include "mixture.h"
#include "shuffle.h"

struct mix_column {
    const char *name, *type;
    bool text;
};

/* mix_sizes: a document. mix_count: a source in a split. mix_targets: a source. mix_cuts: a source
 * that is taken. */
#define MIX_SIZE_COLUMNS 4
#define MIX_COUNT_COLUMNS 4
#define MIX_TARGET_COLUMNS 7
#define MIX_CUT_COLUMNS 11
#define MIX_COLUMNS_MAX 11
extern const struct mix_column mix_size_columns[MIX_SIZE_COLUMNS],
    mix_count_columns[MIX_COUNT_COLUMNS], mix_target_columns[MIX_TARGET_COLUMNS],
    mix_cut_columns[MIX_CUT_COLUMNS];

sluice_status mix_declare(struct sluice_plan *, const struct mix_column *, int n,
                          struct sluice_error *);

/* Rows of a batch in the making. Zeroed memory holds no rows. Each row adds one value to every
 * column, then 1 to n. */
struct mix_rows {
    struct sluice_bytes offsets[MIX_COLUMNS_MAX], data[MIX_COLUMNS_MAX];
    int64_t n;
};

/* 0 when memory is refused. */
int mix_rows_text(struct mix_rows *, int column, const char *text, uint64_t n);
int mix_rows_fixed(struct mix_rows *, int column, const void *value, uint64_t n);
/* Emits the rows and empties them, whatever is returned; ok == 0 is "out of memory". No rows emit
 * nothing. */
sluice_status mix_rows_emit(struct mix_rows *, int ok, const struct mix_column *, int n,
                            struct sluice_emit *, struct sluice_error *);

/* The sum, or the largest number where there is no room for it. */
static inline uint64_t mix_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Sources in the order in which they were met. Zeroed memory holds none. */
#define MIX_SOURCES_MAX 4096
struct mix_sources {
    struct mixture_source *items;
    size_t n, capacity, last;
};
/* The source of that key, made when it is new. SLUICE_E_CONFIG: there are too many. */
sluice_status mix_sources_find(struct mix_sources *, uint64_t key, const char *name, size_t n,
                               struct mixture_source **out, struct sluice_error *);
void mix_sources_deinit(struct mix_sources *);
/* For save and load of a worker: names and counts, and back into empty ones. SLUICE_E_DATA: two of
 * one key. */
sluice_status mix_sources_save(const struct mix_sources *, struct sluice_io *);
sluice_status mix_sources_load(struct mix_sources *, struct sluice_io *, struct sluice_error *);

/* A name that was put with sluice_state_put, from malloc. */
sluice_status mix_name_load(struct sluice_io *, char **name);

#endif
