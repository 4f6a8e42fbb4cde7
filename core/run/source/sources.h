/* The sources of a task: reads its input split through the reader stage, or loads edges, and pushes
 * batches into the chain. */
#ifndef SLUICE_RUN_SOURCES_H
#define SLUICE_RUN_SOURCES_H

#include "run/chain/chain.h"
#include "run/source/source.h"

/* What one OP_LOAD of the phase loads for this task. */
struct load_inputs {
    struct edge_input *inputs; /* owned by the caller */
    size_t n;
    bool active; /* false: this task loads nothing here */
    /* where rows are read again: what the first pass gave; UINT64_MAX = not known */
    uint64_t read_records;
};

struct source_inputs {
    const struct source_file *files; /* of the task's lane, when it reads a split */
    struct feeder *feeder;
    uint64_t batch_bytes;
    struct load_inputs *loads; /* per op of the phase */
    /* Gets what the split held (source_digest), when it was read to its end; NULL: nobody wants
     * to know. */
    struct hash128 *digest;
};

/* How a reader's splits are read. */
struct source_options sources_options(const struct plan *, const struct node *reader,
                                      uint64_t batch_bytes);

sluice_status sources_drive(struct chain *, const struct source_inputs *,
                            struct sluice_error *) MUST_USE;

#endif
