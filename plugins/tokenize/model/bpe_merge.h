/* bpe_merge.h — the merge tables of one vocabulary, and the three ways to apply them to a piece.
 *
 * Owns: `struct merges`. Depends on: vocab.h (input), bpe_trie.h, bpe_cache.h (entries).
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
 * A byte without a token has its number all the same, and no id: MERGE_NONE in out_id. No merge
 * takes it, and it never comes out: who merges has made sure that the text does not hold it
 * (bpe_text.c).
 *
 * Promises: immutable once built. merge_short, merge_backtrack and merge_heap give equal results
 * (tests compare them). */
#ifndef TOKENIZE_BPE_MERGE_H
#define TOKENIZE_BPE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "model/bpe_cache.h"
#include "model/bpe_trie.h"
#include "vocab/vocab.h"

#define MERGE_NONE UINT32_MAX
/* Pairs of a bucket: one cache line, so that a question costs one visit to memory. */
#define PAIR_BUCKET 8u
/* The most symbols that merge_chars takes. */
#define MERGE_CHARS 64u
/* The longest piece that merge_short takes; above, merge_backtrack is faster (measured on
 * Chinese). */
#define MERGE_SHORT 16u
/* The shortest piece that merge_long is worth while for. */
#define MERGE_LONG 96u
struct token_index;

struct merged_char {
    uint32_t n, most; /* symbols, and the highest number among all the merges that make them */
    uint32_t symbols[3];
};

struct merges {
    uint32_t n;           /* tokens that merging gives */
    uint32_t *out_id;     /* number to id; MERGE_NONE for a byte without a token */
    uint32_t (*split)[2]; /* number to the pair it comes from; a byte: itself twice */
    uint32_t *len;        /* number to bytes */
    /* number to the longest shorter token that it begins with, MERGE_NONE for a byte */
    uint32_t *prefix;
    uint32_t *byte_pair; /* [256 * 256]: what two bytes merge to, or MERGE_NONE */
    /* Buckets of PAIR_BUCKET words ((a << 21 | b) + 1) << 21 | merged, filled from the front; 0 is
     * empty. What a full bucket has no room for is in the next. */
    uint64_t *pairs;
    unsigned pair_shift; /* of a pair's hash: the bucket */
    size_t pair_mask;    /* buckets - 1 */
    /* By code point below U+10000, from U+0080: what its bytes merge to on their own. And by the
     * two bytes at a border of characters, the lowest number of a token across it that ends or
     * begins inside a character. See merge_chars. */
    struct merged_char *chars;
    uint32_t *border;
    /* A bit for the hash of each two characters, not both ASCII, that stand side by side in a
     * token. See merge_part. */
    uint64_t *joined;
    int unreached;    /* there are tokens that merging does not give */
    struct trie trie; /* bytes to number */
    /* Odd tokens: a part has a higher number than the token (81 in Llama 3.1). merge_backtrack
     * needs a piece without any. */
    struct trie odd;
    /* a bit for each two bytes that an odd token begins with; NULL when there are no odd tokens */
    uint8_t *odd_pairs;
    /* What the vocabulary's own strings of up to PIECE_SHORT bytes become: sets of two. Those with
     * no room in their set, the higher ids, are in the table below when they are one token. */
    struct piece_entry *head;
    unsigned head_shift;
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

/* Builds from a checked vocabulary, which must live as long, and its tokens by their bytes.
 * Caller's memory; deinit even after an error. SLUICE_E_NOMEM. */
int32_t merges_init(struct merges *merges, const struct vocab *vocab,
                    const struct token_index *tokens, struct sluice_error *err);
void merges_deinit(struct merges *merges);

static inline uint64_t pair_key(uint32_t a, uint32_t b)
{
    return ((uint64_t)a << 21 | b) + 1;
}

/* The bucket that a pair is looked for in first; to be fetched ahead. */
static inline const uint64_t *pair_bucket(const struct merges *m, uint32_t a, uint32_t b)
{
    const uint64_t hash = pair_key(a, b) * UINT64_C(0x9E3779B97F4A7C15);
    return m->pairs + PAIR_BUCKET * (size_t)(hash >> m->pair_shift);
}

/* What the pair merges to, or MERGE_NONE. Without branches as long as the bucket is not full:
 * whether a pair merges cannot be foretold. */
static inline uint32_t merge_pair(const struct merges *m, uint32_t a, uint32_t b)
{
    const uint64_t key = pair_key(a, b);
    const uint64_t *bucket = pair_bucket(m, a, b);
    for (;;) {
        uint32_t merged = MERGE_NONE;
        for (unsigned k = 0; k < PAIR_BUCKET; k++) {
            merged = bucket[k] >> 21 == key ? (uint32_t)(bucket[k] & 0x1FFFFFu) : merged;
        }
        if (__builtin_expect(bucket[PAIR_BUCKET - 1] == 0 || merged != MERGE_NONE, 1)) {
            return merged;
        }
        bucket =
            m->pairs + (((size_t)(bucket - m->pairs) + PAIR_BUCKET) & (m->pair_mask * PAIR_BUCKET));
    }
}

/* Makes an empty table for n pairs; 0, or -1 without memory. */
int merge_pairs_init(struct merges *m, size_t n);
void merge_pairs_put(struct merges *m, uint32_t a, uint32_t b, uint32_t merged);

/* The id of the piece that is one token, or MERGE_NONE. `vocab` holds the bytes. */
uint32_t merges_find_short(const struct merges *m, struct piece_key key);
uint32_t merges_find_long(const struct merges *m, const struct vocab *vocab, const uint8_t *p,
                          size_t len);

/* Merge the n bytes at p; write numbers to out[0 .. gives). out has room for n. */
size_t merge_short(const struct merges *m, const uint8_t *p, size_t n,
                   uint32_t *out); /* 1 <= n <= MERGE_SHORT */

/* The same for a piece with characters above ASCII: begins with what each character merges to on
 * its own, where it can be shown that this is done before anything is merged across borders. 0
 * where it cannot, or when that is more than MERGE_CHARS symbols; `out` has room for MERGE_CHARS
 * then too.
 *
 * Why: while a character's own merges are not done, the next of them has at most their highest
 * number; a merge across its border gives a token that ends or begins inside a character, and all
 * of those at this border have higher numbers. */
size_t merge_chars(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out);

/* merge_chars up to where pairs are asked for: the symbols of the characters. */
size_t merge_chars_begin(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out);

/* A piece of up to MERGE_JOB_BYTES bytes among MERGE_JOBS that are merged at once. */
#define MERGE_JOBS 32u
#define MERGE_JOB_BYTES 32u
struct merge_job {
    uint32_t n, at;                        /* symbols; what is being asked for */
    uint32_t symbols[MERGE_JOB_BYTES + 2]; /* a character is copied as three */
    uint32_t ranks[MERGE_JOB_BYTES];
};

/* Values of merge_job.at besides places: all pairs have been asked for; none. */
#define MERGE_ALL_ASKED (UINT32_MAX - 1)
#define MERGE_NOTHING_ASKED UINT32_MAX

/* 1 <= len <= MERGE_JOB_BYTES. */
void merge_job_begin(const struct merges *m, struct merge_job *job, const uint8_t *p, size_t len);

/* Runs n <= MERGE_JOBS jobs to their ends: symbols[0 .. n) are the numbers of each. */
void merge_jobs_run(const struct merges *m, struct merge_job *jobs, size_t n);
/* The same for pieces of up to PIECE_SHORT bytes where there is AVX-512. */
void merge_jobs_run_avx512(const struct merges *m, struct merge_job *jobs, size_t n);

/* The bytes of the first part of the piece: behind it no token of the vocabulary can reach across,
 * so that the part and the rest merge apart from each other, whatever else stands there. Chinese is
 * cut behind nearly every character that is not a word of the vocabulary with the next.
 *
 * Why: a token across a border of characters A and B either holds both whole, and then they are
 * `joined`, or begins or ends inside one of them, and then `border` knows the two bytes there. */
size_t merge_part(const struct merges *m, const uint8_t *p, const uint8_t *end);
/* The same for a whole piece, text[start, end): where each of its parts ends, into cut, which has
 * room for as many as the piece has bytes. Gives their number. */
size_t merge_parts(const struct merges *m, const uint8_t *text, size_t start, size_t end,
                   size_t *cut);

/* Fills `joined` and `unreached` once all else is built. 0, or -1 without memory. */
int merge_parts_init(struct merges *m, const struct vocab *vocab);

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

/* Needs merge_is_ordered. The same for a long piece, in chunks that are merged at once and joined;
 * 0 where joining them is not worth while: then merge_backtrack is the way. */
size_t merge_long(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out,
                  uint64_t *memo);

/* 1 when tokens a and b can stand side by side: then, and only then, are they what their bytes
 * merge to. Needs merge_is_ordered of them. */
int merge_pair_stands(const struct merges *m, uint32_t a, uint32_t b, uint64_t *memo);

/* Any vocabulary; n < 2^32 - 1. Scratch: MERGE_HEAP_BYTES(n), 8-byte aligned. O(n log n). */
#define MERGE_HEAP_BYTES(n) ((size_t)(n) * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t)) + 64)
size_t merge_heap(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out, void *scratch);

#endif
