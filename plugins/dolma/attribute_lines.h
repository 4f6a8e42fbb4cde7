/* attribute_lines.h - rows in the making for the stages that join documents and attribute files line by line.
 *
 * Owns the columns while they are made; depends on sluice_arrays.h. A line is named by its file (the values of the columns `by`, joined by
 * "/") and its place there: the exchange sorts by file and position. */
#ifndef DOLMA_ATTRIBUTE_LINES_H
#define DOLMA_ATTRIBUTE_LINES_H

#include <sluice_arrays.h>
#include <stdbool.h>

#define LINE_COLUMNS 6

/* Up to LINE_COLUMNS columns, texts or fixed-width values; a struct of zeros has no rows. Each row adds a value to every column, then 1 to n. */
struct line_rows {
    struct sluice_bytes offsets[LINE_COLUMNS], data[LINE_COLUMNS];
    int64_t n;
};

int line_rows_text(struct line_rows *, int column, const char *text, size_t n);
int line_rows_fixed(struct line_rows *, int column, const void *value, size_t n);

/* Emits the rows as a batch of n_columns, of which those of the bits `texts` are texts, and empties them. Not ok: out of memory. */
sluice_status line_rows_emit(struct line_rows *, int ok, int n_columns, unsigned texts,
                             struct sluice_emit *, struct sluice_error *);

/* Appends n JSON objects as one to *out; of members of one name the last counts, where they can be read at all (a number beyond 64 bits can't).
 * false: memory is used up. */
bool line_objects_merge(const char *const *objects, const size_t *sizes, size_t n,
                        struct sluice_bytes *out);

#endif
