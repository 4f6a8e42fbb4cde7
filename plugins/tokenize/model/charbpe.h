/* charbpe.h — byte-pair encoding over characters: Llama 2, Mistral, Gemma, SentencePiece.
 *
 * Owns: `struct charbpe`, the tables of one vocabulary. Depends on: vocab.h (input),
 * pretoken_unicode.h (decoding).
 *
 * A piece of text becomes symbols: a character is its token; without one, the tokens of its bytes
 * (`<0xE4>`), all of them or none; without those the unknown token, of which neighbours may be one;
 * without that, nothing, so that its neighbours become neighbours. Under a
 * continuing_subword_prefix or an end_of_word_suffix, what a character's token is depends on
 * whether the piece begins or ends there, and pieces are not cut. SentencePiece merges first and
 * asks
 * for bytes and the unknown token afterwards (`late`). Then pairs merge, the lowest rank first, of
 * equal ranks the leftmost.
 *
 * Where the pre-tokenizer leaves a whole document as one piece, charbpe_cut cuts it where no merge
 * can reach across, so that the parts are words which a cache remembers. Why that changes no id:
 *   A merge of symbols a, b joins what the text had between the last character symbol of a and the
 *   first of b. Let P hold (last(a), first(b)) for each merge whose parts can occur at all. By
 *   induction over the merges of a run, all that are ever done join a place whose two character
 *   symbols are in P. So a place whose two are not in P stays a border of tokens, nothing of its
 *   left is ever read for its right, and both sides merge, each in order of (rank, place), as they
 *   do alone. Where a character's symbols depend on neighbours (unknown, dropped), there is no cut
 *   beside it.
 * P is kept as a Bloom filter: a false "may join" only makes a part longer.
 *
 * A part without such places, a run of one letter, is merged in windows that overlap
 * (charbpe_long.c).
 *
 * Promises: immutable once built; O(n log n) for a piece of n bytes. */
#ifndef TOKENIZE_CHARBPE_H
#define TOKENIZE_CHARBPE_H

#include <stddef.h>
#include <stdint.h>

#include "vocab/vocab.h"

#define CHARBPE_NONE UINT32_MAX
/* A character that is no token is this + its code point; a byte of no character, + 0x200000
 * more. */
#define CHARBPE_RAW 0x80000000u
#define CHARBPE_RAW_BYTE 0x80200000u

struct charbpe_pair {
    uint64_t key; /* a << 32 | b; UINT64_MAX is empty */
    uint32_t rank, id;
};

/* vocab_lone, by place << 32 | code point; UINT64_MAX is empty */
struct charbpe_lone {
    uint64_t key;
    uint32_t id;
};

struct charbpe {
    uint16_t page[0x1100]; /* of code points, 256 a page; page 0 has no tokens */
    uint32_t *symbols;     /* [pages * 256]: the token of a character, or CHARBPE_NONE */
    uint32_t n_pages;
    uint32_t fallback[256]; /* the tokens of bytes, or CHARBPE_NONE */
    uint32_t unk;           /* or CHARBPE_NONE */
    int byte_fallback, fuse_unk, late;
    int deferred;  /* an unknown token may come behind bytes that follow it: no cut beside bytes */
    int total;     /* no character is unknown */
    int whole;     /* no cuts at all */
    int cut_space; /* a piece ends in front of each space */
    int meta;      /* U+2581 is the same as the space */
    struct charbpe_pair *pairs;
    size_t pair_mask;
    uint64_t *pair_filter; /* a bit of each pair's hash */
    unsigned filter_shift;
    uint64_t *joins; /* the Bloom filter of P, a bit of each pair's hash */
    unsigned join_shift;
    struct charbpe_lone *lone; /* NULL: a character is the same at all places */
    size_t lone_mask;
    int alphabet;        /* a character is a byte */
    uint64_t ascii[256]; /* P for two bytes below 0x80: bit x << 7 | y */
    size_t bytes;        /* memory held */
};

/* Builds from a checked vocabulary. Caller's memory; deinit even after an error. SLUICE_E_NOMEM. */
int32_t charbpe_init(struct charbpe *chars, const struct vocab *vocab, struct sluice_error *err);
void charbpe_deinit(struct charbpe *chars);

/* Cuts text[*pos .. len): ends of adjacent parts to ends[0 .. gives), at most `cap`. *pos moves to
 * the last end. */
size_t charbpe_cut(const struct charbpe *chars, const uint8_t *text, size_t len, size_t *pos,
                   size_t *ends, size_t cap);

/* Merges a part of n bytes; ids to out[0 .. gives), room for n. `scratch`: CHARBPE_SCRATCH(n)
 * bytes, 8-byte aligned. n < 2^31. */
#define CHARBPE_SCRATCH(n) ((size_t)(n) * (2 * sizeof(uint64_t) + 4 * sizeof(uint32_t)) + 64)
size_t charbpe_merge(const struct charbpe *chars, const uint8_t *p, size_t n, uint32_t *out,
                     void *scratch);

/* The same for a part of any length, in windows of `window` symbols, at least CHARBPE_WINDOW_LEAST:
 * `scratch` has CHARBPE_LONG_SCRATCH(window) bytes, whatever n is. CHARBPE_UNJOINED when two
 * windows have no token in common: then charbpe_merge is the way. */
#define CHARBPE_WINDOW 8192u
#define CHARBPE_WINDOW_LEAST 32u
#define CHARBPE_LONG_SCRATCH(window) (CHARBPE_SCRATCH(window) + (size_t)(window)*16 + 64)
#define CHARBPE_UNJOINED SIZE_MAX
size_t charbpe_merge_long(const struct charbpe *chars, const uint8_t *p, size_t n, uint32_t *out,
                          size_t window, void *scratch);

#endif
