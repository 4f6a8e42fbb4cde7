/* Copying rows of arrays: the kernels and the gather. See columnInt.h. */
#include <assert.h>
#include <string.h>

#include "data/columnInt.h"

static inline void bit_set(uint8_t *bits, int64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1u << (i & 7));
}

/* Sets n bits from `at` on; they are 0 before. */
static void bits_fill(uint8_t *dst, int64_t at, int64_t n)
{
    int64_t end = at + n;

    while (at < end && (at & 7) != 0) {
        bit_set(dst, at++);
    }
    if (end - at >= 8) {
        memset(dst + (at >> 3), 0xFF, (size_t)((end - at) >> 3));
        at += (end - at) & ~INT64_C(7);
    }
    while (at < end) {
        bit_set(dst, at++);
    }
}

/* Copies n bits to `at` on, which are 0 before. */
static void bits_move(uint8_t *dst, int64_t at, const uint8_t *src, int64_t from, int64_t n)
{
    int64_t end = at + n;
    int shift;

    while (at < end && (at & 7) != 0) {
        if ((src[from >> 3] >> (from & 7) & 1) != 0) {
            bit_set(dst, at);
        }
        at++;
        from++;
    }
    shift = (int)(from & 7);
    if (shift == 0 && end - at >= 8) {
        memcpy(dst + (at >> 3), src + (from >> 3), (size_t)((end - at) >> 3));
        from += (end - at) & ~INT64_C(7);
        at += (end - at) & ~INT64_C(7);
    }
    while (end - at >= 8) {
        dst[at >> 3] = (uint8_t)(src[from >> 3] >> shift | src[(from >> 3) + 1] << (8 - shift));
        at += 8;
        from += 8;
    }
    while (at < end) {
        if ((src[from >> 3] >> (from & 7) & 1) != 0) {
            bit_set(dst, at);
        }
        at++;
        from++;
    }
}

void copy_validity(uint8_t *dst, const struct runs *runs)
{
    int64_t at = 0;

    memset(dst, 0, (size_t)((runs->rows + 7) / 8));
    for (size_t k = 0; k < runs->n; k++) {
        if (runs->items[k].start != RUN_NULL) {
            bits_fill(dst, at, runs->items[k].n);
        }
        at += runs->items[k].n;
    }
}

void copy_bits(uint8_t *dst, const struct runs *runs, const struct ArrowArray *a)
{
    int64_t at = 0;

    memset(dst, 0, (size_t)((runs->rows + 7) / 8));
    for (size_t k = 0; k < runs->n; k++) {
        const struct run *run = &runs->items[k];
        if (run->start != RUN_NULL) {
            bits_move(dst, at, a->buffers[1], a->offset + run->start, run->n);
        }
        at += run->n;
    }
}

/* Copies bytes, a constant 32 of them when the room on both sides allows: short runs are the
 * rule under a selection, and branches on their lengths are not predicted. */
static inline void copy_short(char *dst, const char *dst_end, const char *src, const char *src_end,
                              size_t bytes)
{
    if (bytes <= 32 && dst_end - dst >= 32 && src_end - src >= 32) {
        memcpy(dst, src, 32);
    } else if (bytes > 0) {
        memcpy(dst, src, bytes);
    }
}

void copy_fixed(char *dst, const struct runs *runs, const struct ArrowArray *a, size_t width)
{
    const char *end = dst + (size_t)runs->rows * width;
    const char *src = a != NULL ? a->buffers[1] : NULL;
    const char *src_end =
        a != NULL && a->length > 0 ? src + (size_t)(a->offset + a->length) * width : src;

    for (size_t k = 0; k < runs->n; k++) {
        const struct run *run = &runs->items[k];
        size_t bytes = run->n * width;
        if (run->start == RUN_NULL) {
            memset(dst, 0, bytes);
        } else {
            copy_short(dst, end, src + (size_t)(a->offset + run->start) * width, src_end, bytes);
        }
        dst += bytes;
    }
}

/* Offsets of utf8/binary/list rows, beginning with 0: rows + 1 of them. Returns the last, or -1
 * when it would pass INT32_MAX. */
static int64_t copy_offsets(int32_t *dst, const struct runs *runs, const struct ArrowArray *a)
{
    int64_t total = 0;

    *dst++ = 0;
    for (size_t k = 0; k < runs->n; k++) {
        const struct run *run = &runs->items[k];
        if (run->start == RUN_NULL) {
            for (uint32_t i = 0; i < run->n; i++) {
                dst[i] = (int32_t)total;
            }
        } else {
            const int32_t *offsets = (const int32_t *)a->buffers[1] + a->offset + run->start;
            int64_t bytes = (int64_t)offsets[run->n] - offsets[0];
            uint32_t delta = (uint32_t)total - (uint32_t)offsets[0];
            if (total + bytes > INT32_MAX) {
                return -1;
            }
            for (uint32_t i = 0; i < run->n; i++) {
                dst[i] = (int32_t)((uint32_t)offsets[i + 1] + delta);
            }
            total += bytes;
        }
        dst += run->n;
    }
    return total;
}

int64_t copy_lengths(int32_t *dst, const struct runs *runs, const struct ArrowArray *a)
{
    int64_t total = 0;

    *dst++ = 0;
    for (size_t k = 0; k < runs->n; k++) {
        const struct run *run = &runs->items[k];
        if (run->start == RUN_NULL) {
            memset(dst, 0, run->n * sizeof *dst);
        } else {
            const int32_t *offsets = (const int32_t *)a->buffers[1] + a->offset + run->start;
            for (uint32_t i = 0; i < run->n; i++) {
                dst[i] = offsets[i + 1] - offsets[i];
            }
            total += (int64_t)offsets[run->n] - offsets[0];
            if (total > INT32_MAX) {
                return -1;
            }
        }
        dst += run->n;
    }
    return total;
}

void copy_bytes(char *dst, size_t total, const struct runs *runs, const struct ArrowArray *a)
{
    const char *end = dst + total;
    const char *src = a != NULL ? a->buffers[2] : NULL;
    const char *src_end = src;

    if (a != NULL && a->length > 0 && src != NULL) {
        src_end = src + ((const int32_t *)a->buffers[1])[a->offset + a->length];
    }
    for (size_t k = 0; k < runs->n; k++) {
        const struct run *run = &runs->items[k];
        if (run->start != RUN_NULL) {
            const int32_t *offsets = (const int32_t *)a->buffers[1] + a->offset + run->start;
            size_t bytes = (size_t)((int64_t)offsets[run->n] - offsets[0]);
            if (bytes > 0) {
                copy_short(dst, end, src + offsets[0], src_end, bytes);
            }
            dst += bytes;
        }
    }
}

static sluice_status too_large(const struct type *type, struct sluice_error *err)
{
    return error_set(
        err, SLUICE_E_DATA,
        "a gathered column holds more than %d %s, the most a column can: use smaller batches",
        INT32_MAX, type->kind == TYPE_LIST ? "list items" : "bytes");
}

/* Fills the buffers of *out, which array_init made; children are filled by gather_children. */
static sluice_status gather_values(const struct ArrowArray *a, const struct type *type,
                                   const struct runs *runs, struct ArrowArray *out,
                                   struct sluice_error *err)
{
    size_t rows = (size_t)runs->rows;
    size_t width = type_width(type);

    if (runs->nulls > 0) {
        uint8_t *validity = array_alloc(out, 0, (rows + 7) / 8);
        if (validity == NULL) {
            return error_nomem(err, "a column");
        }
        copy_validity(validity, runs);
        out->null_count = runs->nulls;
    }
    if (type->kind == TYPE_BOOL) {
        uint8_t *bits = array_alloc(out, 1, (rows + 7) / 8);
        if (bits == NULL) {
            return error_nomem(err, "a column");
        }
        copy_bits(bits, runs, a);
    } else if (width > 0) {
        char *values = array_alloc(out, 1, rows * width);
        if (values == NULL) {
            return error_nomem(err, "a column");
        }
        copy_fixed(values, runs, a, width);
    } else if (type_is_bytes(type) || type->kind == TYPE_LIST) {
        int32_t *offsets = array_alloc(out, 1, (rows + 1) * sizeof *offsets);
        int64_t total;
        if (offsets == NULL) {
            return error_nomem(err, "a column");
        }
        total = copy_offsets(offsets, runs, a);
        if (total < 0) {
            return too_large(type, err);
        }
        if (type_is_bytes(type)) {
            char *bytes = array_alloc(out, 2, (size_t)total);
            if (bytes == NULL) {
                return error_nomem(err, "a column");
            }
            copy_bytes(bytes, (size_t)total, runs, a);
        }
    }
    return SLUICE_OK;
}

static sluice_status gather_children(const struct ArrowArray *a, const struct type *type,
                                     const struct runs *runs, struct ArrowArray *out,
                                     struct sluice_error *err)
{
    struct runs made = { 0 };
    sluice_status status = SLUICE_OK;

    if (type->kind == TYPE_LIST) {
        status = runs_of_items(&made, runs, a) ? SLUICE_OK : error_nomem(err, "a column");
        runs = &made;
    } else if (type->kind == TYPE_STRUCT && a != NULL && a->offset != 0) {
        status = runs_of_members(&made, runs, a) ? SLUICE_OK : error_nomem(err, "a column");
        runs = &made;
    }
    for (uint32_t k = 0; k < type->n_children && status == SLUICE_OK; k++) {
        status = array_gather(a != NULL ? a->children[k] : NULL, type->children[k], runs,
                              out->children[k], err);
    }
    runs_deinit(&made);
    return status;
}

sluice_status array_gather(const struct ArrowArray *a, const struct type *type,
                           const struct runs *runs, struct ArrowArray *out,
                           struct sluice_error *err)
{
    struct runs split = { 0 };
    sluice_status status;

    assert(type_supported(type));
    if (array_has_validity(a)) {
        if (!runs_split(&split, runs, a)) {
            runs_deinit(&split);
            return error_nomem(err, "a column");
        }
        runs = &split;
    }
    if (!array_init(out, type, runs->rows)) {
        runs_deinit(&split);
        return error_nomem(err, "a column");
    }
    status = gather_values(a, type, runs, out, err);
    if (status == SLUICE_OK) {
        status = gather_children(a, type, runs, out, err);
    }
    if (status != SLUICE_OK) {
        array_release(out);
    }
    runs_deinit(&split);
    return status;
}
