/* Layouts in which a record has an object `metadata` for all that is not text, id and their like:
 * datatrove's (its JsonlWriter) and Dolma's (docs/data-format.md). Depends on jsonl_column. */
#ifndef JSONL_LAYOUT_H
#define JSONL_LAYOUT_H

#include "jsonl_column.h"

#define JSONL_METADATA "metadata" /* the object, and the column of members that no column has */

enum { JSONL_FLAT, JSONL_DATATROVE, JSONL_DOLMA };

/* What a column's member is called, and whether it stands in `metadata`: `metadata.url` is `url`
 * there. Borrowed from name. */
const char *jsonl_layout_place(int32_t layout, const char *name, bool *inner);

/* One record and its line break; of a layout that is not flat. 0 when memory is used up. */
int jsonl_layout_put(int32_t layout, const struct jsonl_column *columns, size_t n,
                     struct sluice_bytes *out, const struct ArrowArray *array, int64_t row);

#endif
