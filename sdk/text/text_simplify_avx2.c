/* text_simplify_avx2.c — see text_simplify_ascii.h; called only where the processor has AVX2.
 *
 * Of ASCII, letters stay, in lower case; digits make numbers, of which a 0 stays; all else is white
 * space. What a byte becomes depends on its neighbours only, so 64 are decided at once as bits of
 * numbers, and the bytes that stay are moved together by a table of shuffles. Words are short: a
 * loop over bytes would be wrong about the end of nearly each of them.
 */
#include "text/text_simplify_ascii.h"

#include "text/text_tables.h"

#if TEXT_SIMPLIFY_AVX2

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define BLOCK 64

struct block {
    uint64_t letters, digits, separators, wide;
};

AVX2 static inline __m256i in_range(__m256i bytes, char low, char count)
{
    __m256i shifted = _mm256_sub_epi8(bytes, _mm256_set1_epi8(low));
    return _mm256_cmpeq_epi8(shifted,
                             _mm256_min_epu8(shifted, _mm256_set1_epi8((char)(count - 1))));
}

AVX2 static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

/* What a byte becomes if it stays: a lower-case letter, 0 for a digit, else a space. */
AVX2 static inline __m256i simple(__m256i bytes, __m256i letters, __m256i digits)
{
    const __m256i space = _mm256_set1_epi8(' ');
    __m256i zero = _mm256_and_si256(digits, _mm256_set1_epi8('0' ^ ' '));
    return _mm256_or_si256(_mm256_and_si256(bytes, letters), _mm256_or_si256(space, zero));
}

/* Classifies 64 bytes and writes what each becomes. */
AVX2 static inline struct block classify(const unsigned char *p, unsigned char out[BLOCK])
{
    const __m256i fold = _mm256_set1_epi8(0x20);
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    __m256i letters_a = in_range(_mm256_or_si256(a, fold), 'a', 26);
    __m256i letters_b = in_range(_mm256_or_si256(b, fold), 'a', 26);
    __m256i digits_a = in_range(a, '0', 10), digits_b = in_range(b, '0', 10);
    const __m256i stop = _mm256_set1_epi8('.'), comma = _mm256_set1_epi8(',');
    struct block block = {
        .letters = bits_of(letters_a, letters_b),
        .digits = bits_of(digits_a, digits_b),
        .separators =
            bits_of(_mm256_or_si256(_mm256_cmpeq_epi8(a, stop), _mm256_cmpeq_epi8(a, comma)),
                    _mm256_or_si256(_mm256_cmpeq_epi8(b, stop), _mm256_cmpeq_epi8(b, comma))),
        .wide = bits_of(a, b),
    };
    _mm256_storeu_si256((__m256i *)(void *)out, simple(a, letters_a, digits_a));
    _mm256_storeu_si256((__m256i *)(void *)(out + 32), simple(b, letters_b, digits_b));
    return block;
}

static inline uint64_t below(unsigned n)
{
    return n < BLOCK ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

/* Bytes behind the last bit of `bits` that is not set, below n: where the run that ends at n
 * begins. */
AVX2 static inline unsigned run_begin(uint64_t bits, unsigned n)
{
    uint64_t others = ~bits & below(n);
    return others == 0 ? 0 : BLOCK - (unsigned)__builtin_clzll(others);
}

/* The separators that stand inside numbers: of those between digits, all but the ones whose digits
 * before are a fraction already ("1.2.3" is the number 1.2, a full stop and a 3). */
AVX2 static uint64_t fractions(const struct block *block, uint64_t between)
{
    uint64_t found = 0;
    for (; between != 0; between &= between - 1) {
        unsigned place = (unsigned)__builtin_ctzll(between);
        unsigned begin = run_begin(block->digits, place);
        if (begin == 0 || (found >> (begin - 1) & 1) == 0) {
            found |= (uint64_t)1 << place;
        }
    }
    return found;
}

/* Moves the bytes with a bit in `keep` together, to `to`; returns the place behind them. */
AVX2 static inline char *compress(const unsigned char *bytes, uint64_t keep, char *to)
{
    for (unsigned i = 0; i < BLOCK; i += 8) {
        unsigned here = (unsigned)(keep >> i) & 0xFF;
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + i));
        __m128i places =
            _mm_loadl_epi64((const __m128i *)(const void *)(text_table_compress + here));
        _mm_storel_epi64((__m128i *)(void *)to, _mm_shuffle_epi8(eight, places));
        to += _mm_popcnt_u32(here);
    }
    return to;
}

AVX2 void text_simplify_ascii_avx2(struct text_simplify_ascii *at, const unsigned char *end)
{
    const unsigned char *p = at->from;
    char *to = at->to;
    uint64_t before = at->after_ink ? 0 : 1; /* 1: white space here is of a run before */
    uint64_t any_ink = 0;
    while (p < end) {
        unsigned char pad[BLOCK], out[BLOCK];
        const unsigned char *from = p;
        size_t left = (size_t)(end - p);
        unsigned n = left < BLOCK ? (unsigned)left : BLOCK;
        if (n < BLOCK) {
            memset(pad, ' ', BLOCK);
            memcpy(pad, p, n);
            from = pad;
        }
        struct block block = classify(from, out);
        if (block.wide != 0) {
            n = (unsigned)__builtin_ctzll(block.wide);
        }
        uint64_t ink = block.letters, gone = 0;
        if (block.digits != 0) {
            /* A number that reaches the end of what is seen may go on behind it. */
            unsigned begin = run_begin(block.digits | block.separators, n);
            if (n < left && (block.digits & below(n) & ~below(begin)) != 0) {
                n = begin;
            }
            block.digits &= below(n);
            ink |= block.digits & ~(block.digits << 1);
            gone = block.digits & block.digits << 1;
            uint64_t between = block.separators & block.digits << 1 & block.digits >> 1;
            if (between != 0) {
                uint64_t inside = fractions(&block, between);
                ink &= ~(inside << 1);
                gone |= inside | inside << 1;
            }
        }
        if (n == 0) {
            break;
        }
        uint64_t space = ~(ink | gone);
        ink &= below(n);
        uint64_t keep = (ink | (space & ~(space << 1 | before))) & below(n);
        to = compress(out, keep, to);
        any_ink |= ink;
        before = space >> (n - 1) & 1;
        p += n;
    }
    at->from = p;
    at->to = to;
    at->after_ink = before == 0;
    at->has_ink |= any_ink != 0;
}

#else

typedef int text_simplify_avx2_is_empty; /* ISO C wants a declaration in every file */

#endif
