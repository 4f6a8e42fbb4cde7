/* Which rows of a batch hold. Comparisons run over whole columns, and only over rows that are not
 * decided yet. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/whereInt.h"

static bool is_null(const struct ArrowArray *array, int64_t at)
{
    const uint8_t *valid = array->n_buffers > 0 ? (const uint8_t *)array->buffers[0] : NULL;

    return valid != NULL && (valid[at / 8] >> (at % 8) & 1) == 0;
}

/* The leaf's array and place for a row; NULL = null. */
static const struct ArrowArray *find(const struct where_end *end, const struct ArrowArray *rows,
                                     int64_t row, int64_t *place)
{
    const struct ArrowArray *array = rows;
    int64_t at = row + rows->offset;

    for (size_t k = 0; k < end->shown.n; k++) {
        const struct where_turn *turn = &end->turns[k];
        if (is_null(array, at)) {
            return NULL;
        }
        if (turn->way == WHERE_MEMBER) {
            array = array->children[turn->index];
        } else {
            int64_t begin;
            int64_t size;
            if (turn->way == WHERE_ITEM) {
                const int32_t *offsets = (const int32_t *)array->buffers[1] + at;
                begin = offsets[0];
                size = offsets[1] - offsets[0];
            } else {
                const int64_t *offsets = (const int64_t *)array->buffers[1] + at;
                begin = offsets[0];
                size = offsets[1] - offsets[0];
            }
            if (size < 0 || turn->index >= (uint64_t)size) {
                return NULL;
            }
            array = array->children[0];
            at = begin + (int64_t)turn->index;
        }
        at += array->offset;
    }
    *place = at;
    return end->how == WHERE_OF_NULLS || is_null(array, at) ? NULL : array;
}

static double half_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const int part = bits & 1023;
    double value = exponent == 0    ? ldexp(part, -24)
                   : exponent == 31 ? (part == 0 ? (double)INFINITY : (double)NAN)
                                    : ldexp(part + 1024, exponent - 25);

    return bits >> 15 ? -value : value;
}

static struct where_value real_of(double real)
{
    struct where_value out = { .kind = WHERE_REAL };

    out.as.real = real;
    return out;
}

static struct where_value whole_of(int64_t whole)
{
    struct where_value out = { .kind = WHERE_INT };

    out.as.whole = whole;
    return out;
}

static struct where_value text_of(const void *data, int64_t begin, int64_t n)
{
    struct where_value out = { .kind = WHERE_TEXT };

    out.as.text = data == NULL ? "" : (const char *)data + begin;
    out.n = data == NULL ? 0 : (size_t)n;
    return out;
}

static struct where_value value_of(const struct where_end *end, const struct ArrowArray *array,
                                   int64_t at)
{
    const void *data = array->n_buffers > 1 ? array->buffers[1] : NULL;
    struct where_value out = { .kind = WHERE_BOOL };

    switch (end->how) {
    case WHERE_OF_BOOLS:
        out.as.truth = ((const uint8_t *)data)[at / 8] >> (at % 8) & 1;
        return out;
    case WHERE_OF_INT8:
        return whole_of(((const int8_t *)data)[at]);
    case WHERE_OF_INT16:
        return whole_of(((const int16_t *)data)[at]);
    case WHERE_OF_INT32:
        return whole_of(((const int32_t *)data)[at]);
    case WHERE_OF_INT64:
        return whole_of(((const int64_t *)data)[at]);
    case WHERE_OF_UINT8:
        return whole_of(((const uint8_t *)data)[at]);
    case WHERE_OF_UINT16:
        return whole_of(((const uint16_t *)data)[at]);
    case WHERE_OF_UINT32:
        return whole_of(((const uint32_t *)data)[at]);
    case WHERE_OF_UINT64:
        return where_unsigned(((const uint64_t *)data)[at]);
    case WHERE_OF_FLOAT16:
        return real_of(half_of(((const uint16_t *)data)[at]));
    case WHERE_OF_FLOAT32:
        return real_of((double)((const float *)data)[at]);
    case WHERE_OF_FLOAT64:
        return real_of(((const double *)data)[at]);
    case WHERE_OF_TEXTS: {
        const int32_t *offsets = (const int32_t *)data + at;
        return text_of(array->buffers[2], offsets[0], offsets[1] - offsets[0]);
    }
    case WHERE_OF_LARGE_TEXTS: {
        const int64_t *offsets = (const int64_t *)data + at;
        return text_of(array->buffers[2], offsets[0], offsets[1] - offsets[0]);
    }
    case WHERE_OF_FIXED:
        return text_of(data, at * (int64_t)end->width, (int64_t)end->width);
    default:
        out.kind = WHERE_OTHER;
        return out;
    }
}

/* ---- comparisons ---- */

#define RANGE_LOOP(type)                                                                       \
    {                                                                                          \
        const type *values = (const type *)array->buffers[1] + array->offset + first;          \
        for (int64_t row = 0; row < n; row++) {                                                \
            const int64_t value = (int64_t)values[row];                                        \
            keep[row] &= (uint8_t)((value >= node->lo && value <= node->hi) != node->negated); \
        }                                                                                      \
        break;                                                                                 \
    }

/* Whole numbers of a column at the top: all rows, without a branch. */
static bool eval_range(const struct where_node *node, const struct where_end *end,
                       const struct ArrowArray *rows, uint8_t *keep)
{
    const int64_t first = rows->offset;
    const int64_t n = rows->length;
    const struct ArrowArray *array;

    if (end->shown.n != 1 || (rows->n_buffers > 0 && rows->buffers[0] != NULL)) {
        return false;
    }
    array = rows->children[end->turns[0].index];
    switch (end->how) {
    case WHERE_OF_INT8:
        RANGE_LOOP(int8_t)
    case WHERE_OF_INT16:
        RANGE_LOOP(int16_t)
    case WHERE_OF_INT32:
        RANGE_LOOP(int32_t)
    case WHERE_OF_INT64:
        RANGE_LOOP(int64_t)
    case WHERE_OF_UINT8:
        RANGE_LOOP(uint8_t)
    case WHERE_OF_UINT16:
        RANGE_LOOP(uint16_t)
    case WHERE_OF_UINT32:
        RANGE_LOOP(uint32_t)
    default:
        return false;
    }
    if (array->n_buffers > 0 && array->buffers[0] != NULL) {
        for (int64_t row = 0; row < n; row++) {
            keep[row] &= !is_null(array, array->offset + first + row);
        }
    }
    return true;
}

static void eval_comparison(const struct where_bound *bound, const struct where_node *node,
                            const struct ArrowArray *rows, uint8_t *keep)
{
    const struct where_end *end = &bound->ends[node->leaf];
    const struct where_value null = { .kind = WHERE_NONE };

    if (node->ranged && eval_range(node, end, rows, keep)) {
        return;
    }
    for (int64_t row = 0; row < rows->length; row++) {
        if (keep[row]) {
            int64_t at = 0;
            const struct ArrowArray *array = end->shown.n == 0 ? NULL : find(end, rows, row, &at);
            const struct where_value value = array == NULL ? null : value_of(end, array, at);
            keep[row] = where_test(node, &value);
        }
    }
}

/* keep: 1 = the row is not decided yet; becomes 0 where it does not hold. */
static bool eval_node(const struct where_bound *bound, const struct where_node *node,
                      const struct ArrowArray *rows, uint8_t *keep)
{
    const size_t n = (size_t)rows->length;
    uint8_t *open;
    uint8_t *part;
    bool ok = true;

    if (node->op == WHERE_AND) {
        for (size_t k = 0; ok && k < node->n_parts; k++) {
            ok = eval_node(bound, node->parts[k], rows, keep);
        }
        return ok;
    }
    if (node->op != WHERE_OR) {
        eval_comparison(bound, node, rows, keep);
        return true;
    }
    open = malloc(2 * n + 1);
    if (open == NULL) {
        return false;
    }
    part = open + n;
    memcpy(open, keep, n);
    memset(keep, 0, n);
    for (size_t k = 0; ok && k < node->n_parts; k++) {
        memcpy(part, open, n);
        ok = eval_node(bound, node->parts[k], rows, part);
        for (size_t row = 0; row < n; row++) {
            keep[row] |= part[row];
            open[row] &= !part[row];
        }
    }
    free(open);
    return ok;
}

sluice_status where_eval(const struct where_bound *bound, const struct ArrowArray *rows,
                         uint8_t *keep, struct sluice_error *err)
{
    if (rows->length == 0) {
        return SLUICE_OK;
    }
    memset(keep, 1, (size_t)rows->length);
    return eval_node(bound, bound->root, rows, keep)
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_NOMEM, "where", "out of memory for a batch");
}
