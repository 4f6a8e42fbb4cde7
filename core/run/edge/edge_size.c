/* Sizes of rows, by which frames are cut: see edgeInt.h. */
#include "run/edge/edgeInt.h"
#include "run/edge/rowcodec.h"

uint64_t edge_size_fixed(const struct type *type)
{
    uint64_t size = 1;

    if (type->kind == TYPE_BOOL) {
        return 1;
    }
    if (type->kind != TYPE_STRUCT) {
        return type_width(type);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        uint64_t member = edge_size_fixed(type->children[k]);
        if (member == 0) {
            return 0;
        }
        size += member;
    }
    return size;
}

static uint64_t size_null(const struct type *type)
{
    uint64_t size = edge_size_fixed(type);

    if (size > 0) {
        return size;
    }
    if (type->kind != TYPE_STRUCT) {
        return 4;
    }
    size = 1;
    for (uint32_t k = 0; k < type->n_children; k++) {
        size += size_null(type->children[k]);
    }
    return size;
}

static uint64_t size_one(const struct type *type, const struct ArrowArray *a, int64_t row)
{
    uint64_t size = edge_size_fixed(type);

    if (size > 0) {
        return size;
    }
    if (array_is_null(a, row)) {
        return size_null(type);
    }
    if (type->kind == TYPE_STRUCT) {
        size = 1;
        for (uint32_t k = 0; k < type->n_children; k++) {
            size += size_one(type->children[k], a->children[k], row);
        }
        return size;
    }
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    if (type->kind != TYPE_LIST) {
        return 4 + (uint64_t)(offsets[row + 1] - offsets[row]);
    }
    size = edge_size_fixed(type->children[0]);
    if (size > 0) {
        return 4 + size * (uint64_t)(offsets[row + 1] - offsets[row]);
    }
    size = 4;
    for (int32_t i = offsets[row]; i < offsets[row + 1]; i++) {
        size += size_one(type->children[0], a->children[0], i);
    }
    return size;
}

void edge_size_add(const struct type *type, const struct ArrowArray *a, const uint32_t *rows,
                   int64_t first, int64_t n, uint64_t *out)
{
    uint64_t fixed = edge_size_fixed(type);
    uint64_t item = type->kind == TYPE_LIST ? edge_size_fixed(type->children[0]) : 1;

    if (fixed > 0) {
        for (int64_t i = 0; i < n; i++) {
            out[i] += fixed;
        }
    } else if (type->kind == TYPE_STRUCT || item == 0 || a->null_count != 0) {
        for (int64_t i = 0; i < n; i++) {
            out[i] += size_one(type, a, rows != NULL ? rows[i] : first + i);
        }
    } else if (rows != NULL) {
        const int32_t *offsets = (const int32_t *)a->buffers[1];
        for (int64_t i = 0; i < n; i++) {
            out[i] += 4 + item * (uint64_t)(offsets[rows[i] + 1] - offsets[rows[i]]);
        }
    } else {
        const int32_t *offsets = (const int32_t *)a->buffers[1] + first;
        for (int64_t i = 0; i < n; i++) {
            out[i] += 4 + item * (uint64_t)(offsets[i + 1] - offsets[i]);
        }
    }
}
