/* bpe_pass_avx512.c — the steps of a pass, a set compared at once. Depends on: bpe_pass_steps.h. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt")
#endif

#include "model/bpe_pass_steps.h"

/* The word behind the key that is equal goes to the front, and zero where none is. */
INLINE int find_short(const struct short_entry *set, uint64_t key, uint32_t *ids)
{
    const __m512i words = _mm512_load_si512((const void *)set);
    const __mmask8 is =
        _mm512_mask_cmpeq_epi64_mask(0x55, words, _mm512_set1_epi64((long long)key));
    const __m512i found = _mm512_maskz_compress_epi64(_kadd_mask8(is, is), words);
    _mm_storel_epi64((__m128i *)(void *)ids, _mm512_castsi512_si128(found));
    return is != 0;
}

INLINE const struct piece_entry *find_mid(const struct piece_entry *set, struct piece_key key)
{
    const __m512i want =
        _mm512_broadcast_i64x2(_mm_set_epi64x((long long)key.high, (long long)key.low));
    const unsigned a = _mm512_cmpeq_epi64_mask(_mm512_load_si512((const void *)set), want),
                   b = _mm512_cmpeq_epi64_mask(_mm512_load_si512((const void *)(set + 2)), want);
    const unsigned is = (a & a >> 1 & 0x11) | (b & b >> 1 & 0x11) << 8;
    return is ? set + (_tzcnt_u32(is) >> 2) : NULL;
}

/* The places of the ones among 8 pieces, in order, a byte each. */
INLINE uint64_t places_of(unsigned ones)
{
    const uint64_t bytes = _pdep_u64(ones, UINT64_C(0x0101010101010101)) * 0xFF;
    return _pext_u64(UINT64_C(0x0706050403020100), bytes);
}

/* Eight bytes each of the eight pieces of which the first begins at `from`. A gather would take
 * three times as long where processors are kept from leaking what they gather. */
INLINE __m512i words_of(const uint8_t *text, size_t from, const size_t *ends)
{
    __m128i two[4];
    for (int k = 0; k < 4; k++) {
        const void *even = text + (k ? ends[2 * k - 1] : from), *odd = text + ends[2 * k];
        two[k] = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(even)), odd));
    }
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(two[0]), two[1], 1)),
        _mm256_inserti128_si256(_mm256_castsi128_si256(two[2]), two[3], 1), 1);
}

INLINE void sort_far(struct strip *strip, const struct cache *cache, const uint8_t *text,
                     size_t from, const size_t *ends, size_t far)
{
    const __m128i shift = _mm_cvtsi32_si128((int)cache->shorts.shift);
    __m512i last = _mm512_set1_epi64((long long)from);
    uint64_t base = 0;
    size_t i = 0;
    for (; i + 8 <= far; i += 8) {
        const __m512i to = _mm512_loadu_si512((const void *)(ends + i));
        const __m512i begin = _mm512_alignr_epi64(to, last, 7);
        const __m512i len = _mm512_sub_epi64(to, begin);
        const __mmask8 is_short = _mm512_cmple_epu64_mask(len, _mm512_set1_epi64(SHORT_BYTES));
        const __m512i words = words_of(text, i ? ends[i - 1] : from, ends + i);
        const __m512i above = _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_slli_epi64(len, 3));
        const __m512i key =
            _mm512_or_si512(_mm512_andnot_si512(above, words), _mm512_slli_epi64(len, 56));
        const __m512i few = _mm512_maskz_compress_epi64(is_short, key);
        const __m512i set = _mm512_slli_epi64(
            _mm512_srl_epi64(_mm512_mullo_epi64(few, _mm512_set1_epi64((long long)SHORT_FACTOR)),
                             shift),
            6);
        const size_t n = (size_t)_mm_popcnt_u32(is_short);
        const uint64_t few_at = base + places_of(is_short),
                       others_at = base + places_of((uint8_t)~is_short);
        _mm512_storeu_si512((void *)(strip->shorts + strip->n_shorts), few);
        _mm512_storeu_si512((void *)(strip->short_sets + strip->n_shorts), set);
        memcpy(strip->short_at + strip->n_shorts, &few_at, 8);
        memcpy(strip->at + strip->n, &others_at, 8);
        strip->n_shorts += n;
        strip->n += 8 - n;
        base += UINT64_C(0x0808080808080808);
        last = to;
    }
    for (; i < far; i++) {
        const size_t begin = i ? ends[i - 1] : from, len = ends[i] - begin;
        sort_one(strip, cache, i, _bzhi_u64(word_at(text + begin), (unsigned)len * 8) | len << 56,
                 len <= SHORT_BYTES);
    }
}

const struct pass_steps pass_steps_avx512 = { look, emit, merge_jobs_run_avx512 };

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int bpe_pass_avx512_is_empty;
#endif
