/* The second pass over an input split: rows that an edge names by number, taken out of what the
 * reader gives again (plan/plan_again.c says when). One thread, one load of one task. */
#ifndef SLUICE_RUN_AGAIN_H
#define SLUICE_RUN_AGAIN_H

#include "run/chain/chain.h"

struct again {
    struct chain *chain;
    const struct op *load;
    const struct op_again *plan;
    struct edge_reader *stored; /* owned by the caller */
    uint64_t expected;          /* records that the first pass gave; UINT64_MAX = not known */
    struct batch *batch;        /* of stored */
    int64_t at;                 /* in batch */
    bool ended;                 /* of stored */
    uint32_t *rows;             /* scratch */
    int64_t capacity;
};

/* Hands on those rows of a batch (with the slots of the OP_READ, rows first and on of the split)
 * that are stored. */
sluice_status again_push(struct again *, struct batch *, uint64_t first,
                         struct sluice_error *) MUST_USE;
/* At the end of the split, which had n records: was everything found? name: the split, for the
 * message. */
sluice_status again_finish(struct again *, uint64_t n, const char *name,
                           struct sluice_error *) MUST_USE;
void again_deinit(struct again *);

#endif
