/* pretoken_set.c — see the header. */
#include "split/pretoken_set.h"

#include <stdlib.h>
#include <string.h>

int cp_set_add(struct cp_set *set, uint32_t first, uint32_t last)
{
    if (set->n == set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 8;
        struct cp_range *ranges = realloc(set->ranges, cap * sizeof(*ranges));
        if (!ranges) {
            return -1;
        }
        set->ranges = ranges;
        set->cap = cap;
    }
    set->ranges[set->n].first = first;
    set->ranges[set->n].last = last;
    set->n++;
    return 0;
}

int cp_set_union(struct cp_set *set, const struct cp_set *other)
{
    size_t i;
    for (i = 0; i < other->n; i++) {
        if (cp_set_add(set, other->ranges[i].first, other->ranges[i].last) != 0) {
            return -1;
        }
    }
    return 0;
}

int cp_set_add_class(struct cp_set *set, const struct unicode_table *table, uint32_t categories,
                     unsigned properties)
{
    size_t k;
    for (k = 0; k < table->n_runs; k++) {
        unsigned value = unicode_value(table, table->starts[k]);
        if ((((categories >> (value & UNICODE_CATEGORY)) & 1u) || (value & properties)) &&
            cp_set_add(set, table->starts[k], table->starts[k + 1] - 1) != 0) {
            return -1;
        }
    }
    return 0;
}

static int range_order(const void *a, const void *b)
{
    const struct cp_range *x = a, *y = b;
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    return x->last < y->last ? -1 : x->last > y->last;
}

void cp_set_normalize(struct cp_set *set)
{
    size_t i, n = 0;
    if (set->n == 0) {
        return;
    }
    qsort(set->ranges, set->n, sizeof(set->ranges[0]), range_order);
    for (i = 1; i < set->n; i++) {
        if (set->ranges[i].first <= set->ranges[n].last + 1) {
            if (set->ranges[i].last > set->ranges[n].last) {
                set->ranges[n].last = set->ranges[i].last;
            }
        } else {
            set->ranges[++n] = set->ranges[i];
        }
    }
    set->n = n + 1;
}

int cp_set_negate(struct cp_set *set)
{
    struct cp_set out = { NULL, 0, 0 };
    uint32_t next = 0;
    size_t i;
    for (i = 0; i < set->n; i++) {
        if (set->ranges[i].first > next && cp_set_add(&out, next, set->ranges[i].first - 1) != 0) {
            cp_set_deinit(&out);
            return -1;
        }
        next = set->ranges[i].last + 1;
    }
    if (next <= 0x10FFFF && cp_set_add(&out, next, 0x10FFFF) != 0) {
        cp_set_deinit(&out);
        return -1;
    }
    cp_set_deinit(set);
    *set = out;
    return 0;
}

int cp_set_has(const struct cp_set *set, uint32_t cp)
{
    size_t lo = 0, hi = set->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (set->ranges[mid].last < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < set->n && set->ranges[lo].first <= cp;
}

int cp_set_equal(const struct cp_set *a, const struct cp_set *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->ranges, b->ranges, a->n * sizeof(a->ranges[0])) == 0);
}

void cp_set_deinit(struct cp_set *set)
{
    free(set->ranges);
    memset(set, 0, sizeof(*set));
}
