/* XXH64 of shingles with AVX2, for processors without AVX-512. Depends on minhash_sig_hash.h and
 * xxHash's header; promises the numbers of the library.
 *
 * The library asks how long a string is five times over, and shingles have all lengths: nearly each
 * answer is foretold wrongly; and each step of a hash waits for the one before. Here eight shingles
 * go together, and what a length leaves out is computed as well and not taken. Those of less than
 * 32 bytes are parted from the others first, which are hashed in stripes of 32. (Yann Collet,
 * xxhash.h: the steps and constants of XXH64.) */
#include "minhash_sig_hash.h"

#if defined(__x86_64__)

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <immintrin.h>

#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline
#define AVX2 __attribute__((target("avx2")))
#define UNROLL _Pragma("GCC unroll 8")

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

#define STRIPE 32 /* bytes; a tail is shorter, and read as if it had as many */
#define LANES 4   /* of a vector */
#define GROUPS 2  /* vectors at a time */
#define TOGETHER (LANES * GROUPS)
#define BLOCK 256 /* shingles parted at a time */
#define EACH_GROUP UNROLL for (int g = 0; g < GROUPS; g++)

AVX2_INLINE __m256i number(uint64_t value)
{
    return _mm256_set1_epi64x((long long)value);
}

/* x * c. The upper halves of the products of halves that cross do not count. */
AVX2_INLINE __m256i times(__m256i x, uint64_t c)
{
    __m256i cross = _mm256_mullo_epi32(x, number(c >> 32 | c << 32));
    cross = _mm256_slli_epi64(_mm256_add_epi32(cross, _mm256_srli_epi64(cross, 32)), 32);
    return _mm256_add_epi64(_mm256_mul_epu32(x, number(c)), cross);
}

/* x * c where x < 2^32. */
AVX2_INLINE __m256i times_half(__m256i x, uint64_t c)
{
    __m256i high = _mm256_slli_epi64(_mm256_mul_epu32(x, number(c >> 32)), 32);
    return _mm256_add_epi64(_mm256_mul_epu32(x, number(c)), high);
}

AVX2_INLINE __m256i rotate(__m256i x, int n)
{
    return _mm256_or_si256(_mm256_slli_epi64(x, n), _mm256_srli_epi64(x, 64 - n));
}

AVX2_INLINE __m256i round_of(__m256i sum, __m256i input)
{
    return times(rotate(_mm256_add_epi64(sum, times(input, P2)), 31), P1);
}

AVX2_INLINE __m256i merge(__m256i hash, __m256i sum)
{
    __m256i mixed = _mm256_xor_si256(hash, round_of(_mm256_setzero_si256(), sum));
    return _mm256_add_epi64(times(mixed, P1), number(P4));
}

/* The 32 bytes at each of four places: word[k] lane i are bytes 8k to 8k + 7 of place i. */
AVX2_INLINE void load_words(const char *const at[LANES], __m256i word[4])
{
    __m256i row[LANES];
    UNROLL for (int i = 0; i < LANES; i++)
    {
        row[i] = _mm256_loadu_si256((const __m256i *)(const void *)at[i]);
    }
    __m256i low01 = _mm256_unpacklo_epi64(row[0], row[1]);
    __m256i high01 = _mm256_unpackhi_epi64(row[0], row[1]);
    __m256i low23 = _mm256_unpacklo_epi64(row[2], row[3]);
    __m256i high23 = _mm256_unpackhi_epi64(row[2], row[3]);
    word[0] = _mm256_permute2x128_si256(low01, low23, 0x20);
    word[1] = _mm256_permute2x128_si256(high01, high23, 0x20);
    word[2] = _mm256_permute2x128_si256(low01, low23, 0x31);
    word[3] = _mm256_permute2x128_si256(high01, high23, 0x31);
}

/* Shingles in the making. */
struct lanes {
    const char *at[TOGETHER];
    uint64_t len[TOGETHER];
};

/* The ends of the hashes: the last len % STRIPE bytes of each. */
AVX2_INLINE void add_tails(const struct lanes *lanes, __m256i hash[GROUPS])
{
    __m256i word[GROUPS][4], rest[GROUPS], left[GROUPS];
    EACH_GROUP
    {
        const char *at[LANES];
        const uint64_t *len = lanes->len + LANES * g;
        UNROLL for (int i = 0; i < LANES; i++)
        {
            at[i] = lanes->at[LANES * g + i] + (len[i] & ~(uint64_t)(STRIPE - 1));
        }
        left[g] = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)len),
                                   number(STRIPE - 1));
        load_words(at, word[g]);
        rest[g] = word[g][0];
    }
    UNROLL for (int k = 0; k < 3; k++)
    {
        EACH_GROUP
        {
            __m256i more = _mm256_cmpgt_epi64(left[g], number(8 * (uint64_t)k + 7));
            __m256i mixed = _mm256_xor_si256(hash[g], round_of(_mm256_setzero_si256(), word[g][k]));
            mixed = _mm256_add_epi64(times(rotate(mixed, 27), P1), number(P4));
            hash[g] = _mm256_blendv_epi8(hash[g], mixed, more);
            rest[g] = _mm256_blendv_epi8(rest[g], word[g][k + 1], more);
        }
    }
    EACH_GROUP
    {
        __m256i none = _mm256_cmpeq_epi64(_mm256_and_si256(left[g], number(4)), number(0));
        __m256i four = times_half(_mm256_and_si256(rest[g], number(0xFFFFFFFF)), P1);
        four = _mm256_add_epi64(times(rotate(_mm256_xor_si256(hash[g], four), 23), P2), number(P3));
        hash[g] = _mm256_blendv_epi8(four, hash[g], none);
        rest[g] = _mm256_blendv_epi8(_mm256_srli_epi64(rest[g], 32), rest[g], none);
        left[g] = _mm256_and_si256(left[g], number(3));
    }
    UNROLL for (int k = 0; k < 3; k++)
    {
        EACH_GROUP
        {
            __m256i more = _mm256_cmpgt_epi64(left[g], number((uint64_t)k));
            __m256i byte = _mm256_and_si256(_mm256_srli_epi64(rest[g], 8 * k), number(0xFF));
            __m256i mixed = _mm256_xor_si256(hash[g], times_half(byte, P5));
            hash[g] = _mm256_blendv_epi8(hash[g], times(rotate(mixed, 11), P1), more);
        }
    }
    EACH_GROUP
    {
        hash[g] = times(_mm256_xor_si256(hash[g], _mm256_srli_epi64(hash[g], 33)), P2);
        hash[g] = times(_mm256_xor_si256(hash[g], _mm256_srli_epi64(hash[g], 29)), P3);
        hash[g] = _mm256_xor_si256(hash[g], _mm256_srli_epi64(hash[g], 32));
    }
}

/* Shingles of less than STRIPE bytes. */
AVX2 static void hash_below(const struct lanes *lanes, uint64_t out[TOGETHER])
{
    __m256i hash[GROUPS];
    EACH_GROUP
    {
        hash[g] = _mm256_add_epi64(
            number(P5),
            _mm256_loadu_si256((const __m256i *)(const void *)(lanes->len + LANES * g)));
    }
    add_tails(lanes, hash);
    EACH_GROUP
    {
        _mm256_storeu_si256((__m256i *)(void *)(out + LANES * g), hash[g]);
    }
}

/* Hashes the stripes of four shingles. A lane that has no more of them stays as it is. */
AVX2_INLINE __m256i hash_stripes(const char *const at[LANES], const uint64_t len[LANES])
{
    __m256i lengths = _mm256_loadu_si256((const __m256i *)(const void *)len);
    __m256i sum[4] = { number(P1 + P2), number(P2), number(0), number(0 - P1) };
    __m256i word[4];
    const char *now[LANES];
    UNROLL for (int i = 0; i < LANES; i++)
    {
        now[i] = at[i];
    }
    for (uint64_t done = STRIPE;; done += STRIPE) {
        __m256i more = _mm256_cmpgt_epi64(lengths, number(done - 1));
        if (_mm256_testz_si256(more, more) != 0) {
            break;
        }
        load_words(now, word);
        UNROLL for (int k = 0; k < 4; k++)
        {
            sum[k] = _mm256_blendv_epi8(sum[k], round_of(sum[k], word[k]), more);
        }
        UNROLL for (int i = 0; i < LANES; i++)
        {
            now[i] += len[i] >= done + STRIPE ? STRIPE : 0;
        }
    }
    __m256i hash = _mm256_add_epi64(_mm256_add_epi64(rotate(sum[0], 1), rotate(sum[1], 7)),
                                    _mm256_add_epi64(rotate(sum[2], 12), rotate(sum[3], 18)));
    UNROLL for (int k = 0; k < 4; k++)
    {
        hash = merge(hash, sum[k]);
    }
    return _mm256_add_epi64(hash, lengths);
}

/* Shingles of STRIPE bytes and more. */
AVX2 static void hash_above(const struct lanes *lanes, uint64_t out[TOGETHER])
{
    __m256i hash[GROUPS];
    EACH_GROUP
    {
        hash[g] = hash_stripes(lanes->at + LANES * g, lanes->len + LANES * g);
    }
    add_tails(lanes, hash);
    EACH_GROUP
    {
        _mm256_storeu_si256((__m256i *)(void *)(out + LANES * g), hash[g]);
    }
}

/* The shingles of the list; what is missing at its end is made up with its last one. */
AVX2 static void hash_list(const char *text, const struct text_span *words, size_t ngram,
                           const uint16_t *list, size_t n, bool above, uint64_t *out)
{
    for (size_t k = 0; k < n; k += TOGETHER) {
        size_t here = n - k < TOGETHER ? n - k : TOGETHER;
        uint64_t hashes[TOGETHER];
        struct lanes lanes;
        for (size_t i = 0; i < TOGETHER; i++) {
            const struct text_span *first = words + list[k + (i < here ? i : here - 1)];
            lanes.at[i] = text + first->begin;
            lanes.len[i] = first[ngram - 1].end - first->begin;
        }
        if (above) {
            hash_above(&lanes, hashes);
        } else {
            hash_below(&lanes, hashes);
        }
        for (size_t i = 0; i < here; i++) {
            out[list[k + i]] = hashes[i];
        }
    }
}

/* The farthest end of the n words. */
static uint32_t farthest_end(const struct text_span *words, size_t n)
{
    uint32_t end = 0;
    for (size_t i = 0; i < n; i++) {
        end = words[i].end > end ? words[i].end : end;
    }
    return end;
}

/* n <= BLOCK shingles. At the end of the text, STRIPE bytes behind a shingle can't be read. */
static void hash_block(const char *text, const struct text_span *words, size_t ngram, size_t n,
                       uint32_t end, uint64_t *out)
{
    uint16_t below[BLOCK] = { 0 }, above[BLOCK], last[BLOCK];
    size_t n_below = 0, n_above = 0, n_last = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t stop = words[i + ngram - 1].end;
        bool is_last = end - stop < STRIPE, is_above = stop - words[i].begin >= STRIPE;
        below[n_below] = above[n_above] = last[n_last] = (uint16_t)i;
        n_below += !is_last & !is_above;
        n_above += !is_last & is_above;
        n_last += is_last;
    }
    hash_list(text, words, ngram, below, n_below, false, out);
    hash_list(text, words, ngram, above, n_above, true, out);
    for (size_t k = 0; k < n_last; k++) {
        const struct text_span *first = words + last[k];
        out[last[k]] = XXH64(text + first->begin, first[ngram - 1].end - first->begin, 0);
    }
}

void minhash_hash_avx2(const char *text, const struct text_span *words, size_t ngram, size_t n,
                       uint64_t *out)
{
    uint32_t end = farthest_end(words + ngram - 1, n);
    for (size_t i = 0; i < n; i += BLOCK) {
        hash_block(text, words + i, ngram, n - i < BLOCK ? n - i : BLOCK, end, out + i);
    }
}

#endif
