/* The AVX2 loop of MinHash. Depends on minhash_sig_kernel.h and xxHash's header; promises the
 * numbers of the scalar loops.
 *
 * AVX2 has no 64-bit product and no unsigned 64-bit minimum: the product is put together from three
 * 32-bit ones, and values stay below 2^62, so that the signed comparison serves. The prime is
 * subtracted as in minhash_sig_avx512.c: with 8 added to b, a product that needs it lands below 15
 * and is done again by the scalar loop. */
#include "minhash_sig_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline
#define UNROLL _Pragma("GCC unroll 8")

AVX2_INLINE __m256i least_of(__m256i one, __m256i other)
{
    return _mm256_blendv_epi8(one, other, _mm256_cmpgt_epi64(one, other));
}

AVX2_INLINE void update_vectors(int vectors, bool narrow, const uint64_t *a, const uint64_t *b,
                                const uint64_t *hashes, size_t n, uint64_t *minima)
{
    const __m256i prime = _mm256_set1_epi64x((long long)MINHASH_PRIME);
    const __m256i one = _mm256_set1_epi64x(1);
    __m256i factor[2];
    __m256i factor_high[2];
    __m256i term[2];
    __m256i least[2];
    UNROLL for (int k = 0; k < vectors; k++)
    {
        factor[k] = _mm256_loadu_si256((const __m256i *)(a + 4 * k));
        factor_high[k] = _mm256_srli_epi64(factor[k], 32);
        term[k] = _mm256_loadu_si256((const __m256i *)(b + 4 * k));
        if (!narrow) {
            term[k] = _mm256_add_epi64(term[k], _mm256_set1_epi64x(8));
        }
        least[k] = _mm256_set1_epi64x(INT64_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        __m256i hash = _mm256_set1_epi64x((long long)hashes[i]);
        __m256i hash_high = _mm256_srli_epi64(hash, 32);
        UNROLL for (int k = 0; k < vectors; k++)
        {
            __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(hash, factor_high[k]),
                                             _mm256_mul_epu32(hash_high, factor[k]));
            __m256i low = _mm256_add_epi64(_mm256_mul_epu32(hash, factor[k]), term[k]);
            __m256i product = _mm256_add_epi64(low, _mm256_slli_epi64(cross, 32));
            __m256i value =
                _mm256_add_epi64(_mm256_and_si256(product, prime), _mm256_srli_epi64(product, 61));
            if (narrow) {
                /* value - prime where value >= prime: the top bit of prime's complement tells, as
                 * value + 1 reaches 2^61. */
                __m256i over = _mm256_srli_epi64(_mm256_add_epi64(value, one), 61);
                value =
                    _mm256_and_si256(_mm256_add_epi64(value, over), _mm256_set1_epi64x(0xffffffff));
            }
            least[k] = least_of(least[k], value);
        }
    }
    UNROLL for (int k = 0; k < vectors; k++)
    {
        if (!narrow) {
            __m256i small = _mm256_cmpgt_epi64(_mm256_set1_epi64x(15), least[k]);
            if (_mm256_movemask_epi8(small) != 0) {
                minhash_kernel_scalar.update(a + 4 * k, b + 4 * k, 4, UINT64_MAX, hashes, n,
                                             minima + 4 * k);
                continue;
            }
            least[k] = _mm256_sub_epi64(least[k], _mm256_set1_epi64x(8));
        }
        uint64_t values[4];
        _mm256_storeu_si256((__m256i *)values, least[k]);
        for (int lane = 0; lane < 4; lane++) {
            minima[4 * k + lane] =
                values[lane] < minima[4 * k + lane] ? values[lane] : minima[4 * k + lane];
        }
    }
}

AVX2 static void avx2_update(const uint64_t *a, const uint64_t *b, size_t functions, uint64_t mask,
                             const uint64_t *hashes, size_t n, uint64_t *minima)
{
    for (size_t f = 0; f < functions; f += MINHASH_LANES) {
        if (mask == UINT64_MAX) {
            update_vectors(2, false, a + f, b + f, hashes, n, minima + f);
        } else {
            update_vectors(2, true, a + f, b + f, hashes, n, minima + f);
        }
    }
}

static void avx2_hash(const char *text, const struct text_span *words, size_t ngram, size_t n,
                      uint64_t *out)
{
    minhash_kernel_scalar.hash(text, words, ngram, n, out);
}

const struct minhash_kernel minhash_kernel_avx2 = { avx2_hash, avx2_update };

#endif
