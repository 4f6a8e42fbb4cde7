/* Building columns row by row. One builder makes one column of any supported type; it grows with
 * realloc and its memory moves into the finished array without a copy. Not thread-safe. */
#ifndef SLUICE_DATA_BUILDER_H
#define SLUICE_DATA_BUILDER_H

#include "data/column.h"

struct builder;

sluice_status builder_create(const struct type *, struct builder **out,
                             struct sluice_error *err) MUST_USE; /* copies the type */
void builder_destroy(struct builder *);
int64_t builder_length(const struct builder *);
uint64_t builder_bytes(const struct builder *);  /* that the rows take */
uint64_t builder_memory(const struct builder *); /* that are allocated */

/* Appends; false = out of memory, or more than INT32_MAX bytes/items in a column (then
 * builder_full is true). Wrong kinds are asserts. A failed append leaves the rows before it as
 * they were; call builder_truncate on the root to drop half-built nested rows. */
bool builder_null(struct builder *);
bool builder_bool(struct builder *, bool value);
bool builder_int(struct builder *,
                 int64_t value); /* every signed width (the caller checked the range) */
bool builder_uint(struct builder *, uint64_t value);
bool builder_float(struct builder *, double value);
bool builder_bytes_add(struct builder *, const void *data,
                       size_t n); /* utf8 binary json fixed[n] */
/* Lists: append items to builder_child(b, 0), then close the row. Structs: append to every
 * child, then close the row. */
struct builder *builder_child(struct builder *, uint32_t k);
bool builder_close(struct builder *);
/* list<uint32>/list<uint64>… in one go. */
bool builder_list_fixed(struct builder *, const void *items, size_t n);
/* Copies n rows of an array of the same type, of offset 0: rows[i], or first + i where rows is
 * NULL. What lies behind a null of the array is not read. */
bool builder_rows(struct builder *, const struct ArrowArray *, const uint32_t *rows, int64_t first,
                  int64_t n);
/* One of them. */
static inline bool builder_copy(struct builder *b, const struct ArrowArray *array, int64_t row)
{
    return builder_rows(b, array, NULL, row, 1);
}
bool builder_full(const struct builder *);
/* Drops the rows from length on, items of lists not yet closed, and the memory of being full. */
void builder_truncate(struct builder *, int64_t length);
/* Lowers the limit of INT32_MAX bytes, items and rows per column, children included. */
void builder_limit(struct builder *, int32_t limit);

/* Drops all rows and gives the memory back. */
void builder_release(struct builder *);

/* All rows as an array that points into the builder, for as long as that does not change. Bits past
 * the last row are undefined. Its release does nothing. */
struct ArrowArray builder_view(struct builder *);

/* Moves everything but half-built nested rows into *out (gives) and leaves the builder empty and
 * usable. When out of memory the builder keeps what it has. */
sluice_status builder_finish(struct builder *, struct ArrowArray *out,
                             struct sluice_error *err) MUST_USE;

/* The same as a column. */
sluice_status builder_column(struct builder *, struct column **out,
                             struct sluice_error *err) MUST_USE;

/* Wraps children (each taken, even on failure) into a struct array of length rows. */
sluice_status array_struct(struct ArrowArray *out, int64_t length, uint32_t n,
                           struct ArrowArray *children, struct sluice_error *err) MUST_USE;

#endif
