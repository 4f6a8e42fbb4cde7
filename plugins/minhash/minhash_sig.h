/* MinHash signatures of documents, bit for bit those of datatrove's MinhashDedupSignature.
 *
 * Owns: the hash functions (drawn from a seed), shingling, the signature, its band keys,
 * similarities and its compact form. Depends on sluice.h, mt19937, xxHash (header only) and nettle
 * (SHA-1). Promises: a signature is a function of the words and the options alone, the same on
 * every instruction set.
 *
 * A shingle is `ngram` consecutive words joined by one space; h = its 64- or 32-bit hash; function
 * i maps it to
 * ((h * a[i] + b[i]) mod 2^64) mod (2^61 - 1), masked to 32 bits when bits = 32; the signature
 * holds the minimum of each function over all shingles, band after band. A document of fewer than
 * `ngram` words has no signature (and no duplicates). Sources: Broder 1997; datatrove
 * pipeline/dedup/minhash.py (parameters(), get_shingles(), get_signature()). */
#ifndef MINHASH_SIG_H
#define MINHASH_SIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"
#include "text/text_span.h"

/* How a shingle's bytes become a number. */
enum minhash_hash {
    MINHASH_XXHASH, /* XXH64 or XXH32, seed 0 */
    MINHASH_SHA1    /* the first 8 or 4 bytes of SHA-1, little-endian */
};

/* Instruction sets; AUTO takes the best that the machine has. Results are equal at all levels. */
enum minhash_level {
    MINHASH_LEVEL_AUTO,
    MINHASH_LEVEL_SCALAR,
    MINHASH_LEVEL_AVX2,
    MINHASH_LEVEL_AVX512
};

struct minhash_options {
    uint32_t ngram; /* words a shingle, 1..1024; datatrove: 5 */
    uint32_t bands; /* 1..4096; datatrove: 14 */
    uint32_t rows;  /* functions a band, 1..4096; datatrove: 8 */
    uint32_t seed;  /* of the functions; datatrove: 1 */
    uint32_t bits;  /* 64 or 32 */
    enum minhash_hash hash;
    enum minhash_level level; /* for tests and benchmarks; AUTO otherwise */
};

/* datatrove's defaults: 5 words, 14 bands of 8 rows, seed 1, xxhash, 64 bits. */
#define MINHASH_OPTIONS_DEFAULT                                                            \
    {                                                                                      \
        .ngram = 5, .bands = 14, .rows = 8, .seed = 1, .bits = 64, .hash = MINHASH_XXHASH, \
        .level = MINHASH_LEVEL_AUTO                                                        \
    }

struct minhash;         /* immutable after creation, shared by any number of threads */
struct minhash_scratch; /* one per thread */

/* A band's key: equal row values give equal keys, so an exchange by key brings candidates together.
 */
struct minhash_key {
    uint64_t low;
    uint64_t high;
};

/* Draws the functions. Gives *out, to be freed with minhash_destroy. SLUICE_E_CONFIG names the
 * option out of range or the instruction set that this machine lacks; SLUICE_E_NOMEM. */
int32_t minhash_create(const struct minhash_options *options, struct minhash **out,
                       struct sluice_error *err);
void minhash_destroy(struct minhash *minhash);

/* Values in a signature: bands * rows. */
size_t minhash_values(const struct minhash *minhash);

/* The level in use, never AUTO. */
enum minhash_level minhash_level(const struct minhash *minhash);

/* Working memory of one thread (about 130 KB; grows with the longest document whose words are not
 * parted by single spaces). Gives *out, to be freed with minhash_scratch_destroy. */
int32_t minhash_scratch_create(struct minhash_scratch **out, struct sluice_error *err);
void minhash_scratch_destroy(struct minhash_scratch *scratch);

/* Signs one document: n words as spans over text[0..size), in order. Writes minhash_values()
 * numbers to signature and *has = true; with fewer than ngram words writes nothing and *has =
 * false. Words parted by exactly one space (what the whitespace rule gives on simplified text) are
 * hashed in place; otherwise the shingles are joined in scratch. SLUICE_E_INTERNAL if a span leaves
 * the text, SLUICE_E_DATA if the joined words pass 4 GiB, SLUICE_E_NOMEM. */
int32_t minhash_sign(const struct minhash *minhash, struct minhash_scratch *scratch,
                     const char *text, size_t size, const struct text_span *words, size_t n,
                     uint64_t *signature, bool *has, struct sluice_error *err);

/* The distinct hashes of the document's shingles, ascending: *count of them in set, which has room
 * for n numbers. Fewer words than ngram: none. Errors as minhash_sign. */
int32_t minhash_shingles(const struct minhash *minhash, struct minhash_scratch *scratch,
                         const char *text, size_t size, const struct text_span *words, size_t n,
                         uint64_t *set, size_t *count, struct sluice_error *err);

/* The Jaccard similarity of two sets of ascending numbers: of the documents' shingles, but for
 * hashes that collide. Two empty sets: 0. */
double minhash_jaccard(const uint64_t *one, size_t n, const uint64_t *other, size_t m);

/* XXH3-128 of one band's row values (little-endian u64), seeded with the band's number: two
 * signatures share a key of band i if their rows in band i are equal, and otherwise with
 * probability 2^-128. */
struct minhash_key minhash_band_key(const struct minhash *minhash, const uint64_t *signature,
                                    uint32_t band);

/* Whether two signatures agree in all rows of a band (what datatrove calls a duplicate pair). */
bool minhash_band_equal(const struct minhash *minhash, const uint64_t *one, const uint64_t *other,
                        uint32_t band);

/* In how many of n values two signatures agree; the share of n estimates the Jaccard similarity of
 * the shingle sets. */
uint32_t minhash_agreement(const uint64_t *one, const uint64_t *other, size_t n);
double minhash_similarity(const uint64_t *one, const uint64_t *other, size_t n);

/* The low 16 bits of each value: a quarter of the space, enough to verify candidates with (Li,
 * König 2010: b-bit minwise hashing). Different values agree by chance with probability 2^-16, so
 * similarities come out higher by at most 1/65536 in expectation. */
void minhash_compact(const uint64_t *signature, size_t n, uint16_t *compact);
uint32_t minhash_compact_agreement(const uint16_t *one, const uint16_t *other, size_t n);
double minhash_compact_similarity(const uint16_t *one, const uint16_t *other, size_t n);

#endif
