/* Accumulated rows, and small helpers: see edgeInt.h. */
#include <stdlib.h>
#include <string.h>

#include "data/draft.h"
#include "run/edge/edgeInt.h"
#include "run/edge/rowcodec.h"

#define KEPT_MAX ((uint64_t)8 << 20) /* more memory than this is given back after a frame */
#define PADDING 64u

/* ---- accumulated columns ---- */

enum shape { SHAPE_BITS, SHAPE_FIXED, SHAPE_TEXT, SHAPE_LIST, SHAPE_STRUCT };

struct pile {
    enum shape shape;
    size_t width;
    int64_t length, nulls;
    int64_t capacity;  /* rows */
    uint8_t *validity; /* NULL before the first null */
    char *values;      /* fixed values, bits, or bytes of text */
    int32_t *offsets;
    size_t bytes, bytes_capacity; /* of text */
    uint64_t memory;              /* allocated here, children not counted */
    uint32_t n_children;
    struct pile *children;
    struct ArrowArray view;
    const void *buffers[3];
    struct ArrowArray **views; /* of the children */
};

struct edge_rows {
    uint32_t n;
    int64_t length;
    struct pile piles[];
};

static enum shape shape_of(const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return SHAPE_BITS;
    case TYPE_LIST:
        return SHAPE_LIST;
    case TYPE_STRUCT:
        return SHAPE_STRUCT;
    case TYPE_UTF8:
    case TYPE_BINARY:
    case TYPE_JSON:
        return SHAPE_TEXT;
    default:
        return SHAPE_FIXED;
    }
}

static bool pile_init(struct pile *p, const struct type *type)
{
    p->shape = shape_of(type);
    p->width = type_width(type);
    if (type->n_children > 0) {
        p->children = calloc(type->n_children, sizeof *p->children);
        p->views = calloc(type->n_children, sizeof(struct ArrowArray *));
        if (p->children == NULL || p->views == NULL) {
            return false;
        }
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        p->n_children++;
        p->views[k] = &p->children[k].view;
        if (!pile_init(&p->children[k], type->children[k])) {
            return false;
        }
    }
    return true;
}

/* Gives the memory of an empty pile back. */
static void pile_release(struct pile *p)
{
    free(p->validity);
    free(p->values);
    free(p->offsets);
    p->validity = NULL;
    p->values = NULL;
    p->offsets = NULL;
    p->capacity = 0;
    p->bytes_capacity = 0;
    p->memory = 0;
    for (uint32_t k = 0; k < p->n_children; k++) {
        pile_release(&p->children[k]);
    }
}

static void pile_deinit(struct pile *p)
{
    free(p->validity);
    free(p->values);
    free(p->offsets);
    for (uint32_t k = 0; k < p->n_children; k++) {
        pile_deinit(&p->children[k]);
    }
    free(p->children);
    free(p->views);
}

static uint64_t pile_memory(const struct pile *p)
{
    uint64_t memory = p->memory;

    for (uint32_t k = 0; k < p->n_children; k++) {
        memory += pile_memory(&p->children[k]);
    }
    return memory;
}

static bool resize(void **memory, size_t bytes)
{
    void *made = realloc(*memory, bytes + PADDING);

    if (made == NULL) {
        return false;
    }
    *memory = made;
    return true;
}

static bool pile_grow(struct pile *p, int64_t extra)
{
    int64_t capacity = p->capacity < 64 ? 64 : p->capacity;
    size_t row = p->shape == SHAPE_FIXED                            ? p->width
                 : p->shape == SHAPE_TEXT || p->shape == SHAPE_LIST ? sizeof *p->offsets
                                                                    : 0;
    void *memory;

    if (extra > INT32_MAX - p->length) {
        return false;
    }
    while (capacity - p->length < extra) {
        capacity *= 2;
    }
    if (p->shape == SHAPE_FIXED || p->shape == SHAPE_BITS) {
        size_t old = p->shape == SHAPE_BITS ? ((size_t)p->capacity + 7) / 8 : 0;
        memory = p->values;
        if (!resize(&memory, p->shape == SHAPE_BITS ? ((size_t)capacity + 7) / 8
                                                    : (size_t)capacity * p->width)) {
            return false;
        }
        p->values = memory;
        if (p->shape == SHAPE_BITS) {
            memset(p->values + old, 0, ((size_t)capacity + 7) / 8 - old);
        }
    } else if (p->shape != SHAPE_STRUCT) {
        bool first = p->offsets == NULL;
        memory = p->offsets;
        if (!resize(&memory, ((size_t)capacity + 1) * sizeof *p->offsets)) {
            return false;
        }
        p->offsets = memory;
        if (first) {
            p->offsets[0] = 0;
        }
    }
    if (p->validity != NULL) {
        memory = p->validity;
        if (!resize(&memory, ((size_t)capacity + 7) / 8)) {
            return false;
        }
        p->validity = memory;
    }
    p->memory += (uint64_t)(capacity - p->capacity) * row + (uint64_t)(capacity - p->capacity) / 8;
    p->capacity = capacity;
    return true;
}

static bool pile_reserve_bytes(struct pile *p, size_t extra)
{
    size_t capacity = p->bytes_capacity < 1024 ? 1024 : p->bytes_capacity;
    void *memory = p->values;

    if (p->bytes_capacity > 0 && p->bytes_capacity - p->bytes >= extra) {
        return true;
    }
    if (extra > INT32_MAX - p->bytes) {
        return false;
    }
    while (capacity - p->bytes < extra) {
        capacity *= 2;
    }
    if (!resize(&memory, capacity)) {
        return false;
    }
    p->values = memory;
    p->memory += capacity - p->bytes_capacity;
    p->bytes_capacity = capacity;
    return true;
}

static inline void bit_write(uint8_t *bits, int64_t i, bool value)
{
    uint8_t mask = (uint8_t)(1u << (i & 7));

    bits[i >> 3] = (uint8_t)(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

/* Writes the validity of the next n rows, which the pile has room for. */
static bool pile_validity(struct pile *p, const struct ArrowArray *a, const uint32_t *rows,
                          int64_t first, int64_t n)
{
    int64_t nulls = 0;

    if (a->null_count != 0) {
        for (int64_t i = 0; i < n; i++) {
            nulls += array_is_null(a, rows != NULL ? rows[i] : first + i) ? 1 : 0;
        }
    }
    if (nulls > 0 && p->validity == NULL) {
        void *memory = NULL;
        if (!resize(&memory, ((size_t)p->capacity + 7) / 8)) {
            return false;
        }
        p->validity = memory;
        memset(p->validity, 0xFF, ((size_t)p->length + 7) / 8);
    }
    for (int64_t i = 0; p->validity != NULL && i < n; i++) {
        bit_write(p->validity, p->length + i,
                  nulls == 0 || !array_is_null(a, rows != NULL ? rows[i] : first + i));
    }
    p->nulls += nulls;
    return true;
}

static bool pile_add(struct pile *p, const struct ArrowArray *a, const uint32_t *rows,
                     int64_t first, int64_t n);

static bool pile_add_null(struct pile *p)
{
    if (p->capacity - p->length < 1 && !pile_grow(p, 1)) {
        return false;
    }
    if (p->validity == NULL) {
        void *memory = NULL;
        if (!resize(&memory, ((size_t)p->capacity + 7) / 8)) {
            return false;
        }
        p->validity = memory;
        memset(p->validity, 0xFF, ((size_t)p->length + 7) / 8);
    }
    bit_write(p->validity, p->length, false);
    if (p->shape == SHAPE_FIXED) {
        memset(p->values + (size_t)p->length * p->width, 0, p->width);
    } else if (p->shape == SHAPE_BITS) {
        bit_write((uint8_t *)p->values, p->length, false);
    } else if (p->shape == SHAPE_STRUCT) {
        for (uint32_t k = 0; k < p->n_children; k++) {
            if (!pile_add_null(&p->children[k])) {
                return false;
            }
        }
    } else {
        p->offsets[p->length + 1] = p->offsets[p->length];
    }
    p->length++;
    p->nulls++;
    return true;
}

static void add_fixed(struct pile *p, const char *values, const uint32_t *rows, int64_t first,
                      int64_t n)
{
    size_t width = p->width;
    char *to = p->values + (size_t)p->length * width;

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

static void add_bits(struct pile *p, const uint8_t *bits, const uint32_t *rows, int64_t first,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        bit_write((uint8_t *)p->values, p->length + i, (bits[row >> 3] >> (row & 7) & 1) != 0);
    }
}

/* One piece of bytes or items, not yet a row. */
static bool add_piece(struct pile *p, const struct ArrowArray *a, int32_t begin, int32_t end)
{
    size_t n = (size_t)(end - begin);

    if (p->shape == SHAPE_LIST) {
        return pile_add(&p->children[0], a->children[0], NULL, begin, end - begin);
    }
    if (!pile_reserve_bytes(p, n)) {
        return false;
    }
    if (n > 0) {
        memcpy(p->values + p->bytes, (const char *)a->buffers[2] + begin, n);
        p->bytes += n;
    }
    return true;
}

/* Text and lists. */
static bool add_variable(struct pile *p, const struct ArrowArray *a, const uint32_t *rows,
                         int64_t first, int64_t n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    int32_t *to = p->offsets + p->length;

    if (rows == NULL && a->null_count == 0) {
        uint32_t delta = (uint32_t)to[0] - (uint32_t)offsets[first];
        if (!add_piece(p, a, offsets[first], offsets[first + n])) {
            return false;
        }
        for (int64_t i = 1; i <= n; i++) {
            to[i] = (int32_t)((uint32_t)offsets[first + i] + delta);
        }
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        /* What lies behind a null is nobody's. */
        bool null = array_is_null(a, row);
        if (!null && !add_piece(p, a, offsets[row], offsets[row + 1])) {
            return false;
        }
        to[i + 1] = to[i] + (null ? 0 : offsets[row + 1] - offsets[row]);
    }
    return true;
}

static bool add_members(struct pile *p, const struct ArrowArray *a, const uint32_t *rows,
                        int64_t first, int64_t n)
{
    if (a->null_count == 0) {
        for (uint32_t k = 0; k < p->n_children; k++) {
            if (!pile_add(&p->children[k], a->children[k], rows, first, n)) {
                return false;
            }
        }
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : first + i;
        bool null = array_is_null(a, row);
        for (uint32_t k = 0; k < p->n_children; k++) {
            if (null ? !pile_add_null(&p->children[k])
                     : !pile_add(&p->children[k], a->children[k], NULL, row, 1)) {
                return false;
            }
        }
    }
    return true;
}

static bool pile_add(struct pile *p, const struct ArrowArray *a, const uint32_t *rows,
                     int64_t first, int64_t n)
{
    bool ok = true;

    if (n == 0) {
        return true;
    }
    if (p->capacity - p->length < n && !pile_grow(p, n)) {
        return false;
    }
    if ((a->null_count != 0 || p->validity != NULL) && !pile_validity(p, a, rows, first, n)) {
        return false;
    }
    if (p->shape == SHAPE_FIXED) {
        add_fixed(p, a->buffers[1], rows, first, n);
    } else if (p->shape == SHAPE_BITS) {
        add_bits(p, a->buffers[1], rows, first, n);
    } else if (p->shape == SHAPE_STRUCT) {
        ok = add_members(p, a, rows, first, n);
    } else {
        ok = add_variable(p, a, rows, first, n);
    }
    p->length += n;
    return ok;
}

static void pile_clear(struct pile *p)
{
    p->length = 0;
    p->nulls = 0;
    p->bytes = 0;
    for (uint32_t k = 0; k < p->n_children; k++) {
        pile_clear(&p->children[k]);
    }
}

static void view_release(struct ArrowArray *view)
{
    view->release = NULL;
}

static void pile_view(struct pile *p)
{
    p->buffers[0] = p->nulls > 0 ? p->validity : NULL;
    p->buffers[1] =
        p->shape == SHAPE_TEXT || p->shape == SHAPE_LIST ? (void *)p->offsets : (void *)p->values;
    p->buffers[2] = p->values;
    p->view = (struct ArrowArray){
        .length = p->length,
        .null_count = p->nulls,
        .n_buffers = p->shape == SHAPE_TEXT     ? 3
                     : p->shape == SHAPE_STRUCT ? 1
                                                : 2,
        .n_children = p->n_children,
        .buffers = p->buffers,
        .children = p->views,
        .release = view_release,
    };
    for (uint32_t k = 0; k < p->n_children; k++) {
        pile_view(&p->children[k]);
    }
}

/* ---- rows ---- */

sluice_status edge_rows_create(uint32_t n_columns, const struct type *const *types,
                               struct edge_rows **out, struct sluice_error *err)
{
    struct edge_rows *rows = calloc(1, sizeof *rows + n_columns * sizeof rows->piles[0]);
    bool ok = rows != NULL;

    *out = NULL;
    for (uint32_t k = 0; ok && k < n_columns; k++) {
        rows->n++;
        ok = pile_init(&rows->piles[k], types[k]);
    }
    if (!ok) {
        edge_rows_destroy(rows);
        return error_nomem(err, "rows to store");
    }
    *out = rows;
    return SLUICE_OK;
}

void edge_rows_destroy(struct edge_rows *rows)
{
    if (rows != NULL) {
        for (uint32_t k = 0; k < rows->n; k++) {
            pile_deinit(&rows->piles[k]);
        }
        free(rows);
    }
}

int64_t edge_rows_length(const struct edge_rows *rows)
{
    return rows->length;
}

uint64_t edge_rows_memory(const struct edge_rows *rows)
{
    uint64_t memory = 0;

    for (uint32_t k = 0; k < rows->n; k++) {
        memory += pile_memory(&rows->piles[k]);
    }
    return memory;
}

sluice_status edge_rows_add(struct edge_rows *rows, const struct ArrowArray *const *arrays,
                            const uint32_t *selection, int64_t first, int64_t n,
                            struct sluice_error *err)
{
    for (uint32_t k = 0; k < rows->n; k++) {
        if (!pile_add(&rows->piles[k], arrays[k], selection, first, n)) {
            return error_nomem(err, "rows to store");
        }
    }
    rows->length += n;
    return SLUICE_OK;
}

sluice_status edge_rows_batch(struct edge_rows *rows, struct batch **out, struct sluice_error *err)
{
    struct draft draft;

    draft_init(&draft, rows->n);
    for (uint32_t k = 0; draft_ok(&draft) && k < rows->n; k++) {
        struct ArrowArray view;
        pile_view(&rows->piles[k]);
        view = rows->piles[k].view;
        draft_move(&draft, k, &view);
    }
    return draft_end(&draft, rows->length, out, err);
}

void edge_rows_clear(struct edge_rows *rows)
{
    bool large = edge_rows_memory(rows) > KEPT_MAX;

    rows->length = 0;
    for (uint32_t k = 0; k < rows->n; k++) {
        pile_clear(&rows->piles[k]);
        if (large) {
            pile_release(&rows->piles[k]);
        }
    }
}

/* ---- helpers ---- */

static void fixed_release(struct ArrowArray *array)
{
    free((void *)(uintptr_t)array->buffers[1]);
    free(array->buffers);
    array->release = NULL;
}

sluice_status edge_array_fixed(void *values, int64_t n, struct ArrowArray *out,
                               struct sluice_error *err)
{
    const void **buffers = calloc(2, sizeof *buffers);

    memset(out, 0, sizeof *out);
    if (buffers == NULL || values == NULL) {
        free(buffers);
        free(values);
        return error_nomem(err, "a column");
    }
    buffers[1] = values;
    out->length = n;
    out->n_buffers = 2;
    out->buffers = buffers;
    out->release = fixed_release;
    return SLUICE_OK;
}

const struct type **edge_types(const struct schema *schema)
{
    const struct type **types = calloc((size_t)schema->n + 1, sizeof *types);

    for (uint32_t k = 0; types != NULL && k < schema->n; k++) {
        types[k] = schema->fields[k].type;
    }
    return types;
}

int32_t edge_find_word(const struct schema *schema, const char *name)
{
    int32_t k = schema_find(schema, name);

    return k >= 0 && schema->fields[k].type->kind == TYPE_UINT64 ? k : -1;
}
