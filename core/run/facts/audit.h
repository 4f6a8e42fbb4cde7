/* Everything read again and compared with what was recorded: a dataset against its manifest, a run
 * against its commit records and ledgers. Changes nothing. Depends on run and below. */
#ifndef SLUICE_RUN_AUDIT_H
#define SLUICE_RUN_AUDIT_H

#include "run/run.h"

struct audit {
    bool deep;                                     /* hashes as well, else sizes alone */
    void (*fault)(void *ctx, const char *message); /* told of each as it is found */
    void *ctx;
    struct run *run; /* audit_run: a view that warns of nothing, all phases looked at */
    /* counted so far; equations are those of ledgers, tasks those that are done */
    uint64_t faults, files, bytes, records, equations, tasks;
};

/* Reads the run's records and files. A fault is no error; what can't be looked at is one. Sums the
 * ledgers of the run. */
sluice_status audit_run(struct audit *, struct sluice_error *) MUST_USE;

struct audit_snapshot {
    uint32_t number; /* 0 = its record is damaged, which is told as a fault */
    uint64_t files, bytes, faults;
};
/* Reads the files of a snapshot; number 0 = the newest. */
sluice_status audit_snapshot(struct audit *, const char *dataset, uint32_t number,
                             struct audit_snapshot *, struct sluice_error *) MUST_USE;

#endif
