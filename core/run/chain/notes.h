/* What a task notes about rows, put into an order that does not depend on where batches begin:
 * drops by (row, stage), once the rows before them are through; quarantined rows by (row, stage)
 * and traces by (writer, row of the shard) when the task ends. Depends on buf only. */
#ifndef SLUICE_RUN_NOTES_H
#define SLUICE_RUN_NOTES_H

#include "base/buf.h"

struct note {
    uint64_t row;
    uint64_t sequence; /* order of adding */
    uint32_t op;
    int32_t reason;
    double value, limit, similarity;
    bool dup;
    size_t text;                   /* place in the texts */
    uint32_t text_size, more_size; /* of two texts, one behind the other */
};

struct notes {
    struct note *items;
    size_t n, capacity;
    struct buf texts;
};

void notes_deinit(struct notes *);
/* Appends a note with two texts (copied). */
sluice_status notes_add(struct notes *, const struct note *, const char *text, size_t n,
                        const char *more, size_t n_more, struct sluice_error *) MUST_USE;
/* Saves all; adds what was saved. n_ops: of the phase. */
struct saved;
struct restored;
void notes_save(const struct notes *, struct saved *);
sluice_status notes_restore(struct notes *, uint32_t n_ops, struct restored *,
                            struct sluice_error *) MUST_USE;
/* By row, then op, then order of adding. */
void notes_sort(struct notes *);
void notes_clear(struct notes *);
const char *notes_text(const struct notes *, const struct note *);
const char *notes_more(const struct notes *, const struct note *);

#endif
