/* web_words.c - see web_words.h. */
#include "web_words.h"

#include "web_class.h"

/* Whether a byte of 0x1C to 0x1F stands in the text: white space for Python, not for Rust. */
static bool has_separators(const char *text, size_t len)
{
    unsigned any = 0;

    for (size_t i = 0; i < len; i++) {
        any |= (unsigned char)((unsigned char)text[i] - 0x1C) < 4;
    }
    return any != 0;
}

int32_t web_split(enum web_peer peer, const char *text, size_t len, struct text_spans *out,
                  struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    size_t begin = 0;

    if (peer == WEB_DCLM || !has_separators(text, len)) {
        return text_words(TEXT_WORDS_WHITESPACE, text, len, out, err);
    }
    out->count = 0;
    for (size_t at = 0; status == SLUICE_OK && at < len;) {
        uint32_t cp;
        size_t n = text_utf8_decode(text, len, at, &cp);
        if (web_rust_space(cp)) {
            if (at > begin) {
                status = text_spans_push(out, (uint32_t)begin, (uint32_t)at, err);
            }
            begin = at + n;
        }
        at += n;
    }
    if (status == SLUICE_OK && len > begin) {
        status = text_spans_push(out, (uint32_t)begin, (uint32_t)len, err);
    }
    return status;
}

/* fastText's white space (1), ASCII letters and digits (2), and bytes that need a look (4). */
enum { SPACE = 1, ALNUM = 2, WIDE = 4 };

/* clang-format off */
static const unsigned char kinds[256] = {
    1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0,
    0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0,
    0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
};
/* clang-format on */

size_t web_count_fasttext(const char *text, size_t len)
{
    size_t count = 0;
    unsigned before = SPACE;

    for (size_t at = 0; at < len; at++) {
        unsigned kind = kinds[(unsigned char)text[at]];
        if ((before & SPACE) != 0 && kind == WIDE) {
            uint32_t cp;
            text_utf8_decode(text, len, at, &cp);
            kind = web_python_alnum(cp) ? ALNUM : 0;
        }
        count += (before & SPACE) & kind >> 1;
        before = kind;
    }
    return count;
}

static bool ascii_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

int32_t web_count_page(const char *text, size_t len, struct text_spans *scratch, size_t *count,
                       struct sluice_error *err)
{
    unsigned inside = 0;
    int32_t status = SLUICE_OK;

    *count = 0;
    if (text_utf8_is_ascii(text, len)) {
        for (size_t i = 0; i < len; i++) {
            unsigned now = ascii_alnum(text[i]);
            *count += now & ~inside;
            inside = now;
        }
    } else {
        status = web_unicode_words(text, len, scratch, err);
        *count = status == SLUICE_OK ? scratch->count : 0;
    }
    return status;
}

/* Whether between the words a character stands that is Alphabetic but no L* or N*: then a segment
 * is missing that Rust calls a word. */
static bool words_missing(const char *text, size_t len, const struct text_span *spans, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i <= n; i++) {
        size_t end = i < n ? spans[i].begin : len;
        while (at < end) {
            uint32_t cp = (unsigned char)text[at];
            if (cp < 0x80) {
                at++;
            } else {
                at += text_utf8_decode(text, len, at, &cp);
                if (web_rust_alphanumeric(cp)) {
                    return true;
                }
            }
        }
        at = i < n ? spans[i].end : len;
    }
    return false;
}

/* All segments that hold an alphanumeric character by Rust's definition. */
static int32_t rust_words(const char *text, size_t len, struct text_spans *out,
                          struct sluice_error *err)
{
    int32_t status = text_segments(text, len, out, err);
    size_t kept = 0;

    for (size_t i = 0; status == SLUICE_OK && i < out->count; i++) {
        bool word = false;
        for (size_t at = out->data[i].begin; !word && at < out->data[i].end;) {
            uint32_t cp;
            at += text_utf8_decode(text, len, at, &cp);
            word = web_rust_alphanumeric(cp);
        }
        if (word) {
            out->data[kept++] = out->data[i];
        }
    }
    out->count = kept;
    return status;
}

static int32_t python_words(const char *text, size_t len, const struct text_span *spans, size_t n,
                            struct text_spans *out, struct sluice_error *err)
{
    int32_t status;

    out->count = 0;
    status = text_spans_reserve(out, n, err);
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        uint32_t cp;
        text_utf8_decode(text, len, spans[i].begin, &cp);
        if (web_python_alnum(cp)) {
            out->data[out->count++] = spans[i];
        }
    }
    return status;
}

int32_t web_words(enum web_peer peer, const char *text, size_t len, const struct text_span *spans,
                  size_t n_spans, struct text_spans *out, const struct text_span **words,
                  size_t *n_words, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    if (peer == WEB_DATAMAP && !words_missing(text, len, spans, n_spans)) {
        *words = spans;
        *n_words = n_spans;
        return SLUICE_OK;
    }
    status = peer == WEB_DATAMAP ? rust_words(text, len, out, err)
                                 : python_words(text, len, spans, n_spans, out, err);
    *words = out->data;
    *n_words = out->count;
    return status;
}

int32_t web_unicode_words(const char *text, size_t len, struct text_spans *out,
                          struct sluice_error *err)
{
    int32_t status = text_words(TEXT_WORDS_UAX29, text, len, out, err);

    if (status == SLUICE_OK && words_missing(text, len, out->data, out->count)) {
        status = rust_words(text, len, out, err);
    }
    return status;
}
