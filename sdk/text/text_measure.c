/* text_measure.c — see text_measure.h. */
#include "text/text_measure.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_hash.h"
#include "text/text_lines.h"
#include "text/text_ngram.h"
#include "text/text_scan.h"
#include "text/text_scratch.h"
#include "text/text_short.h"

/* ---- strings ---- */

size_t text_find(const char *text, size_t len, size_t from, const char *needle, size_t needle_len)
{
    if (from > len || needle_len > len - from) {
        return len;
    }
    if (needle_len == 0) {
        return from;
    }
    return from +
           text_scan_find(text_bytes(text) + from, len - from, text_bytes(needle), needle_len);
}

size_t text_count(const char *text, size_t len, const char *needle, size_t needle_len)
{
    if (needle_len == 0) {
        return text_utf8_count(text, len) + 1;
    }
    size_t count = 0;
    for (size_t at = 0; (at = text_find(text, len, at, needle, needle_len)) < len;
         at += needle_len) {
        count++;
    }
    return count;
}

bool text_contains(const char *text, size_t len, const char *needle, size_t needle_len)
{
    return needle_len == 0 || text_find(text, len, 0, needle, needle_len) < len;
}

bool text_starts_with(const char *text, size_t len, const char *needle, size_t needle_len)
{
    return needle_len <= len && memcmp(text_bytes(text), text_bytes(needle), needle_len) == 0;
}

bool text_ends_with(const char *text, size_t len, const char *needle, size_t needle_len)
{
    return needle_len <= len &&
           memcmp(text_bytes(text) + len - needle_len, text_bytes(needle), needle_len) == 0;
}

/* ---- classes ---- */

size_t text_count_class(const char *text, size_t len, uint32_t classes)
{
    const unsigned char *p = text_bytes(text), *end = p + len;
    size_t count = 0;
    while (p < end) {
        if (*p < 0x80) {
            count += (text_table_ascii[*p++] & classes) != 0;
            continue;
        }
        uint32_t cp;
        p += text_decode(p, end, &cp);
        count += (text_table_classes(cp) & classes) != 0;
    }
    return count;
}

double text_share_class(const char *text, size_t len, uint32_t classes)
{
    if (len == 0) {
        return 0;
    }
    return (double)text_count_class(text, len, classes) / (double)text_utf8_count(text, len);
}

/* Whether a word holds a letter, and a code point outside PUNCTUATION_SET. */
static void word_classes(const unsigned char *p, const unsigned char *end, bool *letter,
                         bool *content)
{
    while (p < end && !(*letter && *content)) {
        uint32_t cp;
        p += text_decode(p, end, &cp);
        uint32_t classes = text_table_classes(cp);
        *letter |= (classes & TEXT_LETTER) != 0;
        *content |= (classes & TEXT_PUNCTUATION_SET) == 0;
    }
}

/* As word_classes of the word that begins with the ASCII character c, when that character tells: it
 * is the whole word, or a letter, which nearly every other word begins with. */
static inline bool first_tells(unsigned char c, size_t len, bool *letter, bool *content)
{
    uint32_t classes = text_table_ascii[c & 0x7F];
    *letter = (classes & TEXT_LETTER) != 0;
    *content = (classes & TEXT_PUNCTUATION_SET) == 0;
    return (c < 0x80) & ((len == 1) | *letter);
}

void text_word_counts(const struct text_doc *doc, struct text_word_counts *counts)
{
    const unsigned char *text = text_bytes(doc->text);
    struct text_word_counts sum = { .words = doc->n_words };
    for (size_t i = 0; i < doc->n_words; i++) {
        size_t begin = doc->words[i].begin, len = doc->words[i].end - begin, chars = len;
        const unsigned char *p = text + begin;
        bool letter = false, content = false;
        if (!doc->ascii) {
            chars =
                doc->len - begin >= TEXT_SHORT ? text_short_count(p, len) : text_scan_count(p, len);
        }
        if (len > 0 && !first_tells(*p, len, &letter, &content)) {
            letter = false;
            content = false;
            word_classes(p, p + len, &letter, &content);
        }
        sum.chars += chars;
        sum.alphabetic += letter;
        sum.content += content;
        sum.content_chars += chars & ((size_t)0 - content);
    }
    *counts = sum;
}

/* ---- duplicates ---- */

int32_t text_duplicates(const char *text, const struct text_span *spans, size_t n,
                        struct text_scratch *scratch, struct text_duplicates *result,
                        struct sluice_error *err)
{
    const unsigned char *bytes = text_bytes(text);
    *result = (struct text_duplicates){ .total = n };
    if (n < 2) {
        return SLUICE_OK;
    }
    size_t slots = text_hash_slots(n), mask = slots - 1;
    uint64_t *table = text_scratch_arena(scratch, slots * sizeof *table, err);
    if (table == NULL) {
        return SLUICE_E_NOMEM;
    }
    memset(table, 0, slots * sizeof *table);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *span = bytes + spans[i].begin;
        size_t len = spans[i].end - spans[i].begin;
        uint64_t hash = text_hash_bytes(span, len), taken;
        size_t slot = hash & mask;
        for (; (taken = table[slot]) != 0; slot = (slot + 1) & mask) {
            const struct text_span *other = &spans[text_hash_index(taken)];
            if (text_hash_same(taken, hash) && other->end - other->begin == len &&
                memcmp(bytes + other->begin, span, len) == 0) {
                result->elements++;
                result->chars += text_scan_count(span, len);
                break;
            }
        }
        if (taken == 0) {
            table[slot] = text_hash_slot(hash, (uint32_t)i);
        }
    }
    return SLUICE_OK;
}

/* Keeps the spans that hold more than white space. */
static void drop_blank(const char *text, struct text_spans *spans)
{
    const unsigned char *bytes = text_bytes(text);
    size_t kept = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct text_span rest = spans->data[i];
        while (rest.begin < rest.end && bytes[rest.begin] == ' ') {
            rest.begin++;
        }
        if (rest.begin < rest.end && (unsigned)(bytes[rest.begin] - 0x21) >= 0x5F) {
            rest = text_lstrip(text, rest); /* not a graphic character of ASCII */
        }
        if (rest.begin < rest.end) {
            spans->data[kept++] = spans->data[i];
        }
    }
    spans->count = kept;
}

int32_t text_unit_duplicates(const struct text_doc *doc, enum text_unit unit,
                             struct text_scratch *scratch, struct text_duplicates *result,
                             struct sluice_error *err)
{
    struct text_spans *spans = &scratch->spans;
    struct text_span all = { 0, (uint32_t)doc->len };
    const char *text = doc->text;
    int32_t status;
    switch (unit) {
    case TEXT_UNIT_PARAGRAPH:
        all = text_strip(text, all);
        text += all.begin;
        status = text_split_newlines(text, all.end - all.begin, 2, spans, err);
        break;
    case TEXT_UNIT_FILLED:
        status = text_split_newline(text, doc->len, spans, err);
        if (status == SLUICE_OK) {
            drop_blank(text, spans);
        }
        break;
    case TEXT_UNIT_LINE:
    default:
        status = text_split_newlines(text, doc->len, 1, spans, err);
        break;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    return text_duplicates(text, spans->data, spans->count, scratch, result, err);
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

int32_t text_dup_share(const struct text_doc *doc, enum text_unit unit,
                       struct text_scratch *scratch, double *share, struct sluice_error *err)
{
    struct text_duplicates found;
    int32_t status = text_unit_duplicates(doc, unit, scratch, &found, err);
    *share = status == SLUICE_OK ? ratio(found.elements, found.total) : 0;
    return status;
}

int32_t text_dup_char_share(const struct text_doc *doc, enum text_unit unit,
                            struct text_scratch *scratch, double *share, struct sluice_error *err)
{
    struct text_duplicates found;
    int32_t status = text_unit_duplicates(doc, unit, scratch, &found, err);
    *share = status == SLUICE_OK ? ratio(found.chars, doc->chars) : 0;
    return status;
}

/* ---- n-grams ---- */

static int32_t check_n(uint32_t n, struct sluice_error *err)
{
    return n > 0 ? SLUICE_OK
                 : text_error(err, SLUICE_E_CONFIG, "n-grams of 0 words; give 1 or more words");
}

int32_t text_top_ngram(const struct text_doc *doc, uint32_t n, struct text_scratch *scratch,
                       uint64_t *chars, struct sluice_error *err)
{
    struct text_ngrams grams;
    *chars = 0;
    int32_t status = check_n(n, err);
    if (status == SLUICE_OK && doc->n_words >= n) {
        status = text_ngrams_init(&grams, doc, scratch, err);
        if (status == SLUICE_OK) {
            status = text_ngrams_top(&grams, n, chars, err);
        }
    }
    return status;
}

int32_t text_dup_ngram(const struct text_doc *doc, uint32_t n, struct text_scratch *scratch,
                       uint64_t *chars, struct sluice_error *err)
{
    struct text_ngrams grams;
    *chars = 0;
    int32_t status = check_n(n, err);
    if (status == SLUICE_OK && doc->n_words >= n) {
        status = text_ngrams_init(&grams, doc, scratch, err);
        if (status == SLUICE_OK) {
            struct text_ngram_limit limit = { .n = n };
            uint64_t bound;
            text_ngrams_repeats(&grams, &limit, 1, &bound);
            *chars = bound == 0 ? 0 : text_ngrams_dup(&grams, n);
        }
    }
    return status;
}

int32_t text_top_ngram_share(const struct text_doc *doc, uint32_t n, struct text_scratch *scratch,
                             double *share, struct sluice_error *err)
{
    uint64_t chars;
    int32_t status = text_top_ngram(doc, n, scratch, &chars, err);
    *share = ratio(chars, doc->chars);
    return status;
}

int32_t text_dup_ngram_share(const struct text_doc *doc, uint32_t n, struct text_scratch *scratch,
                             double *share, struct sluice_error *err)
{
    uint64_t chars;
    int32_t status = text_dup_ngram(doc, n, scratch, &chars, err);
    *share = ratio(chars, doc->chars);
    return status;
}
