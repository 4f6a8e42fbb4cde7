/* text_scan.c — portable inner loops and the choice of version. See text_scan.h. */
#include "text/text_scan.h"

#include "text/text_decode.h"

#include <string.h>

#define HIGH_BITS 0x8080808080808080u

static bool has_avx2(void)
{
#if TEXT_SCAN_AVX2
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

void text_scan_space_portable(const unsigned char *p, size_t n, struct text_scan_bits *bits)
{
    bits->any_lead = false;
    for (size_t word = 0; word * 64 < n; word++) {
        uint64_t space = 0, lead = 0;
        size_t here = n - word * 64 < 64 ? n - word * 64 : 64;
        const unsigned char *q = p + word * 64;
        for (size_t i = 0; i < here; i++) {
            unsigned char byte = q[i];
            uint64_t is_space = (unsigned)(byte - 9) < 5 || (unsigned)(byte - 0x1C) < 5;
            uint64_t is_lead = byte == 0xC2 || (unsigned)(byte - 0xE1) < 3;
            space |= is_space << i;
            lead |= is_lead << i;
        }
        bits->space[word] = space;
        bits->lead[word] = lead;
        bits->any_lead |= lead != 0;
    }
}

void text_scan_breaks_portable(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
    for (size_t word = 0; word * 64 < n; word++) {
        uint64_t breaks = 0;
        size_t here = n - word * 64 < 64 ? n - word * 64 : 64;
        const unsigned char *q = p + word * 64;
        for (size_t i = 0; i < here; i++) {
            unsigned char byte = q[i];
            uint64_t is_break = (unsigned)(byte - 0x0A) < 4 || (unsigned)(byte - 0x1C) < 3 ||
                                byte == 0xC2 || byte == 0xE2;
            breaks |= is_break << i;
        }
        bits[word] = breaks;
    }
}

/* Bit i: byte i of the 8 is a newline. */
static uint64_t newlines_of(uint64_t bytes)
{
    uint64_t v = bytes ^ 0x0A0A0A0A0A0A0A0Au;
    uint64_t zero = ~(((v & ~HIGH_BITS) + ~HIGH_BITS) | v) & HIGH_BITS;
    return ((zero >> 7) * 0x0102040810204080u) >> 56;
}

void text_scan_newlines_portable(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
    memset(bits, 0, (n + 63) / 64 * sizeof *bits);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        bits[i / 64] |= newlines_of(text_load64(p + i)) << (i % 64);
    }
    for (; i < n; i++) {
        bits[i / 64] |= (uint64_t)(p[i] == '\n') << (i % 64);
    }
}

size_t text_scan_ascii_portable(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (n - i >= 8 && (text_load64(p + i) & HIGH_BITS) == 0) {
        i += 8;
    }
    while (i < n && p[i] < 0x80) {
        i++;
    }
    return i;
}

size_t text_scan_count_portable(const unsigned char *p, size_t n)
{
    size_t count = n, i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t v = text_load64(p + i);
        uint64_t continuation = v & ~(v << 1) & HIGH_BITS; /* bit 7 set and bit 6 clear */
        count -= (size_t)(((continuation >> 7) * 0x0101010101010101u) >> 56);
    }
    for (; i < n; i++) {
        count -= (p[i] & 0xC0) == 0x80;
    }
    return count;
}

size_t text_scan_find_portable(const unsigned char *p, size_t n, const unsigned char *needle,
                               size_t m)
{
    const unsigned char *at = memmem(p, n, needle, m);
    return at == NULL ? n : (size_t)(at - p);
}

bool text_scan_folded_portable(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                               size_t count)
{
    for (size_t i = 0; i + 3 <= n; i++) {
        for (size_t k = 0; k < count; k++) {
            if ((p[i] | 0x20) == parts[k][0] && (p[i + 1] | 0x20) == parts[k][1] &&
                (p[i + 2] | 0x20) == parts[k][2]) {
                return true;
            }
        }
    }
    return false;
}

void text_scan_space(const unsigned char *p, size_t n, struct text_scan_bits *bits)
{
#if TEXT_SCAN_AVX2
    if (has_avx2()) {
        text_scan_space_avx2(p, n, bits);
        return;
    }
#endif
    text_scan_space_portable(p, n, bits);
}

void text_scan_breaks(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
#if TEXT_SCAN_AVX2
    if (has_avx2()) {
        text_scan_breaks_avx2(p, n, bits);
        return;
    }
#endif
    text_scan_breaks_portable(p, n, bits);
}

void text_scan_newlines(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS])
{
#if TEXT_SCAN_AVX2
    if (has_avx2()) {
        text_scan_newlines_avx2(p, n, bits);
        return;
    }
#endif
    text_scan_newlines_portable(p, n, bits);
}

size_t text_scan_ascii(const unsigned char *p, size_t n)
{
#if TEXT_SCAN_AVX2
    if (n >= 32 && has_avx2()) {
        return text_scan_ascii_avx2(p, n);
    }
#endif
    return text_scan_ascii_portable(p, n);
}

size_t text_scan_count(const unsigned char *p, size_t n)
{
#if TEXT_SCAN_AVX2
    if (n >= 32 && has_avx2()) {
        return text_scan_count_avx2(p, n);
    }
#endif
    return text_scan_count_portable(p, n);
}

size_t text_scan_find(const unsigned char *p, size_t n, const unsigned char *needle, size_t m)
{
#if TEXT_SCAN_AVX2
    /* memmem is linear whatever the needle; a long one of few letters would not be here. */
    if (m <= 64 && n >= 64 && has_avx2()) {
        return text_scan_find_avx2(p, n, needle, m);
    }
#endif
    return text_scan_find_portable(p, n, needle, m);
}

bool text_scan_folded(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                      size_t count)
{
#if TEXT_SCAN_AVX2
    if (n >= 34 && has_avx2()) {
        return text_scan_folded_avx2(p, n, parts, count);
    }
#endif
    return text_scan_folded_portable(p, n, parts, count);
}
