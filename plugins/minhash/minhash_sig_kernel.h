/* The inner loops of MinHash, one set per instruction set; private to minhash_sig*.c and its test.
 *
 * Owns the table of loops. Depends on text_span. Promises that all sets give the numbers of the
 * scalar one. */
#ifndef MINHASH_SIG_KERNEL_H
#define MINHASH_SIG_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "text/text_span.h"

#define MINHASH_PRIME (((uint64_t)1 << 61) - 1)
#define MINHASH_LANES \
    8 /* functions are padded to a multiple of this, their arrays aligned to 64 bytes */

struct minhash_kernel {
    /* out[i] = XXH64 of text[words[i].begin .. words[i + ngram - 1].end) for i < n. Reads no byte
     * outside these. */
    void (*hash)(const char *text, const struct text_span *words, size_t ngram, size_t n,
                 uint64_t *out);
    /* minima[i] = min(minima[i], ((h * a[i] + b[i]) mod 2^64 mod MINHASH_PRIME) & mask) over the n
     * >= 1 hashes, for i < functions, a multiple of MINHASH_LANES. mask is 2^64 - 1 or 2^32 - 1. */
    void (*update)(const uint64_t *a, const uint64_t *b, size_t functions, uint64_t mask,
                   const uint64_t *hashes, size_t n, uint64_t *minima);
};

extern const struct minhash_kernel minhash_kernel_scalar;
#if defined(__x86_64__)
extern const struct minhash_kernel minhash_kernel_avx2; /* needs avx2 */
extern const struct minhash_kernel
    minhash_kernel_avx512; /* needs avx512f, avx512dq, avx512bw, avx512vl, bmi2 */
#endif

/* One value; the definition that every loop follows. (2^61 = 1 mod the prime, so the top three bits
 * are added to the low 61.) */
static inline uint64_t minhash_value(uint64_t hash, uint64_t a, uint64_t b)
{
    uint64_t product = hash * a + b;
    uint64_t value = (product & MINHASH_PRIME) + (product >> 61);
    return value >= MINHASH_PRIME ? value - MINHASH_PRIME : value;
}

#endif
