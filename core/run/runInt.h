/* Private to core/run: what task.c, run.c, phase.c, pool.c, barrier.c and publish.c share. */
#ifndef SLUICE_RUN_RUNINT_H
#define SLUICE_RUN_RUNINT_H

#include "run/pool.h"
#include "run/run.h"

sluice_status task_key(const struct run *, uint32_t phase, uint32_t task, struct hash128 *key,
                       struct sluice_error *) MUST_USE;
/* Looks for a valid commit of a keyed task; makes the task done when there is one. old: it may be
 * from before this process began, so that its files must be vouched for; else their sizes do. */
sluice_status task_find(struct run *, uint32_t phase, uint32_t task, bool old,
                        struct sluice_error *) MUST_USE;

/* finish.c: joins the execution of the plan that is under way; begin: begins one if there is
 * none. */
sluice_status finish_join(struct run *, bool begin, struct sluice_error *) MUST_USE;

/* The words for a run that was asked to stop. */
sluice_status run_stopped(struct sluice_error *) MUST_USE;

#endif
