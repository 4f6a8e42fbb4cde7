/* Private to commit.c and commit_text.c: arrays that grow one by one, and what both of them limit.
 */
#ifndef SLUICE_STORE_COMMITINT_H
#define SLUICE_STORE_COMMITINT_H

#include "store/commit.h"

#define COMMIT_FORMAT 1
#define COMMIT_MAX_BYTES \
    ((uint64_t)1 << 29) /* of a record's text: a million partitions take 30 MB */

/* Room for one more item; capacities are powers of two. NULL = out of memory (the array stays). */
void *commit_grow(void *array, uint32_t n, size_t item);

/* What differs first between two records of one key, for people ("output 'kept': hash"). "" =
 * nothing. */
void commit_difference(const struct commit *a, const struct commit *b, char *text, size_t size);

#endif
