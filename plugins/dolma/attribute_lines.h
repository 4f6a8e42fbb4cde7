/* attribute_lines.h - what the stages share that join documents and attribute files line by line.
 *
 * Depends on sluice_rows.h. A line is named by its file (the values of the columns `by`, joined by
 * "/") and its place there: the exchange sorts by file and position. */
#ifndef DOLMA_ATTRIBUTE_LINES_H
#define DOLMA_ATTRIBUTE_LINES_H

#include <sluice_rows.h>
#include <stdbool.h>

/* Appends n JSON objects as one to *out; of members of one name the last counts, where they can be
 * read at all (a number beyond 64 bits can't). false: memory is used up. */
bool line_objects_merge(const char *const *objects, const size_t *sizes, size_t n,
                        struct sluice_bytes *out);

#endif
