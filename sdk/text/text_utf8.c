/* text_utf8.c — see text_utf8.h. */
#include "text/text_utf8.h"

#include "text/text_decode.h"
#include "text/text_scan.h"

bool text_utf8_valid(const char *text, size_t len, size_t *bad_at)
{
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin;
    for (;;) {
        p += text_scan_ascii(p, (size_t)(end - p));
        uint32_t cp;
        while (p < end && *p >= 0x80) {
            size_t n = text_decode_strict(p, end, &cp);
            if (n == 0) {
                if (bad_at != NULL) {
                    *bad_at = (size_t)(p - begin);
                }
                return false;
            }
            p += n;
        }
        if (p == end) {
            return true;
        }
    }
}

bool text_utf8_is_ascii(const char *text, size_t len)
{
    return text_scan_ascii(text_bytes(text), len) == len;
}

size_t text_utf8_count(const char *text, size_t len)
{
    return text_scan_count(text_bytes(text), len);
}

size_t text_utf8_decode(const char *text, size_t len, size_t at, uint32_t *cp)
{
    return text_decode(text_bytes(text) + at, text_bytes(text) + len, cp);
}

size_t text_utf8_next(const char *text, size_t len, size_t at)
{
    uint32_t cp;
    return at >= len ? len : at + text_utf8_decode(text, len, at, &cp);
}

size_t text_utf8_prev(const char *text, size_t at, uint32_t *cp)
{
    uint32_t found = TEXT_REPLACEMENT;
    if (at > 0) {
        at -= text_decode_back(text_bytes(text), text_bytes(text) + at, &found);
    }
    if (cp != NULL) {
        *cp = found;
    }
    return at;
}

size_t text_utf8_encode(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if ((cp >= 0xD800 && cp <= 0xDFFF) || cp > 0x10FFFF) {
        cp = TEXT_REPLACEMENT;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}
