/* How fast tasks are: see pace.h. */
#include "run/work/pace.h"

#include <math.h>
#include <stdlib.h>

#define TELLING 0.05 /* of what is to be read: then it tells how fast that goes */
#define LEAST 3u     /* tasks that were done: then they tell how long another one takes */

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static double median_of(double *list, size_t n)
{
    qsort(list, n, sizeof *list, compare);
    return n == 0 ? 0 : (list[(n - 1) / 2] + list[n / 2]) / 2;
}

sluice_status paces_sum(const struct pace_task *list, size_t n, struct paces *paces,
                        struct sluice_error *err)
{
    double *numbers = calloc(n + 1u, sizeof *numbers);
    double squares = 0;

    *paces = (struct paces){ .n = n };
    if (numbers == NULL) {
        return error_nomem(err, "the times of tasks");
    }
    for (size_t i = 0; i < n; i++) {
        numbers[i] = list[i].bytes;
    }
    paces->bytes = median_of(numbers, n);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = paces_of(paces, list[i].seconds, list[i].bytes);
        paces->mean += numbers[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        squares += (numbers[i] - paces->mean) * (numbers[i] - paces->mean);
    }
    paces->deviation = n < 2 ? 0 : sqrt(squares / (double)(n - 1));
    paces->median = median_of(numbers, n);
    free(numbers);
    return SLUICE_OK;
}

double paces_of(const struct paces *paces, double seconds, double bytes)
{
    double most = bytes > paces->bytes ? bytes : paces->bytes;
    return seconds / (most > 1 ? most : 1);
}

double paces_rest(const struct paces *paces, const struct pace_work *work)
{
    double whole;

    if (work->to_read > 0 && work->read >= TELLING * work->to_read) {
        return work->read >= work->to_read
                   ? 0
                   : work->seconds * (work->to_read - work->read) / work->read;
    }
    if (paces->n < LEAST) {
        return -1;
    }
    whole = paces->median / paces_of(paces, 1, work->bytes);
    /* One that took longer than that already is like none of them. */
    return whole > work->seconds ? whole - work->seconds : -1;
}
