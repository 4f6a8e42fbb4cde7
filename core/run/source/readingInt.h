/* What the parts that drive readers share: reading.c feeds those that are given bytes, scanning.c
 * those that ask for them. Private to core/run/source. */
#ifndef SLUICE_RUN_READINGINT_H
#define SLUICE_RUN_READINGINT_H

#include "run/source/again.h"
#include "run/source/scanner.h"
#include "run/source/sources.h"

struct reading {
    struct chain *chain;
    const struct op *op;
    const struct lane *lane;
    const struct split *split;
    uint64_t next_row;
    struct stage_result result; /* of the last chunk or call */
    struct again *again;        /* a second pass, which notes and counts nothing; or NULL */
    struct source *source;
    uint64_t usual;  /* bytes of a chunk, or that are asked for at once; more is a giant */
    uint64_t window; /* bytes that are held for giants */
    /* places among the emitted columns; -1 = none */
    int32_t begin_column, end_column, id_column;
    struct survey_unit unit; /* whose rows these are */
};

/* reading.c: finds the places of columns; pushes the rows of all chunks of the split. */
void reading_columns(struct reading *);
sluice_status reading_chunks(struct reading *, const struct source_inputs *, struct stage_worker *,
                             struct sluice_error *) MUST_USE;
/* Pushes a batch that the reader emitted; file: the range. */
sluice_status reading_push(struct reading *, uint32_t file, struct ArrowArray *,
                           struct sluice_error *) MUST_USE;
/* scanning.c: all units of the split. */
sluice_status reading_scan(struct reading *, const struct source_inputs *, struct stage_worker *,
                           struct sluice_error *) MUST_USE;

#endif
