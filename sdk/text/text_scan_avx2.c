/* text_scan_avx2.c — the loops of text_scan.h with AVX2, called only where the processor has it. */
#include "text/text_scan.h"

#if TEXT_SCAN_AVX2

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

AVX2 static inline __m256i load(const unsigned char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* 0xFF where low <= byte < low + count, unsigned. */
AVX2 static inline __m256i in_range(__m256i bytes, unsigned char low, unsigned char count)
{
    __m256i shifted = _mm256_sub_epi8(bytes, _mm256_set1_epi8((char)low));
    __m256i limited = _mm256_min_epu8(shifted, _mm256_set1_epi8((char)(count - 1)));
    return _mm256_cmpeq_epi8(shifted, limited);
}

AVX2 static inline __m256i equal(__m256i bytes, unsigned char value)
{
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8((char)value));
}

AVX2 static inline uint64_t mask64(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

AVX2 static inline __m256i is_space(__m256i bytes)
{
    return _mm256_or_si256(in_range(bytes, 0x09, 5), in_range(bytes, 0x1C, 5));
}

AVX2 static inline __m256i is_lead(__m256i bytes)
{
    return _mm256_or_si256(equal(bytes, 0xC2), in_range(bytes, 0xE1, 3));
}

AVX2 static inline __m256i is_break(__m256i bytes)
{
    __m256i ascii = _mm256_or_si256(in_range(bytes, 0x0A, 4), in_range(bytes, 0x1C, 3));
    return _mm256_or_si256(ascii, _mm256_or_si256(equal(bytes, 0xC2), equal(bytes, 0xE2)));
}

/* The word's 64 bytes, or a copy padded with 'x', which is in no class. */
AVX2 static inline const unsigned char *block(const unsigned char *p, size_t n, size_t word,
                                              unsigned char pad[64])
{
    if (n - word * 64 >= 64) {
        return p + word * 64;
    }
    memset(pad, 'x', 64);
    memcpy(pad, p + word * 64, n - word * 64);
    return pad;
}

AVX2 void text_scan_space_avx2(const unsigned char *p, size_t n, struct text_scan_bits *bits)
{
    unsigned char pad[64];
    uint64_t any = 0;
    for (size_t word = 0; word * 64 < n; word++) {
        const unsigned char *q = block(p, n, word, pad);
        __m256i a = load(q), b = load(q + 32);
        bits->space[word] = mask64(is_space(a), is_space(b));
        uint64_t lead = 0;
        if (_mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0) {
            lead = mask64(is_lead(a), is_lead(b));
        }
        bits->lead[word] = lead;
        any |= lead;
    }
    bits->any_lead = any != 0;
}

AVX2 void text_scan_breaks_avx2(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
    unsigned char pad[64];
    for (size_t word = 0; word * 64 < n; word++) {
        const unsigned char *q = block(p, n, word, pad);
        bits[word] = mask64(is_break(load(q)), is_break(load(q + 32)));
    }
}

AVX2 void text_scan_newlines_avx2(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
    unsigned char pad[64];
    for (size_t word = 0; word * 64 < n; word++) {
        const unsigned char *q = block(p, n, word, pad);
        bits[word] = mask64(equal(load(q), '\n'), equal(load(q + 32), '\n'));
    }
}

AVX2 size_t text_scan_ascii_avx2(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 64; i += 64) {
        __m256i a = load(p + i), b = load(p + i + 32);
        if (_mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0) {
            break;
        }
    }
    return i + text_scan_ascii_portable(p + i, n - i);
}

AVX2 size_t text_scan_count_avx2(const unsigned char *p, size_t n)
{
    size_t count = 0, i = 0;
    const __m256i last_continuation = _mm256_set1_epi8((char)0xBF);
    for (; n - i >= 64; i += 64) {
        /* signed: continuation bytes are the smallest, 0x80 to 0xBF */
        __m256i a = _mm256_cmpgt_epi8(load(p + i), last_continuation);
        __m256i b = _mm256_cmpgt_epi8(load(p + i + 32), last_continuation);
        count += (size_t)_mm_popcnt_u64(mask64(a, b));
    }
    return count + text_scan_count_portable(p + i, n - i);
}

/* Compares the first and the last byte of the needle at 32 places at a time (W. Muła,
 * "SIMD-friendly algorithms for substring searching", 2016). */
AVX2 size_t text_scan_find_avx2(const unsigned char *p, size_t n, const unsigned char *needle,
                                size_t m)
{
    if (m > n) {
        return n;
    }
    size_t i = 0;
    const __m256i first = _mm256_set1_epi8((char)needle[0]);
    const __m256i last = _mm256_set1_epi8((char)needle[m - 1]);
    for (; n - i >= 32 + m - 1; i += 32) {
        __m256i a = _mm256_cmpeq_epi8(first, load(p + i));
        __m256i b = _mm256_cmpeq_epi8(last, load(p + i + m - 1));
        uint32_t hits = (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(a, b));
        while (hits != 0) {
            size_t at = i + (size_t)__builtin_ctz(hits);
            if (m <= 2 || memcmp(p + at + 1, needle + 1, m - 2) == 0) {
                return at;
            }
            hits &= hits - 1;
        }
    }
    return i + text_scan_find_portable(p + i, n - i, needle, m);
}

AVX2 bool text_scan_folded_avx2(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                                size_t count)
{
    const __m256i fold = _mm256_set1_epi8(0x20);
    size_t i = 0;
    for (; n - i >= 34; i += 32) {
        __m256i a = _mm256_or_si256(load(p + i), fold);
        __m256i b = _mm256_or_si256(load(p + i + 1), fold);
        __m256i c = _mm256_or_si256(load(p + i + 2), fold);
        __m256i found = _mm256_setzero_si256();
        for (size_t k = 0; k < count; k++) {
            __m256i pair = _mm256_and_si256(equal(a, parts[k][0]), equal(b, parts[k][1]));
            found = _mm256_or_si256(found, _mm256_and_si256(pair, equal(c, parts[k][2])));
        }
        if (_mm256_testz_si256(found, found) == 0) {
            return true;
        }
    }
    return text_scan_folded_portable(p + i, n - i, parts, count);
}

#else

typedef int text_scan_avx2_is_empty; /* ISO C wants a declaration in every file */

#endif
