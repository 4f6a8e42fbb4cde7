/* pretoken_mask_avx2.c — the mask programs with 32 bytes classified at once. Depends on:
 * pretoken_mask_program.h. */
#include "split/pretoken_mask.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
#endif

struct window {
    __m256i low, high;
};

#include "split/pretoken_mask_program.h"

INLINE void window_load(const uint8_t *p, struct window *window)
{
    window->low = _mm256_loadu_si256((const __m256i *)(const void *)p);
    window->high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
}

INLINE uint64_t both(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

INLINE __m256i among(__m256i v, uint8_t first, uint8_t last)
{
    const __m256i from = _mm256_sub_epi8(v, _mm256_set1_epi8((char)first));
    const __m256i most = _mm256_set1_epi8((char)(last - first));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(from, most), from);
}

INLINE uint64_t bytes_among(const struct window *window, uint8_t first, uint8_t last)
{
    return both(among(window->low, first, last), among(window->high, first, last));
}

INLINE uint64_t equal(const struct window *window, char c)
{
    const __m256i all = _mm256_set1_epi8(c);
    return both(_mm256_cmpeq_epi8(window->low, all), _mm256_cmpeq_epi8(window->high, all));
}

INLINE size_t *write_places(size_t *ends, uint64_t bits, size_t base)
{
    return write_places_by_bit(ends, bits, base);
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
    out->high = both(window->low, window->high);
}

pretoken_fill *const pretoken_mask_avx2[PROGRAMS] = PROGRAM_TABLE;

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

pretoken_fill *const pretoken_mask_avx2[PROGRAMS] = { 0 };

#endif
