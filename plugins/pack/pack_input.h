/* pack_input - where a document of pack comes from: which rows, and from which token on. Depends on
 * pack_rows.h.
 *
 * Without an _origin a document is a row of its split, named by _row. With one (of a shuffle, of
 * copies, of any transform) its numbers are handed on, so that packed rows lead back to the records
 * behind all of that. */
#ifndef PACK_INPUT_H
#define PACK_INPUT_H

#include <stdbool.h>

#include "pack_rows.h"

struct pack_input {
    int32_t row;          /* column: _row, or with `carried` _pos */
    int32_t origin, span; /* columns, or -1 */
    bool carried;         /* pack_carry: rows come from all splits */
    bool positions;       /* _origin names positions behind an exchange already */
    bool parts;           /* its rows were cut before: what is said of tokens is not of them */
    char metadata[40];    /* of the _origin that is given */
};

/* Asks for the columns. */
sluice_status pack_input_prepare(struct pack_input *, bool carried, struct sluice_plan *,
                                 struct sluice_error *);

/* What a row is of; the origins are borrowed from the batch or from scratch, until the next call. 0
 * = out of memory. */
int pack_input_source(const struct pack_input *, const struct ArrowArray *batch, int64_t row,
                      struct sluice_bytes *scratch, struct pack_source *out);

#endif
