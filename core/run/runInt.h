/* Private to core/run: what task.c, run.c, pool.c, barrier.c and publish.c share. */
#ifndef SLUICE_RUN_RUNINT_H
#define SLUICE_RUN_RUNINT_H

#include "run/pool.h"
#include "run/run.h"

sluice_status task_key(const struct run *, uint32_t phase, uint32_t task, struct hash128 *key,
                       struct sluice_error *) MUST_USE;
/* Looks for a valid commit of a keyed task; makes the task done when there is one. */
sluice_status task_find(struct run *, uint32_t phase, uint32_t task,
                        struct sluice_error *) MUST_USE;

/* Sums ledgers of a complete phase into run->ledgers. */
sluice_status barrier_sum(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;

#endif
