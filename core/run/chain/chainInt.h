/* Private to core/run/chain. */
#ifndef SLUICE_RUN_CHAININT_H
#define SLUICE_RUN_CHAININT_H

#include "plugin/batch_view.h"
#include "run/chain/chain.h"
#include "run/floor.h"
#include "run/chain/notes.h"
#include "run/chain/parts.h"
#include "run/chain/quarantine.h"

/* Rows that one stage dropped from one batch, waiting for the collector to put them in order. */
struct drop_slice {
    uint32_t source;                 /* which of the collector's stages */
    struct batch *batch;             /* the stage's input; owned */
    uint32_t *rows;                  /* row numbers in batch; owned */
    struct sluice_verdict *verdicts; /* one per row; owned, dup_of points into text */
    char *text;                      /* owned */
    int64_t n, at;
    const struct op *stage;
};

/* What a stage sees of a batch. */
struct call_view {
    struct batch_view of;
    struct ArrowArray *columns[PLAN_NEEDS_MAX];
};

/* What a stage answered to a batch, or to a part of one; nothing of it has gone downstream. */
struct answer {
    struct answer *next;         /* of the rows behind these, or the next spare one */
    struct batch *batch;         /* the rows that it is about; owned */
    struct call_view view;       /* of the call, which may wait */
    struct stage_result result;  /* owned; its memory is used again */
    struct stage_worker *worker; /* in whose call it waits (waiting.c); owned */
    struct asking *asking;       /* for what; owned */
    sluice_status fault; /* not SLUICE_OK: the stage fails on this one row, and gave nothing */
    char *why;           /* "reason: detail" of a fault; owned */
};

/* Calls of one stage that wait side by side, and those behind them, in the order of their rows.
 * Each has a worker and a batch: floor.c reckons with so many. */
#define WAITING_MOST FLOOR_WAITING

struct waiting {
    struct answer *answers[WAITING_MOST]; /* each a list: of one call, or its parts */
    uint32_t first, n;                    /* a ring */
    struct stage_worker *idle[WAITING_MOST];
    uint32_t n_idle;
};

struct op_state {
    struct stage_worker *worker;
    struct port *port; /* OP_STORE */
    struct edge_directory directory;
    uint64_t port_rows;
    struct shards *shards; /* writers */
    struct buf traced;     /* writers: see trace_row in written.c, until the task ends */
    struct parts *parts; /* writers of partitions: of the one in hand are worker, shards, traced */
    uint64_t next_row;   /* transforms: number of the next emitted row */
    bool flushed;
    uint64_t skip;           /* sources: rows that they gave before the chain was saved */
    bool took;               /* stages: a row that did not fail */
    struct waiting *waiting; /* stages that may ask; NULL = none waited yet */
    /* OP_COLLECT */
    struct drop_slice *slices;
    uint32_t n_slices, slices_capacity;
    struct edge_reader *earlier;
    struct batch *earlier_batch;
    int64_t earlier_at;
    uint64_t earlier_taken, earlier_skip; /* rows of it; that were taken before */
    bool earlier_done;
};

struct chain {
    struct chain_options options;
    struct meter meter;
    const struct phase *phase;
    struct op_state *states;
    struct ledger ledger;
    struct answer *spare;
    uint32_t *verdict_rows; /* scratch for selections */
    int64_t verdict_capacity;
    struct table *tables[TASK_TABLES];
    struct port *table_ports[TASK_TABLES];
    struct edge_directory table_directories[TASK_TABLES];
    uint64_t table_rows[TASK_TABLES];
    /* the task's rows come in order of _row, and chain_drain is called behind each batch */
    bool by_rows;
    uint32_t n_behind;       /* sources with rows to skip */
    uint64_t drained;        /* the last row of chain_drain */
    bool drains;             /* it was called */
    struct notes drops, bad; /* of rows, waiting to be put in order */
    bool failed;
    struct kept_rows kept; /* rows for `sluice replay` */
    struct room room;
};

/* Is a stage's call over rows a pure function of them, so that it may be made again on parts of
 * them by another worker? */
bool chain_repeats(const struct op *);

/* Are tables kept of where rows came from, and of what became of them? */
bool chain_records(const struct chain *);

void chain_drop_worker(struct chain *, uint32_t op);
/* At the end of the chain: for the thread's next task, or closes it. */
void chain_leave_worker(struct chain *, uint32_t op);
sluice_status chain_open_table(struct chain *, enum task_table, struct sluice_error *) MUST_USE;

/* call.c: an answer to fill, or NULL; the release of one gives the next in its list. */
struct answer *answer_take(struct chain *);
struct answer *answer_release(struct chain *, struct answer *);
void answers_destroy(struct answer *); /* spare ones */
/* Asks a stage about a batch, once. Gives the answer. *fault: the status, where rows of the batch
 * may be to blame for it. */
sluice_status chain_call(struct chain *, const struct op *, uint32_t port, struct batch *,
                         struct answer **out, sluice_status *fault, struct sluice_error *) MUST_USE;

/* The same, or less: a call that asked for something may wait (waiting_call), with the answer as it
 * is so far. */
sluice_status chain_call_begin(struct chain *, const struct op *, uint32_t port, struct batch *,
                               struct answer **out, sluice_status *fault,
                               struct sluice_error *) MUST_USE;
/* After the call of an answer's worker: what became of it. */
void chain_call_ended(struct chain *, const struct op *, sluice_status, sluice_status *fault);

/* waiting.c: calls that asked for something, and wait for it. */
static inline bool waiting_call(const struct answer *answer)
{
    return answer->result.n_asks > 0;
}
/* May calls of this op wait side by side, while others go on? */
bool waiting_may(const struct chain *, const struct op *, uint32_t port);
/* Goes on with a call of worker until it is over. */
sluice_status waiting_finish(struct chain *, const struct op *, struct stage_worker *,
                             struct answer *, struct sluice_error *) MUST_USE;
/* The op's worker waits in this call from now on: the op has another one for the next. */
sluice_status waiting_leave(struct chain *, const struct op *, struct answer *,
                            struct sluice_error *) MUST_USE;
/* Puts answers behind those that wait (takes them, on failure too), if there are any or one of them
 * does; else *taken is false. Sees to it that there is room for another. */
sluice_status waiting_queue(struct chain *, const struct op *, struct answer *answers, bool *taken,
                            struct sluice_error *) MUST_USE;
/* Delivers what is over, as far as nothing before it waits; all: waits for all of it. */
sluice_status waiting_tend(struct chain *, const struct op *, bool all,
                           struct sluice_error *) MUST_USE;
/* The first row of what waits anywhere; UINT64_MAX = nothing does. */
uint64_t waiting_first_row(const struct chain *);
/* A worker that is not in a call, for the next; NULL = there is none. */
struct stage_worker *waiting_idle(struct chain *, uint32_t op);
void waiting_destroy(struct chain *, uint32_t op);

/* save.c: whether a restored chain gives the stage its side input again, and saves nothing of
 * it. */
bool chain_learns_again(const struct phase *, const struct op *);

/* faults.c: asks, and where rows fail once more over parts of the batch. Gives a list of answers in
 * the order of rows, on failure as well: the caller releases each. */
sluice_status chain_ask(struct chain *, const struct op *, uint32_t port, struct batch *,
                        struct answer **answers, struct sluice_error *) MUST_USE;

/* The same for a call that waited and failed with this fault; SLUICE_OK: that is to be made
 * again as a whole. No call is left waiting. */
sluice_status chain_ask_again(struct chain *, const struct op *, struct batch *,
                              sluice_status fault, struct answer **answers,
                              struct sluice_error *) MUST_USE;

/* verdicts.c: sorts the rows of an answer by its verdicts: *kept is a new batch, dropped rows go to
 * the collectors, bad ones are quarantined. */
sluice_status chain_judge(struct chain *, const struct op *, const struct answer *,
                          struct batch **kept, struct sluice_error *) MUST_USE;
/* Quarantines the rows that a stage which doesn't judge could not process; *good, a new batch, are
 * the others. */
sluice_status chain_set_aside(struct chain *, const struct op *, const struct answer *,
                              struct batch **good, struct sluice_error *) MUST_USE;
/* The row of an answer that says a fault. */
sluice_status chain_quarantine_culprit(struct chain *, const struct op *, const struct answer *,
                                       struct sluice_error *) MUST_USE;
/* The number in its split of a row that `from` gave. */
uint64_t chain_row_number(const struct op *from, const struct batch *, int64_t row);

/* fault_limits.c: after a row or record was quarantined: may the run go on? By default it may not
 * when the first rows that a stage gets in a task all fail: a thousand, which a run of a million
 * records would have to bear at the default share of 0.1 %. */
#define CHAIN_FIRST_ROWS 1000u
sluice_status chain_judge_fault(struct chain *, uint32_t op, const struct bad_record *,
                                struct sluice_error *) MUST_USE;
/* Will so many more failing rows end the run, so that nobody need look for others? */
void chain_count_bad(struct chain *, uint64_t more); /* that were found before */
bool chain_faults_suffice(const struct chain *, uint32_t op, uint64_t more);

/* giants.c: a batch on its way to an op is admitted, if it is a giant: there is memory for what the
 * op makes of it. */
sluice_status giant_admit(struct chain *, const struct op *, uint32_t port, const struct batch *,
                          struct sluice_error *) MUST_USE;
/* The columns that op adds are held until giant_let with what this returns. */
uint64_t giant_hold(struct chain *, const struct op *, const struct batch *);
void giant_let(struct chain *, uint64_t held);
/* After what op did with a giant: buffers that its worker grew go back. */
void giant_after(struct chain *, const struct op *);

/* Has `each` done with a part in place of the op's worker, shards and traced rows. */
typedef sluice_status chain_part_fn(struct chain *, const struct op *, struct part *, void *ctx,
                                    struct sluice_error *);
sluice_status chain_with_part(struct chain *, const struct op *, struct part *, chain_part_fn *,
                              void *ctx, struct sluice_error *) MUST_USE;

/* written.c: which source rows the rows of a writer's batch are; result says where its shards
 * begin. */
sluice_status chain_trace(struct chain *, const struct op *, const struct batch *,
                          const struct stage_result *result, struct sluice_error *) MUST_USE;
/* Writes what writers traced to the table, writer by writer. */
sluice_status chain_write_traces(struct chain *, struct sluice_error *) MUST_USE;
/* deliver.c: what a stage answered goes downstream. Releases all answers of the list. */
sluice_status chain_deliver_answers(struct chain *, const struct op *, uint32_t port,
                                    struct answer *answers, struct sluice_error *) MUST_USE;
/* Hands on the batches that a transform emitted. */
sluice_status chain_deliver_batches(struct chain *, const struct op *, struct stage_result *,
                                    struct sluice_error *) MUST_USE;
/* aside.c: writes the quarantined rows noted so far, by row and stage. */
sluice_status chain_write_bad_rows(struct chain *, struct sluice_error *) MUST_USE;

/* drops.c: hands dropped rows (n row numbers of batch with their verdicts) to every collector
 * that wants them, and to the table. */
sluice_status collect_drops(struct chain *, const struct op *stage, struct batch *batch,
                            const uint32_t *rows, const struct sluice_verdict *verdicts, int64_t n,
                            struct sluice_error *) MUST_USE;
/* Writes the drops of rows below this one that were noted so far to the table, by row. */
sluice_status collect_note_drops(struct chain *, uint64_t below, struct sluice_error *) MUST_USE;
void drop_slice_deinit(struct drop_slice *);
/* collect.c */
sluice_status collector_drain(struct chain *, uint32_t op, uint64_t row,
                              struct sluice_error *) MUST_USE;
void collector_deinit(struct chain *, uint32_t op);

#endif
