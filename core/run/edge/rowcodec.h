/* Rows as bytes: one row of columns of any supported types, to a compact string of bytes and back
 * into builders. Depends on data.
 *
 * A row is a bitmap of its nulls (one bit a column), then the values that are there: fixed
 * widths as they lie in memory, bool as a byte, text as a varint length and its bytes, lists as
 * a varint count, a byte that tells how, and the items (raw where they are of fixed width
 * without nulls, else as a row of that many values), structs as a row of their members. */
#ifndef SLUICE_RUN_ROWCODEC_H
#define SLUICE_RUN_ROWCODEC_H

#include "base/varint.h"
#include "data/builder.h"

/* Appends one row of n arrays (see buf_status for failure). The arrays keep the invariants of
 * columns. */
void rowcodec_encode(const struct type *const *types, const struct ArrowArray *const *arrays,
                     uint32_t n, int64_t row, struct buf *out);

/* Appends the row in data to n builders of these types. All bytes must be used. On errors the
 * builders hold parts of a row. SLUICE_E_NOMEM, or SLUICE_E_DATA for bytes that are no row. */
sluice_status rowcodec_decode(const struct type *const *types, struct builder *const *builders,
                              uint32_t n, const void *data, size_t size,
                              struct sluice_error *) MUST_USE;

#endif
