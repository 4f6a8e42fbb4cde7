/* Sorting pairs of 64-bit numbers in a given amount of memory, with a scratch file when they do not
 * fit.
 *
 * Owns: a buffer of pairs and sorted runs in one unlinked temporary file. Depends on sluice.h.
 * Promises: the pairs come out in ascending order of (first, second), equal ones once, any number
 * of times. Used by forest.c only. */
#ifndef FOREST_SORT_H
#define FOREST_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct forest_pair {
    uint64_t first;
    uint64_t second;
};

#define FOREST_SORT_MEMORY_LEAST ((uint64_t)64 << 10)

struct forest_sort;

/* Sorts n pairs in place, without further memory. */
void forest_pairs_sort(struct forest_pair *pairs, size_t n);

/* Gives *out, to be freed with forest_sort_destroy. memory >= FOREST_SORT_MEMORY_LEAST bytes; dir
 * is borrowed until destroy. */
int32_t forest_sort_create(uint64_t memory, const char *dir, struct forest_sort **out,
                           struct sluice_error *err);
void forest_sort_destroy(struct forest_sort *sort);

/* Adds a pair, before the first forest_sort_rewind. */
int32_t forest_sort_push(struct forest_sort *sort, uint64_t first, uint64_t second,
                         struct sluice_error *err);

/* Starts reading at the smallest pair. */
int32_t forest_sort_rewind(struct forest_sort *sort, struct sluice_error *err);

/* The next pair in *pair, or *end = true. */
int32_t forest_sort_next(struct forest_sort *sort, struct forest_pair *pair, bool *end,
                         struct sluice_error *err);

#endif
