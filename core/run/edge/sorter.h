/* External merge sort of records: a 16-byte key, a position, and any bytes. Depends on scratch. One
 * thread.
 *
 * Order: key (as memcmp has it), then position, then the order of adding. Memory for records
 * stays within what is given (at least SORTER_MEMORY_MIN is used; a record larger than that is
 * held alone): what does not fit is sorted and written to scratch in runs, which are merged at
 * the end, in several passes when there are more of them than there is memory for their blocks. */
#ifndef SLUICE_RUN_SORTER_H
#define SLUICE_RUN_SORTER_H

#include "base/error.h"

#define SORTER_MEMORY_MIN ((uint64_t)64 << 10)

struct sorter;

struct sorter_record {
    uint8_t key[16];
    uint64_t position;
    const void *payload; /* borrowed until the next call */
    uint32_t n;
};

/* scratch_dir is copied and not touched while everything fits. Gives. */
sluice_status sorter_create(const char *scratch_dir, uint64_t memory, struct sorter **out,
                            struct sluice_error *) MUST_USE;
void sorter_destroy(struct sorter *); /* NULL is fine */

/* Copies one record; at most INT32_MAX bytes of payload. */
sluice_status sorter_add(struct sorter *, const void *key, uint64_t position, const void *payload,
                         size_t n, struct sluice_error *) MUST_USE;
/* Gives all records that were added so far to take, so that adding them to another sorter in this
 * order makes one that gives the same. Only before sorter_sort. */
typedef sluice_status sorter_fn(void *ctx, const struct sorter_record *, struct sluice_error *);
sluice_status sorter_each(struct sorter *, sorter_fn *take, void *ctx,
                          struct sluice_error *) MUST_USE;
/* Ends adding. */
sluice_status sorter_sort(struct sorter *, struct sluice_error *) MUST_USE;
/* The next record in order; *out = NULL at the end. */
sluice_status sorter_next(struct sorter *, const struct sorter_record **out,
                          struct sluice_error *) MUST_USE;

/* Runs written so far, those of merging passes included: 0 = everything was in memory. */
uint64_t sorter_runs(const struct sorter *);

#endif
