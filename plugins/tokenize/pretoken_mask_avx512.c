/* pretoken_mask_avx512.c — the mask programs with 64 bytes classified at once. Depends on:
 * pretoken_mask_program.h. */
#include "pretoken_mask.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt")
#endif

#include "pretoken_mask_program.h"

/* Bytes of v that are first .. first + n - 1. */
INLINE uint64_t among(__m512i v, char first, char n)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(first)), _mm512_set1_epi8(n));
}

INLINE uint64_t equal(__m512i v, char c)
{
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c));
}

INLINE void classify(const uint8_t *p, struct ascii_masks *out)
{
    const __m512i v = _mm512_loadu_si512((const void *)p);
    out->upper = among(v, 'A', 26);
    out->lower = among(v, 'a', 26);
    out->number = among(v, '0', 10);
    out->blank = equal(v, ' ');
    out->space = among(v, 9, 5) | out->blank;
    out->newline = equal(v, '\n') | equal(v, '\r');
    out->quote = equal(v, '\'');
    out->slash = equal(v, '/');
    out->high = _mm512_movepi8_mask(v);
}

pretoken_fill *const pretoken_mask_avx512[PROGRAMS] = PROGRAM_TABLE;

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

pretoken_fill *const pretoken_mask_avx512[PROGRAMS] = { 0 };

#endif
