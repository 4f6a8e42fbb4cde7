/* The AVX-512 loops of MinHash. Depends on minhash_sig_kernel.h; promises the numbers of the scalar
 * loops.
 *
 * Two ideas. XXH64 runs on eight shingles at once, one a lane, with masks for their lengths: no
 * branch depends on a single shingle, where the scalar tail loop mispredicts on nearly each. And
 * the minimum is taken without the final conditional subtraction of the prime: with 8 added to b, a
 * product that would need it lands below 15, which is seen once per call in the minimum itself;
 * then the (practically never met) case is done again by the scalar loop. */
#include "minhash_sig_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define AVX512_INLINE \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2"), always_inline)) static inline
#define UNROLL _Pragma("GCC unroll 8")

#define XXH_P1 ((long long)0x9E3779B185EBCA87ull)
#define XXH_P2 ((long long)0xC2B2AE3D27D4EB4Full)
#define XXH_P3 ((long long)0x165667B19E3779F9ull)
#define XXH_P4 ((long long)0x85EBCA77C2B2AE63ull)
#define XXH_P5 ((long long)0x27D4EB2F165667C5ull)

/* The four 8-byte words of up to 32 bytes of eight shingles: word[k] lane i = bytes 8k..8k+7 of
 * shingle i. */
struct block {
    __m512i word[4];
};

AVX512_INLINE __m256i block_row(const char *at, uint32_t bytes)
{
    return _mm256_maskz_loadu_epi8((__mmask32)_bzhi_u32(UINT32_MAX, bytes), at);
}

/* Loads bytes[i] (0..32) bytes at text + at[i]; the rest is zero. Nothing outside is touched. */
AVX512_INLINE struct block block_load(const char *text, const uint32_t at[8],
                                      const uint32_t bytes[8])
{
    __m256i row[8];
    UNROLL for (int i = 0; i < 8; i++)
    {
        row[i] = block_row(text + at[i], bytes[i]);
    }
    /* A 4x4 transposition of 64-bit words within each half, which pairs lanes as 0 1 | 4 5 | 2 3 |
     * 6 7: rows are put in so that they come out in order. */
    __m512i p0 = _mm512_inserti64x4(_mm512_castsi256_si512(row[0]), row[2], 1);
    __m512i p1 = _mm512_inserti64x4(_mm512_castsi256_si512(row[1]), row[3], 1);
    __m512i p2 = _mm512_inserti64x4(_mm512_castsi256_si512(row[4]), row[6], 1);
    __m512i p3 = _mm512_inserti64x4(_mm512_castsi256_si512(row[5]), row[7], 1);
    __m512i low01 = _mm512_unpacklo_epi64(p0, p1);
    __m512i high01 = _mm512_unpackhi_epi64(p0, p1);
    __m512i low23 = _mm512_unpacklo_epi64(p2, p3);
    __m512i high23 = _mm512_unpackhi_epi64(p2, p3);
    struct block block;
    block.word[0] = _mm512_shuffle_i64x2(low01, low23, 0x88);
    block.word[1] = _mm512_shuffle_i64x2(high01, high23, 0x88);
    block.word[2] = _mm512_shuffle_i64x2(low01, low23, 0xdd);
    block.word[3] = _mm512_shuffle_i64x2(high01, high23, 0xdd);
    return block;
}

/* XXH64's round: rotl(sum + input * P2, 31) * P1. */
AVX512_INLINE __m512i xxh_round(__m512i sum, __m512i input)
{
    __m512i mixed = _mm512_add_epi64(sum, _mm512_mullo_epi64(input, _mm512_set1_epi64(XXH_P2)));
    return _mm512_mullo_epi64(_mm512_rol_epi64(mixed, 31), _mm512_set1_epi64(XXH_P1));
}

AVX512_INLINE __m512i xxh_merge(__m512i hash, __m512i sum)
{
    __m512i mixed = _mm512_xor_si512(hash, xxh_round(_mm512_setzero_si512(), sum));
    return _mm512_add_epi64(_mm512_mullo_epi64(mixed, _mm512_set1_epi64(XXH_P1)),
                            _mm512_set1_epi64(XXH_P4));
}

/* Shingles in flight: the steps of one hash wait for each other (a 64-bit product takes 15 cycles),
 * those of two groups do not. */
#define GROUPS 4
#define SHINGLES (8 * GROUPS)
#define EACH_GROUP UNROLL for (int g = 0; g < GROUPS; g++)

/* The 32-byte stripes of shingles that have any: sets hash[g] in the lanes of striped[g]. */
AVX512_INLINE void xxh_stripes(const char *text, const uint32_t at[SHINGLES],
                               const uint32_t lengths[SHINGLES], const __m512i length[GROUPS],
                               const __mmask8 striped[GROUPS], __m512i hash[GROUPS])
{
    __m512i sum[GROUPS][4];
    __mmask8 live[GROUPS];
    EACH_GROUP
    {
        sum[g][0] = _mm512_set1_epi64((long long)(0x9E3779B185EBCA87ull + 0xC2B2AE3D27D4EB4Full));
        sum[g][1] = _mm512_set1_epi64(XXH_P2);
        sum[g][2] = _mm512_setzero_si512();
        sum[g][3] = _mm512_set1_epi64((long long)(0ull - 0x9E3779B185EBCA87ull));
        live[g] = striped[g];
    }
    uint32_t done = 0;
    unsigned any;
    do {
        uint32_t stripe_at[SHINGLES];
        uint32_t stripe_bytes[SHINGLES];
        for (int i = 0; i < SHINGLES; i++) {
            bool full = lengths[i] >= done && lengths[i] - done >= 32;
            stripe_at[i] = full ? at[i] + done : at[i];
            stripe_bytes[i] = full ? 32 : 0;
        }
        EACH_GROUP
        {
            struct block stripe = block_load(text, stripe_at + 8 * g, stripe_bytes + 8 * g);
            UNROLL for (int k = 0; k < 4; k++)
            {
                sum[g][k] =
                    _mm512_mask_mov_epi64(sum[g][k], live[g], xxh_round(sum[g][k], stripe.word[k]));
            }
        }
        done += 32;
        any = 0;
        EACH_GROUP
        {
            live[g] = _mm512_cmpge_epu64_mask(length[g], _mm512_set1_epi64((long long)done + 32));
            any |= live[g];
        }
    } while (any != 0);
    __m512i merged[GROUPS];
    EACH_GROUP
    {
        merged[g] = _mm512_add_epi64(
            _mm512_add_epi64(_mm512_rol_epi64(sum[g][0], 1), _mm512_rol_epi64(sum[g][1], 7)),
            _mm512_add_epi64(_mm512_rol_epi64(sum[g][2], 12), _mm512_rol_epi64(sum[g][3], 18)));
    }
    UNROLL for (int k = 0; k < 4; k++)
    {
        EACH_GROUP
        {
            merged[g] = xxh_merge(merged[g], sum[g][k]);
        }
    }
    EACH_GROUP
    {
        hash[g] = _mm512_mask_mov_epi64(hash[g], striped[g], merged[g]);
    }
}

/* XXH64 of lengths[i] bytes at text + at[i], seed 0. */
AVX512_INLINE void xxh_shingles(const char *text, const uint32_t at[SHINGLES],
                                const uint32_t lengths[SHINGLES], __m512i hash[GROUPS])
{
    __m512i length[GROUPS];
    __mmask8 striped[GROUPS];
    uint32_t tail_at[SHINGLES];
    uint32_t tail_bytes[SHINGLES];
    unsigned any = 0;
    EACH_GROUP
    {
        __m256i length32 = _mm256_loadu_si256((const __m256i *)(lengths + 8 * g));
        __m256i begin = _mm256_loadu_si256((const __m256i *)(at + 8 * g));
        __m256i whole = _mm256_and_si256(length32, _mm256_set1_epi32(~31));
        _mm256_storeu_si256((__m256i *)(tail_at + 8 * g), _mm256_add_epi32(begin, whole));
        _mm256_storeu_si256((__m256i *)(tail_bytes + 8 * g),
                            _mm256_and_si256(length32, _mm256_set1_epi32(31)));
        length[g] = _mm512_cvtepu32_epi64(length32);
        hash[g] = _mm512_set1_epi64(XXH_P5);
        striped[g] = _mm512_cmpge_epu64_mask(length[g], _mm512_set1_epi64(32));
        any |= striped[g];
    }
    if (any != 0) {
        xxh_stripes(text, at, lengths, length, striped, hash);
    }
    /* At most 31 bytes are left: up to three words of 8, then 4, then single bytes; `rest` is the
     * word these last ones are in. */
    struct block tail[GROUPS];
    __m512i words[GROUPS];
    __m512i rest[GROUPS];
    EACH_GROUP
    {
        hash[g] = _mm512_add_epi64(hash[g], length[g]);
        tail[g] = block_load(text, tail_at + 8 * g, tail_bytes + 8 * g);
        words[g] = _mm512_srli_epi64(_mm512_and_si512(length[g], _mm512_set1_epi64(31)), 3);
        rest[g] = tail[g].word[0];
    }
    UNROLL for (int k = 0; k < 3; k++)
    {
        EACH_GROUP
        {
            __mmask8 more = _mm512_cmpgt_epu64_mask(words[g], _mm512_set1_epi64(k));
            __m512i mixed =
                _mm512_xor_si512(hash[g], xxh_round(_mm512_setzero_si512(), tail[g].word[k]));
            mixed = _mm512_mullo_epi64(_mm512_rol_epi64(mixed, 27), _mm512_set1_epi64(XXH_P1));
            hash[g] = _mm512_mask_add_epi64(hash[g], more, mixed, _mm512_set1_epi64(XXH_P4));
            rest[g] = _mm512_mask_mov_epi64(rest[g], more, tail[g].word[k + 1]);
        }
    }
    EACH_GROUP
    {
        __mmask8 four = _mm512_test_epi64_mask(length[g], _mm512_set1_epi64(4));
        __m512i mixed = _mm512_and_si512(rest[g], _mm512_set1_epi64(0xffffffff));
        mixed = _mm512_xor_si512(hash[g], _mm512_mullo_epi64(mixed, _mm512_set1_epi64(XXH_P1)));
        mixed = _mm512_mullo_epi64(_mm512_rol_epi64(mixed, 23), _mm512_set1_epi64(XXH_P2));
        hash[g] = _mm512_mask_add_epi64(hash[g], four, mixed, _mm512_set1_epi64(XXH_P3));
        rest[g] = _mm512_mask_srli_epi64(rest[g], four, rest[g], 32);
    }
    UNROLL for (int k = 0; k < 3; k++)
    {
        EACH_GROUP
        {
            __m512i bytes = _mm512_and_si512(length[g], _mm512_set1_epi64(3));
            __mmask8 more = _mm512_cmpgt_epu64_mask(bytes, _mm512_set1_epi64(k));
            __m512i mixed = _mm512_and_si512(_mm512_srli_epi64(rest[g], (unsigned)(8 * k)),
                                             _mm512_set1_epi64(0xff));
            mixed = _mm512_xor_si512(hash[g], _mm512_mullo_epi64(mixed, _mm512_set1_epi64(XXH_P5)));
            hash[g] = _mm512_mask_mullo_epi64(hash[g], more, _mm512_rol_epi64(mixed, 11),
                                              _mm512_set1_epi64(XXH_P1));
        }
    }
    EACH_GROUP
    {
        hash[g] = _mm512_xor_si512(hash[g], _mm512_srli_epi64(hash[g], 33));
        hash[g] = _mm512_mullo_epi64(hash[g], _mm512_set1_epi64(XXH_P2));
    }
    EACH_GROUP
    {
        hash[g] = _mm512_xor_si512(hash[g], _mm512_srli_epi64(hash[g], 29));
        hash[g] = _mm512_mullo_epi64(hash[g], _mm512_set1_epi64(XXH_P3));
        hash[g] = _mm512_xor_si512(hash[g], _mm512_srli_epi64(hash[g], 32));
    }
}

AVX512 static void avx512_hash(const char *text, const struct text_span *words, size_t ngram,
                               size_t n, uint64_t *out)
{
    for (size_t i = 0; i < n; i += SHINGLES) {
        uint32_t at[SHINGLES];
        uint32_t lengths[SHINGLES];
        size_t lanes = n - i < SHINGLES ? n - i : SHINGLES;
        for (size_t k = 0; k < SHINGLES; k++) {
            size_t first = i + (k < lanes ? k : 0);
            at[k] = words[first].begin;
            lengths[k] = words[first + ngram - 1].end - at[k];
        }
        __m512i hash[GROUPS];
        xxh_shingles(text, at, lengths, hash);
        EACH_GROUP
        {
            uint32_t wanted = _bzhi_u32(UINT32_MAX, (uint32_t)lanes) >> (8 * g);
            _mm512_mask_storeu_epi64(out + i + 8 * g, (__mmask8)(wanted & 0xff), hash[g]);
        }
    }
}

/* Folds n hashes into the minima of `vectors` vectors of functions. narrow: mask to 32 bits. */
AVX512_INLINE void update_vectors(int vectors, bool narrow, const uint64_t *a, const uint64_t *b,
                                  const uint64_t *hashes, size_t n, uint64_t *minima)
{
    const __m512i prime = _mm512_set1_epi64((long long)MINHASH_PRIME);
    __m512i factor[4];
    __m512i term[4];
    __m512i least[4];
    UNROLL for (int k = 0; k < vectors; k++)
    {
        factor[k] = _mm512_loadu_si512(a + 8 * k);
        term[k] = _mm512_loadu_si512(b + 8 * k);
        if (!narrow) {
            term[k] = _mm512_add_epi64(term[k], _mm512_set1_epi64(8));
        }
        least[k] = _mm512_set1_epi64(-1);
    }
    for (size_t i = 0; i < n; i++) {
        __m512i hash = _mm512_set1_epi64((long long)hashes[i]);
        UNROLL for (int k = 0; k < vectors; k++)
        {
            __m512i product = _mm512_add_epi64(_mm512_mullo_epi64(hash, factor[k]), term[k]);
            __m512i value =
                _mm512_add_epi64(_mm512_and_si512(product, prime), _mm512_srli_epi64(product, 61));
            if (narrow) {
                value = _mm512_min_epu64(value, _mm512_sub_epi64(value, prime));
                value = _mm512_and_si512(value, _mm512_set1_epi64(0xffffffff));
            }
            least[k] = _mm512_min_epu64(least[k], value);
        }
    }
    UNROLL for (int k = 0; k < vectors; k++)
    {
        if (!narrow) {
            if (_mm512_cmplt_epu64_mask(least[k], _mm512_set1_epi64(15)) != 0) {
                minhash_kernel_scalar.update(a + 8 * k, b + 8 * k, 8, UINT64_MAX, hashes, n,
                                             minima + 8 * k);
                continue;
            }
            least[k] = _mm512_sub_epi64(least[k], _mm512_set1_epi64(8));
        }
        _mm512_storeu_si512(minima + 8 * k,
                            _mm512_min_epu64(least[k], _mm512_loadu_si512(minima + 8 * k)));
    }
}

AVX512_INLINE void update_all(bool narrow, const uint64_t *a, const uint64_t *b, size_t functions,
                              const uint64_t *hashes, size_t n, uint64_t *minima)
{
    size_t f = 0;
    for (; f + 32 <= functions; f += 32) {
        update_vectors(4, narrow, a + f, b + f, hashes, n, minima + f);
    }
    if (f + 16 <= functions) {
        update_vectors(2, narrow, a + f, b + f, hashes, n, minima + f);
        f += 16;
    }
    if (f + 8 <= functions) {
        update_vectors(1, narrow, a + f, b + f, hashes, n, minima + f);
    }
}

AVX512 static void avx512_update(const uint64_t *a, const uint64_t *b, size_t functions,
                                 uint64_t mask, const uint64_t *hashes, size_t n, uint64_t *minima)
{
    if (mask == UINT64_MAX) {
        update_all(false, a, b, functions, hashes, n, minima);
    } else {
        update_all(true, a, b, functions, hashes, n, minima);
    }
}

const struct minhash_kernel minhash_kernel_avx512 = { avx512_hash, avx512_update };

#endif
