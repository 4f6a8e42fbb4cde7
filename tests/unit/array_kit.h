/* For tests of core/data: pseudo-random arrays of any supported type, as awkward as the C Data
 * Interface allows (offsets everywhere, garbage behind nulls, buffers without a spare byte), and
 * the comparison of rows. Include after cmocka.h. */
#ifndef TESTS_UNIT_ARRAY_KIT_H
#define TESTS_UNIT_ARRAY_KIT_H

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/builder.h"
#include "data/column.h"
#include "data/schema.h"

/* Types that together have every supported kind, nested and nullable. */
static const char *const kit_types[] = {
    "bool",
    "bool?",
    "int8?",
    "int16",
    "int32?",
    "int64",
    "uint8",
    "uint16?",
    "uint32",
    "uint64?",
    "float32",
    "float64?",
    "utf8",
    "utf8?",
    "binary?",
    "json",
    "fixed[3]?",
    "fixed[16]",
    "spans?",
    "list<uint32>",
    "list<utf8?>?",
    "list<list<bool?>?>",
    "struct<a:int32?,b:utf8>?",
    "struct<a:list<struct<x:utf8?,y:fixed[5]>?>,b:struct<c:bool?,d:uint64>?>",
    "list<struct<>?>?",
    "struct<>"
};
#define KIT_TYPES (sizeof kit_types / sizeof kit_types[0])

struct kit_random {
    uint64_t state;
};

static inline uint64_t kit_next(struct kit_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline int64_t kit_below(struct kit_random *r, int64_t n)
{
    return (int64_t)(kit_next(r) % (uint64_t)n);
}

static inline struct type *kit_type(const char *text)
{
    struct type *type = NULL;
    struct sluice_error err = ERROR_INIT;

    if (type_parse(text, &type, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return type;
}

static inline size_t kit_width(const struct type *type)
{
    static const uint8_t widths[] = { 0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };

    return type->kind <= TYPE_FLOAT64 ? widths[type->kind]
           : type->kind == TYPE_FIXED ? (size_t)type->width
                                      : 0;
}

static inline bool kit_is_bytes(const struct type *type)
{
    return type->kind == TYPE_UTF8 || type->kind == TYPE_BINARY || type->kind == TYPE_JSON;
}

/* ---- foreign arrays ---- */

static inline void kit_release(struct ArrowArray *a)
{
    for (int64_t k = 0; k < a->n_children; k++) {
        if (a->children[k]->release != NULL) {
            a->children[k]->release(a->children[k]);
        }
        free(a->children[k]);
    }
    for (int64_t k = 0; k < a->n_buffers; k++) {
        free((void *)(uintptr_t)a->buffers[k]);
    }
    free(a->children);
    free(a->buffers);
    a->release = NULL;
}

/* Buffers are at least one byte, as malloc(0) may be NULL. */
static inline void *kit_noise(struct kit_random *r, size_t n)
{
    uint8_t *p = malloc(n > 0 ? n : 1);

    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)kit_next(r);
    }
    return p;
}

static inline void kit_text(struct kit_random *r, char *at, size_t n)
{
    static const char letters[] = "etaoin shrdlu\n";
    size_t i = 0;

    while (i < n) {
        if (n - i >= 2 && kit_below(r, 8) == 0) {
            memcpy(at + i, "\xC3\xA9", 2);
            i += 2;
        } else if (n - i >= 4 && kit_below(r, 16) == 0) {
            memcpy(at + i, "\xF0\x9F\x98\x80", 4);
            i += 4;
        } else {
            at[i++] = letters[kit_below(r, 14)];
        }
    }
}

/* length rows of random values; offsets up to `shift` - 1 at each level. */
static inline void kit_foreign(struct kit_random *r, const struct type *type, int64_t length,
                               int64_t shift, struct ArrowArray *out)
{
    int64_t offset = shift > 0 ? kit_below(r, shift) : 0;
    int64_t physical = offset + length;
    size_t bits = (size_t)(physical + 7) / 8;
    uint8_t *validity = NULL;
    int64_t nulls = 0;

    memset(out, 0, sizeof *out);
    out->length = length;
    out->offset = offset;
    out->release = kit_release;
    out->n_buffers = kit_is_bytes(type) ? 3 : type->kind == TYPE_STRUCT ? 1 : 2;
    out->buffers = calloc((size_t)out->n_buffers, sizeof *out->buffers);
    if (type->nullable && kit_below(r, 6) > 0) {
        int64_t one_in = kit_below(r, 2) == 0 ? 3 : 300;
        validity = kit_noise(r, bits);
        for (int64_t i = 0; i < physical; i++) {
            bool null = kit_below(r, one_in) == 0;
            validity[i >> 3] = (uint8_t)(null ? validity[i >> 3] & ~(1u << (i & 7))
                                              : validity[i >> 3] | 1u << (i & 7));
            nulls += null && i >= offset ? 1 : 0;
        }
        out->buffers[0] = validity;
        out->null_count = kit_below(r, 2) == 0 ? -1 : nulls;
    }
    if (kit_is_bytes(type) || type->kind == TYPE_LIST) {
        int32_t *offsets = malloc((size_t)(physical + 1) * sizeof *offsets);
        int32_t at = shift > 0 ? (int32_t)kit_below(r, 5) : 0;
        for (int64_t i = 0; i <= physical; i++) {
            offsets[i] = at;
            at += (int32_t)(type->kind == TYPE_LIST ? kit_below(r, 5)
                            : kit_below(r, 10) == 0 ? kit_below(r, 200)
                                                    : kit_below(r, 9));
        }
        out->buffers[1] = offsets;
        if (kit_is_bytes(type)) {
            char *text = kit_noise(r, (size_t)offsets[physical]);
            for (int64_t i = offset; i < physical && type->kind != TYPE_BINARY; i++) {
                if (validity == NULL || (validity[i >> 3] >> (i & 7) & 1) != 0) {
                    kit_text(r, text + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
                }
            }
            out->buffers[2] = text;
        }
    } else if (type->kind != TYPE_STRUCT) {
        out->buffers[1] =
            kit_noise(r, type->kind == TYPE_BOOL ? bits : (size_t)physical * kit_width(type));
    }
    out->n_children = type->n_children;
    out->children = type->n_children > 0 ? calloc(type->n_children, sizeof *out->children) : NULL;
    for (uint32_t k = 0; k < type->n_children; k++) {
        int64_t n =
            type->kind == TYPE_LIST ? ((const int32_t *)out->buffers[1])[physical] : physical;
        out->children[k] = malloc(sizeof **out->children);
        kit_foreign(r, type->children[k], n + (shift > 0 ? kit_below(r, 3) : 0), shift,
                    out->children[k]);
    }
}

/* A foreign array checked and made a column's array. */
static inline void kit_array(struct kit_random *r, const struct type *type, int64_t length,
                             struct ArrowArray *out)
{
    struct sluice_error err = ERROR_INIT;

    kit_foreign(r, type, length, 7, out);
    if (array_validate(out, type, length, "kit", &err) != SLUICE_OK ||
        array_normalise(out, type, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
}

static inline struct column *kit_column(struct kit_random *r, const struct type *type,
                                        int64_t length)
{
    struct ArrowArray array;
    struct column *column;

    kit_array(r, type, length, &array);
    column = column_create(&array);
    assert_non_null(column);
    return column;
}

/* ---- comparing ---- */

static inline bool kit_null(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *bits = a->null_count != 0 ? a->buffers[0] : NULL;

    row += a->offset;
    return bits != NULL && (bits[row >> 3] >> (row & 7) & 1) == 0;
}

static inline bool kit_rows_equal(const struct ArrowArray *a, int64_t i, const struct ArrowArray *b,
                                  int64_t j, const struct type *type)
{
    size_t width = kit_width(type);

    if (kit_null(a, i) || kit_null(b, j)) {
        return kit_null(a, i) && kit_null(b, j);
    }
    i += a->offset;
    j += b->offset;
    if (type->kind == TYPE_BOOL) {
        return (((const uint8_t *)a->buffers[1])[i >> 3] >> (i & 7) & 1) ==
               (((const uint8_t *)b->buffers[1])[j >> 3] >> (j & 7) & 1);
    }
    if (width > 0) {
        return memcmp((const char *)a->buffers[1] + (size_t)i * width,
                      (const char *)b->buffers[1] + (size_t)j * width, width) == 0;
    }
    if (type->kind == TYPE_STRUCT) {
        for (uint32_t k = 0; k < type->n_children; k++) {
            if (!kit_rows_equal(a->children[k], i, b->children[k], j, type->children[k])) {
                return false;
            }
        }
        return true;
    }
    const int32_t *x = (const int32_t *)a->buffers[1] + i;
    const int32_t *y = (const int32_t *)b->buffers[1] + j;
    if (x[1] - x[0] != y[1] - y[0]) {
        return false;
    }
    if (kit_is_bytes(type)) {
        return x[1] == x[0] ||
               memcmp((const char *)a->buffers[2] + x[0], (const char *)b->buffers[2] + y[0],
                      (size_t)(x[1] - x[0])) == 0;
    }
    for (int32_t k = 0; k < x[1] - x[0]; k++) {
        if (!kit_rows_equal(a->children[0], x[0] + k, b->children[0], y[0] + k,
                            type->children[0])) {
            return false;
        }
    }
    return true;
}

/* What column.h promises of every array inside a column. */
static inline void kit_assert_invariants(const struct ArrowArray *a, const struct type *type)
{
    int64_t nulls = 0;

    assert_int_equal(a->offset, 0);
    assert_non_null(a->release);
    for (int64_t i = 0; i < a->length; i++) {
        nulls += kit_null(a, i) ? 1 : 0;
    }
    assert_int_equal(a->null_count, nulls);
    assert_true((a->null_count == 0) == (a->buffers[0] == NULL));
    for (int64_t k = 1; k < a->n_buffers; k++) {
        assert_non_null(a->buffers[k]);
        assert_true(k == 2 || (uintptr_t)a->buffers[k] % 8 == 0);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        assert_true(type->kind != TYPE_STRUCT || a->children[k]->length == a->length);
        kit_assert_invariants(a->children[k], type->children[k]);
    }
}

#endif
