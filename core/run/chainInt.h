/* Private to chain.c, push*.c and collect.c. */
#ifndef SLUICE_RUN_CHAININT_H
#define SLUICE_RUN_CHAININT_H

#include "run/chain.h"
#include "run/notes.h"
#include "run/quarantine.h"

/* Rows that one stage dropped from one batch, waiting for the collector to put them in order. */
struct drop_slice {
    uint32_t source;     /* index in op->drops_of, or n_drops_of for rows of an earlier phase */
    struct batch *batch; /* the stage's input; owned */
    uint32_t *rows;      /* row numbers in batch; owned */
    struct sluice_verdict *verdicts; /* one per row; owned, dup_of points into text */
    char *text;                      /* owned */
    int64_t n, at;
    const struct op *stage;
};

struct op_state {
    struct stage_worker *worker;
    struct port *port; /* OP_STORE */
    struct edge_directory directory;
    uint64_t port_rows;
    struct shards *shards; /* writers */
    struct buf traced;     /* writers: see trace_row in push_trace.c, until the task ends */
    uint64_t next_row;     /* transforms: number of the next emitted row */
    bool flushed;
    /* OP_COLLECT */
    struct drop_slice *slices;
    uint32_t n_slices, slices_capacity;
    struct edge_reader *earlier;
    struct batch *earlier_batch;
    int64_t earlier_at;
    bool earlier_done;
};

struct chain {
    struct chain_options options;
    const struct phase *phase;
    struct op_state *states;
    struct ledger ledger;
    struct stage_result result;
    uint32_t *verdict_rows; /* scratch for selections */
    int64_t verdict_capacity;
    struct table *tables[CHAIN_TABLES];
    struct port *table_ports[CHAIN_TABLES];
    struct edge_directory table_directories[CHAIN_TABLES];
    uint64_t table_rows[CHAIN_TABLES];
    bool
        by_rows; /* the task's rows come in order of _row, and chain_drain is called behind each batch */
    struct notes drops, bad; /* of rows, waiting to be put in order */
    bool failed;
    int32_t
        fault_op; /* the op whose stage reported the last fault of rows (bad data, crash, time-out), or -1 */
    uint64_t culprits;     /* rows that were found to crash a stage, or to take it too long */
    struct kept_rows kept; /* rows for `sluice replay` */
};

/* Is a stage's call over rows a pure function of them, so that it may be made again on parts of them by another worker? */
bool chain_repeats(const struct op *);

void chain_drop_worker(struct chain *, uint32_t op);
sluice_status chain_open_table(struct chain *, enum chain_table, struct sluice_error *) MUST_USE;

/* push.c: one call of a stage over a batch, and its result on its way. */
sluice_status chain_push_once(struct chain *, const struct op *, uint32_t port, struct batch *,
                              struct sluice_error *) MUST_USE;

/* push_verdicts.c: sorts the rows of a batch by the verdicts in chain->result: *kept is a new batch, dropped rows go to the collectors. */
sluice_status chain_judge(struct chain *, const struct op *, struct batch *, struct batch **kept,
                          struct sluice_error *) MUST_USE;
/* Quarantines the rows that a stage which doesn't judge could not process; *good, a new batch, are the others. */
sluice_status chain_set_aside(struct chain *, const struct op *, struct batch *,
                              struct batch **good, struct sluice_error *) MUST_USE;
/* Quarantines a row of op's input; text is "reason: detail". */
sluice_status chain_quarantine_row(struct chain *, const struct op *, const struct batch *,
                                   int64_t row, const char *text, size_t n,
                                   struct sluice_error *) MUST_USE;
/* The number in its split of a row that `from` gave. */
uint64_t chain_row_number(const struct op *from, const struct batch *, int64_t row);

/* push_faults.c: chain_push_once, again over parts of the batch when rows of it fail. */
sluice_status chain_push_stage(struct chain *, const struct op *, uint32_t port, struct batch *,
                               struct sluice_error *) MUST_USE;
/* May the rows of the batch be to blame? */
bool chain_row_fault(sluice_status status);

/* push_trace.c: which source rows the rows of a writer's batch are. */
sluice_status chain_trace(struct chain *, const struct op *, const struct batch *,
                          struct sluice_error *) MUST_USE;
/* Writes what writers traced to the table, writer by writer. */
sluice_status chain_write_traces(struct chain *, struct sluice_error *) MUST_USE;
/* push.c: the end of an op's input. Ops end in topological order. */
sluice_status chain_flush_op(struct chain *, uint32_t op, struct sluice_error *) MUST_USE;

/* collect.c: hands dropped rows (n row numbers of batch with their verdicts) to every collector that wants them, and to the table. */
sluice_status collect_drops(struct chain *, const struct op *stage, struct batch *batch,
                            const uint32_t *rows, const struct sluice_verdict *verdicts, int64_t n,
                            struct sluice_error *) MUST_USE;
/* Writes the drops noted so far to the table, by row. */
sluice_status collect_note_drops(struct chain *, struct sluice_error *) MUST_USE;
sluice_status collector_drain(struct chain *, uint32_t op, uint64_t row,
                              struct sluice_error *) MUST_USE;
void collector_deinit(struct chain *, uint32_t op);

#endif
