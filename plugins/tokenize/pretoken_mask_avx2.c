/* pretoken_mask_avx2.c — the mask programs with 32 bytes classified at once. Depends on:
 * pretoken_mask_program.h. */
#include "pretoken_mask.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
#endif

#include "pretoken_mask_program.h"

INLINE uint64_t both(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

/* Bytes of v that are first .. first + n - 1. */
INLINE __m256i among(__m256i v, char first, char n)
{
    const __m256i from = _mm256_sub_epi8(v, _mm256_set1_epi8(first));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(from, _mm256_set1_epi8((char)(n - 1))), from);
}

INLINE __m256i equal(__m256i v, char c)
{
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

INLINE void classify(const uint8_t *p, struct ascii_masks *out)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    out->upper = both(among(a, 'A', 26), among(b, 'A', 26));
    out->lower = both(among(a, 'a', 26), among(b, 'a', 26));
    out->number = both(among(a, '0', 10), among(b, '0', 10));
    out->blank = both(equal(a, ' '), equal(b, ' '));
    out->space = both(among(a, 9, 5), among(b, 9, 5)) | out->blank;
    out->newline = both(_mm256_or_si256(equal(a, '\n'), equal(a, '\r')),
                        _mm256_or_si256(equal(b, '\n'), equal(b, '\r')));
    out->quote = both(equal(a, '\''), equal(b, '\''));
    out->slash = both(equal(a, '/'), equal(b, '/'));
    out->high = both(a, b);
}

pretoken_fill *const pretoken_mask_avx2[PROGRAMS] = PROGRAM_TABLE;

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

pretoken_fill *const pretoken_mask_avx2[PROGRAMS] = { 0 };

#endif
