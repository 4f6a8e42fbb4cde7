/* Live counters of a run, shared by all workers: relaxed atomics, for progress and reports only
 * (never for results). Time is kept by meters, one a thread: what a thread worked is apart from
 * what it waited. */
#ifndef SLUICE_RUN_METRICS_H
#define SLUICE_RUN_METRICS_H

#include <stdatomic.h>

#include "plan/plan.h"

struct time_spent {
    atomic_uint_fast64_t work_ns; /* processor time, summed over workers */
    atomic_uint_fast64_t wait_ns; /* for files, for a processor, for others */
};

struct ask_metrics { /* of servers; all but known: of new answers */
    atomic_uint_fast64_t answered, refused, retries, hedges, bytes_out, bytes_in;
    atomic_uint_fast64_t known; /* by the journal, or asked for another call */
};

struct op_metrics {
    atomic_uint_fast64_t rows_in, rows_out, bytes_in;
    atomic_uint_fast64_t bytes_out; /* writers and edges: stored bytes */
    struct time_spent time;
    struct ask_metrics asks;
};

struct phase_metrics {
    struct op_metrics *ops;          /* n_ops */
    struct time_spent source;        /* reading and decoding */
    struct time_spent commit;        /* syncing and committing */
    atomic_uint_fast64_t idle_ns;    /* of workers without a task */
    atomic_uint_fast64_t raw_bytes;  /* of input files */
    atomic_uint_fast64_t text_bytes; /* decoded */
    atomic_uint_fast64_t bad;        /* rows and records quarantined by this process */
    struct phase_metrics *whole; /* of an attempt: its process's, where it shall count; or NULL */
    atomic_uint_fast32_t done, reused,
        running;                 /* tasks; reused: done before this process came to the phase */
    atomic_uint_fast32_t others; /* done: by other processes meanwhile */
    /* not done here: other processes have committed them, as far as seen */
    atomic_uint_fast32_t ahead;
};

struct metrics {
    struct phase_metrics *phases;
    uint32_t n_phases;
};

sluice_status metrics_init(struct metrics *, const struct plan *, struct sluice_error *) MUST_USE;
void metrics_deinit(struct metrics *);
uint64_t clock_ns(void); /* monotonic */

/* What one attempt at a task adds to its phase: bytes, rows and times, and nothing of tasks. */
sluice_status metrics_part_init(struct phase_metrics *, uint32_t n_ops,
                                struct sluice_error *) MUST_USE;
void metrics_part_deinit(struct phase_metrics *);
/* Moves what part has come to into to, and adds it to total (NULL = nowhere else). `bad` stays: it
 * counts at once (whole). Not for one part at the same time. */
void metrics_move(struct phase_metrics *part, uint32_t n_ops, struct phase_metrics *to,
                  struct phase_metrics *total);

/* Parts one thread's time into work and waiting, span by span. Asking the kernel for a thread's
 * processor time costs about a microsecond, so a span too short for a wait that matters counts as
 * work, unasked. Zeroed = fresh. */
struct meter {
    uint64_t wall_ns;    /* when the last span began or ended */
    uint64_t cpu_ns;     /* the thread's time at the last reading */
    uint64_t assumed_ns; /* taken for work since then */
};
void meter_begin(struct meter *);
/* Adds the span since meter_begin. away: a child process worked on it, so that all of it counts as
 * work. Gives the span's wall time. */
uint64_t meter_end(struct meter *, struct time_spent *, bool away);

#define METRIC_ADD(field, n) \
    atomic_fetch_add_explicit(&(field), (uint_fast64_t)(n), memory_order_relaxed)
#define METRIC_GET(field) ((uint64_t)atomic_load_explicit(&(field), memory_order_relaxed))

#endif
