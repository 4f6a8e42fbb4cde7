/* Tasks of a phase that failed, and what became of that: each failure is a file that is put once,
 * RUN/failures/HEX/TASK.N (HEX: of the plan and the phase), which all processes see, so that all
 * count the same. A task waits after a failure, or is given up. They are forgotten when somebody
 * begins to work on the run and nobody else does: then everything is tried again. Thread-safe.
 * Depends on store. */
#ifndef SLUICE_RUN_TROUBLES_H
#define SLUICE_RUN_TROUBLES_H

#include "base/hash.h"
#include "run/work/crew.h"

enum trouble_kind {
    TROUBLE_TRANSIENT, /* files, devices, networks: may pass */
    TROUBLE_MEMORY,
    TROUBLE_PERMANENT, /* data, defects: comes again */
    TROUBLE_LOST,      /* the worker died with it, or stood still for too long */
    TROUBLE_KINDS,
    TROUBLE_FATAL = TROUBLE_KINDS, /* nothing of the run can succeed: no failure of a task */
};
const char *trouble_word(enum trouble_kind);
/* What kind of failure a task's error is. */
enum trouble_kind trouble_kind(const struct sluice_error *);

struct trouble {
    uint32_t task; /* of the phase */
    uint32_t n;    /* its number among the task's, from 1 */
    enum trouble_kind kind;
    int32_t code;
    bool final;        /* it is not tried again */
    uint64_t delay_ns; /* else not before */
    char worker[MEMBER_ID], host[64];
    char message[1024];
};

/* How often a task failed so far. */
struct trouble_count {
    uint32_t by_kind[TROUBLE_KINDS];
    uint32_t n, hosts; /* hosts: different ones on which its worker died */
};

struct troubles;
sluice_status troubles_open(const char *run_dir, struct hash128 name, struct troubles **out,
                            struct sluice_error *) MUST_USE;
void troubles_close(struct troubles *); /* NULL is fine */

enum trouble_state { TASK_READY, TASK_WAITS, TASK_GIVEN_UP };
enum trouble_state troubles_state(struct troubles *, uint32_t task);
/* Whether nothing should be tried beside it: memory was lacking, or two workers died with it. */
bool troubles_alone(struct troubles *, uint32_t task);
/* Takes in what others put of the task since. */
sluice_status troubles_read(struct troubles *, uint32_t task, struct sluice_error *) MUST_USE;
/* Counts the task's failures so far and this one, which is not put yet; sets its number. */
void troubles_count(struct troubles *, struct trouble *, struct trouble_count *);
/* Puts one; sets its number. */
sluice_status troubles_add(struct troubles *, struct trouble *, struct sluice_error *) MUST_USE;

/* The last failure of each task that was given up, in order of tasks: free(). */
sluice_status troubles_given_up(struct troubles *, struct trouble **list, size_t *n,
                                struct sluice_error *) MUST_USE;
/* How many were given up. */
size_t troubles_n_given_up(struct troubles *);

/* Forgets all failures of a run. */
sluice_status troubles_sweep(const char *run_dir, struct sluice_error *) MUST_USE;

#endif
