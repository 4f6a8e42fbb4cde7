/* text_base64.c — see text_base64.h. */
#include "text/text_base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t text_base64_encode(const void *data, size_t n, char *out)
{
    const unsigned char *p = data;
    char *to = out;
    for (; n >= 3; n -= 3, p += 3) {
        uint32_t word = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        *to++ = digits[word >> 6 & 63];
        *to++ = digits[word & 63];
    }
    if (n > 0) {
        uint32_t word = (uint32_t)p[0] << 16 | (n == 2 ? (uint32_t)p[1] << 8 : 0);
        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        *to++ = n == 2 ? digits[word >> 6 & 63] : '=';
        *to++ = '=';
    }
    return (size_t)(to - out);
}

/* The digit's value and 1; 0 for what is no digit. */
static const unsigned char values[256] = {
    ['A'] = 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,         12,         13,
    14,         15, 16, 17, 18, 19, 20, 21, 22, 23, 24,         25,         26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,         38,         39,
    40,         41, 42, 43, 44, 45, 46, 47, 48, 49, 50,         51,         52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, ['+'] = 63, ['/'] = 64,
};

/* Four digits to three bytes. Gives bits above 63 where one was no digit. */
static unsigned decode_group(const unsigned char *text, unsigned char out[3])
{
    unsigned a = values[text[0]] - 1u, b = values[text[1]] - 1u;
    unsigned c = values[text[2]] - 1u, d = values[text[3]] - 1u;
    out[0] = (unsigned char)(a << 2 | b >> 4);
    out[1] = (unsigned char)(b << 4 | c >> 2);
    out[2] = (unsigned char)(c << 6 | d);
    return (a | b | c | d) & ~63u;
}

size_t text_base64_decode(const char *text, size_t n, void *out)
{
    const unsigned char *from = (const unsigned char *)text;
    unsigned char *to = out, last[4], end[3];
    size_t pad, whole, i;
    unsigned bad = 0;
    if (n == 0 || n % 4 != 0) {
        return n == 0 ? 0 : (size_t)-1;
    }
    pad = from[n - 1] == '=' ? (from[n - 2] == '=' ? 2 : 1) : 0;
    whole = pad > 0 ? n - 4 : n;
    for (i = 0; i < whole && bad == 0; i += 4, to += 3) {
        bad = decode_group(from + i, to);
    }
    if (bad == 0 && pad > 0) {
        memcpy(last, from + whole, 4);
        memset(last + 4 - pad, 'A', pad);
        bad = decode_group(last, end);
        bad |= end[2] | (pad == 2 ? end[1] : 0u);
        memcpy(to, end, 3 - pad);
        to += 3 - pad;
    }
    return bad != 0 ? (size_t)-1 : (size_t)(to - (unsigned char *)out);
}
