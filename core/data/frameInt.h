/* Private to core/data: the frame codec and the layout of a frame's raw bytes.
 *
 * Raw bytes: u64 hash of the columns' types, then each column as a node. A node is
 *   u64 nulls; validity bits when nulls > 0; then by kind
 *   bool: bits; fixed width: values;
 *   utf8, binary, json: u32 0 and the u32 length of each row, then the bytes;
 *   list: u32 0 and the u32 length of each row, then the node of all items;
 *   struct: the nodes of its members.
 * Null rows have length 0 or value 0, and null members. Each piece is padded to 8 bytes with zeros.
 * The lengths are turned into offsets where they lie: a decoded batch points into its raw bytes.
 *
 * Where the items of lists are numbers of 32 bits, FRAME_WORDS_LEAST or more and all below
 * 2^FRAME_WORDS_BITS, their piece is stored apart, in as many bits each as the largest needs (flag
 * 2). Then the stored bytes are: u64 how many such pieces; for each u64 where it lies in the raw
 * bytes, u32 numbers, u32 bits; each piece's bits from the lowest on, in u32 words padded to 8
 * bytes; then the raw bytes without these pieces, compressed or (flag 1) not. */
#ifndef SLUICE_DATA_FRAME_INT_H
#define SLUICE_DATA_FRAME_INT_H

#include <xxhash.h>
#include <zstd.h>

#include "data/columnInt.h"
#include "data/frame.h"

#define FRAME_FLAG_RAW 1u   /* stored without compression */
#define FRAME_FLAG_WORDS 2u /* numbers in few bits are stored apart */
#define FRAME_WORDS_BITS 24u
#define FRAME_WORDS_LEAST 1024u
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
    ZSTD_CCtx *compressor;   /* made with the first frame that is encoded */
    ZSTD_DCtx *decompressor; /* ... and decoded */
    XXH3_state_t *hash;
    char *raw; /* owned; the batch being encoded */
    size_t size, capacity;
    struct frame_words *words; /* owned; pieces of raw that are stored apart */
    size_t n_words, words_capacity;
    bool in_list;
};

/* As it is stored. */
struct frame_words {
    uint64_t at;
    uint32_t n, bits;
};
_Static_assert(sizeof(struct frame_words) == 16, "an entry has no gaps");

/* Notes the piece of raw with n numbers that is at the end, if it qualifies. false = out of
 * memory. */
bool frame_words_note(struct frame_codec *, const void *piece, size_t n);
/* Bytes that frame_words_put writes; 0 when nothing was noted. */
size_t frame_words_size(const struct frame_codec *);
/* Writes all but the rest, which is what stays in raw. */
void frame_words_put(struct frame_codec *, char *out);

/* What a frame with FRAME_FLAG_WORDS stores, checked. */
struct frame_words_view {
    uint64_t n;
    const char *directory, *packed, *rest;
    uint64_t rest_stored; /* bytes at rest */
    uint64_t plain;       /* bytes of raw that are numbers, not rest */
};
/* false = damaged. */
bool frame_words_open(struct frame_words_view *, const struct frame_header *, const char *stored);
/* Puts everything into its place in raw, of `size` bytes, at whose end the rest stands. */
void frame_words_take(const struct frame_words_view *, char *raw, size_t size);

uint64_t frame_hash(struct frame_codec *, const struct frame_header *, const void *stored);
uint64_t frame_types_hash(uint32_t n_columns, const struct type *const *types);

static inline size_t frame_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

#endif
