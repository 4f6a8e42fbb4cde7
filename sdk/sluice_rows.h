/* sluice_rows.h - a batch in the making, row by row: for transforms and readers that emit rows of
 * their own. Header-only C11/C++17; depends on sluice_arrays.h.
 *
 *     struct sluice_rows rows = sluice_rows_begin("ft");         // a uint64 and a utf8, in the
 *                                                                order of plan->add
 *     for (...) {
 *         sluice_rows_add(&rows, 0, &number, sizeof number);
 *         sluice_rows_add(&rows, 1, text, n);
 *         sluice_rows_next(&rows);
 *     }
 *     return sluice_rows_emit(&rows, status, emit, err);         // status: whether all went well
 *                                                                until here
 *
 * Owns the columns until they are emitted or dropped. Promises: lack of memory is kept until the
 * emission, so no addition has to be looked at; who wants to stop early looks at what it returns.
 * Columns have no nulls: sluice_make_text and its kind make those (sluice_arrays.h).
 *
 * Thread rule: every function works on its arguments alone and keeps no state.
 *
 * Callers of foreign functions: each function here exists under the same name and signature in
 * libsluice-sdk.so. */
#ifndef SLUICE_ROWS_H
#define SLUICE_ROWS_H

#include "sluice_arrays.h"

#define SLUICE_ROWS_COLUMNS 16 /* most columns */

struct sluice_rows {
    /* borrowed; a letter a column: t = utf8, binary or json, f = values of a fixed width (not
     * bool) */
    const char *kinds;
    int64_t n;  /* rows that are complete */
    int failed; /* memory was refused, or a column of texts would have passed 2 GiB */
    struct sluice_bytes offsets[SLUICE_ROWS_COLUMNS], data[SLUICE_ROWS_COLUMNS];
};

/* No rows yet. kinds: 1 to SLUICE_ROWS_COLUMNS letters, borrowed until the rows are emitted or
 * dropped for the last time. */
SLUICE_INLINE struct sluice_rows sluice_rows_begin(const char *kinds)
{
    struct sluice_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.kinds = kinds;
    return rows;
}

/* Gives the next row its value in a column: n bytes, copied; of a fixed width always as many as the
 * type has. Each row has one value in every column. 0 when memory was refused, now or before. */
SLUICE_INLINE int sluice_rows_add(struct sluice_rows *rows, int column, const void *value,
                                  uint64_t n)
{
    if (!rows->failed) {
        rows->failed = !(rows->kinds[column] == 't'
                             ? sluice_bytes_add_text(&rows->offsets[column], &rows->data[column],
                                                     (const char *)value, n)
                             : sluice_bytes_add(&rows->data[column], value, n));
    }
    return !rows->failed;
}

/* A first part of a text, before sluice_rows_add gives the rest of it (which may be empty). 0 when
 * memory was refused, now or before. */
SLUICE_INLINE int sluice_rows_part(struct sluice_rows *rows, int column, const void *text,
                                   uint64_t n)
{
    rows->failed = rows->failed || !sluice_bytes_add(&rows->data[column], text, n);
    return !rows->failed;
}

/* Ends a row that has all its values. 0 when memory was refused. */
SLUICE_INLINE int sluice_rows_next(struct sluice_rows *rows)
{
    rows->n++;
    return !rows->failed;
}

/* Frees what was not emitted: no rows again, of the same columns. */
SLUICE_INLINE void sluice_rows_drop(struct sluice_rows *rows)
{
    int k;
    for (k = 0; k < SLUICE_ROWS_COLUMNS; k++) {
        sluice_bytes_free(&rows->offsets[k]);
        sluice_bytes_free(&rows->data[k]);
    }
    rows->n = 0;
    rows->failed = 0;
}

/* Emits the rows as one batch, none at all when there are no rows. With a status that is not
 * SLUICE_OK it emits nothing and gives that status, so that it can end whatever made rows. There
 * are no rows afterwards, whatever is returned. SLUICE_E_NOMEM, or what the host answers. */
SLUICE_INLINE sluice_status sluice_rows_emit(struct sluice_rows *rows, sluice_status status,
                                             struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray columns[SLUICE_ROWS_COLUMNS];
    struct ArrowArray out;
    int count = (int)strlen(rows->kinds);
    int made = 0;
    int ok = !rows->failed;
    if (status != SLUICE_OK || (ok && rows->n == 0)) {
        sluice_rows_drop(rows);
        return status;
    }
    while (ok && made < count) {
        ok = (rows->kinds[made] == 't'
                  ? sluice_make_text(&columns[made], rows->n, &rows->offsets[made],
                                     &rows->data[made], NULL, 0)
                  : sluice_make_fixed(&columns[made], rows->n, &rows->data[made], NULL, 0)) ==
             SLUICE_OK;
        made += ok;
    }
    if (ok) {
        ok = sluice_make_struct(&out, rows->n, count, columns) == SLUICE_OK; /* takes them */
    } else {
        while (made > 0) {
            made--;
            columns[made].release(&columns[made]);
        }
    }
    sluice_rows_drop(rows);
    return ok ? emit->batch(emit, &out)
              : sluice_fail(err, SLUICE_E_NOMEM, "",
                            "out of memory for rows; give a larger --memory or fewer --workers");
}

#endif
