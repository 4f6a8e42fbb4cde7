/* Column builders: see builder.h. One struct serves all kinds; children of nested types are
 * builders inside their parent. Whole runs of rows are builder_rows.c's. */
#include "data/builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/builderInt.h"

/* ---- making ---- */

static void deinit(struct builder *b)
{
    free(b->validity);
    free(b->values);
    free(b->offsets);
    for (uint32_t k = 0; k < b->n_children; k++) {
        deinit(&b->children[k]);
    }
    free(b->children);
    free(b->views);
}

static bool init(struct builder *b, const struct type *type)
{
    *b = (struct builder){ 0 };
    b->type = type;
    b->kind = type->kind;
    b->width = type_width(type);
    b->limit = INT32_MAX;
    if (type->n_children == 0) {
        return true;
    }
    b->children = calloc(type->n_children, sizeof *b->children);
    b->views = calloc(type->n_children, sizeof(struct ArrowArray *));
    if (b->children == NULL || b->views == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        b->n_children++;
        b->views[k] = &b->children[k].view;
        if (!init(&b->children[k], type->children[k])) {
            return false;
        }
    }
    return true;
}

sluice_status builder_create(const struct type *type, struct builder **out,
                             struct sluice_error *err)
{
    struct builder *b;
    struct type *copy;

    *out = NULL;
    if (!type_supported(type)) {
        return error_set(
            err, SLUICE_E_SCHEMA,
            "found a column type with %s in it, expected one that stages take: convert it",
            type_words[type->kind].text);
    }
    copy = type_copy(type);
    b = copy == NULL ? NULL : malloc(sizeof *b);
    if (b == NULL) {
        type_destroy(copy);
        return error_nomem(err, "a column builder");
    }
    if (!init(b, copy)) {
        deinit(b);
        free(b);
        type_destroy(copy);
        return error_nomem(err, "a column builder");
    }
    b->owned = copy;
    *out = b;
    return SLUICE_OK;
}

void builder_destroy(struct builder *b)
{
    if (b != NULL) {
        deinit(b);
        type_destroy(b->owned);
        free(b);
    }
}

void builder_limit(struct builder *b, int32_t limit)
{
    b->limit = limit;
    for (uint32_t k = 0; k < b->n_children; k++) {
        builder_limit(&b->children[k], limit);
    }
}

int64_t builder_length(const struct builder *b)
{
    return b->length;
}

uint64_t builder_bytes(const struct builder *b)
{
    uint64_t rows = (uint64_t)b->length;
    uint64_t bytes = rows * b->width + b->bytes;

    bytes += b->kind == TYPE_BOOL ? (rows + 7) / 8 : 0;
    bytes += b->kind == TYPE_LIST || type_is_bytes(b->type) ? (rows + 1) * sizeof *b->offsets : 0;
    bytes += b->validity != NULL ? (rows + 7) / 8 : 0;
    for (uint32_t k = 0; k < b->n_children; k++) {
        bytes += builder_bytes(&b->children[k]);
    }
    return bytes;
}

uint64_t builder_memory(const struct builder *b)
{
    uint64_t rows = (uint64_t)b->capacity;
    uint64_t memory = rows * b->width + rows / 8 + b->bytes_capacity;

    memory += b->kind == TYPE_LIST || type_is_bytes(b->type) ? rows * sizeof *b->offsets : 0;
    for (uint32_t k = 0; k < b->n_children; k++) {
        memory += builder_memory(&b->children[k]);
    }
    return memory;
}

bool builder_full(const struct builder *b)
{
    bool full = b->full;

    for (uint32_t k = 0; k < b->n_children && !full; k++) {
        full = builder_full(&b->children[k]);
    }
    return full;
}

/* ---- room. Every buffer has ARRAY_PADDING bytes to spare, for finish to zero. ---- */

static bool resize(void *pointer, size_t bytes)
{
    void *old;
    void *made;

    memcpy(&old, pointer, sizeof old);
    made = realloc(old, bytes + ARRAY_PADDING);
    if (made == NULL) {
        return false;
    }
    memcpy(pointer, &made, sizeof made);
    return true;
}

bool builder_grow_rows(struct builder *b, int64_t extra)
{
    int64_t first = b->last_length < ROWS_FIRST ? ROWS_FIRST : b->last_length + b->last_length / 8;
    int64_t capacity = b->capacity == 0 ? first : b->capacity * 2;

    if (extra > b->limit - b->length) {
        b->full = true;
        return false;
    }
    while (capacity - b->length < extra) {
        capacity *= 2;
    }
    if (b->width > 0 && !resize(&b->values, (size_t)capacity * b->width)) {
        return false;
    }
    if (b->kind == TYPE_BOOL && !resize(&b->values, (size_t)(capacity + 7) / 8)) {
        return false;
    }
    if (b->kind == TYPE_LIST || type_is_bytes(b->type)) {
        bool made = b->offsets == NULL;
        if (!resize(&b->offsets, (size_t)(capacity + 1) * sizeof *b->offsets)) {
            return false;
        }
        if (made) {
            b->offsets[0] = 0;
        }
    }
    if (b->validity != NULL && !resize(&b->validity, (size_t)(capacity + 7) / 8)) {
        return false;
    }
    b->capacity = capacity;
    return true;
}

bool builder_grow_bytes(struct builder *b, size_t extra)
{
    size_t first = b->last_bytes < BYTES_FIRST ? BYTES_FIRST : b->last_bytes + b->last_bytes / 8;
    size_t capacity = b->bytes_capacity == 0 ? first : b->bytes_capacity * 2;

    if (extra > (size_t)b->limit - b->bytes) {
        b->full = true;
        return false;
    }
    while (capacity - b->bytes < extra) {
        capacity *= 2;
    }
    if (!resize(&b->values, capacity)) {
        return false;
    }
    b->bytes_capacity = capacity;
    return true;
}

/* The first null: all rows so far are valid. */
bool builder_start_validity(struct builder *b)
{
    if (!resize(&b->validity, (size_t)(b->capacity + 7) / 8)) {
        return false;
    }
    memset(b->validity, 0xFF, (size_t)(b->length + 7) / 8);
    return true;
}

/* Ends an append that wrote its value. */
static inline bool row_done(struct builder *b)
{
    if (b->validity != NULL) {
        bit_write(b->validity, b->length, true);
    }
    b->length++;
    return true;
}

/* ---- appending ---- */

void builder_drop_rows(struct builder *b, int64_t length)
{
    assert(length >= 0 && length <= b->length);
    for (int64_t i = length; length > 0 && b->validity != NULL && i < b->length; i++) {
        b->nulls -= (b->validity[i >> 3] >> (i & 7) & 1) == 0 ? 1 : 0;
    }
    b->nulls = length > 0 ? b->nulls : 0;
    b->length = length;
    if (type_is_bytes(b->type)) {
        b->bytes = b->offsets != NULL ? (size_t)b->offsets[length] : 0;
    } else if (b->kind == TYPE_LIST) {
        builder_drop_rows(&b->children[0], b->offsets != NULL ? b->offsets[length] : 0);
    } else if (b->kind == TYPE_STRUCT) {
        for (uint32_t k = 0; k < b->n_children; k++) {
            builder_drop_rows(&b->children[k], length);
        }
    }
}

bool builder_null(struct builder *b)
{
    if (!reserve_rows(b, 1) || (b->validity == NULL && !builder_start_validity(b))) {
        return false;
    }
    for (uint32_t k = 0; b->kind == TYPE_STRUCT && k < b->n_children; k++) {
        assert(b->children[k].length == b->length);
        if (!builder_null(&b->children[k])) {
            while (k-- > 0) {
                builder_drop_rows(&b->children[k], b->length);
            }
            return false;
        }
    }
    if (b->width > 0) {
        memset(b->values + (size_t)b->length * b->width, 0, b->width);
    } else if (b->kind == TYPE_BOOL) {
        bit_write((uint8_t *)b->values, b->length, false);
    } else if (b->offsets != NULL) {
        assert(b->kind != TYPE_LIST || b->children[0].length == b->offsets[b->length]);
        b->offsets[b->length + 1] = b->offsets[b->length];
    }
    bit_write(b->validity, b->length, false);
    b->length++;
    b->nulls++;
    return true;
}

bool builder_bool(struct builder *b, bool value)
{
    assert(b->kind == TYPE_BOOL);
    if (!reserve_rows(b, 1)) {
        return false;
    }
    bit_write((uint8_t *)b->values, b->length, value);
    return row_done(b);
}

/* Stores the low bytes of a value; little-endian. */
static inline bool append_word(struct builder *b, uint64_t value)
{
    char *at;

    if (!reserve_rows(b, 1)) {
        return false;
    }
    at = b->values + (size_t)b->length * b->width;
    switch (b->width) {
    case 8:
        memcpy(at, &value, 8);
        break;
    case 4:
        memcpy(at, &value, 4);
        break;
    case 2:
        memcpy(at, &value, 2);
        break;
    default:
        memcpy(at, &value, 1);
        break;
    }
    return row_done(b);
}

bool builder_int(struct builder *b, int64_t value)
{
    assert(b->kind >= TYPE_INT8 && b->kind <= TYPE_INT64);
    return append_word(b, (uint64_t)value);
}

bool builder_uint(struct builder *b, uint64_t value)
{
    assert(b->kind >= TYPE_UINT8 && b->kind <= TYPE_UINT64);
    return append_word(b, value);
}

bool builder_float(struct builder *b, double value)
{
    uint64_t word = 0;

    assert(b->kind == TYPE_FLOAT32 || b->kind == TYPE_FLOAT64);
    if (b->kind == TYPE_FLOAT32) {
        float narrow = (float)value;
        memcpy(&word, &narrow, sizeof narrow);
    } else {
        memcpy(&word, &value, sizeof value);
    }
    return append_word(b, word);
}

/* n values of a fixed-width kind, none of them null. */
static bool append_fixed(struct builder *b, const void *values, size_t n)
{
    if (n > INT32_MAX || !reserve_rows(b, (int64_t)n)) {
        b->full = b->full || n > INT32_MAX;
        return false;
    }
    if (n > 0) {
        memcpy(b->values + (size_t)b->length * b->width, values, n * b->width);
    }
    for (size_t i = 0; b->validity != NULL && i < n; i++) {
        bit_write(b->validity, b->length + (int64_t)i, true);
    }
    b->length += (int64_t)n;
    return true;
}

bool builder_bytes_add(struct builder *b, const void *data, size_t n)
{
    if (b->kind == TYPE_FIXED) {
        assert(n == b->width);
        return append_fixed(b, data, 1);
    }
    assert(type_is_bytes(b->type));
    if (!reserve_rows(b, 1) || !reserve_bytes(b, n)) {
        return false;
    }
    if (n > 0) {
        memcpy(b->values + b->bytes, data, n);
    }
    b->bytes += n;
    b->offsets[b->length + 1] = (int32_t)b->bytes;
    return row_done(b);
}

struct builder *builder_child(struct builder *b, uint32_t k)
{
    assert(k < b->n_children);
    return &b->children[k];
}

bool builder_close(struct builder *b)
{
    assert(b->kind == TYPE_LIST || b->kind == TYPE_STRUCT);
    if (!reserve_rows(b, 1)) {
        return false;
    }
    if (b->kind == TYPE_LIST) {
        b->offsets[b->length + 1] = (int32_t)b->children[0].length;
    }
    for (uint32_t k = 0; b->kind == TYPE_STRUCT && k < b->n_children; k++) {
        assert(b->children[k].length == b->length + 1);
    }
    return row_done(b);
}

bool builder_list_fixed(struct builder *b, const void *items, size_t n)
{
    struct builder *child = &b->children[0];

    assert(b->kind == TYPE_LIST && child->width > 0);
    if (!reserve_rows(b, 1) || !append_fixed(child, items, n)) {
        return false;
    }
    return builder_close(b);
}

static void clear_full(struct builder *b)
{
    b->full = false;
    for (uint32_t k = 0; k < b->n_children; k++) {
        clear_full(&b->children[k]);
    }
}

void builder_truncate(struct builder *b, int64_t length)
{
    builder_drop_rows(b, length);
    clear_full(b);
}

void builder_release(struct builder *b)
{
    free(b->validity);
    free(b->values);
    free(b->offsets);
    b->validity = NULL;
    b->values = NULL;
    b->offsets = NULL;
    b->capacity = 0;
    b->bytes_capacity = 0;
    b->length = 0;
    b->nulls = 0;
    b->bytes = 0;
    b->full = false;
    for (uint32_t k = 0; k < b->n_children; k++) {
        builder_release(&b->children[k]);
    }
}

/* ---- finishing ---- */

/* Everything that can fail: empty buffers and the skeletons of the arrays. */
static bool finish_prepare(struct builder *b, struct ArrowArray *out)
{
    if ((b->kind != TYPE_STRUCT && b->capacity == 0 && !builder_grow_rows(b, 0)) ||
        (type_is_bytes(b->type) && b->bytes_capacity == 0 && !builder_grow_bytes(b, 0)) ||
        !array_init(out, b->type, b->length)) {
        return false;
    }
    for (uint32_t k = 0; k < b->n_children; k++) {
        if (!finish_prepare(&b->children[k], out->children[k])) {
            return false;
        }
    }
    return true;
}

/* Moves a buffer of `used` bytes, zeroing its padding and giving back much unused room. */
static void finish_buffer(struct ArrowArray *out, int k, void *buffer, size_t used, size_t capacity)
{
    if (capacity - used > used / 4 + 4096) {
        void *less = realloc(buffer, used + ARRAY_PADDING);
        buffer = less != NULL ? less : buffer;
    }
    memset((char *)buffer + used, 0, ARRAY_PADDING);
    array_own(out, k, buffer);
}

static void finish_move(struct builder *b, struct ArrowArray *out)
{
    size_t rows = (size_t)b->length;
    size_t capacity = (size_t)b->capacity;
    size_t bits = (rows + 7) / 8;

    if (b->nulls > 0) {
        /* Bits behind the last row are zero: equal columns are equal bytes, and frames store
         * whole ones. */
        if ((rows & 7) != 0) {
            b->validity[bits - 1] = (uint8_t)(b->validity[bits - 1] & ((1u << (rows & 7)) - 1));
        }
        finish_buffer(out, 0, b->validity, bits, (capacity + 7) / 8);
    } else {
        free(b->validity);
    }
    out->null_count = b->nulls;
    if (b->kind == TYPE_BOOL) {
        if ((rows & 7) != 0) {
            b->values[bits - 1] =
                (char)((unsigned char)b->values[bits - 1] & ((1u << (rows & 7)) - 1));
        }
        finish_buffer(out, 1, b->values, bits, (capacity + 7) / 8);
    } else if (b->width > 0) {
        finish_buffer(out, 1, b->values, rows * b->width, capacity * b->width);
    } else if (b->kind != TYPE_STRUCT) {
        finish_buffer(out, 1, b->offsets, (rows + 1) * sizeof *b->offsets,
                      (capacity + 1) * sizeof *b->offsets);
        if (b->kind != TYPE_LIST) {
            finish_buffer(out, 2, b->values, b->bytes, b->bytes_capacity);
        }
    }
    b->validity = NULL;
    b->values = NULL;
    b->offsets = NULL;
    b->last_length = b->length;
    b->last_bytes = b->bytes;
    b->length = 0;
    b->capacity = 0;
    b->nulls = 0;
    b->bytes = 0;
    b->bytes_capacity = 0;
    for (uint32_t k = 0; k < b->n_children; k++) {
        finish_move(&b->children[k], out->children[k]);
    }
}

sluice_status builder_finish(struct builder *b, struct ArrowArray *out, struct sluice_error *err)
{
    builder_truncate(b, b->length);
    memset(out, 0, sizeof *out);
    if (!finish_prepare(b, out)) {
        array_release(out);
        return error_nomem(err, "a column");
    }
    finish_move(b, out);
    return SLUICE_OK;
}

sluice_status builder_column(struct builder *builder, struct column **out, struct sluice_error *err)
{
    struct ArrowArray array;

    *out = NULL;
    TRY(builder_finish(builder, &array, err));
    *out = column_create(&array);
    return *out == NULL ? error_nomem(err, "a column") : SLUICE_OK;
}

sluice_status array_struct(struct ArrowArray *out, int64_t length, uint32_t n,
                           struct ArrowArray *children, struct sluice_error *err)
{
    const struct type type = { .kind = TYPE_STRUCT, .n_children = n };

    if (!array_init(out, &type, length)) {
        for (uint32_t k = 0; k < n; k++) {
            array_release(&children[k]);
        }
        return error_nomem(err, "a batch");
    }
    for (uint32_t k = 0; k < n; k++) {
        assert(children[k].length == length);
        *out->children[k] = children[k];
        children[k].release = NULL;
    }
    return SLUICE_OK;
}
