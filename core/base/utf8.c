/* UTF-8 validation: see utf8.h.
 *
 * The vector version is the lookup algorithm of J. Keiser and D. Lemire, "Validating UTF-8 in
 * less than one instruction per byte" (Software: Practice and Experience, 2021): three 16-entry
 * tables, indexed by the high and low half of the byte before and the high half of the byte at
 * hand, name the errors that each half allows; an error is one that all three allow. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define UTF8_AVX2 1
#include <immintrin.h>
#endif

bool utf8_valid_scalar(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;

    while (i < n) {
        unsigned char c = s[i];
        unsigned char low = 0x80;
        unsigned char high = 0xBF;
        size_t more;

        if (c < 0x80) {
            uint64_t word;
            while (n - i >= sizeof word) {
                memcpy(&word, s + i, sizeof word);
                if ((word & UINT64_C(0x8080808080808080)) != 0) {
                    break;
                }
                i += sizeof word;
            }
            while (i < n && s[i] < 0x80) {
                i++;
            }
            continue;
        }
        /* Table 3-7 of the Unicode Standard: what may follow E0, ED, F0 and F4 is less than
         * 80..BF, which leaves out overlong forms, surrogates and all above U+10FFFF. */
        if (c < 0xC2) {
            return false;
        } else if (c < 0xE0) {
            more = 1;
        } else if (c < 0xF0) {
            more = 2;
            low = c == 0xE0 ? 0xA0 : 0x80;
            high = c == 0xED ? 0x9F : 0xBF;
        } else if (c < 0xF5) {
            more = 3;
            low = c == 0xF0 ? 0x90 : 0x80;
            high = c == 0xF4 ? 0x8F : 0xBF;
        } else {
            return false;
        }
        if (n - i <= more || s[i + 1] < low || s[i + 1] > high) {
            return false;
        }
        for (size_t k = 2; k <= more; k++) {
            if ((s[i + k] & 0xC0) != 0x80) {
                return false;
            }
        }
        i += more + 1;
    }
    return true;
}

#ifdef UTF8_AVX2

#define TARGET_AVX2 __attribute__((target("avx2")))

/* Errors, one bit each. Two of them share a bit: an overlong 4-byte form and a value above
 * U+10FFFF never have the same lead byte. */
#define TOO_SHORT (1 << 0) /* lead byte, then no continuation */
#define TOO_LONG (1 << 1)  /* ASCII, then a continuation */
#define OVERLONG_3 (1 << 2)
#define TOO_LARGE (1 << 3)
#define SURROGATE (1 << 4)
#define OVERLONG_2 (1 << 5)
#define TOO_LARGE_1000 (1 << 6)
#define OVERLONG_4 (1 << 6)
#define TWO_CONTS (1 << 7) /* fine when a 3- or 4-byte lead is near */
#define CARRY (TOO_SHORT | TOO_LONG | TWO_CONTS)

static const uint8_t table_first_high[16] = {
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TWO_CONTS,
    TWO_CONTS,
    TWO_CONTS,
    TWO_CONTS,
    TOO_SHORT | OVERLONG_2,
    TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
};
static const uint8_t table_first_low[16] = {
    CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
    CARRY | OVERLONG_2,
    CARRY,
    CARRY,
    CARRY | TOO_LARGE,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
};
static const uint8_t table_second_high[16] = {
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
    TOO_LONG | OVERLONG_2 | TWO_CONTS | OVERLONG_3 | TOO_LARGE,
    TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,
    TOO_LONG | OVERLONG_2 | TWO_CONTS | SURROGATE | TOO_LARGE,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
};

struct vector_state {
    __m256i error;
    __m256i before; /* the block before */
    __m256i open;   /* non-zero where the block before ends inside a sequence */
};

TARGET_AVX2 static inline __m256i load_table(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}

TARGET_AVX2 static inline void vector_block(struct vector_state *state, __m256i block)
{
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i limit = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                           -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                           -1, (char)0xEF, (char)0xDF, (char)0xBF);
    /* The last 16 bytes before and the first 16 of this block, so that alignr can shift across
     * the lanes. */
    __m256i across = _mm256_permute2x128_si256(state->before, block, 0x21);
    __m256i last1 = _mm256_alignr_epi8(block, across, 15);
    __m256i last2 = _mm256_alignr_epi8(block, across, 14);
    __m256i last3 = _mm256_alignr_epi8(block, across, 13);
    __m256i first_high = _mm256_shuffle_epi8(load_table(table_first_high),
                                             _mm256_and_si256(_mm256_srli_epi16(last1, 4), nibble));
    __m256i first_low =
        _mm256_shuffle_epi8(load_table(table_first_low), _mm256_and_si256(last1, nibble));
    __m256i second_high = _mm256_shuffle_epi8(
        load_table(table_second_high), _mm256_and_si256(_mm256_srli_epi16(block, 4), nibble));
    __m256i special = _mm256_and_si256(_mm256_and_si256(first_high, first_low), second_high);
    __m256i third = _mm256_subs_epu8(last2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(last3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i must_continue =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));

    state->error = _mm256_or_si256(state->error, _mm256_xor_si256(must_continue, special));
    state->open = _mm256_subs_epu8(block, limit);
    state->before = block;
}

TARGET_AVX2 static bool utf8_valid_avx2(const char *text, size_t n)
{
    struct vector_state state = { _mm256_setzero_si256(), _mm256_setzero_si256(),
                                  _mm256_setzero_si256() };
    size_t i = 0;

    for (; n - i >= 128; i += 128) {
        const __m256i *p = (const __m256i *)(const void *)(text + i);
        __m256i a = _mm256_loadu_si256(p);
        __m256i b = _mm256_loadu_si256(p + 1);
        __m256i c = _mm256_loadu_si256(p + 2);
        __m256i d = _mm256_loadu_si256(p + 3);
        __m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        if (_mm256_movemask_epi8(any) == 0) {
            /* In ASCII nothing can be wrong but what the block before left open. */
            state.error = _mm256_or_si256(state.error, state.open);
            state.open = _mm256_setzero_si256();
            state.before = d;
            continue;
        }
        vector_block(&state, a);
        vector_block(&state, b);
        vector_block(&state, c);
        vector_block(&state, d);
        if (!_mm256_testz_si256(state.error, state.error)) {
            return false;
        }
    }
    for (; n - i >= 32; i += 32) {
        vector_block(&state, _mm256_loadu_si256((const __m256i *)(const void *)(text + i)));
    }
    if (i < n) {
        /* Zeros are ASCII: a character that the text's end cuts is found as one that ASCII cuts. */
        char tail[32] = { 0 };
        memcpy(tail, text + i, n - i);
        vector_block(&state, _mm256_loadu_si256((const __m256i *)(const void *)tail));
    }
    state.error = _mm256_or_si256(state.error, state.open);
    return _mm256_testz_si256(state.error, state.error) != 0;
}

#endif

bool utf8_valid(const char *text, size_t n)
{
#ifdef UTF8_AVX2
    if (n >= 32 && __builtin_cpu_supports("avx2")) {
        return utf8_valid_avx2(text, n);
    }
#endif
    return utf8_valid_scalar(text, n);
}

size_t utf8_cut(const char *text, size_t n, size_t most)
{
    size_t cut = most;

    if (n <= most) {
        return n;
    }
    while (cut > 0 && most - cut < 3 && ((unsigned char)text[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return cut;
}
