/* The policies of a pipeline while it runs: what they judge at barriers, and what they say of tasks
 * that failed or are late. Of those that no policy of the pipeline speaks about policies.retry and
 * policies.speculate decide (scripts/policies), with their own defaults; they are loaded when they
 * are asked first. */
#ifndef SLUICE_CMD_POLICIES_H
#define SLUICE_CMD_POLICIES_H

#include "cmd/session.h"

struct policies {
    struct session *session;
    void (*warn)(void *ctx, const char *message);
    void *ctx;
    struct script *script; /* of the defaults; NULL = not loaded */
    struct graph *graph;   /* of that script */
};

/* At the barrier after a phase, seconds after the begin. SLUICE_E_HALT: one of them halts the
 * run. */
sluice_status policies_judge(struct policies *, const struct run *, uint32_t phase, double seconds,
                             struct sluice_error *) MUST_USE;
/* See run_events.retry. */
sluice_status policies_retry(struct policies *, const char *facts, double *seconds,
                             struct sluice_error *) MUST_USE;
/* See run_events.speculate. */
sluice_status policies_speculate(struct policies *, const char *facts, bool *wanted,
                                 struct sluice_error *) MUST_USE;
void policies_close(struct policies *);

#endif
