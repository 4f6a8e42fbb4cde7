/* bpe_merge.h — the merge tables of one vocabulary, and the three ways to apply them to a piece.
 *
 * Owns: `struct merges`. Depends on: vocab.h (input), bpe_trie.h.
 *
 * Numbering: inside, a token has the number of its merge's rank: 0 .. 255 are the bytes, 256 and on
 * the tokens that merging can give, in order of rank. So the number that a pair merges to is its
 * priority as well.
 *
 * Why one pair a token is enough: when a span of a text ends up as one token, no merge ever crossed
 * the span's ends, so the merges inside are, one for one, those of the span on its own. Hence each
 * token has one pair that can give it, the last merge of its bytes on their own; any other pair
 * with the same bytes can never stand side by side. Tokens whose bytes do not merge to one token on
 * their own are never given by merging, in any text.
 *
 * Promises: immutable once built. merge_short, merge_backtrack and merge_heap give equal results
 * (tests compare them). */
#ifndef TOKENIZE_BPE_MERGE_H
#define TOKENIZE_BPE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpe_trie.h"
#include "vocab.h"

#define MERGE_NONE UINT32_MAX
/* The longest piece that merge_short takes; above, merge_backtrack is faster (measured on Chinese). */
#define MERGE_SHORT 16u
/* The longest piece that is one 16-byte key. */
#define PIECE_SHORT 15u

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "struct piece_key packs bytes for little-endian machines"
#endif
struct piece_key {
    uint64_t low, high; /* the bytes, zero behind them; the length in the top byte */
};

struct merges {
    uint32_t n;           /* tokens that merging gives */
    uint32_t *out_id;     /* number to id */
    uint32_t (*split)[2]; /* number to the pair it comes from; a byte: itself twice */
    uint32_t *len;        /* number to bytes */
    /* number to the longest shorter token that it begins with, MERGE_NONE for a byte */
    uint32_t *prefix;
    uint32_t *byte_pair; /* [256 * 256]: what two bytes merge to, or MERGE_NONE */
    uint64_t *pairs;     /* open addressing: (a << 21 | b) << 21 | merged; 0 is empty */
    unsigned pair_shift;
    size_t pair_mask;
    struct trie trie; /* bytes to number */
    /* Odd tokens: a part has a higher number than the token (81 in Llama 3.1). merge_backtrack
     * needs a piece without any. */
    struct trie odd;
    /* a bit for each two bytes that an odd token begins with; NULL when there are no odd tokens */
    uint8_t *odd_pairs;
    /* Pieces that are one token: up to PIECE_SHORT bytes by key, longer ones by hash. */
    struct piece_key *short_keys;
    uint32_t *short_ids;
    unsigned short_shift;
    size_t short_mask;
    uint32_t *long_ids; /* ids; MERGE_NONE is empty */
    size_t long_mask;
    uint32_t long_most; /* bytes of the longest */
    size_t bytes;       /* memory held */
};

/* Builds from a checked vocabulary, which must live as long. Caller's memory; deinit even after an
 * error. SLUICE_E_NOMEM. */
int32_t merges_init(struct merges *merges, const struct vocab *vocab, struct sluice_error *err);
void merges_deinit(struct merges *merges);

static inline uint64_t piece_hash(struct piece_key key)
{
    uint64_t h = key.low * UINT64_C(0x9E3779B97F4A7C15) ^ key.high * UINT64_C(0xC2B2AE3D27D4EB4F);
    h ^= h >> 29;
    return h * UINT64_C(0xBF58476D1CE4E5B9);
}

/* What the pair merges to, or MERGE_NONE. */
static inline uint32_t merge_pair(const struct merges *m, uint32_t a, uint32_t b)
{
    uint64_t key = (uint64_t)a << 21 | b;
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> m->pair_shift);
    for (;;) {
        uint64_t word = m->pairs[at];
        if (word >> 21 == key && word != 0) {
            return (uint32_t)(word & 0x1FFFFFu);
        }
        if (word == 0) {
            return MERGE_NONE;
        }
        at = (at + 1) & m->pair_mask;
    }
}

/* The id of the piece that is one token, or MERGE_NONE. `vocab` holds the bytes. */
uint32_t merges_find_short(const struct merges *m, struct piece_key key);
uint32_t merges_find_long(const struct merges *m, const struct vocab *vocab, const uint8_t *p,
                          size_t len);

/* Merge the n bytes at p; write numbers to out[0 .. gives). out has room for n. */
size_t merge_short(const struct merges *m, const uint8_t *p, size_t n,
                   uint32_t *out); /* 1 <= n <= MERGE_SHORT */

/* 1 when no odd token occurs in the piece. Then none is ever formed, and the piece merges as it
 * would in a vocabulary without odd tokens (and without those made of them, whose bytes contain
 * theirs). */
int merge_is_ordered(const struct merges *m, const uint8_t *p, size_t n);

/* Needs merge_is_ordered. `bits` is scratch of n / 8 + 1 bytes; `memo` remembers which pairs stand
 * side by side, MERGE_MEMO words zeroed once and kept by one thread for one vocabulary. Linear in n
 * for a given vocabulary. (GitHub's rust-gems, crate bpe.) */
#define MERGE_MEMO 32768u
size_t merge_backtrack(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out,
                       uint8_t *bits, uint64_t *memo);

/* Any vocabulary; n < 2^32 - 1. Scratch: MERGE_HEAP_BYTES(n), 8-byte aligned. O(n log n). */
#define MERGE_HEAP_BYTES(n) ((size_t)(n) * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t)) + 64)
size_t merge_heap(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out, void *scratch);

#endif
