/* text_pieces.c — see text_pieces.h. */
#include "text/text_pieces.h"

#include "text/text_error.h"
#include "text/text_lines.h"
#include "text/text_measure.h"
#include "text/text_utf8.h"

/* ---- cutting ---- */

int32_t text_split_at(const char *text, size_t len, const char *separator, size_t separator_len,
                      struct text_spans *out, struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    size_t start = 0;
    while (status == SLUICE_OK) {
        size_t at = text_find(text, len, start, separator, separator_len);
        status = text_spans_push(out, (uint32_t)start, (uint32_t)at, err);
        if (at == len) {
            break;
        }
        start = at + separator_len;
    }
    return status;
}

int32_t text_split_between(const char *text, size_t len, const struct text_set *set,
                           struct text_spans *out, struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    size_t start = 0;
    for (size_t at = 0; at < len && status == SLUICE_OK;) {
        uint32_t cp = (unsigned char)text[at];
        size_t n = cp < 128 ? 1 : text_utf8_decode(text, len, at, &cp);
        if (cp < 128 ? set->ascii[cp] : text_set_has(set, cp)) {
            if (at > start) {
                status = text_spans_push(out, (uint32_t)start, (uint32_t)at, err);
            }
            start = at + n;
        }
        at += n;
    }
    if (status == SLUICE_OK && start < len) {
        status = text_spans_push(out, (uint32_t)start, (uint32_t)len, err);
    }
    return status;
}

void text_pieces_strip(const char *text, struct text_spans *pieces, bool space,
                       const struct text_set *set, enum text_pieces_drop drop)
{
    size_t n = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        struct text_span piece = pieces->data[i];
        struct text_span left;
        piece = space ? text_strip(text, piece) : piece;
        piece = set != NULL ? text_set_strip(set, text, piece) : piece;
        left = drop == TEXT_DROP_BLANK ? text_lstrip(text, piece) : piece;
        if (drop == TEXT_DROP_NONE || left.end > left.begin) {
            pieces->data[n++] = piece;
        }
    }
    pieces->count = n;
}

/* ---- asking ---- */

static bool has(const char *text, struct text_span piece, const struct text_string *needle,
                enum text_pieces_where where)
{
    const char *at = text + piece.begin;
    size_t n = piece.end - piece.begin;

    switch (where) {
    case TEXT_AT_BEGIN:
        return text_starts_with(at, n, needle->data, needle->len);
    case TEXT_AT_END:
        return text_ends_with(at, n, needle->data, needle->len);
    default:
        return text_contains(at, n, needle->data, needle->len);
    }
}

size_t text_pieces_having(const char *text, const struct text_span *pieces, size_t n,
                          const struct text_string *needles, size_t n_needles,
                          enum text_pieces_where where, struct text_span *out)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_needles; k++) {
            if (has(text, pieces[i], &needles[k], where)) {
                out[found++] = pieces[i];
                break;
            }
        }
    }
    return found;
}

size_t text_pieces_chars(const char *text, const struct text_span *pieces, size_t n)
{
    size_t chars = 0;

    for (size_t i = 0; i < n; i++) {
        chars += text_utf8_count(text + pieces[i].begin, pieces[i].end - pieces[i].begin);
    }
    return chars;
}

size_t text_pieces_longest(const char *text, const struct text_span *pieces, size_t n)
{
    size_t longest = 0;

    for (size_t i = 0; i < n; i++) {
        size_t bytes = pieces[i].end - pieces[i].begin;
        if (bytes > longest) {
            size_t chars = text_utf8_count(text + pieces[i].begin, bytes);
            longest = chars > longest ? chars : longest;
        }
    }
    return longest;
}
