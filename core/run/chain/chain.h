/* The ops of one phase at work on one task, on one thread. Rows are pushed from the sources through
 * the ops in batches; nothing that a task makes depends on where batches begin and end. Depends on
 * plan and plugin; knows nothing of threads or commits.
 *
 * The life of a chain: create -> (chain_push from sources, chain_drain after each source batch) ->
 * chain_finish -> the task takes ports and shards -> destroy. */
#ifndef SLUICE_RUN_CHAIN_H
#define SLUICE_RUN_CHAIN_H

#include "run/chain/ledger.h"
#include "run/metrics.h"
#include "run/chain/shards.h"
#include "run/edge/table.h"
#include "run/room.h"

/* Workers of stateless stages, kept by a thread from task to task (models, caches, contexts). */
struct worker_cache;
struct worker_cache *worker_cache_create(const struct plan *); /* NULL = out of memory */
void worker_cache_destroy(struct worker_cache *);

struct bad_record;
struct asks;
struct chain;
struct saved;
struct restored;

/* Is told of rows while a chain works, on the chain's thread; a failure ends the task. For looks at
 * what stages say (core/cmd/try). What is NULL is not asked; all pointers are borrowed for the
 * call. */
struct chain_observer {
    void *ctx;
    /* What a stage answered to the selected rows of a batch, before any of it is delivered. Rows
     * that it fails on are told by `refused` alone. */
    sluice_status (*answered)(void *ctx, const struct op *, const struct batch *,
                              const struct stage_result *, struct sluice_error *err);
    /* What an op gives its consumers (batch_ref keeps it). *held: they don't get it, and the ledger
     * will not balance. */
    sluice_status (*given)(void *ctx, const struct op *, struct batch *, bool *held,
                           struct sluice_error *err);
    /* A record or row that is quarantined. */
    sluice_status (*refused)(void *ctx, const struct op *, const struct bad_record *,
                             struct sluice_error *err);
};

/* Is told that nothing is on its way: what came of the rows so far is in what the chain keeps, so
 * that it may be saved (chain_save). A failure ends the task. */
struct chain_pause {
    void *ctx;
    sluice_status (*pause)(void *ctx, struct chain *, struct sluice_error *err);
};

struct chain_options {
    const struct plan *plan;
    const struct phase *phase;
    uint32_t task;
    /* where edge files and tables go; NULL: the phase stores no edge, and no table is kept */
    const char *spill_dir;
    const char *scratch_dir;
    uint64_t memory;     /* bytes for sorting, per worker */
    struct rooms *rooms; /* for giants; NULL = no limit */
    struct worker_cache *cache;
    struct phase_metrics *metrics;
    const _Atomic int *cancelled;
    const struct chain_observer *observer; /* or NULL; borrowed */
    struct asks *asks;                     /* NULL: servers are not asked here */
    const struct chain_pause *paused;      /* or NULL; borrowed */
};

/* Rows of a side or dropped edge that a collector pulls itself. */
struct edge_reader;

sluice_status chain_create(const struct chain_options *, struct chain **out,
                           struct sluice_error *) MUST_USE;
void chain_destroy(struct chain *);

/* Counts and passes on what a source op delivers (borrowed batch with the op's slots). A stage may
 * stand for a source: what it gave once is given again. */
sluice_status chain_emit(struct chain *, uint32_t op, struct batch *,
                         struct sluice_error *) MUST_USE;
/* After a source batch: collectors write the dropped rows up to this row. */
sluice_status chain_drain(struct chain *, uint64_t row, struct sluice_error *) MUST_USE;
/* Gives a collector the reader of rows dropped in an earlier phase (taken). */
void chain_collect_from(struct chain *, uint32_t op, struct edge_reader *);
/* Flushes every op in order; checks the ledger; ends all files. */
sluice_status chain_finish(struct chain *, struct sluice_error *) MUST_USE;

/* A record that can't be read, or a row that can't be judged. raw may be NULL. */
struct bad_record {
    const char *stage, *reason, *detail;
    bool has_place;
    uint32_t file;
    uint64_t begin, end;
    bool has_row;
    uint64_t row;
    const char *raw;
    size_t raw_size;
};
sluice_status chain_quarantine(struct chain *, uint32_t op, const struct bad_record *,
                               struct sluice_error *) MUST_USE;
/* One row of the origin table. */
sluice_status chain_origin(struct chain *, uint64_t row, uint32_t file, uint64_t begin,
                           uint64_t end, const char *id, size_t id_size,
                           struct sluice_error *) MUST_USE;

/* The worker of a source op (readers). */
sluice_status chain_worker(struct chain *, uint32_t op, struct stage_worker **out,
                           struct sluice_error *) MUST_USE;
struct ledger_op *chain_ledger(struct chain *, uint32_t op);
/* Books what a stage measured, and what a reader found absent. */
sluice_status chain_book(struct chain *, uint32_t op, const struct stage_result *,
                         struct sluice_error *) MUST_USE;
const struct chain_options *chain_options(const struct chain *);
/* What the task has of the memory for giants. A source says when a batch of its own is one. */
struct room *chain_room(struct chain *);
/* Sources call it between batches: SLUICE_E_CANCELLED when the run is to stop. */
sluice_status chain_between(struct chain *, struct sluice_error *) MUST_USE;
/* SLUICE_E_CANCELLED when the run is to stop. */
sluice_status chain_check_cancelled(const struct chain *, struct sluice_error *) MUST_USE;
struct meter *chain_meter(struct chain *); /* of the thread that the chain is on */

/* ---- going on elsewhere (save.c) ----
 *
 * What a chain keeps of the rows so far, saved between two batches and restored in a new chain of
 * the same task. The sources then begin again, and what they gave before is counted and goes no
 * further: a split is read again, and no stage sees a row twice. */

/* Whether chains of this phase can be saved. *op: one that keeps what it can't save, or NULL. */
bool chain_can_save(const struct phase *, const struct op **op);
/* Delivers what waits for answers first. *ready false: not between these batches. *hurt: a stage
 * failed, and the chain is of no more use. */
sluice_status chain_save(struct chain *, struct saved *, bool *ready, bool *hurt,
                         struct sluice_error *) MUST_USE;
/* In a chain that was just created; after a failure it is of no use. */
sluice_status chain_restore(struct chain *, struct restored *, struct sluice_error *) MUST_USE;
/* Are there rows that sources gave before, and have not given again yet? */
bool chain_behind(const struct chain *);
/* Rows that the task's sources gave so far, those of side inputs left out. */
uint64_t chain_rows(const struct chain *);
uint64_t chain_all_rows(const struct chain *); /* those of side inputs as well */

/* After chain_finish. */
const struct ledger *chain_books(const struct chain *);
struct port *chain_port(struct chain *, uint32_t op, struct edge_directory **directory,
                        uint64_t *rows); /* OP_STORE */
/* Writers: the k-th shards, and the folder that they are published in; NULL = there are no more. */
struct shards *chain_shards(struct chain *, uint32_t op, uint32_t k, const char **folder);
/* NULL when the table has no rows. */
struct port *chain_table_port(struct chain *, enum task_table, struct edge_directory **directory,
                              uint64_t *rows);
/* Rows that stages refused, for quarantine_write. Borrowed. */
struct kept_rows;
const struct kept_rows *chain_kept(const struct chain *);
/* Saved state of a gate; out gets the bytes. */
sluice_status chain_state(struct chain *, uint32_t op, struct buf *out,
                          struct sluice_error *) MUST_USE;

#endif
