/* How fast tasks of a phase are: seconds a byte, so that tasks which are only larger are not slow.
 * Depends on base. */
#ifndef SLUICE_RUN_PACE_H
#define SLUICE_RUN_PACE_H

#include "base/error.h"

/* A task that is done. */
struct pace_task {
    double seconds, bytes;
};

struct paces {
    size_t n;
    /* A task with fewer bytes counts as one with these, the median of all: each takes a part of its
     * time whatever it holds. */
    double bytes;
    double mean, deviation, median; /* of seconds a byte */
};

/* SLUICE_E_NOMEM. */
sluice_status paces_sum(const struct pace_task *list, size_t n, struct paces *,
                        struct sluice_error *) MUST_USE;
/* Of one more task, or of one that is not done yet: then it is at least that. */
double paces_of(const struct paces *, double seconds, double bytes);
/* How many seconds a task still takes that is at work for so many, from what it read so far (of
 * to_read bytes) or, before that tells much, from what others took. < 0: it can't be told. */
struct pace_work {
    double seconds, bytes, read, to_read;
};
double paces_rest(const struct paces *, const struct pace_work *);

#endif
