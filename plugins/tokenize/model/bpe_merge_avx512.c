/* bpe_merge_avx512.c — merge_jobs_run with all symbols of a piece in one register. Depends on:
 * bpe_merge.h. */
#include "model/bpe_merge.h"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi,bmi2,lzcnt,popcnt")
#endif

/* merge_pair, with a bucket compared at once. */
static inline uint32_t pair(const struct merges *m, uint32_t a, uint32_t b)
{
    const uint64_t *bucket = pair_bucket(m, a, b);
    const __m512i key = _mm512_set1_epi64((long long)pair_key(a, b));
    const __m512i words = _mm512_load_si512((const void *)bucket);
    const unsigned is = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(words, 21), key);
    if (is) {
        return (uint32_t)(bucket[_tzcnt_u32(is)] & 0x1FFFFFu);
    }
    return __builtin_expect(bucket[PAIR_BUCKET - 1] == 0, 1) ? MERGE_NONE : merge_pair(m, a, b);
}

/* One merge: the lowest rank, of equal ones the leftmost. 0 when there is none left. */
static inline int step(const struct merges *m, struct merge_job *job)
{
    const uint32_t at = job->at;
    __m512i symbols = _mm512_loadu_si512((const void *)job->symbols);
    __m512i ranks = _mm512_loadu_si512((const void *)job->ranks);
    uint32_t least, best;
    if (at < MERGE_ALL_ASKED) {
        if (at + 1 < job->n) {
            ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(1u << at),
                                           (int)pair(m, job->symbols[at], job->symbols[at + 1]));
        }
        if (at > 0) {
            ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(1u << (at - 1)),
                                           (int)pair(m, job->symbols[at - 1], job->symbols[at]));
        }
    }
    least = _mm512_reduce_min_epu32(ranks);
    if (least == MERGE_NONE) {
        return 0;
    }
    best = _tzcnt_u32(_mm512_cmpeq_epi32_mask(ranks, _mm512_set1_epi32((int)least)));
    symbols = _mm512_mask_set1_epi32(symbols, (__mmask16)(1u << best), (int)least);
    symbols = _mm512_maskz_compress_epi32((__mmask16) ~(2u << best), symbols);
    ranks = _mm512_mask_compress_epi32(_mm512_set1_epi32(-1), (__mmask16) ~(1u << best), ranks);
    _mm512_storeu_si512((void *)job->symbols, symbols);
    _mm512_storeu_si512((void *)job->ranks, ranks);
    job->n--;
    job->at = best;
    if (best + 1 < job->n) {
        __builtin_prefetch(pair_bucket(m, least, job->symbols[best + 1]));
    }
    if (best > 0) {
        __builtin_prefetch(pair_bucket(m, job->symbols[best - 1], least));
    }
    return job->n > 1;
}

void merge_jobs_run_avx512(const struct merges *m, struct merge_job *jobs, size_t n)
{
    uint8_t active[MERGE_JOBS]; /* places of those that go on */
    size_t left = n;
    for (size_t i = 0; i < n; i++) {
        struct merge_job *job = &jobs[i];
        const __mmask16 held = (__mmask16)((1u << (job->n - 1)) - 1);
        if (job->at == MERGE_ALL_ASKED) {
            for (size_t k = 0; k + 1 < job->n; k++) {
                job->ranks[k] = pair(m, job->symbols[k], job->symbols[k + 1]);
            }
            job->at = MERGE_NOTHING_ASKED;
        }
        _mm512_storeu_si512((void *)job->ranks, _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), held,
                                                                        (const void *)job->ranks));
        active[i] = (uint8_t)i;
    }
    while (left > 0) {
        size_t kept = 0;
        for (size_t k = 0; k < left; k++) {
            const uint8_t i = active[k];
            active[kept] = i;
            kept += (size_t)step(m, &jobs[i]);
        }
        left = kept;
    }
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
