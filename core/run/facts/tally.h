/* What all processes of an execution did, from the log of attempts (run/work/attempts.h). */
#ifndef SLUICE_RUN_TALLY_H
#define SLUICE_RUN_TALLY_H

#include <jansson.h>

#include "run/run.h"

/* Of one phase. */
struct tally_phase {
    uint64_t attempts, committed, failed, lost; /* lost: by processes that died, and races */
    uint64_t resumed;                           /* attempts that went on from a saved state */
    uint64_t twins;                             /* second copies of tasks, among the attempts */
    double cpu_seconds, wall_seconds;           /* of those that committed */
};

struct tally {
    struct tally_phase *phases; /* n_phases of the plan */
    uint32_t processes, hosts;
    uint64_t peak_bytes; /* resident, of the largest process at the end of an attempt */
    double core_seconds; /* threads times the time that each process was there, without this one */
};

/* Reads the log of the run's execution; and adds to run->metrics what others did, once. A run that
 * began nothing has none. */
sluice_status tally_open(struct run *, struct tally *, struct sluice_error *) MUST_USE;
void tally_deinit(struct tally *);

#endif
