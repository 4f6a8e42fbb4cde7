/* Private to phase.c, hand.c and late.c: a phase on the pool. */
#ifndef SLUICE_RUN_PHASEINT_H
#define SLUICE_RUN_PHASEINT_H

#include "run/chain/chain.h"
#include "run/runInt.h"
#include "run/saving.h"
#include "run/work/pace.h"
#include "run/work/shift.h"

/* Tasks in order of their keys. */
struct keyed_task {
    struct hash128 key;
    uint32_t task;
};

/* A thread of the pool, and what it is at. */
struct hand {
    struct worker_cache *cache;
    struct phase_metrics part; /* of its attempt, not yet counted elsewhere */
    struct phase_metrics total;
    bool active;
    bool weighed; /* whether there is the time to finish it */
    uint32_t task;
    struct hold *hold;
    uint64_t begun_ns, looked_ns;
    uint64_t from_row, saved_row; /* of its attempt, when that has ended */
    _Atomic int cancelled;
    _Atomic int save; /* enum saving_wish */
    /* There is another copy of the task elsewhere; it was committed. */
    atomic_bool rival, beaten;
    struct phase_job *job;
};

/* A task that another process has in hand, as this one saw it. */
struct watched {
    uint32_t task;
    uint64_t since_ns;
    char holder[MEMBER_ID];
};

/* A task that failed, still in hand until it is decided what becomes of it: policies are asked on
 * the run's thread alone. */
struct failing {
    struct hold *hold;
    struct trouble trouble;
    struct failing *next;
};

struct phase_job {
    struct run *run;
    uint32_t phase;
    bool single; /* some tasks, each tried once: whoever launched it decides what comes then */
    struct keyed_task *by_key; /* tasks whose keys are known, each key once */
    uint32_t n_keyed;
    bool unread;        /* of some it is not */
    atomic_bool *ended; /* by task: done or given up, as far as this process knows */
    uint32_t *todo;     /* task numbers */
    uint32_t n_todo;
    atomic_uint_fast64_t busy_ns; /* of workers with a task */
    uint64_t looked_ns;
    uint64_t drained_ns; /* it was asked to go; 0 = not yet */
    bool kept;           /* what was in hand then was told to save itself */
    size_t n_records;    /* in its folder, when it began; for tasks without a key */
    struct shift *shift;
    struct troubles *troubles;
    pthread_mutex_t lock; /* of the rest */
    struct hand **hands;  /* room for all threads */
    uint32_t n_hands;
    struct failing *failing;
    uint32_t n_busy; /* tasks that are tried */
    uint32_t alone;  /* task + 1: nothing is begun before that is done */
    struct watched *watched;
    size_t n_watched, watched_room;
    double *sizes;                /* of tasks, in bytes; < 0 = not reckoned yet; NULL = none is */
    uint64_t judged_ns;           /* late tasks were looked for */
    uint64_t judging_ns;          /* … which took so long */
    atomic_uint_fast64_t idle_ns; /* a thread had nothing to do; 0: none has */
    atomic_uint_fast32_t late;    /* task + 1: whoever has nothing to do begins a copy */
    bool broken;                  /* the phase ends, with this */
    struct sluice_error error;
};

/* Takes a task and tries it. *taken false: another one has it, or it waits: come back later. */
sluice_status hand_task(struct phase_job *, struct hand *, uint32_t task, bool *taken,
                        struct sluice_error *) MUST_USE;
void *hand_open(void *job);
void hand_close(void *job, void *hand);
/* A few times a second on the run's thread: counts what the hands did, tells them to stop, decides
 * about failures. */
void hands_tick(struct phase_job *);

/* beside.c: whether the task may be tried beside those that are; if so it leaves when it was. */
bool beside_enter(struct phase_job *, uint32_t task);
void beside_leave(struct phase_job *, uint32_t task);
/* It is not going to be tried: nothing waits for it. */
void beside_forget(struct phase_job *, uint32_t task);

/* late.c: second copies of tasks that others are late with. */

/* Another process has the task. *hold: NULL, or a copy of it is to be made here. */
sluice_status twin_refused(struct phase_job *, uint32_t task, const struct holder *,
                           struct hold **hold, struct sluice_error *) MUST_USE;
/* This one has it. */
void twin_taken(struct phase_job *, uint32_t task);
/* The task of a hand that was beaten: *done by what the other one committed, if that is found. */
sluice_status twin_yield(struct phase_job *, uint32_t task, bool *done,
                         struct sluice_error *) MUST_USE;
/* It was committed here: the other copy, if there may be one, is told. */
void twin_won(struct phase_job *, const struct hand *, uint32_t task);
/* On the run's thread, as the next ones. */
void twins_tick(struct phase_job *);
/* How fast the phase's tasks were that are done. */
sluice_status late_paces(struct phase_job *, struct paces *, struct sluice_error *) MUST_USE;
/* Bytes of a task, after late_paces; of its split alone, in decoded bytes. */
double late_size(struct phase_job *, uint32_t task);
double late_split(const struct run *, uint32_t phase, uint32_t task);

/* drain.c: when the process was asked to go, what can't be done in time is given back at once. On
 * the run's thread. */
void drain_tick(struct phase_job *);

/* failing.c: keeps a failed task in hand until the run's thread has decided. */
sluice_status failing_put(struct phase_job *, const struct trouble *, struct hold *,
                          struct sluice_error *) MUST_USE;
/* On the run's thread; and when the pool has ended: nothing is in hand any more. */
void failing_decide(struct phase_job *);
void failing_end(struct phase_job *);

#endif
