/* tokenize_stage.h - the stage tokenize as both its halves know it: what is decided once
 * (tokenize.c), and the rows (tokenize_rows.c).
 *
 * Depends on model/bpe.h. The shared state is read-only once prepared. */
#ifndef TOKENIZE_STAGE_H
#define TOKENIZE_STAGE_H

#include <sluice_arrays.h>
#include <stdbool.h>

#include "model/bpe.h"

struct tokenize_config {
    const char *tokenizer, *over, *pattern, *eos, *bos, *head;
    int32_t specials;
    const char *loss_spans;
    int32_t loss_unit, loss_rule;
    uint8_t offsets;
};

/* Forms of the column loss_spans. */
enum loss_form { LOSS_NONE, LOSS_JSON, LOSS_PAIRS, LOSS_FLAGS };

/* A token at the edge of documents. */
struct tokenize_edge {
    uint32_t id;
    bool known; /* id is one */
    bool added; /* documents get it */
};

struct tokenize_stage {
    const struct tokenize_config *config;
    struct bpe *bpe;
    struct tokenize_edge eos, bos;
    char hash[33]; /* XXH3-128 of the file */
    enum loss_form loss;
    int32_t spans; /* place of that column */
};

/* The stage's functions for its workers. */
sluice_status tokenize_worker_open(void *shared, void **out, struct sluice_error *err);
sluice_status tokenize_process(void *worker, const struct sluice_batch *batch,
                               struct sluice_emit *emit, struct sluice_error *err);
void tokenize_worker_close(void *worker);

#endif
