/* The columns of a stage that hands on whole rows: found in prepare, declared again with their
 * metadata, copied row by row. Depends on text_layout.h. */
#ifndef SHUFFLE_COLUMNS_H
#define SHUFFLE_COLUMNS_H

#include "text/text_layout.h"

struct whole_column {
    struct layout layout;
    int32_t index; /* among the stage's input columns */
    bool id;       /* the column `id`, a text */
};

struct whole_rows {
    struct whole_column *columns; /* owned */
    uint32_t n;
    int32_t origin, place; /* input columns: _origin or -1; _pos or _row */
    int32_t span;          /* input column _span, or -1 */
    bool behind;           /* an exchange */
    bool composed;         /* _origin's numbers have that of a task in them */
};

/* Under which name a column goes on; NULL: it does not. Borrowed until the call that asks ends. */
struct whole_choice {
    const char *(*as)(const void *ctx, const char *name);
    const void *ctx;
};

/* Asks for every column of port 0 that is chosen (NULL: for all), and declares them, _origin, and
 * _span where there is one, in that order. Behind an exchange (behind: _pos is asked for) rows are
 * told by task << 40 | row, else by _row; those that say what they come from by that. */
sluice_status whole_rows_prepare(struct whole_rows *, struct sluice_plan *,
                                 const struct whole_choice *, bool behind, struct sluice_error *);
void whole_rows_deinit(struct whole_rows *);

/* Emits the rows of the runs. copies: what stands behind the id of the k-th row that goes out: 0 or
 * 1 = nothing, c > 1 = "#c"; NULL: ids stay. */
sluice_status whole_rows_give(const struct whole_rows *, const struct sluice_batch *,
                              const struct layout_run *runs, size_t n_runs, const uint32_t *copies,
                              struct sluice_emit *, struct sluice_error *);

/* Emits all selected rows of a batch. */
sluice_status whole_rows_give_all(const struct whole_rows *, const struct sluice_batch *,
                                  struct sluice_emit *, struct sluice_error *);

/* Bytes of a row, about. */
uint64_t whole_rows_size(const struct whole_rows *, const struct sluice_batch *, int64_t row);

#endif
