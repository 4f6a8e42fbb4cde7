/* text_lines.c — see text_lines.h. */
#include "text/text_lines.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_scan.h"

/* Length of the line break at p, whose first byte text_scan_breaks found; 0 when it is none. */
static size_t break_len(const unsigned char *p, const unsigned char *end)
{
    size_t left = (size_t)(end - p);
    switch (p[0]) {
    case '\r':
        return left > 1 && p[1] == '\n' ? 2 : 1;
    case 0xC2: /* U+0085 */
        return left > 1 && p[1] == 0x85 ? 2 : 0;
    case 0xE2: /* U+2028, U+2029 */
        return left > 2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9) ? 3 : 0;
    default:
        return 1;
    }
}

int32_t text_splitlines(const char *text, size_t len, struct text_spans *out,
                        struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    const unsigned char *begin = text_bytes(text);
    uint64_t bits[TEXT_SCAN_WORDS];
    size_t start = 0;
    for (size_t at = 0; at < len && status == SLUICE_OK; at += TEXT_SCAN_CHUNK) {
        size_t n = len - at < TEXT_SCAN_CHUNK ? len - at : TEXT_SCAN_CHUNK;
        text_scan_breaks(begin + at, n, bits);
        for (size_t word = 0; word * 64 < n && status == SLUICE_OK; word++) {
            for (uint64_t hits = bits[word]; hits != 0 && status == SLUICE_OK; hits &= hits - 1) {
                size_t place = at + word * 64 + text_low_bit(hits);
                size_t width = break_len(begin + place, begin + len);
                if (width == 0 || place < start) { /* the \n of \r\n lies before start */
                    continue;
                }
                status = text_spans_push(out, (uint32_t)start, (uint32_t)place, err);
                start = place + width;
            }
        }
    }
    if (status == SLUICE_OK && start < len) {
        status = text_spans_push(out, (uint32_t)start, (uint32_t)len, err);
    }
    return status;
}

int32_t text_split_newline(const char *text, size_t len, struct text_spans *out,
                           struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    const unsigned char *begin = text_bytes(text), *end = begin + len, *start = begin;
    while (status == SLUICE_OK) {
        const unsigned char *at = memchr(start, '\n', (size_t)(end - start));
        const unsigned char *stop = at == NULL ? end : at;
        status = text_spans_push(out, (uint32_t)(start - begin), (uint32_t)(stop - begin), err);
        if (at == NULL) {
            break;
        }
        start = at + 1;
    }
    return status;
}

int32_t text_split_newlines(const char *text, size_t len, size_t min, struct text_spans *out,
                            struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    const unsigned char *begin = text_bytes(text), *end = begin + len, *start = begin, *p = begin;
    while (status == SLUICE_OK) {
        const unsigned char *at = memchr(p, '\n', (size_t)(end - p));
        if (at == NULL) {
            return text_spans_push(out, (uint32_t)(start - begin), (uint32_t)len, err);
        }
        for (p = at + 1; p < end && *p == '\n'; p++) {
        }
        if ((size_t)(p - at) >= min) {
            status = text_spans_push(out, (uint32_t)(start - begin), (uint32_t)(at - begin), err);
            start = p;
        }
    }
    return status;
}

struct text_span text_lstrip(const char *text, struct text_span span)
{
    const unsigned char *begin = text_bytes(text), *p = begin + span.begin, *end = begin + span.end;
    while (p < end) {
        uint32_t cp;
        size_t n = text_decode(p, end, &cp);
        if ((text_table_classes(cp) & TEXT_SPACE) == 0) {
            break;
        }
        p += n;
    }
    return (struct text_span){ (uint32_t)(p - begin), span.end };
}

struct text_span text_rstrip(const char *text, struct text_span span)
{
    const unsigned char *begin = text_bytes(text), *p = begin + span.begin, *end = begin + span.end;
    while (end > p) {
        uint32_t cp;
        size_t n = text_decode_back(p, end, &cp);
        if ((text_table_classes(cp) & TEXT_SPACE) == 0) {
            break;
        }
        end -= n;
    }
    return (struct text_span){ span.begin, (uint32_t)(end - begin) };
}

struct text_span text_strip(const char *text, struct text_span span)
{
    struct text_span right = text_rstrip(text, span);
    return text_lstrip(text, right);
}
