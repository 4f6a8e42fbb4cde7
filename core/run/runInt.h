/* Private to core/run: what task.c, run.c, pool.c, barrier.c and publish.c share. */
#ifndef SLUICE_RUN_RUNINT_H
#define SLUICE_RUN_RUNINT_H

#include "run/run.h"

sluice_status task_key(const struct run *, uint32_t phase, uint32_t task, struct hash128 *key,
                       struct sluice_error *) MUST_USE;
/* Looks for a valid commit of a keyed task; makes the task done when there is one. */
sluice_status task_find(struct run *, uint32_t phase, uint32_t task,
                        struct sluice_error *) MUST_USE;

/* pool.c: runs f(ctx, i) for i in 0..n-1 on n_threads threads; stops at the first error and returns that of the smallest i seen. tick is
 * called on this thread about five times a second. */
struct pool_job {
    void *ctx;
    uint32_t n, n_threads;
    /* per thread state */
    void *(*thread_open)(void *ctx);
    void (*thread_close)(void *ctx, void *state);
    /* *taken = false: somebody else has it, come back later */
    sluice_status (*run)(void *ctx, void *state, uint32_t i, bool *taken, struct sluice_error *);
    void (*tick)(void *ctx);
    const _Atomic int *drain; /* != 0: begin nothing new */
};
/* *drained: some of the jobs were not begun. */
sluice_status pool_run(const struct pool_job *, bool *drained, struct sluice_error *) MUST_USE;

/* Sums ledgers of a complete phase into run->ledgers. */
sluice_status barrier_sum(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;

#endif
