/* The log of attempts: one line for each time that a process tried a task, in a file of the
 * process, RUN/attempts/EXECUTION-ID.jsonl. It says what happened (times, hosts, memory), so it
 * stands apart from what is committed, and nothing that a run makes depends on it. Reports and
 * predictions do: they are right whoever did the work. A killed process loses the line of what
 * it had in hand; who takes that over writes one for it ("lost_worker"). On stores without
 * append a file is put for each span between two beats, and at the end of what there is to do
 * (…-ID.SEGMENT.jsonl). Depends on metrics
 * and store. */
#ifndef SLUICE_RUN_ATTEMPTS_H
#define SLUICE_RUN_ATTEMPTS_H

#include <jansson.h>
#include <time.h>

#include "run/metrics.h"
#include "run/work/crew.h"

struct attempts;

/* What came of an attempt. */
#define ATTEMPT_COMMITTED "committed"
#define ATTEMPT_FOUND "found"             /* another one's record was there before it began */
#define ATTEMPT_LOST_RACE "lost_race"     /* … when it was done */
#define ATTEMPT_LOST_TWIN "lost_to_twin"  /* … when a second copy of it had committed */
#define ATTEMPT_SPECULATIVE "speculative" /* a second copy that was not needed */
#define ATTEMPT_DRAINED "drained"         /* given back: the process was asked to go */
#define ATTEMPT_LOST_WORKER \
    "lost_worker" /* its process died with it, or stood still for too long */
#define ATTEMPT_FAILED "failed"

struct attempt {
    uint32_t number;  /* of the task, in the run */
    const char *task; /* its name */
    const char *phase;
    struct hash128 key;
    bool keyed;
    struct timespec begin; /* of the wall clock */
    uint64_t wall_ns;
    const char *outcome;
    bool twin;                           /* it was a second copy */
    const char *kind;                    /* of a failure; or NULL */
    const char *message;                 /* or NULL */
    const struct holder *other;          /* whose attempt it was, for ATTEMPT_LOST_WORKER */
    const struct phase_metrics *metrics; /* n_ops; NULL: nothing was done */
    uint32_t n_ops;
    uint64_t rows, bytes_in, bytes_out;
    /* It went on from a saved state of so many rows; it saved one of so many. 0 = it did not. */
    uint64_t from_row, saved_row;
};

/* Begins the file of this process; workers: its threads. Gives. */
sluice_status attempts_open(const char *run_dir, uint32_t execution, const struct member *,
                            const char *kind, uint32_t workers, struct attempts **out,
                            struct sluice_error *) MUST_USE;
/* A log that can't be written is warned of once, and nothing else. Thread-safe; NULL is fine. */
sluice_status attempts_add(struct attempts *, const struct attempt *,
                           struct sluice_error *) MUST_USE;
/* Puts what waits, so that others can read it; NULL is fine. */
sluice_status attempts_flush(struct attempts *, struct sluice_error *) MUST_USE;
void attempts_close(struct attempts *);

#define ATTEMPTS_ALL 0 /* executions */
/* Calls each for all lines of an execution that are whole, file by file; not for those of files
 * that would be more than most bytes together. */
sluice_status attempts_read(const char *run_dir, uint32_t execution, uint64_t most,
                            void (*each)(void *ctx, const json_t *line), void *ctx,
                            struct sluice_error *) MUST_USE;
/* Removes the files of all executions but the newest keep. */
sluice_status attempts_sweep(const char *run_dir, uint32_t keep, uint64_t *files, uint64_t *bytes,
                             bool dry, struct sluice_error *) MUST_USE;

#endif
