/* sluice_arrays.h - views and makers of Arrow arrays for plugins. Header-only C11/C++17; needs libc
 * only.
 *
 * Owns nothing. Views read what process() is given; makers hand over what emit->batch() takes.
 *
 * Thread rule: every function works on its arguments alone and keeps no state.
 *
 * Views. `a` is a child of batch->array (never NULL), of the type that the stage asked for with
 * plan->need, and `row` one of its rows: 0 <= row < a->length. Offsets of what the host hands over
 * are 0. What they return is borrowed until process returns. A view of the wrong type reads memory
 * that is not there: ask for the type you view.
 *
 * Memory. struct sluice_bytes is a growable buffer; { 0 } is an empty one. Functions that can run
 * out of memory return 0 then (and 1 otherwise), and leave the buffer as it was: go on to
 * sluice_bytes_free and return SLUICE_E_NOMEM.
 *
 * Makers *take* the buffers and arrays they are given, also when they fail: the arguments are empty
 * afterwards, so that freeing them again is harmless. On SLUICE_OK *out owns everything and
 * emit->batch takes it from there; on SLUICE_E_NOMEM *out is not to be used.
 *
 * Callers of foreign functions: each function here exists under the same name and signature in
 * libsluice-sdk.so. */
#ifndef SLUICE_ARRAYS_H
#define SLUICE_ARRAYS_H

#include <stdlib.h>
#include <string.h>

#include "sluice.h"
#include "sluice_hidden.h"

#ifndef SLUICE_INLINE /* sluice_ffi.c makes them functions of a library */
#define SLUICE_INLINE static inline __attribute__((unused))
#endif

/* ---- views ---- */

/* 1 when the row is null, else 0. */
SLUICE_INLINE int sluice_is_null(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *validity =
        a->n_buffers > 0 && a->null_count != 0 ? (const uint8_t *)a->buffers[0] : NULL;
    return validity != NULL && (validity[row >> 3] >> (row & 7) & 1) == 0;
}

/* A value of a utf8, binary or json column and its length in bytes in *n; a null is "" of length 0.
 * Not NUL-terminated. */
SLUICE_INLINE const char *sluice_text(const struct ArrowArray *a, int64_t row, size_t *n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    const char *data = (const char *)a->buffers[2];
    if (sluice_is_null(a, row)) {
        *n = 0;
        return "";
    }
    *n = (size_t)(offsets[row + 1] - offsets[row]);
    return *n > 0 ? data + offsets[row] : "";
}

/* A value of a 64-bit column; what stands below a null is undefined (ask sluice_is_null first).
 * bool columns are bits. */
SLUICE_INLINE int64_t sluice_int64(const struct ArrowArray *a, int64_t row)
{
    return ((const int64_t *)a->buffers[1])[row];
}
SLUICE_INLINE uint64_t sluice_uint64(const struct ArrowArray *a, int64_t row)
{
    return ((const uint64_t *)a->buffers[1])[row];
}
SLUICE_INLINE double sluice_float64(const struct ArrowArray *a, int64_t row)
{
    return ((const double *)a->buffers[1])[row];
}
SLUICE_INLINE int sluice_bool(const struct ArrowArray *a, int64_t row)
{
    return ((const uint8_t *)a->buffers[1])[row >> 3] >> (row & 7) & 1;
}

/* Items of a list<uint64> (also spans: begin | end << 32), list<uint32> or list<uint8> row, *n of
 * them; a null has none. */
SLUICE_INLINE const uint64_t *sluice_list_u64(const struct ArrowArray *a, int64_t row, size_t *n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    *n = sluice_is_null(a, row) ? 0 : (size_t)(offsets[row + 1] - offsets[row]);
    return (const uint64_t *)a->children[0]->buffers[1] + offsets[row];
}
SLUICE_INLINE const uint32_t *sluice_list_u32(const struct ArrowArray *a, int64_t row, size_t *n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    *n = sluice_is_null(a, row) ? 0 : (size_t)(offsets[row + 1] - offsets[row]);
    return (const uint32_t *)a->children[0]->buffers[1] + offsets[row];
}
SLUICE_INLINE const uint8_t *sluice_list_u8(const struct ArrowArray *a, int64_t row, size_t *n)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1];
    *n = sluice_is_null(a, row) ? 0 : (size_t)(offsets[row + 1] - offsets[row]);
    return (const uint8_t *)a->children[0]->buffers[1] + offsets[row];
}

/* The row of the k-th selected row of a batch, 0 <= k < batch->n: what views take. */
SLUICE_INLINE int64_t sluice_row(const struct sluice_batch *batch, int64_t k)
{
    return batch->rows != NULL ? (int64_t)batch->rows[k] : k;
}

/* A number in the metadata of a needed column (vocab_size, eos: see tokenize), in prepare; `absent`
 * when there is none or it is no decimal number below 2^53. */
SLUICE_INLINE uint64_t sluice_metadata_number(struct sluice_plan *plan, uint32_t port,
                                              int32_t index, const char *key, uint64_t absent)
{
    const char *text = plan->metadata(plan, port, index, key);
    uint64_t value = 0;
    if (text == NULL || text[0] == '\0') {
        return absent;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value >= ((uint64_t)1 << 53) / 10) {
            return absent;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    return value;
}

/* ---- memory ---- */

struct sluice_bytes {
    char *data; /* owned, from malloc; NULL while nothing was added */
    uint64_t size, capacity;
};

/* Room for n more bytes and SLUICE_PADDING readable ones behind them. */
SLUICE_INLINE int sluice_bytes_reserve(struct sluice_bytes *b, uint64_t n)
{
    uint64_t need = b->size + n + SLUICE_PADDING;
    uint64_t capacity = b->capacity < 256 ? 256 : b->capacity;
    char *data;
    if (n > UINT64_MAX / 4 || need > UINT64_MAX / 4 || need > SIZE_MAX) {
        return 0;
    }
    if (need <= b->capacity) {
        return 1;
    }
    while (capacity < need) {
        capacity += capacity / 2;
    }
    data = (char *)realloc(b->data, (size_t)capacity);
    if (data == NULL) {
        return 0;
    }
    b->data = data;
    b->capacity = capacity;
    return 1;
}

/* Appends n bytes. data may be NULL when n is 0. */
SLUICE_INLINE int sluice_bytes_add(struct sluice_bytes *b, const void *data, uint64_t n)
{
    if (!sluice_bytes_reserve(b, n)) {
        return 0;
    }
    if (n > 0) {
        memcpy(b->data + b->size, data, (size_t)n);
    }
    b->size += n;
    return 1;
}

/* Frees and empties; fine for one that is empty. */
SLUICE_INLINE void sluice_bytes_free(struct sluice_bytes *b)
{
    free(b->data);
    b->data = NULL;
    b->size = b->capacity = 0;
}

/* Appends a bit, as validity buffers (1 = there, 0 = null) and bool columns want them: `row` counts
 * from 0 without gaps. */
SLUICE_INLINE int sluice_bytes_add_bit(struct sluice_bytes *b, int64_t row, int bit)
{
    uint8_t zero = 0;
    if ((row & 7) == 0 && !sluice_bytes_add(b, &zero, 1)) {
        return 0;
    }
    if (bit) {
        b->data[row >> 3] = (char)((uint8_t)b->data[row >> 3] | (uint8_t)(1u << (row & 7)));
    }
    return 1;
}

/* Appends one value of a text column: its bytes, and the offset behind them (the first time also
 * the 0 in front). Also 0 when the column would hold more than 2 GiB: emit what is there, and go on
 * with a new one. */
SLUICE_INLINE int sluice_bytes_add_text(struct sluice_bytes *offsets, struct sluice_bytes *data,
                                        const char *text, uint64_t n)
{
    int32_t end = 0;
    if (n > INT32_MAX || data->size + n > INT32_MAX ||
        !sluice_bytes_reserve(offsets, 2 * sizeof end) || !sluice_bytes_add(data, text, n)) {
        return 0;
    }
    if (offsets->size == 0) {
        sluice_bytes_add(offsets, &end, sizeof end);
    }
    end = (int32_t)data->size;
    return sluice_bytes_add(offsets, &end, sizeof end);
}

/* ---- makers ---- */

/* What a made array's private_data points to. */
struct sluice_array_memory {
    const void *buffers[3];
    struct ArrowArray *children[1];
};

/* The release function of what makers make: frees buffers, children and itself. Plugins need not
 * call it. */
SLUICE_INLINE void sluice_array_release(struct ArrowArray *a)
{
    int64_t i;
    for (i = 0; i < a->n_buffers; i++) {
        free((void *)(uintptr_t)a->buffers[i]);
    }
    for (i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL) {
            a->children[i]->release(a->children[i]);
        }
        free(a->children[i]);
    }
    if (a->n_children > 1 || (a->n_children == 1 && a->n_buffers == 1)) {
        free(a->children);
    }
    free(a->private_data);
    a->release = NULL;
}

/* An array of up to three buffers (each taken; a NULL data is an empty buffer, or no validity for
 * the first). */
SLUICE_INLINE sluice_status sluice_make(struct ArrowArray *out, int64_t n, int64_t nulls,
                                        int n_buffers, struct sluice_bytes *b0,
                                        struct sluice_bytes *b1, struct sluice_bytes *b2)
{
    struct sluice_bytes *all[3];
    struct sluice_array_memory *memory = (struct sluice_array_memory *)calloc(1, sizeof *memory);
    uint64_t zero = 0; /* no rows still have one offset */
    int i;
    all[0] = b0;
    all[1] = b1;
    all[2] = b2;
    memset(out, 0, sizeof *out);
    for (i = 0; i < n_buffers; i++) {
        if (memory != NULL && all[i] != NULL &&
            (all[i]->data != NULL || (i > 0 && sluice_bytes_add(all[i], &zero, sizeof zero)))) {
            memory->buffers[i] = all[i]->data;
            all[i]->data = NULL;
        }
        if (memory != NULL && i > 0 && memory->buffers[i] == NULL) {
            int k;
            for (k = 0; k < i; k++) {
                free((void *)(uintptr_t)memory->buffers[k]);
            }
            free(memory);
            memory = NULL;
        }
        if (all[i] != NULL) {
            sluice_bytes_free(all[i]);
        }
    }
    if (memory == NULL) {
        return SLUICE_E_NOMEM;
    }
    out->length = n;
    out->null_count = nulls;
    out->n_buffers = n_buffers;
    out->buffers = memory->buffers;
    out->children = memory->children;
    out->private_data = memory;
    out->release = sluice_array_release;
    return SLUICE_OK;
}

/* n fixed-width values (ints, floats, fixed[N]; bool: n bits); validity may be NULL (no nulls),
 * else it has n bits and `nulls` of them are 0. */
SLUICE_INLINE sluice_status sluice_make_fixed(struct ArrowArray *out, int64_t n,
                                              struct sluice_bytes *values,
                                              struct sluice_bytes *validity, int64_t nulls)
{
    return sluice_make(out, n, nulls, 2, validity, values, NULL);
}

/* n values of utf8, binary or json: n + 1 int32 offsets and the bytes (see sluice_bytes_add_text).
 * No row yet: offsets may be empty when n is 0. */
SLUICE_INLINE sluice_status sluice_make_text(struct ArrowArray *out, int64_t n,
                                             struct sluice_bytes *offsets,
                                             struct sluice_bytes *data,
                                             struct sluice_bytes *validity, int64_t nulls)
{
    return sluice_make(out, n, nulls, 3, validity, offsets, data);
}

/* n lists without nulls: n + 1 int32 offsets that count items, and the items, of a fixed width
 * (n_items of them). */
SLUICE_INLINE sluice_status sluice_make_list(struct ArrowArray *out, int64_t n,
                                             struct sluice_bytes *offsets,
                                             struct sluice_bytes *items, int64_t n_items)
{
    struct ArrowArray *child = (struct ArrowArray *)calloc(1, sizeof *child);
    sluice_status status =
        child == NULL ? SLUICE_E_NOMEM : sluice_make_fixed(child, n_items, items, NULL, 0);
    if (status != SLUICE_OK) {
        free(child);
        sluice_bytes_free(offsets);
        sluice_bytes_free(items);
        return status;
    }
    status = sluice_make(out, n, 0, 2, NULL, offsets, NULL);
    if (status != SLUICE_OK) {
        child->release(child);
        free(child);
        return status;
    }
    out->n_children = 1;
    out->children[0] = child;
    return SLUICE_OK;
}

/* The struct array of n rows that emit->batch takes, from n_children arrays of n rows in the order
 * of plan->add; they are moved into it (an array of ArrowArray, whose release is NULL
 * afterwards). */
SLUICE_INLINE sluice_status sluice_make_struct(struct ArrowArray *out, int64_t n,
                                               int64_t n_children, struct ArrowArray *children)
{
    struct sluice_array_memory *memory = (struct sluice_array_memory *)calloc(1, sizeof *memory);
    struct ArrowArray **list = (struct ArrowArray **)calloc((size_t)n_children + 1, sizeof *list);
    int64_t i;
    int failed = memory == NULL || list == NULL;
    for (i = 0; !failed && i < n_children; i++) {
        list[i] = (struct ArrowArray *)malloc(sizeof **list);
        failed = list[i] == NULL;
        if (!failed) {
            *list[i] = children[i];
            children[i].release = NULL;
        }
    }
    if (failed) {
        for (i = 0; i < n_children; i++) {
            if (children[i].release != NULL) {
                children[i].release(&children[i]);
            }
            if (list != NULL && list[i] != NULL) {
                list[i]->release(list[i]);
                free(list[i]);
            }
        }
        free(list);
        free(memory);
        return SLUICE_E_NOMEM;
    }
    memset(out, 0, sizeof *out);
    out->length = n;
    out->n_buffers = 1;
    out->buffers = memory->buffers;
    out->n_children = n_children;
    out->children = list;
    out->private_data = memory;
    out->release = sluice_array_release;
    if (n_children == 0) {
        free(list);
        out->children = memory->children;
    }
    return SLUICE_OK;
}

/* Fills *err (NULL is fine) and returns code, so that `return sluice_fail(err, ...)` reads well.
 * field: the option or column at fault or "". message: what was found, what was expected, what to
 * do; both are cut to what fits, and copied. */
SLUICE_INLINE sluice_status sluice_fail(struct sluice_error *err, sluice_status code,
                                        const char *field, const char *message)
{
    if (err != NULL) {
        size_t n =
            strlen(message) < sizeof err->message - 1 ? strlen(message) : sizeof err->message - 1;
        size_t f = strlen(field) < sizeof err->field - 1 ? strlen(field) : sizeof err->field - 1;
        err->code = code;
        err->row = -1;
        memcpy(err->field, field, f);
        err->field[f] = '\0';
        memcpy(err->message, message, n);
        err->message[n] = '\0';
    }
    return code;
}

#endif
