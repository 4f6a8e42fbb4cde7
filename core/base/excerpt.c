/* Texts of others on one line: see excerpt.h. */
#include "base/excerpt.h"

#include <stdint.h>
#include <stdio.h>

#include "base/utf8.h"

/* Bytes of the UTF-8 character at text, 0 = none there. */
static size_t character(const char *text, size_t n, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t size = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

    if (size > n || !utf8_valid(text, size)) {
        return 0;
    }
    *code = size == 1 ? p[0] : size == 2 ? p[0] & 0x1fu : size == 3 ? p[0] & 0x0fu : p[0] & 0x07u;
    for (size_t k = 1; k < size; k++) {
        *code = *code << 6 | (p[k] & 0x3fu);
    }
    return size;
}

/* Columns of a character on a terminal, nearly: wide in East Asian scripts and pictures, none for
 * combining marks. */
static size_t width_of(uint32_t code)
{
    if ((code >= 0x300 && code <= 0x36f) || code == 0x200b || code == 0x200d ||
        (code >= 0xfe00 && code <= 0xfe0f)) {
        return 0;
    }
    return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                   (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                   (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                   (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd)
               ? 2
               : 1;
}

size_t excerpt_width(const char *text, size_t n)
{
    size_t width = 0;

    for (size_t at = 0; at < n;) {
        uint32_t code = 0;
        size_t size = character(text + at, n - at, &code);
        width += size == 0 ? 1 : width_of(code);
        at += size > 0 ? size : 1;
    }
    return width;
}

/* Characters that do something to a terminal or turn the direction of text. */
static bool harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void excerpt_put(struct buf *out, const char *text, size_t n, size_t columns)
{
    size_t used = 0;

    for (size_t at = 0; at < n;) {
        uint32_t code = 0;
        size_t size = character(text + at, n - at, &code);
        char escaped[12];
        size_t width;
        if (size == 0) {
            width = (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)text[at]);
        } else if (harmful(code)) {
            width = (size_t)snprintf(escaped, sizeof escaped,
                                     code == '\n'   ? "\\n"
                                     : code == '\t' ? "\\t"
                                     : code == '\r' ? "\\r"
                                                    : "\\u%04x",
                                     code);
        } else {
            escaped[0] = '\0';
            width = width_of(code);
        }
        if (columns > 0 && used + width + 1 > columns &&
            !(used + width == columns && at + (size > 0 ? size : 1) == n)) {
            buf_puts(out, "…");
            return;
        }
        if (escaped[0] != '\0') {
            buf_puts(out, escaped);
        } else {
            buf_append(out, text + at, size);
        }
        used += width;
        at += size > 0 ? size : 1;
    }
}

void excerpt_valid(struct buf *out, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint32_t code;
        size_t size = character(text + at, n - at, &code);
        if (size == 0) {
            buf_printf(out, "\\x%02x", (unsigned char)text[at++]);
        } else {
            buf_append(out, text + at, size);
            at += size;
        }
    }
}
