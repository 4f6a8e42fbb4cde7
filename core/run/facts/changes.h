/* Why tasks run again: what was recorded under a task's name the last time, compared with what it
 * is now. Names are those of the log of attempts. Depends on run/runview. */
#ifndef SLUICE_RUN_CHANGES_H
#define SLUICE_RUN_CHANGES_H

#include "base/buf.h"
#include "run/run.h"

/* The newest commit record of every task name of one phase. */
struct changes;

/* Reads the records of a phase; where there are none under its name, those of the phase at the same
 * place of an earlier plan. Gives. */
sluice_status changes_open(const struct run *, uint32_t phase, struct changes **out,
                           struct sluice_error *) MUST_USE;
void changes_close(struct changes *); /* NULL is fine */

/* Appends in words why a keyed task that is not done runs: "new" (", or of before the logs that are
 * kept": `gc` leaves ten), "input changed", "stage 'good' changed; rows of 'good' changed", ... */
sluice_status changes_describe(const struct changes *, const struct run *, uint32_t phase,
                               uint32_t task, struct buf *out, struct sluice_error *) MUST_USE;

#endif
