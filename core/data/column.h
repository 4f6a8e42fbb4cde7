/* Columns and record batches: immutable, reference-counted Arrow arrays (C Data Interface).
 * Depends on schema and base. Thread rule: reference counts are atomic, contents are read-only,
 * so any thread may read and drop. Invariants of a column: array.offset == 0 at every level;
 * validity buffer NULL when null_count == 0; utf8/binary/json use int32 offsets; buffers are at
 * least 8-byte aligned and utf8 data is followed by at least 64 readable bytes where the column
 * was made here. */
#ifndef SLUICE_DATA_COLUMN_H
#define SLUICE_DATA_COLUMN_H

#include "data/schema.h"

struct column {
    int32_t refs;            /* atomic */
    struct ArrowArray array; /* released when refs reaches 0 */
};

struct batch {
    int32_t refs; /* atomic */
    uint32_t n_columns;
    int64_t length;           /* rows in the columns */
    uint32_t *rows;           /* selection: ascending row numbers, owned; NULL = all */
    int64_t n_rows;           /* selected rows (== length when rows is NULL) */
    struct column *columns[]; /* owned references; a NULL is a column that projection dropped */
};

/* Takes *array (moves it; array->release becomes NULL), even on failure. Checks nothing. Gives;
 * NULL = out of memory. */
struct column *column_create(struct ArrowArray *array);
struct column *column_ref(struct column *);
void column_unref(struct column *); /* NULL is fine */

/* Validates an array that came from outside against a type: buffer counts, offsets monotone and
 * in range, lengths, UTF-8 (utf8/json), list offsets, null_count, children. path names the
 * column in messages. SLUICE_E_SCHEMA or SLUICE_E_DATA. */
sluice_status array_validate(const struct ArrowArray *, const struct type *, int64_t length,
                             const char *path, struct sluice_error *err) MUST_USE;
/* Brings a validated array into the form of columns (offset 0, exact null_count, no validity
 * without nulls, no NULL or unaligned buffers, at every level), copying it when it is not. On
 * failure it is as it was. Normalise the children of a batch one by one rather than the struct
 * around them: one awkward column then does not make the others be copied. */
sluice_status array_normalise(struct ArrowArray *, const struct type *,
                              struct sluice_error *err) MUST_USE;

/* A batch of n_columns references (each is taken, NULLs allowed, even on failure). Gives; NULL =
 * out of memory. */
struct batch *batch_create(int64_t length, uint32_t n_columns, struct column **columns);
struct batch *batch_ref(struct batch *);
void batch_unref(struct batch *);
/* A batch sharing the columns with another selection: rows is copied (n ascending and distinct
 * row numbers of the columns, whatever was selected before). NULL = out of memory, as for
 * batch_slice. */
struct batch *batch_select(const struct batch *, const uint32_t *rows, int64_t n);
/* The same rows with no selection: gathers when needed, else a new reference. types gives each
 * column's type (NULL column = skip). */
sluice_status batch_compact(struct batch *, const struct type *const *types, struct batch **out,
                            struct sluice_error *err) MUST_USE;
/* Rows [first, first+n) of the selection as another selection. */
struct batch *batch_slice(const struct batch *, int64_t first, int64_t n);
/* Gathers rows of a column, in any order and repeated at will, into a new one. SLUICE_E_DATA
 * when that makes more than INT32_MAX bytes or list items. */
sluice_status column_gather(const struct column *, const struct type *, const uint32_t *rows,
                            int64_t n, struct column **out, struct sluice_error *err) MUST_USE;
/* n nulls of a type. */
sluice_status column_nulls(const struct type *, int64_t n, struct column **out,
                           struct sluice_error *err) MUST_USE;
/* n values: first, first + step, first + 2 * step, ... (uint64), of the type uint32 or uint64. NULL
 * = out of memory. */
struct column *column_count(const struct type *, uint64_t first, uint64_t step, int64_t n);
/* n times the same text (utf8). SLUICE_E_DATA when that makes more than INT32_MAX bytes. */
sluice_status column_repeat(const struct type *, const char *text, size_t size, int64_t n,
                            struct column **out, struct sluice_error *err) MUST_USE;
/* Bytes of memory behind a column or batch (shared columns counted fully). */
uint64_t column_bytes(const struct column *, const struct type *);
uint64_t batch_bytes(const struct batch *, const struct type *const *types);

/* Reading single values (no type check beyond asserts). */
static inline bool array_is_null(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *validity =
        a->buffers != NULL && a->n_buffers > 0 ? (const uint8_t *)a->buffers[0] : NULL;
    return a->null_count != 0 && validity != NULL && (validity[row >> 3] >> (row & 7) & 1) == 0;
}
/* utf8, binary, json: borrowed bytes. */
static inline const char *array_bytes(const struct ArrowArray *a, int64_t row, size_t *n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    *n = (size_t)(offsets[row + 1] - offsets[row]);
    return (const char *)a->buffers[2] + offsets[row];
}

#endif
