/* A run: a plan executed in a run directory. Owns the states of all tasks, the worker pool,
 * barriers and publication. Depends on everything below core/lua.
 *
 * The run directory:
 *   plan.json               the frozen plan: what it is made of, by hashes (core/cmd/freeze)
 *   content/SHA256/NAME     scripts, plugins, files of options, lists of inputs (store/content.h)
 *   tasks/PHASE/KEY.json    commit records
 *   spill/KEY-*.slf         edges and tables
 *   cache/                  what is known of input files
 *   workers/ID              a process that works on it, while it lives (store/member.h)
 *   answers/                what servers answered; claims/: who asks what (asks/)
 *   leases/run.N            the lead, of a `run`; leases/finish.N: the turn to finish it
 *   leases/HEX/             phases and tasks that a process has in hand (work/shift.h)
 *   failures/HEX/           tasks that failed (work/troubles.h)
 *   attempts/N-ID.jsonl     one line each time that a process tried a task (work/attempts.h)
 *   saved/HEX.sls           the state of a task in the middle of its work (saving.h)
 *   stop                    the order to stop (work/stop.h)
 *   take-over               datasets of others that it may go on with (owners.c)
 *   finish                  number and plan of the execution under way (see finish.c)
 *   history/N.json          one report a finished run
 *   last.json               the newest report (also of a halted run) */
#ifndef SLUICE_RUN_RUN_H
#define SLUICE_RUN_RUN_H

#include "run/edge/edge.h"
#include "run/room.h"
#include "run/edge/table.h"
#include "run/source/feeder.h"
#include "run/metrics.h"
#include "run/source/source.h"
#include "run/work/attempts.h"
#include "run/work/crew.h"
#include "run/work/troubles.h"
#include "store/commit.h"
#include "store/snapshot.h"
#include "store/statcache.h"

struct asks;
struct identities;
struct run;
struct worker_cache;

#define RETRY_HALT (-2.0)

/* What the outside is told; all may be NULL. Called on the thread that called run_*. */
struct run_events {
    void *ctx;
    /* About five times a second while a phase runs, and at its begin and end. */
    void (*progress)(void *ctx, const struct run *, uint32_t phase, bool done);
    void (*warn)(void *ctx, const char *message);
    /* Policies and other judges at the barrier after a phase; may halt with SLUICE_E_HALT. */
    sluice_status (*barrier)(void *ctx, struct run *, uint32_t phase, struct sluice_error *err);
    /* A task failed: facts say how (a JSON object as text, see retry.c). *seconds: after which
     * it is tried again; < 0: it is given up; RETRY_HALT: the phase ends with it. NULL: what
     * retry.c says. */
    sluice_status (*retry)(void *ctx, const char *facts, double *seconds, struct sluice_error *err);
    /* A task that another process has in hand seems to be late, and this one has nothing else to
     * do: whether it begins a copy (facts: see late.c). NULL: it never does. */
    sluice_status (*speculate)(void *ctx, const char *facts, bool *wanted,
                               struct sluice_error *err);
    /* The order to stop the run was seen: now, or when what is in hand is done. On any thread. */
    void (*stop)(void *ctx, bool now);
};

struct run_options {
    const char *run_dir; /* absolute, or SCHEME://… */
    /* run_dir, or where what can't be there is kept on this machine. */
    const char *local_dir;
    const char *scratch; /* absolute; default RUN_DIR/scratch */
    uint32_t workers;
    uint64_t memory;      /* of the process tree, bytes */
    uint64_t batch_bytes; /* 0 = 1 MiB */
    bool fresh;           /* ignore commits that are there */
    bool take_over;       /* go on with datasets that belong to others */
    bool lock;            /* it leads, as `run` does: there is one at a time */
    /* A task that is at work for so long saves its state, and again after as long; 0 = never. */
    uint64_t save_ns;
    const char *kind; /* "run", "work", "task", for people; NULL = "run" */
    /* Another run's folder of answers: what is in it is taken from there, and nothing is asked.
     * NULL = its own. */
    const char *answers;
    struct statcache *inputs;     /* what is known of input files; NULL = nothing; borrowed */
    const _Atomic int *drain;     /* != 0: take no more tasks, publish nothing */
    const _Atomic int *cancelled; /* != 0: stop at once */
    /* Of clock_ns(): when it will be cancelled, once drain is set; 0 = that is not known. May be
     * NULL. */
    const _Atomic uint64_t *deadline;
    struct run_events events;
};

struct task_state {
    struct hash128 key;
    bool keyed; /* or what it reads is not known yet */
    bool done;
    bool reused;           /* committed before this process */
    bool doubted;          /* its record was there, but damaged, or one of its files was */
    uint32_t first;        /* of the tasks with this key, as the phase was prepared; or itself */
    struct commit *commit; /* when done; trimmed */
    char *ledger;          /* with run.keeps_ledgers: of the commit, as JSON text */
    struct edge_directory *directories; /* per OP_STORE of the phase, in order of ops */
};

struct run {
    const struct plan *plan;
    struct run_options options;
    struct metrics metrics;
    struct feeder *feeder;
    struct asks *asks; /* NULL: no stage asks servers */
    struct crew *crew;
    struct attempts *attempts; /* NULL = nothing was tried yet */
    /* the number that its report in history/ gets; 0 = this process found nothing to do */
    uint32_t execution;
    struct lease *turn;               /* to finish it; NULL = not taken */
    _Atomic uint32_t phase;           /* the one at work, for the heartbeat */
    struct task_state **tasks;        /* [phase][task] */
    struct source_files **lane_files; /* [lane] */
    struct identities *identities;
    uint32_t *n_stores;      /* per phase */
    uint64_t *sorter_memory; /* per phase: bytes of one sorter of one worker */
    struct rooms *rooms;     /* per phase: for giants; n_rooms of them */
    uint32_t n_rooms;
    struct vouch *vouch; /* of files made before; NULL (looking only): by their sizes */
    char *spill_dir, *tasks_dir;
    /* Of sorter_memory and the next two: what reading found that planning could not know. */
    pthread_mutex_t mutex;
    uint64_t window; /* bytes of the largest zstd window so far */
    bool decodes;    /* a compressed file was met whose name does not say so */
    uint64_t started_ns;
    json_t **ledgers; /* per phase: summed when complete */
    /* Per phase, of the tasks that are done; of one the ledger could not be added. */
    json_t **sums;
    bool *sums_lack;
    bool keeps_ledgers; /* with the tasks, for who looks at each */
    json_t *failures;   /* tasks that were given up: {task, name, phase, class, attempts, …} */
};

/* Opens the run directory. SLUICE_E_IO with field "lock": another coordinator is at work. */
sluice_status run_open(const struct plan *, const struct run_options *, struct run **out,
                       struct sluice_error *) MUST_USE;
void run_close(struct run *);

/* SLUICE_E_NOMEM, with the number, when options.memory is less than the plan needs. run_all begins
 * with it. */
sluice_status run_check_memory(const struct run *, struct sluice_error *) MUST_USE;

/* Computes the keys of a phase's tasks (its dependencies must be done), as far as it is known what
 * they read, and finds those already committed. */
sluice_status run_prepare_phase(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;
/* Tasks first .. end - 1 of a phase. */
struct task_range {
    uint32_t phase, first, end;
};
/* The same for some tasks, and for what of earlier phases they need: no other record is read.
 * SLUICE_E_CONFIG: something that they need is not done. */
sluice_status run_prepare_tasks(struct run *, struct task_range, struct sluice_error *) MUST_USE;
/* Runs what is left of them on the pool, beside others that may work on the phase: waits for
 * whoever has one in hand, else tries it once. */
sluice_status run_tasks(struct run *, struct task_range, struct sluice_error *) MUST_USE;
/* Of an attempt at a task: what it may ask and what comes of it. */
struct task_attempt {
    struct phase_metrics *metrics;
    const _Atomic int *cancelled;
    _Atomic int
        *save; /* enum saving_wish; NULL = it neither saves nor goes on from what is saved */
    /* Asked before the commit: may another process have committed the task? NULL = no */
    bool (*doubtful)(void *ctx);
    void *ctx;
    bool existed; /* its record was there already, equal */
    /* Rows of the saved state that it went on from; of the last one that it saved. 0 = none. */
    uint64_t from_row, saved_row;
};
/* Runs one prepared task on this thread and commits it. */
sluice_status run_task(struct run *, uint32_t phase, uint32_t task, struct worker_cache *,
                       struct task_attempt *, struct sluice_error *) MUST_USE;
/* Runs what is left of a prepared phase on the pool, beside other processes that do: each task is
 * done by one of them, and what others did is taken up. */
sluice_status run_phase(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;
/* SLUICE_E_CANCELLED when the run was asked to stop, even if nothing was left to do. */
sluice_status run_heed(const struct run *, struct sluice_error *) MUST_USE;
/* After a complete phase: sums the ledger, judges quarantine and gates, calls events.barrier. */
sluice_status run_barrier(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;

struct run_published {
    char *op; /* the writer */
    char *dataset;
    uint32_t number;
    bool fresh;      /* false: identical to the newest, no new number */
    bool appended;   /* rows are behind those that were there */
    uint64_t mended; /* files of the dataset that were missing or damaged, and were put right */
    uint64_t rows, bytes, shards;
    json_t *skew; /* of its partitions (skew.h), or NULL; owned */
};
/* Publishes every dataset. *list is given, n items; free with run_published_free. */
sluice_status run_publish(struct run *, struct run_published **list, size_t *n,
                          struct sluice_error *) MUST_USE;
void run_published_free(struct run_published *, size_t n);

/* Waits for the turn to finish the run, and keeps it until run_finished. *mine: its report (number
 * run->execution) is still to be written; else another process did, or there is nothing to report.
 * run_all takes the turn before it publishes. */
sluice_status run_finish(struct run *, bool *mine, struct sluice_error *) MUST_USE;
void run_finished(struct run *); /* run_close does it, too */
/* Writes RUN/last.json, and for a finished run RUN/history/N.json, N being that of the execution;
 * only for whom run_finish says so. */
sluice_status run_report(const struct run *, const json_t *report, bool finished,
                         struct sluice_error *) MUST_USE;

/* The numbers of the reports in a run directory's history/, ascending, also where lists are old:
 * what is in one, and up to the execution that began last those that it lacks and are there all
 * the same. *numbers is given (free()), after an error too. */
sluice_status run_history(const char *run_dir, uint32_t **numbers, size_t *n,
                          struct sluice_error *) MUST_USE;

/* Everything: phases, barriers, publication. */
sluice_status run_all(struct run *, struct run_published **list, size_t *n,
                      struct sluice_error *) MUST_USE;

/* Key parts of a task for commit records and `why` (name, value in turn); needs prepared
 * dependencies. A split that nobody has read is unlike any other. */
sluice_status run_task_parts(const struct run *, uint32_t phase, uint32_t task, struct commit *,
                             struct sluice_error *) MUST_USE;
/* Is nothing missing for the task's key but that somebody reads its split? */
bool run_unread(const struct run *, uint32_t phase, uint32_t task);
/* Folder of a commit's output in this plan, or NULL. */
const char *run_output_folder(const struct run *, uint32_t phase, const struct commit_output *,
                              char *buffer, size_t size);
/* The ledger of a done task, from its record. NULL: it can't be read. Gives. */
json_t *run_ledger(const struct run *, uint32_t phase, uint32_t task);

/* Sum of a phase's quarantined rows and of its readers' records. */
void run_quarantine_counts(const struct run *, uint32_t phase, uint64_t *bad, uint64_t *records);

#endif
