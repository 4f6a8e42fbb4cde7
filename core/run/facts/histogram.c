/* See histogram.h. */
#include "run/facts/histogram.h"

#include <math.h>

#define DECADES 1000.0 /* what spans more than this is drawn in logarithms */

void histogram_see(struct histogram *histogram, double value, double limit)
{
    if (histogram->n++ == 0) {
        histogram->low = histogram->high = value;
        histogram->limit = limit;
        histogram->one_limit = true;
    }
    histogram->low = value < histogram->low ? value : histogram->low;
    histogram->high = value > histogram->high ? value : histogram->high;
    histogram->one_limit =
        histogram->one_limit && !(limit < histogram->limit || limit > histogram->limit);
}

void histogram_scale(struct histogram *histogram)
{
    histogram->one_limit = histogram->one_limit && isfinite(histogram->limit);
    if (histogram->one_limit) {
        histogram->low = fmin(histogram->low, histogram->limit);
        histogram->high = fmax(histogram->high, histogram->limit);
    }
    histogram->log = histogram->low > 0 && histogram->high / histogram->low > DECADES;
}

uint32_t histogram_bin(const struct histogram *histogram, double value)
{
    double low = histogram->log ? log(histogram->low) : histogram->low;
    double high = histogram->log ? log(histogram->high) : histogram->high;
    double part = high > low ? ((histogram->log ? log(value) : value) - low) / (high - low) : 0;
    double bin = floor(part * HISTOGRAM_BINS);

    return bin > 0 ? bin < HISTOGRAM_BINS ? (uint32_t)bin : HISTOGRAM_BINS - 1 : 0;
}

void histogram_json(const struct histogram *histogram, json_t *object)
{
    json_object_set_new(object, "low", json_real(histogram->low));
    json_object_set_new(object, "high", json_real(histogram->high));
    json_object_set_new(object, "log", json_boolean(histogram->log));
    if (histogram->one_limit) {
        json_object_set_new(object, "limit", json_real(histogram->limit));
    }
}

json_t *histogram_counts(const uint64_t counts[HISTOGRAM_BINS])
{
    json_t *list = json_array();

    for (uint32_t k = 0; k < HISTOGRAM_BINS; k++) {
        json_array_append_new(list, json_integer((json_int_t)counts[k]));
    }
    return list;
}
