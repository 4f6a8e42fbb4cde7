/* Rows as bytes: see rowcodec.h. */
#include "run/edge/rowcodec.h"

#include <string.h>

#define ITEMS_ROW 0u /* with a bitmap, one by one */
#define ITEMS_RAW 1u /* of fixed width, no nulls */

/* ---- encoding ---- */

static void encode_value(const struct type *type, const struct ArrowArray *a, int64_t row,
                         struct buf *out);

static void put_null_bit(struct buf *out, size_t bitmap, size_t k)
{
    if (!out->failed) {
        out->data[bitmap + k / 8] = (char)((uint8_t)out->data[bitmap + k / 8] | 1u << (k & 7));
    }
}

static size_t put_bitmap(struct buf *out, size_t n)
{
    size_t bitmap = out->size;
    size_t bytes = (n + 7) / 8;

    if (buf_reserve(out, bytes + 1)) {
        memset(out->data + bitmap, 0, bytes);
        out->size += bytes;
    }
    return bitmap;
}

static void encode_list(const struct type *type, const struct ArrowArray *a, int64_t row,
                        struct buf *out)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    const struct ArrowArray *items = a->children[0];
    int64_t begin = offsets[row];
    size_t n = (size_t)(offsets[row + 1] - offsets[row]);
    size_t width = type_width(type->children[0]);
    size_t bitmap;

    varint_put(out, n);
    if (width > 0 && items->null_count == 0) {
        buf_putc(out, (char)ITEMS_RAW);
        if (n > 0) {
            buf_append(out, (const char *)items->buffers[1] + (size_t)begin * width, n * width);
        }
        return;
    }
    buf_putc(out, (char)ITEMS_ROW);
    bitmap = put_bitmap(out, n);
    for (size_t i = 0; i < n && !out->failed; i++) {
        if (array_is_null(items, begin + (int64_t)i)) {
            put_null_bit(out, bitmap, i);
        } else {
            encode_value(type->children[0], items, begin + (int64_t)i, out);
        }
    }
}

static void encode_value(const struct type *type, const struct ArrowArray *a, int64_t row,
                         struct buf *out)
{
    size_t width = type_width(type);

    if (width > 0) {
        buf_append(out, (const char *)a->buffers[1] + (size_t)row * width, width);
    } else if (type->kind == TYPE_BOOL) {
        buf_putc(out, (char)(((const uint8_t *)a->buffers[1])[row >> 3] >> (row & 7) & 1));
    } else if (type->kind == TYPE_LIST) {
        encode_list(type, a, row, out);
    } else if (type->kind == TYPE_STRUCT) {
        size_t bitmap = put_bitmap(out, type->n_children);
        for (uint32_t k = 0; k < type->n_children; k++) {
            if (array_is_null(a->children[k], row)) {
                put_null_bit(out, bitmap, k);
            } else {
                encode_value(type->children[k], a->children[k], row, out);
            }
        }
    } else {
        size_t n;
        const char *bytes = array_bytes(a, row, &n);
        varint_put(out, n);
        if (n > 0) {
            buf_append(out, bytes, n);
        }
    }
}

void rowcodec_encode(const struct type *const *types, const struct ArrowArray *const *arrays,
                     uint32_t n, int64_t row, struct buf *out)
{
    size_t bitmap = put_bitmap(out, n);

    for (uint32_t k = 0; k < n; k++) {
        if (array_is_null(arrays[k], row)) {
            put_null_bit(out, bitmap, k);
        } else {
            encode_value(types[k], arrays[k], row, out);
        }
    }
}

/* ---- decoding ---- */

struct cursor {
    const uint8_t *at, *end;
    struct sluice_error *err;
};

static sluice_status broken(const struct cursor *c)
{
    return error_set(
        c->err, SLUICE_E_DATA,
        "a stored row is damaged: its bytes end early or contradict its types; run again");
}

static sluice_status check(const struct cursor *c, bool appended)
{
    return appended ? SLUICE_OK : error_nomem(c->err, "a row of a column");
}

static const uint8_t *take(struct cursor *c, uint64_t n)
{
    const uint8_t *piece = c->at;

    if (n > (uint64_t)(c->end - c->at)) {
        return NULL;
    }
    c->at += n;
    return piece;
}

static inline bool bit_at(const uint8_t *bits, uint64_t k)
{
    return (bits[k >> 3] >> (k & 7) & 1) != 0;
}

static sluice_status decode_value(struct cursor *c, const struct type *type,
                                  struct builder *builder);

static sluice_status decode_list(struct cursor *c, const struct type *type, struct builder *builder)
{
    size_t width = type_width(type->children[0]);
    struct builder *child = builder_child(builder, 0);
    const uint8_t *piece;
    const uint8_t *how;
    uint64_t n;

    if (!varint_get(&c->at, c->end, &n) || n > INT32_MAX || (how = take(c, 1)) == NULL) {
        return broken(c);
    }
    if (*how == ITEMS_RAW && width > 0) {
        piece = take(c, n * width);
        return piece == NULL ? broken(c) : check(c, builder_list_fixed(builder, piece, (size_t)n));
    }
    piece = *how == ITEMS_ROW ? take(c, (n + 7) / 8) : NULL;
    if (piece == NULL) {
        return broken(c);
    }
    for (uint64_t i = 0; i < n; i++) {
        TRY(bit_at(piece, i) ? check(c, builder_null(child))
                             : decode_value(c, type->children[0], child));
    }
    return check(c, builder_close(builder));
}

static sluice_status decode_value(struct cursor *c, const struct type *type,
                                  struct builder *builder)
{
    size_t width = type_width(type);
    const uint8_t *piece;
    uint64_t n;

    if (width > 0) {
        const void *buffers[2] = { NULL, NULL };
        struct ArrowArray one = { .length = 1, .n_buffers = 2, .buffers = buffers };
        piece = take(c, width);
        buffers[1] = piece;
        /* Copied as bytes: a float passed as a value would lose a signalling NaN. */
        return piece == NULL ? broken(c) : check(c, builder_copy(builder, &one, 0));
    }
    if (type->kind == TYPE_BOOL) {
        piece = take(c, 1);
        return piece == NULL || *piece > 1 ? broken(c)
                                           : check(c, builder_bool(builder, *piece != 0));
    }
    if (type->kind == TYPE_LIST) {
        return decode_list(c, type, builder);
    }
    if (type->kind == TYPE_STRUCT) {
        piece = take(c, (type->n_children + 7) / 8);
        if (piece == NULL) {
            return broken(c);
        }
        for (uint32_t k = 0; k < type->n_children; k++) {
            struct builder *child = builder_child(builder, k);
            TRY(bit_at(piece, k) ? check(c, builder_null(child))
                                 : decode_value(c, type->children[k], child));
        }
        return check(c, builder_close(builder));
    }
    if (!varint_get(&c->at, c->end, &n) || n > INT32_MAX || (piece = take(c, n)) == NULL) {
        return broken(c);
    }
    return check(c, builder_bytes_add(builder, piece, (size_t)n));
}

sluice_status rowcodec_decode(const struct type *const *types, struct builder *const *builders,
                              uint32_t n, const void *data, size_t size, struct sluice_error *err)
{
    struct cursor c = { data, (const uint8_t *)data + size, err };
    const uint8_t *bitmap = take(&c, ((uint64_t)n + 7) / 8);

    if (bitmap == NULL) {
        return broken(&c);
    }
    for (uint32_t k = 0; k < n; k++) {
        TRY(bit_at(bitmap, k) ? check(&c, builder_null(builders[k]))
                              : decode_value(&c, types[k], builders[k]));
    }
    return c.at == c.end ? SLUICE_OK : broken(&c);
}
