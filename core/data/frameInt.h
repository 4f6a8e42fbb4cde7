/* Private to core/data: the frame codec and the layout of a frame's raw bytes.
 *
 * Raw bytes: u64 hash of the columns' types, then each column as a node. A node is
 *   u64 nulls; validity bits when nulls > 0; then by kind
 *   bool: bits; fixed width: values;
 *   utf8, binary, json: u32 0 and the u32 length of each row, then the bytes;
 *   list: u32 0 and the u32 length of each row, then the node of all items;
 *   struct: the nodes of its members.
 * Null rows have length 0 or value 0, and null members. Each piece is padded to 8 bytes with zeros.
 * The lengths are turned into offsets where they lie: a decoded batch points into its raw bytes. */
#ifndef SLUICE_DATA_FRAME_INT_H
#define SLUICE_DATA_FRAME_INT_H

#include <xxhash.h>
#include <zstd.h>

#include "data/columnInt.h"
#include "data/frame.h"

#define FRAME_FLAG_RAW 1u /* stored without compression */
#define FRAME_LEVEL 1
#define FRAME_TYPES_SEED 1u /* changes when the layout does */

/* The header's fields at their places. */
struct frame_header {
    char magic[4];
    uint32_t flags;
    uint32_t rows;
    uint32_t columns;
    uint64_t raw;
    uint64_t stored;
    uint64_t hash;
};
_Static_assert(sizeof(struct frame_header) == FRAME_HEADER_BYTES, "a frame's header has 40 bytes");

struct frame_codec {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    XXH3_state_t *hash;
    char *raw; /* owned; the batch being encoded */
    size_t size, capacity;
};

uint64_t frame_hash(struct frame_codec *, const struct frame_header *, const void *stored);
uint64_t frame_types_hash(uint32_t n_columns, const struct type *const *types);

static inline size_t frame_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

#endif
