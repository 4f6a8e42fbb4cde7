/* Live counters of a run: see metrics.h. */
#include "run/metrics.h"

#include <stdlib.h>
#include <time.h>

sluice_status metrics_init(struct metrics *metrics, const struct plan *plan,
                           struct sluice_error *err)
{
    metrics->n_phases = plan->n_phases;
    metrics->phases = calloc(plan->n_phases + 1, sizeof *metrics->phases);
    if (metrics->phases == NULL) {
        return error_nomem(err, "metrics");
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        metrics->phases[p].ops = calloc(plan->phases[p]->n_ops + 1, sizeof *metrics->phases[p].ops);
        if (metrics->phases[p].ops == NULL) {
            return error_nomem(err, "metrics");
        }
    }
    return SLUICE_OK;
}

void metrics_deinit(struct metrics *metrics)
{
    for (uint32_t p = 0; metrics->phases != NULL && p < metrics->n_phases; p++) {
        free(metrics->phases[p].ops);
    }
    free(metrics->phases);
    metrics->phases = NULL;
}

uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
