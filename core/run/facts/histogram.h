/* A histogram of what was measured, with the limit it was compared with: every value is looked at
 * twice, first for the scale, then for its bin. Depends on jansson. One thread. */
#ifndef SLUICE_RUN_HISTOGRAM_H
#define SLUICE_RUN_HISTOGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_BINS 40

/* Zeroed at first. */
struct histogram {
    double low, high, limit; /* limit: that of all values, if one_limit */
    uint64_t n;
    bool one_limit;
    bool log; /* bins are of equal width in logarithms */
};

/* A value that is finite; limit NaN = it was compared with none. */
void histogram_see(struct histogram *, double value, double limit);
/* Behind the last value: the scale, which has the limit on it. */
void histogram_scale(struct histogram *);
/* The bin of a value that was seen, below HISTOGRAM_BINS. */
uint32_t histogram_bin(const struct histogram *, double value);
/* Sets low, high, log, and limit where all values had the same. */
void histogram_json(const struct histogram *, json_t *object);
/* The counts as an array. Gives a reference. */
json_t *histogram_counts(const uint64_t counts[HISTOGRAM_BINS]);

#endif
