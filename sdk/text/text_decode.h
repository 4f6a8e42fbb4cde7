/* text_decode.h — the inlined UTF-8 decoder and bit helpers of this folder.
 *
 * Private to sdk/text. Depends on text_tables.h. Promises: no read at or behind `end`.
 */
#ifndef TEXT_DECODE_H
#define TEXT_DECODE_H

#include "text/text_class.h"
#include "text/text_tables.h"
#include "text/text_utf8.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of the well-formed sequence at p < end with its code point in *cp, or 0. */
static inline size_t text_decode_strict(const unsigned char *p, const unsigned char *end,
                                        uint32_t *cp)
{
    uint32_t a = p[0];
    size_t left = (size_t)(end - p);
    if (a < 0x80) {
        *cp = a;
        return 1;
    }
    if (left < 2 || a < 0xC2 || (p[1] & 0xC0) != 0x80) {
        return 0;
    }
    uint32_t b = p[1] & 0x3Fu;
    if (a < 0xE0) {
        *cp = (a & 0x1F) << 6 | b;
        return 2;
    }
    if (left < 3 || (p[2] & 0xC0) != 0x80) {
        return 0;
    }
    uint32_t c = p[2] & 0x3Fu;
    if (a < 0xF0) {
        uint32_t value = (a & 0x0F) << 12 | b << 6 | c;
        *cp = value;
        return value < 0x800 || (value >= 0xD800 && value <= 0xDFFF) ? 0 : 3;
    }
    if (left < 4 || a > 0xF4 || (p[3] & 0xC0) != 0x80) {
        return 0;
    }
    uint32_t value = (a & 0x07) << 18 | b << 12 | c << 6 | (p[3] & 0x3Fu);
    *cp = value;
    return value < 0x10000 || value > 0x10FFFF ? 0 : 4;
}

/* As text_decode_strict, but an ill-formed byte gives TEXT_REPLACEMENT and 1. */
static inline size_t text_decode(const unsigned char *p, const unsigned char *end, uint32_t *cp)
{
    size_t n = text_decode_strict(p, end, cp);
    if (n == 0) {
        *cp = TEXT_REPLACEMENT;
        n = 1;
    }
    return n;
}

/* The code point that ends at `end` > begin: its length, as text_decode. */
static inline size_t text_decode_back(const unsigned char *begin, const unsigned char *end,
                                      uint32_t *cp)
{
    const unsigned char *p = end - 1;
    while (p > begin && end - p < 4 && (*p & 0xC0) == 0x80) {
        p--;
    }
    size_t n = text_decode_strict(p, end, cp);
    if (n == 0 || p + n != end) {
        *cp = TEXT_REPLACEMENT;
        n = 1;
    }
    return n;
}

/* The 8 bytes at p, the first one lowest. */
static inline uint64_t text_load64(const void *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Index of the lowest set bit; bits != 0. */
static inline uint32_t text_low_bit(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

/* The bytes of a text; NULL, which an empty column may hold, becomes "". */
static inline const unsigned char *text_bytes(const char *text)
{
    return (const unsigned char *)(text == NULL ? "" : text);
}

#endif
