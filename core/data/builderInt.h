/* Private to builder*.c: what a builder is, and room in it. */
#ifndef SLUICE_DATA_BUILDER_INT_H
#define SLUICE_DATA_BUILDER_INT_H

#include "data/builder.h"
#include "data/columnInt.h"

#define ROWS_FIRST 64    /* rows of the first allocation */
#define BYTES_FIRST 1024 /* bytes of text of the first allocation */

struct builder {
    const struct type *type;
    enum type_kind kind;
    bool full;
    uint32_t n_children;
    size_t width;     /* bytes of a value of a fixed-width kind, else 0 */
    int64_t length;   /* rows */
    int64_t capacity; /* rows that validity (when there), values and offsets have room for */
    int64_t nulls;
    int64_t limit;
    uint8_t *validity; /* NULL until the first null; bits past length are undefined */
    char *values;      /* fixed-width values; bits of bools; bytes of text */
    int32_t *offsets;  /* length + 1 of them */
    size_t bytes;      /* of text */
    size_t bytes_capacity;
    int64_t last_length; /* of the column finished last: the next is likely to be like it */
    size_t last_bytes;
    struct builder *children; /* n_children */
    struct type *owned;       /* the root's type */
    /* builder_view's */
    struct ArrowArray view;
    const void *buffers[3];
    struct ArrowArray **views; /* of the children */
};

/* For extra rows, or bytes of text, that are not there yet. */
bool builder_grow_rows(struct builder *, int64_t extra);
bool builder_grow_bytes(struct builder *, size_t extra);
/* The first null: all rows so far are valid. */
bool builder_start_validity(struct builder *);
/* builder_truncate, remembering that it was full. */
void builder_drop_rows(struct builder *, int64_t length);

static inline bool reserve_rows(struct builder *b, int64_t extra)
{
    return (b->capacity - b->length >= extra && b->limit - b->length >= extra) ||
           builder_grow_rows(b, extra);
}

static inline bool reserve_bytes(struct builder *b, size_t extra)
{
    return (b->bytes_capacity - b->bytes >= extra && b->bytes_capacity > 0 &&
            (size_t)b->limit - b->bytes >= extra) ||
           builder_grow_bytes(b, extra);
}

static inline void bit_write(uint8_t *bits, int64_t i, bool value)
{
    uint8_t mask = (uint8_t)(1u << (i & 7));

    bits[i >> 3] = (uint8_t)(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

#endif
