/* moments.h - count, least, greatest, sum and sum of squares of numbers, exactly: whatever order
 * and grouping the numbers come in, the result has the same bits.
 *
 * Depends on libc and sluice_arrays.h. Sums are fixed-point integers: the sum in units of 2^-96,
 * the squares in units of 2^-192, so that nothing of a double at or above 2^-43 is lost; of smaller
 * ones, what lies below 2^-96 is rounded. Numbers of a magnitude of 2^64 and more, infinities and
 * NaNs have no moments: moments_add refuses them. Up to 2^48 numbers. */
#ifndef STATS_MOMENTS_H
#define STATS_MOMENTS_H

#include <sluice_arrays.h>
#include <stdbool.h>
#include <stdint.h>

#define MOMENTS_SUM 4     /* limbs, two's complement, least significant first */
#define MOMENTS_SQUARES 6 /* limbs */
#define MOMENTS_BYTES (1 + 8 + 16 + 8 * (MOMENTS_SUM + MOMENTS_SQUARES)) /* at most, stored */

struct moments_sums {
    uint64_t sum[MOMENTS_SUM], squares[MOMENTS_SQUARES];
};

/* Zeroed memory holds no numbers. */
struct moments {
    uint64_t n;
    double least, greatest;    /* undefined while n is 0 */
    struct moments_sums *sums; /* owned; NULL while all numbers are equal */
};

/* Whether a number has moments. */
bool moments_takes(double value);

/* Adds a number for which moments_takes. False: out of memory, nothing changed. */
bool moments_add(struct moments *moments, double value) __attribute__((warn_unused_result));

/* Adds all of `other`. False: out of memory, nothing changed. */
bool moments_merge(struct moments *moments, const struct moments *other)
    __attribute__((warn_unused_result));

void moments_deinit(struct moments *moments);

/* The sum, correctly rounded. */
double moments_total(const struct moments *moments);

/* 0 for no numbers; exactly the number when all are equal. */
double moments_mean(const struct moments *moments);

/* With n - 1 below; 0 for fewer than two numbers and when all are equal. */
double moments_variance(const struct moments *moments);

/* Stored form, appended to bytes. False: out of memory. */
bool moments_write(const struct moments *moments, struct sluice_bytes *bytes)
    __attribute__((warn_unused_result));

enum moments_read { MOMENTS_READ, MOMENTS_DAMAGED, MOMENTS_NOMEM };

/* Reads what moments_write wrote at *at < size into empty moments and moves *at behind it. */
enum moments_read moments_read(struct moments *moments, const void *data, size_t size, size_t *at);

/* How many moments the bytes hold; -1 when they are not moments. */
int moments_count(const void *data, size_t size);

#endif
