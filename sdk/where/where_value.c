/* Values of expressions: comparing them, patterns, one comparison on one value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "where/whereInt.h"

struct where_value where_unsigned(uint64_t value)
{
    struct where_value out = { .kind = WHERE_INT };

    if (value > (uint64_t)INT64_MAX) {
        out.kind = WHERE_BIG;
        out.as.big = value;
    } else {
        out.as.whole = (int64_t)value;
    }
    return out;
}

bool where_is_number(enum where_kind kind)
{
    return kind == WHERE_INT || kind == WHERE_BIG || kind == WHERE_REAL;
}

static int order(bool less, bool greater)
{
    return less ? -1 : greater;
}

/* Exactly: neither of them is rounded to the other's type. */
static int compare_int_real(const struct where_value *whole, double real)
{
    double below;

    if (isnan(real)) {
        return 2;
    }
    below = floor(real);
    if (whole->kind == WHERE_BIG) {
        uint64_t other;
        if (below < 9223372036854775808.0) {
            return 1;
        }
        if (below >= 18446744073709551616.0) {
            return -1;
        }
        other = (uint64_t)below; /* no fractions up there */
        return order(whole->as.big<other, whole->as.big> other);
    }
    if (below < -9223372036854775808.0) {
        return 1;
    }
    if (below >= 9223372036854775808.0) {
        return -1;
    }
    if (whole->as.whole != (int64_t)below) {
        return whole->as.whole < (int64_t)below ? -1 : 1;
    }
    return below < real ? -1 : 0;
}

static int compare_numbers(const struct where_value *a, const struct where_value *b)
{
    if (a->kind == WHERE_REAL && b->kind == WHERE_REAL) {
        return isnan(a->as.real) || isnan(b->as.real)
                   ? 2
                   : order(a->as.real<b->as.real, a->as.real> b->as.real);
    }
    if (a->kind == WHERE_REAL) {
        int other = compare_int_real(b, a->as.real);
        return other == 2 ? 2 : -other;
    }
    if (b->kind == WHERE_REAL) {
        return compare_int_real(a, b->as.real);
    }
    if (a->kind != b->kind) {
        return a->kind == WHERE_INT ? -1 : 1;
    }
    if (a->kind == WHERE_BIG) {
        return order(a->as.big<b->as.big, a->as.big> b->as.big);
    }
    if (a->as.whole != b->as.whole) {
        return a->as.whole < b->as.whole ? -1 : 1;
    }
    return order(a->above<b->above, a->above> b->above);
}

int where_compare(const struct where_value *a, const struct where_value *b)
{
    int result;

    if (where_is_number(a->kind) && where_is_number(b->kind)) {
        return compare_numbers(a, b);
    }
    if (a->kind != b->kind || a->kind == WHERE_NONE) {
        return 2;
    }
    if (a->kind == WHERE_BOOL) {
        return order(a->as.truth<b->as.truth, a->as.truth> b->as.truth);
    }
    result = a->n == 0 || b->n == 0 ? 0 : memcmp(a->as.text, b->as.text, a->n < b->n ? a->n : b->n);
    return result != 0 ? order(result < 0, true) : order(a->n<b->n, a->n> b->n);
}

static int by_value(const void *a, const void *b)
{
    const struct where_value *x = a;
    const struct where_value *y = b;
    int result = where_compare(x, y);

    return result == 2 ? order(x->kind<y->kind, x->kind> y->kind) : result;
}

size_t where_sort(struct where_value *values, size_t n)
{
    size_t kept = 0;

    for (size_t k = 0; k < n; k++) {
        if (values[k].kind != WHERE_REAL || !isnan(values[k].as.real)) {
            values[kept++] = values[k];
        }
    }
    n = kept;
    if (n < 2) {
        return n;
    }
    qsort(values, n, sizeof *values, by_value);
    kept = 1;
    for (size_t k = 1; k < n; k++) {
        if (where_compare(&values[kept - 1], &values[k]) != 0) {
            values[kept++] = values[k];
        }
    }
    return kept;
}

/* ---- patterns ---- */

/* Bytes of the character at a place; 1 for what is no UTF-8. */
static size_t character(const char *text, size_t n)
{
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;

    return size < n ? size : n;
}

/* Only the last % that was met needs to be tried again: what stands before it has matched with the
 * fewest characters. */
bool where_like(const uint16_t *pattern, size_t n, const char *text, size_t size)
{
    size_t at = 0;
    size_t place = 0;
    size_t run = SIZE_MAX; /* behind the last % */
    size_t run_place = 0;

    for (;;) {
        if (at < n && pattern[at] == WHERE_ANY_RUN) {
            run = ++at;
            run_place = place;
            if (at == n) {
                return true;
            }
        } else if (at < n && place < size && pattern[at] == WHERE_ANY_ONE) {
            place += character(text + place, size - place);
            at++;
        } else if (at < n && place < size && pattern[at] == (unsigned char)text[place]) {
            place++;
            at++;
        } else if (at == n && place == size) {
            return true;
        } else if (run == SIZE_MAX || run_place >= size) {
            return false;
        } else {
            run_place += character(text + run_place, size - run_place);
            place = run_place;
            at = run;
        }
    }
}

/* ---- one comparison ---- */

static bool is_in(const struct where_node *node, const struct where_value *value, bool *compared)
{
    size_t lo = 0;
    size_t hi = node->n_values;

    /* Values of several kinds (there is no schema) stand kind by kind. */
    *compared = false;
    for (size_t k = 0; k < node->n_values && !*compared; k++) {
        const enum where_kind kind = node->values[k].kind;
        *compared = kind == value->kind || (where_is_number(kind) && where_is_number(value->kind));
    }
    while (*compared && lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int result = by_value(&node->values[mid], value);
        if (result == 0) {
            return true;
        }
        if (result < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return false;
}

bool where_test(const struct where_node *node, const struct where_value *value)
{
    bool compared = true;
    bool holds;
    int result;

    if (node->op == WHERE_NULL) {
        return (value->kind == WHERE_NONE) != node->negated;
    }
    if (value->kind == WHERE_NONE) {
        return false;
    }
    if (node->op == WHERE_LIKE) {
        return value->kind == WHERE_TEXT && where_like(node->pattern, node->n_pattern,
                                                       value->as.text, value->n) != node->negated;
    }
    if (node->op == WHERE_IN) {
        bool nan = value->kind == WHERE_REAL && isnan(value->as.real);
        holds = !nan && is_in(node, value, &compared);
        return compared && holds != node->negated;
    }
    result = where_compare(value, node->values);
    if (result == 2) {
        /* NaN is unequal to all numbers; what is of another kind is compared with nothing. */
        return where_is_number(value->kind) && where_is_number(node->values->kind) && node->negated;
    }
    holds = node->op == WHERE_EQUAL        ? result == 0
            : node->op == WHERE_LESS       ? result < 0
            : node->op == WHERE_LESS_EQUAL ? result <= 0
            : node->op == WHERE_GREATER    ? result > 0
                                           : result >= 0;
    return holds != node->negated;
}

/* ---- rows of any types ---- */

static bool node_holds(const struct where_node *node, where_find_fn find, void *ctx)
{
    struct where_value value;

    if (node->op == WHERE_AND || node->op == WHERE_OR) {
        for (size_t k = 0; k < node->n_parts; k++) {
            if (node_holds(node->parts[k], find, ctx) != (node->op == WHERE_AND)) {
                return node->op == WHERE_OR;
            }
        }
        return node->op == WHERE_AND;
    }
    value = find(ctx, &node->path);
    return where_test(node, &value);
}

bool where_holds(const struct where *where, where_find_fn find, void *ctx)
{
    return node_holds(where->root, find, ctx);
}
