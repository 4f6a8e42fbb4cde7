/* bpe_pass_avx2.c — the steps of a pass, four keys compared at once. Depends on:
 * bpe_pass_steps.h. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
#endif

#include "model/bpe_pass_steps.h"

INLINE int find_short(const struct short_entry *set, uint64_t key, uint32_t *out)
{
    const __m256i *two = (const __m256i *)(const void *)set;
    const __m256i a = _mm256_load_si256(two), b = _mm256_load_si256(two + 1);
    const __m256i is =
        _mm256_cmpeq_epi64(_mm256_unpacklo_epi64(a, b), _mm256_set1_epi64x((long long)key));
    const __m256i ids = _mm256_and_si256(_mm256_unpackhi_epi64(a, b), is);
    const __m128i half =
        _mm_or_si128(_mm256_castsi256_si128(ids), _mm256_extracti128_si256(ids, 1));
    const __m128i found = _mm_or_si128(half, _mm_unpackhi_epi64(half, half));
    _mm_storel_epi64((__m128i *)(void *)out, found);
    return _mm_cvtsi128_si64(found) != 0;
}

INLINE const struct piece_entry *find_mid(const struct piece_entry *set, struct piece_key key)
{
    return find_mid_by_each(set, key);
}

INLINE void sort_far(struct strip *strip, const struct cache *cache, const uint8_t *text,
                     size_t from, const size_t *ends, size_t far)
{
    for (size_t i = 0; i < far; i++) {
        const size_t len = ends[i] - from;
        sort_one(strip, cache, i, _bzhi_u64(word_at(text + from), (unsigned)len * 8) | len << 56,
                 len <= SHORT_BYTES);
        from = ends[i];
    }
}

const struct pass_steps pass_steps_avx2 = { look, emit, merge_jobs_run };

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int bpe_pass_avx2_is_empty;
#endif
