/* Tasks that go on from a saved state, so that a process that goes, or dies, costs no hours.
 *
 * A task that is at work for long saves its state between two batches: every save_ns of
 * run_options, and when its process is asked to go and there is no time to finish it (drain.c). The
 * state is one file, RUN/saved/HEX.sls, which is replaced whole; whoever takes the task next
 * restores it, and its sources read again what was read before, without a stage seeing it. When the
 * task is committed the file goes. What is in it: chain.h.
 *
 * It is of the same task of the same execution, with the same plugins, options and program, and of
 * the same versions of the input's files: all that is in its name, and in each block of it. What is
 * damaged or does not fit is said, removed, and the task starts over. Nothing that a task commits
 * tells whether it was ever saved.
 *
 * A phase can be saved where each stage keeps nothing between batches, or has save and load (a
 * gate: merge). A task whose stages have not is given back as it was, and starts over. Second
 * copies of late tasks neither save nor restore. Depends on chain. */
#ifndef SLUICE_RUN_SAVING_H
#define SLUICE_RUN_SAVING_H

#include "run/chain/chain.h"
#include "run/run.h"

#define SAVED_FOLDER "saved"

enum saving_wish {
    SAVING_NONE,
    SAVING_KEEP, /* save, and go on */
    SAVING_GO,   /* save, and give the task back */
};

struct saving {
    struct run *run;
    uint32_t phase, task;
    struct task_attempt *attempt;
    struct hash128 of;
    char *dir;
    char name[40];
    bool able;                   /* it may save and restore */
    bool there;                  /* a file of this name may be */
    bool restored;               /* it goes on from a saved state, of: */
    uint64_t restored_rows;      /* chain_all_rows */
    uint64_t since_ns, pause_ns; /* when it was last saved; how long until the next time */
    struct chain_pause pause;
};

/* For one attempt at a task. deinit in any case. */
sluice_status saving_init(struct saving *, struct run *, uint32_t phase, uint32_t task,
                          struct task_attempt *, struct sluice_error *) MUST_USE;
void saving_deinit(struct saving *);
/* For chain_options, or NULL. */
const struct chain_pause *saving_pause(const struct saving *);
/* The rows of all sources go through a new chain, to its end but for what it holds back; those that
 * a saved state is of, as far as the sources alone. *chain is the caller's, on failure too. */
struct source_inputs;
sluice_status saving_drive(struct saving *, const struct chain_options *,
                           const struct source_inputs *, struct chain **chain,
                           struct sluice_error *) MUST_USE;
/* The attempt failed: a saved state that it went on from may be to blame, and goes. */
void saving_failed(struct saving *, sluice_status);
/* The task is committed: what is saved of it goes. */
void saving_done(struct saving *);

/* The file of a task whose loads are there: its name in RUN/saved. */
sluice_status saving_name(const struct run *, uint32_t phase, uint32_t task, struct hash128 *of,
                          char name[40], struct sluice_error *) MUST_USE;

#endif
