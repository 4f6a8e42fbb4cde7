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

/* The pieces between runs of newlines, which are two of the places where the class of a byte
 * differs from its predecessor's each: what the bits say is appended to the list seen as plain
 * offsets. */
static int32_t split_runs(const unsigned char *text, size_t len, struct text_spans *out,
                          struct sluice_error *err)
{
    uint64_t bits[TEXT_SCAN_WORDS], inside = 0;
    uint32_t *offsets = NULL; /* out->data: begin, end, begin, end … */
    size_t edges = 1;         /* offsets written, of which the first is 0 */
    for (size_t at = 0; at == 0 || at < len; at += TEXT_SCAN_CHUNK) {
        size_t n = len - at < TEXT_SCAN_CHUNK ? len - at : TEXT_SCAN_CHUNK;
        out->count = edges / 2;
        int32_t status = text_spans_reserve(out, TEXT_SCAN_CHUNK / 2 + 4, err);
        if (status != SLUICE_OK) {
            return status;
        }
        text_scan_newlines(text + at, n, bits);
        offsets = (uint32_t *)(void *)out->data;
        offsets[0] = 0;
        uint32_t *edge = offsets + edges;
        for (size_t word = 0; word * 64 < n; word++) {
            uint64_t newline = bits[word];
            size_t here = n - word * 64;
            uint64_t valid = here < 64 ? ((uint64_t)1 << here) - 1 : ~(uint64_t)0;
            uint64_t change = (newline ^ (newline << 1 | inside)) & valid;
            uint32_t base = (uint32_t)(at + word * 64);
            inside = here < 64 ? newline >> (here - 1) & 1 : newline >> 63;
            while (change != 0) {
                *edge++ = base + text_low_bit(change);
                change &= change - 1;
            }
        }
        edges = (size_t)(edge - offsets);
    }
    if (inside != 0) { /* nothing stands behind the last newline */
        offsets[edges++] = (uint32_t)len;
    }
    offsets[edges++] = (uint32_t)len;
    out->count = edges / 2;
    return SLUICE_OK;
}

int32_t text_split_newlines(const char *text, size_t len, size_t min, struct text_spans *out,
                            struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    if (status == SLUICE_OK) {
        status = split_runs(text_bytes(text), len, out, err);
    }
    if (status != SLUICE_OK || min < 2) {
        return status;
    }
    struct text_span *spans = out->data;
    size_t last = 0;
    for (size_t i = 1; i < out->count; i++) {
        if (spans[i].begin - spans[last].end >= min) {
            last++;
            spans[last] = spans[i];
        } else { /* too few newlines between them */
            spans[last].end = spans[i].end;
        }
    }
    out->count = last + 1;
    return SLUICE_OK;
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
