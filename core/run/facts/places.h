/* From rows of a run back to the bytes of its input files, and from rows of a writer to the files
 * of its dataset. Depends on run/runview.
 *
 * Rows are numbered in their split, and filters keep the numbers: row r of task t of a phase is row
 * r of the split behind t in every phase, up to the first transform, which makes rows of its own
 * (and says in _origin which rows it made them from, those behind it hand that on). */
#ifndef SLUICE_RUN_PLACES_H
#define SLUICE_RUN_PLACES_H

#include "base/buf.h"
#include "run/run.h"

/* A record of an input file. */
struct place {
    const struct lane *lane; /* of a reader */
    uint32_t split;          /* in the lane */
    uint64_t row;            /* in the split */
    uint64_t first, tokens;  /* which of its tokens are meant; tokens 0 = not known */
    /* after places_fill */
    bool found;
    const struct listing_file *file;
    const struct source_file *source; /* the same, to be read */
    /* Of a record: decoded bytes; of a reader that reads at random: bytes of the stored file. */
    uint64_t begin, end;
    bool random;             /* such a reader's */
    bool unit;               /* it says of no record where it lies: these are of its unit ... */
    uint64_t unit_row;       /* ... and it is this row that came of it, from 0 */
    const struct op *reader; /* of a unit */
    char *id;                /* owned; NULL = the record has none */
};
void place_deinit(struct place *);

/* The task of a phase that has the rows of a split; false: none. */
bool places_task(const struct phase *, const struct lane *, uint32_t split, uint32_t *task);
/* Whether op's dropped or quarantined rows carry the numbers of documents. */
bool places_numbers(const struct plan *, const struct phase *, const struct op *op);

/* Which split and row stand behind a number in a writer's trace. SLUICE_E_DATA says why it can't be
 * told. */
sluice_status places_origin(const struct run *, uint32_t phase, uint32_t task,
                            const struct op *writer, uint64_t number, struct place *,
                            struct sluice_error *) MUST_USE;
/* What a _span says. */
void place_span(struct place *, uint64_t span);
/* Looks n places up in the tables of their splits. A place whose split has no record stays
 * !found. */
sluice_status places_fill(const struct run *, struct place *places, size_t n,
                          struct sluice_error *) MUST_USE;
/* Appends at most max bytes of the record. */
sluice_status place_read(const struct place *, uint64_t max, struct buf *out,
                         struct sluice_error *) MUST_USE;

/* Output files: "KEY24-ORDINAL-HASH12.suffix". */
bool places_parse_file(const char *file, char key[25], uint32_t *ordinal);
/* The stored file of a writer's shard in a done task, the first of that ordinal; NULL = none. */
const struct commit_output *places_output(const struct commit *, const char *writer,
                                          uint32_t ordinal);
/* Public name and snapshot of a stored file of a dataset, in the newest snapshot that has it; *name
 * is given, NULL = unpublished. */
sluice_status places_public(const char *dataset, const char *file, char **name, uint32_t *number,
                            struct sluice_error *) MUST_USE;

#endif
