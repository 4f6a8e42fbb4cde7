/* Runs of rows: copied to the end of a builder, and shown as an array without being moved. See
 * builder.h. */
#include <assert.h>
#include <string.h>

#include "data/builderInt.h"

/* ---- copying ---- */

/* Writes the validity of the next n rows, which there is room for. */
static bool add_validity(struct builder *b, const struct ArrowArray *a, const uint32_t *rows,
                         int64_t first, int64_t n)
{
    int64_t nulls = 0;

    if (a->null_count != 0) {
        for (int64_t i = 0; i < n; i++) {
            nulls += array_is_null(a, rows != NULL ? rows[i] : first + i) ? 1 : 0;
        }
    }
    if (nulls > 0 && b->validity == NULL && !builder_start_validity(b)) {
        return false;
    }
    for (int64_t i = 0; b->validity != NULL && i < n; i++) {
        bit_write(b->validity, b->length + i,
                  nulls == 0 || !array_is_null(a, rows != NULL ? rows[i] : first + i));
    }
    b->nulls += nulls;
    return true;
}

static void add_fixed(struct builder *b, const char *values, const uint32_t *rows, int64_t first,
                      int64_t n)
{
    size_t width = b->width;
    char *to = b->values + (size_t)b->length * width;

    if (rows == NULL) {
        memcpy(to, values + (size_t)first * width, (size_t)n * width);
    } else if (width == 8) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * 8, values + (size_t)rows[i] * 8, 8);
        }
    } else if (width == 16) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * 16, values + (size_t)rows[i] * 16, 16);
        }
    } else if (width == 4) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * 4, values + (size_t)rows[i] * 4, 4);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t)i * width, values + (size_t)rows[i] * width, width);
        }
    }
}

static void add_bits(struct builder *b, const uint8_t *bits, const uint32_t *rows, int64_t first,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        bit_write((uint8_t *)b->values, b->length + i, (bits[row >> 3] >> (row & 7) & 1) != 0);
    }
}

/* One piece of bytes or items, not yet a row. */
static bool add_piece(struct builder *b, const struct ArrowArray *a, int32_t begin, int32_t end)
{
    size_t n = (size_t)(end - begin);

    if (b->kind == TYPE_LIST) {
        return builder_rows(&b->children[0], a->children[0], NULL, begin, end - begin);
    }
    if (!reserve_bytes(b, n)) {
        return false;
    }
    if (n > 0) {
        memcpy(b->values + b->bytes, (const char *)a->buffers[2] + begin, n);
        b->bytes += n;
    }
    return true;
}

/* Text and lists. */
static bool add_variable(struct builder *b, const struct ArrowArray *a, const uint32_t *rows,
                         int64_t first, int64_t n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    int32_t *to = b->offsets + b->length;

    if (rows == NULL && a->null_count == 0) {
        uint32_t delta = (uint32_t)to[0] - (uint32_t)offsets[first];
        if (!add_piece(b, a, offsets[first], offsets[first + n])) {
            return false;
        }
        for (int64_t i = 1; i <= n; i++) {
            to[i] = (int32_t)((uint32_t)offsets[first + i] + delta);
        }
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        bool null = array_is_null(a, row);
        if (!null && !add_piece(b, a, offsets[row], offsets[row + 1])) {
            return false;
        }
        to[i + 1] = to[i] + (null ? 0 : offsets[row + 1] - offsets[row]);
    }
    return true;
}

static bool add_members(struct builder *b, const struct ArrowArray *a, const uint32_t *rows,
                        int64_t first, int64_t n)
{
    if (a->null_count == 0) {
        for (uint32_t k = 0; k < b->n_children; k++) {
            if (!builder_rows(&b->children[k], a->children[k], rows, first, n)) {
                return false;
            }
        }
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        bool null = array_is_null(a, row);
        for (uint32_t k = 0; k < b->n_children; k++) {
            if (null ? !builder_null(&b->children[k])
                     : !builder_rows(&b->children[k], a->children[k], NULL, row, 1)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_values(struct builder *b, const struct ArrowArray *a, const uint32_t *rows,
                       int64_t first, int64_t n)
{
    if (b->kind == TYPE_STRUCT) {
        return add_members(b, a, rows, first, n);
    }
    if (b->kind == TYPE_LIST || type_is_bytes(b->type)) {
        return add_variable(b, a, rows, first, n);
    }
    if (b->kind == TYPE_BOOL) {
        add_bits(b, a->buffers[1], rows, first, n);
    } else {
        add_fixed(b, a->buffers[1], rows, first, n);
    }
    return true;
}

bool builder_rows(struct builder *b, const struct ArrowArray *a, const uint32_t *rows,
                  int64_t first, int64_t n)
{
    int64_t before = b->nulls;

    assert(a->offset == 0);
    if (n == 0) {
        return true;
    }
    if (!reserve_rows(b, n)) {
        return false;
    }
    if (((a->null_count != 0 || b->validity != NULL) && !add_validity(b, a, rows, first, n)) ||
        !add_values(b, a, rows, first, n)) {
        /* Of members and items some may be there: they stay as long as their rows. */
        b->nulls = before;
        builder_drop_rows(b, b->length);
        return false;
    }
    b->length += n;
    return true;
}

/* ---- showing ---- */

static void view_release(struct ArrowArray *view)
{
    view->release = NULL;
}

static void make_view(struct builder *b)
{
    bool variable = b->kind == TYPE_LIST || type_is_bytes(b->type);

    b->buffers[0] = b->nulls > 0 ? b->validity : NULL;
    b->buffers[1] = variable ? (const void *)b->offsets : (const void *)b->values;
    b->buffers[2] = b->values;
    b->view = (struct ArrowArray){
        .length = b->length,
        .null_count = b->nulls,
        .n_buffers = b->kind == TYPE_STRUCT   ? 1
                     : type_is_bytes(b->type) ? 3
                                              : 2,
        .n_children = b->n_children,
        .buffers = b->buffers,
        .children = b->views,
        .release = view_release,
    };
    for (uint32_t k = 0; k < b->n_children; k++) {
        make_view(&b->children[k]);
    }
}

struct ArrowArray builder_view(struct builder *b)
{
    make_view(b);
    return b->view;
}
