/* Columns as JSON: which types have a form, and a value of each. Depends on jsonl_text. */
#ifndef JSONL_COLUMN_H
#define JSONL_COLUMN_H

#include <stdbool.h>

#include "jsonl_text.h"

enum jsonl_kind {
    JSONL_BOOL,
    JSONL_INT8,
    JSONL_INT16,
    JSONL_INT32,
    JSONL_INT64,
    JSONL_UINT8,
    JSONL_UINT16,
    JSONL_UINT32,
    JSONL_UINT64,
    JSONL_FLOAT32,
    JSONL_FLOAT64,
    JSONL_UTF8,
    JSONL_BINARY,
    JSONL_JSON,
    JSONL_FIXED
};

struct jsonl_column {
    enum jsonl_kind kind; /* of the items, if it is a list */
    bool list;
    bool spliced;  /* its members stand in the row's object */
    bool inner;    /* stands in the object `metadata` of the layout */
    int32_t width; /* JSONL_FIXED */
    char *name;
    char *prefix; /* ,"name": */
    size_t prefix_n;
};

/* Reads "utf8?", "fixed[16]", "list<uint32>", "spans" into kind, list and width; false when there
 * is no JSON form for it. */
bool jsonl_column_type(const char *type, struct jsonl_column *);

/* The member of a row, behind a comma unless it is the *first, which is cleared; nothing of a null.
 * 0 when memory is used up. */
int jsonl_column_member(struct sluice_bytes *out, const struct jsonl_column *,
                        const struct ArrowArray *, int64_t row, bool *first);

#endif
