/* The AVX2 loops of MinHash. Depends on minhash_sig_kernel.h; promises the numbers of the scalar
 * loops.
 *
 * AVX2 has no 64-bit product and no unsigned 64-bit minimum. So a value is first known by its upper
 * 32 of 61 bits, which take 32-bit products alone and have a minimum: eight functions a vector.
 * Kept are the least, the second least, and where the least was met. When the second is not right
 * behind the least, what was met there is the minimum, and its value is computed in full; otherwise
 * (seldom: a hash that occurs twice, or one chance in 2^31 a shingle) the eight functions go the
 * long way.
 *
 * The long way puts the product together from three 32-bit ones, and values stay below 2^62, so
 * that the signed comparison serves. The prime is subtracted as in minhash_sig_avx512.c: with 8
 * added to b, a product that needs it lands below 15 and is done again by the scalar loop. */
#include "minhash_sig_kernel.h"

#include "minhash_sig_hash.h"

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

/* Eight functions as the short way wants them: 8 a and 8 (b + 8), whose upper 32 bits are those of
 * the low 61 of a and b + 8, in halves. */
struct short_form {
    __m256i low, high; /* halves of the eight factors */
    __m256i low_odd;   /* low halves of the odd ones, at even places */
    __m256i term_even, term_odd;
};

AVX2_INLINE struct short_form short_form(const uint64_t *a, const uint64_t *b)
{
    const __m256i halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i eight = _mm256_set1_epi64x(8);
    __m256i a0 = _mm256_slli_epi64(_mm256_loadu_si256((const __m256i *)a), 3);
    __m256i a1 = _mm256_slli_epi64(_mm256_loadu_si256((const __m256i *)(a + 4)), 3);
    __m256i b0 = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)b), eight);
    __m256i b1 = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(b + 4)), eight);
    a0 = _mm256_permutevar8x32_epi32(a0, halves);
    a1 = _mm256_permutevar8x32_epi32(a1, halves);
    b0 = _mm256_slli_epi64(_mm256_permute4x64_epi64(b0, 0xD8), 3); /* 0 2 1 3 */
    b1 = _mm256_slli_epi64(_mm256_permute4x64_epi64(b1, 0xD8), 3);
    struct short_form form;
    form.low = _mm256_permute2x128_si256(a0, a1, 0x20);
    form.high = _mm256_permute2x128_si256(a0, a1, 0x31);
    form.low_odd = _mm256_srli_epi64(form.low, 32);
    form.term_even = _mm256_permute2x128_si256(b0, b1, 0x20);
    form.term_odd = _mm256_permute2x128_si256(b0, b1, 0x31);
    return form;
}

/* Where the minima of eight functions over some hashes are. */
struct short_minima {
    uint32_t least[8], second[8], place[8];
};

/* `vectors` times eight functions, which wait for each other's instructions less than one alone. */
AVX2_INLINE void find_minima(int vectors, const struct short_form *forms, const uint64_t *hashes,
                             size_t n, struct short_minima *out)
{
    const __m256i one = _mm256_set1_epi32(1);
    __m256i least[2], second[2], place[2], now = _mm256_setzero_si256();
    UNROLL for (int k = 0; k < vectors; k++)
    {
        least[k] = second[k] = _mm256_set1_epi32(-1);
        place[k] = now;
    }
    for (size_t i = 0; i < n; i++) {
        const char *hash = (const char *)(hashes + i);
        __m256i low = _mm256_broadcastd_epi32(_mm_loadu_si32(hash));
        __m256i high = _mm256_broadcastd_epi32(_mm_loadu_si32(hash + 4));
        UNROLL for (int k = 0; k < vectors; k++)
        {
            const struct short_form *form = &forms[k];
            __m256i even = _mm256_add_epi64(_mm256_mul_epu32(low, form->low), form->term_even);
            __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(low, form->low_odd), form->term_odd);
            __m256i cross = _mm256_add_epi32(_mm256_mullo_epi32(low, form->high),
                                             _mm256_mullo_epi32(high, form->low));
            __m256i upper = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
            __m256i value = _mm256_add_epi32(upper, cross);
            second[k] = _mm256_min_epu32(second[k], _mm256_max_epu32(least[k], value));
            least[k] = _mm256_min_epu32(least[k], value);
            place[k] = _mm256_blendv_epi8(place[k], now, _mm256_cmpeq_epi32(least[k], value));
        }
        now = _mm256_add_epi32(now, one);
    }
    UNROLL for (int k = 0; k < vectors; k++)
    {
        _mm256_storeu_si256((__m256i *)out[k].least, least[k]);
        _mm256_storeu_si256((__m256i *)out[k].second, second[k]);
        _mm256_storeu_si256((__m256i *)out[k].place, place[k]);
    }
}

/* Folds what was found for eight functions into their minima. A least of 0 may be a value that the
 * prime is still to be subtracted from. */
AVX2_INLINE void fold_minima(const struct short_minima *found, const uint64_t *a, const uint64_t *b,
                             const uint64_t *hashes, size_t n, uint64_t *minima)
{
    bool sure = true;
    for (int k = 0; k < 8; k++) {
        sure &= (found->least[k] > 0) & (found->second[k] - found->least[k] > 1);
    }
    if (!sure) {
        update_vectors(2, false, a, b, hashes, n, minima);
        return;
    }
    for (int k = 0; k < 8; k++) {
        uint64_t value = minhash_value(hashes[found->place[k]], a[k], b[k]);
        minima[k] = value < minima[k] ? value : minima[k];
    }
}

AVX2 static void update_wide(const uint64_t *a, const uint64_t *b, size_t functions,
                             const uint64_t *hashes, size_t n, uint64_t *minima)
{
    struct short_minima found[2];
    struct short_form forms[2];
    size_t f = 0;
    for (; f + 16 <= functions; f += 16) {
        forms[0] = short_form(a + f, b + f);
        forms[1] = short_form(a + f + 8, b + f + 8);
        find_minima(2, forms, hashes, n, found);
        fold_minima(&found[0], a + f, b + f, hashes, n, minima + f);
        fold_minima(&found[1], a + f + 8, b + f + 8, hashes, n, minima + f + 8);
    }
    if (f < functions) {
        forms[0] = short_form(a + f, b + f);
        find_minima(1, forms, hashes, n, found);
        fold_minima(&found[0], a + f, b + f, hashes, n, minima + f);
    }
}

/* Of the lower 32 bits of each value, which the short way does not know. */
AVX2 static void update_narrow(const uint64_t *a, const uint64_t *b, size_t functions,
                               const uint64_t *hashes, size_t n, uint64_t *minima)
{
    for (size_t f = 0; f < functions; f += MINHASH_LANES) {
        update_vectors(2, true, a + f, b + f, hashes, n, minima + f);
    }
}

static void avx2_update(const uint64_t *a, const uint64_t *b, size_t functions, uint64_t mask,
                        const uint64_t *hashes, size_t n, uint64_t *minima)
{
    if (mask == UINT64_MAX) {
        update_wide(a, b, functions, hashes, n, minima);
    } else {
        update_narrow(a, b, functions, hashes, n, minima);
    }
}

const struct minhash_kernel minhash_kernel_avx2 = { minhash_hash_avx2, avx2_update };

#endif
