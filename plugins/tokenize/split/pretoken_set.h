/* pretoken_set.h — sets of code points as sorted ranges, for pretoken_regex.c. Depends on:
 * pretoken_unicode.h. */
#ifndef TOKENIZE_PRETOKEN_SET_H
#define TOKENIZE_PRETOKEN_SET_H

#include <stddef.h>
#include <stdint.h>

#include "split/pretoken_unicode.h"

struct cp_range {
    uint32_t first, last;
};

struct cp_set {
    struct cp_range *ranges;
    size_t n, cap;
};

/* All give 0, or -1 without memory. A zeroed set is empty; ranges may be added in any order until
 * cp_set_normalize. */
int cp_set_add(struct cp_set *set, uint32_t first, uint32_t last);
int cp_set_union(struct cp_set *set, const struct cp_set *other);

/* Adds the code points whose category has its bit in `categories`, or whose value has a bit of
 * `properties`. */
int cp_set_add_class(struct cp_set *set, const struct unicode_table *table, uint32_t categories,
                     unsigned properties);

/* Sorts and merges; needed before the functions below. */
void cp_set_normalize(struct cp_set *set);
int cp_set_negate(struct cp_set *set);
int cp_set_has(const struct cp_set *set, uint32_t cp);
int cp_set_equal(const struct cp_set *a, const struct cp_set *b);
void cp_set_deinit(struct cp_set *set);

#endif
