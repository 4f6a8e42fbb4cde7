/* Columns of any type, copied, written out as bytes and made of those again, without knowing what
 * they mean: what stages need that hand on whole rows or values. Depends on sluice_arrays.h. Works
 * on its arguments alone. */
#ifndef TEXT_LAYOUT_H
#define TEXT_LAYOUT_H

#include <sluice_arrays.h>
#include <stdbool.h>

#define LAYOUT_DEPTH 33 /* levels of nesting: what the schema language allows, and one more */

enum layout_kind { LAYOUT_FIXED, LAYOUT_BITS, LAYOUT_TEXT, LAYOUT_LIST, LAYOUT_STRUCT };

/* How the values of a type lie in memory. */
struct layout {
    enum layout_kind kind;
    uint32_t width; /* LAYOUT_FIXED: bytes of a value */
    bool nullable;
    uint32_t n_children;
    struct layout *children; /* owned */
};

/* Of a type as plan->column names it ("list<utf8?>?"). SLUICE_E_SCHEMA: unknown; SLUICE_E_NOMEM.
 * Nothing is to be freed then. */
sluice_status layout_parse(const char *type, struct layout *out);
void layout_deinit(struct layout *);

/* n rows from `first` on. */
struct layout_run {
    int64_t first, n;
};

/* A new array of the rows of all runs, one behind the other. SLUICE_E_NOMEM also when a column
 * would hold 2 GiB or more. */
sluice_status layout_copy(const struct layout *, const struct ArrowArray *,
                          const struct layout_run *runs, size_t n_runs, struct ArrowArray *out);

/* Bytes that the value of a row takes, about. */
uint64_t layout_size(const struct layout *, const struct ArrowArray *, int64_t row);

/* Appends bytes that say what the row holds: equal for equal values, different for different ones
 * (of one type, nulls allowed or not), and none the beginning of another's. 0 = out of memory. */
int layout_write(const struct layout *, const struct ArrowArray *, int64_t row,
                 struct sluice_bytes *out);

/* A column in the making, value by value. Nothing is to be freed but by layout_column_deinit. */
struct layout_column {
    const struct layout *layout; /* borrowed */
    int64_t n, nulls;
    struct sluice_bytes validity, offsets, data;
    struct layout_column *children; /* owned */
};

/* No value yet. SLUICE_E_NOMEM. */
sluice_status layout_column_init(struct layout_column *, const struct layout *);
/* Appends the value that layout_write wrote at *at, and moves past it. The bytes are trusted. 0 =
 * out of memory, or a column would hold 2 GiB. */
int layout_column_read(struct layout_column *, const char **at);
/* Appends a null; where the type has none, a zero, an empty text, an empty list. 0 as above. */
int layout_column_null(struct layout_column *);
/* Makes the array, which owns all of it: no value again. */
sluice_status layout_column_end(struct layout_column *, struct ArrowArray *out);
void layout_column_deinit(struct layout_column *);

#endif
