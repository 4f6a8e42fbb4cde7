/* A pool of threads over numbered jobs. Owns the threads while it runs. Depends on base. */
#ifndef SLUICE_RUN_POOL_H
#define SLUICE_RUN_POOL_H

#include "base/error.h"

/* Runs f(ctx, i) for i in 0..n-1 on n_threads threads; stops at the first error and returns that of
 * the smallest i seen. tick is called on this thread about five times a second. */
struct pool_job {
    void *ctx;
    uint32_t n, n_threads;
    /* per thread state */
    void *(*thread_open)(void *ctx);
    void (*thread_close)(void *ctx, void *state);
    /* *taken = false: somebody else has it, come back later */
    sluice_status (*run)(void *ctx, void *state, uint32_t i, bool *taken, struct sluice_error *);
    /* On a thread: somebody else has all that is left. May be NULL. */
    void (*idle)(void *ctx);
    void (*tick)(void *ctx);
    const _Atomic int *drain; /* NULL = never; != 0: begin nothing new */
};
/* *drained: some of the jobs were not begun. */
sluice_status pool_run(const struct pool_job *, bool *drained, struct sluice_error *) MUST_USE;

#endif
