/* pretoken_mask_avx512.c — the mask programs with 64 bytes classified at once. Depends on:
 * pretoken_mask_program.h. */
#include "split/pretoken_mask.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt")
#endif

struct window {
    __m512i bytes;
};

#include "split/pretoken_mask_program.h"

INLINE void window_load(const uint8_t *p, struct window *window)
{
    window->bytes = _mm512_loadu_si512((const void *)p);
}

INLINE uint64_t bytes_among(const struct window *window, uint8_t first, uint8_t last)
{
    const __m512i from = _mm512_sub_epi8(window->bytes, _mm512_set1_epi8((char)first));
    return _mm512_cmple_epu8_mask(from, _mm512_set1_epi8((char)(last - first)));
}

INLINE uint64_t equal(const struct window *window, char c)
{
    return _mm512_cmpeq_epi8_mask(window->bytes, _mm512_set1_epi8(c));
}

INLINE size_t *write_places(size_t *ends, uint64_t bits, size_t base)
{
    const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (unsigned k = 0; k < WINDOW; k += 16) {
        const __mmask16 some = (__mmask16)(bits >> k);
        const __m512i few = _mm512_maskz_compress_epi32(some, places);
        const __m256i low = _mm512_castsi512_si256(few), high = _mm512_extracti64x4_epi64(few, 1);
        const __m512i from = _mm512_set1_epi64((long long)(base + k));
        _mm512_storeu_si512((void *)ends, _mm512_add_epi64(from, _mm512_cvtepu32_epi64(low)));
        _mm512_storeu_si512((void *)(ends + 8),
                            _mm512_add_epi64(from, _mm512_cvtepu32_epi64(high)));
        ends += _mm_popcnt_u32(some);
    }
    return ends;
}

INLINE void classify(const struct window *window, struct ascii_masks *out)
{
    out->upper = bytes_among(window, 'A', 'Z');
    out->lower = bytes_among(window, 'a', 'z');
    out->number = bytes_among(window, '0', '9');
    out->blank = equal(window, ' ');
    out->space = bytes_among(window, 9, 13) | out->blank;
    out->newline = equal(window, '\n') | equal(window, '\r');
    out->quote = equal(window, '\'');
    out->slash = equal(window, '/');
    out->high = _mm512_movepi8_mask(window->bytes);
}

pretoken_fill *const pretoken_mask_avx512[PROGRAMS] = PROGRAM_TABLE;

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

pretoken_fill *const pretoken_mask_avx512[PROGRAMS] = { 0 };

#endif
