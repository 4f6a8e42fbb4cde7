/* Live counters of a run, shared by all workers: relaxed atomics, for progress and reports only (never for results). */
#ifndef SLUICE_RUN_METRICS_H
#define SLUICE_RUN_METRICS_H

#include <stdatomic.h>

#include "plan/plan.h"

struct op_metrics {
    atomic_uint_fast64_t rows_in, rows_out, bytes_in, ns; /* ns: own time, summed over workers */
    atomic_uint_fast64_t bytes_out;                       /* writers and edges: stored bytes */
};

struct phase_metrics {
    struct op_metrics *ops;          /* n_ops */
    atomic_uint_fast64_t source_ns;  /* reading and decoding */
    atomic_uint_fast64_t commit_ns;  /* syncing and committing */
    atomic_uint_fast64_t raw_bytes;  /* of input files */
    atomic_uint_fast64_t text_bytes; /* decoded */
    atomic_uint_fast32_t done, reused, running;
};

struct metrics {
    struct phase_metrics *phases;
    uint32_t n_phases;
};

sluice_status metrics_init(struct metrics *, const struct plan *, struct sluice_error *) MUST_USE;
void metrics_deinit(struct metrics *);
uint64_t clock_ns(void); /* monotonic */

#define METRIC_ADD(field, n) \
    atomic_fetch_add_explicit(&(field), (uint_fast64_t)(n), memory_order_relaxed)
#define METRIC_GET(field) ((uint64_t)atomic_load_explicit(&(field), memory_order_relaxed))

#endif
