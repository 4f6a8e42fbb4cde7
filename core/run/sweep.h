/* Removes what no later run can use: records and spilled rows that the plan as it is now does not
 * reach, temporaries of dead processes, and files of datasets that neither a snapshot nor a record
 * refers to. Depends on run and below. */
#ifndef SLUICE_RUN_SWEEP_H
#define SLUICE_RUN_SWEEP_H

#include "run/run.h"

enum sweep_kind {
    SWEEP_RECORDS,
    SWEEP_SPILL,
    SWEEP_DATA,
    SWEEP_KEPT_ROWS,
    SWEEP_TEMPORARY,
    SWEEP_CONTENT, /* by who knows the frozen plan, not by sweep_run */
    SWEEP_ATTEMPTS,
    SWEEP_SAVED,
    SWEEP_KINDS
};

struct swept {
    uint64_t files[SWEEP_KINDS], bytes[SWEEP_KINDS];
};

/* run: a view, all phases looked at (run/runview.h), which the caller leads, and nobody else works
 * on. dry: only counts, and needs neither. */
sluice_status sweep_run(const struct run *, bool dry, struct swept *,
                        struct sluice_error *) MUST_USE;

#endif
