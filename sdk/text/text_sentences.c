/* text_sentences.c — see text_sentences.h. */
#include "text/text_sentences.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_lines.h"
#include "text/text_sentence_break.h"
#include "text/text_spacy.h"

#include <string.h>

/* The classes of the code point at p, and the place after it. */
static uint32_t classes_at(const unsigned char *p, const unsigned char *end,
                           const unsigned char **next)
{
    uint32_t cp;
    *next = p + text_decode(p, end, &cp);
    return text_table_classes(cp);
}

/* The end of the sentence that begins at p. */
static const unsigned char *sentence_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *next;
    while (p < end) {
        uint32_t seen = classes_at(p, end, &next);
        p = next;
        if ((seen & TEXT_SENTENCE_END) == 0) {
            continue;
        }
        uint32_t run = seen;
        while (p < end) {
            seen = classes_at(p, end, &next);
            if ((seen & (TEXT_SENTENCE_END | TEXT_CLOSER | TEXT_NONSPACING)) == 0) {
                break;
            }
            run |= seen;
            p = next;
        }
        if (p == end || (seen & TEXT_SPACE) != 0 || (run & TEXT_FULL_STOP_CJK) != 0) {
            return p;
        }
    }
    return end;
}

/* The next sentence at or after p, stripped at its begin: false when only white space is left. */
static bool next_sentence(const unsigned char **p, const unsigned char *end,
                          const unsigned char **start)
{
    const unsigned char *next;
    while (*p < end && (classes_at(*p, end, &next) & TEXT_SPACE) != 0) {
        *p = next;
    }
    *start = *p;
    *p = sentence_end(*p, end);
    return *start < end;
}

int32_t text_sentences(const char *text, size_t len, struct text_spans *out,
                       struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin, *start;
    while (status == SLUICE_OK && next_sentence(&p, end, &start)) {
        struct text_span span = { (uint32_t)(start - begin), (uint32_t)(p - begin) };
        span = text_rstrip(text, span); /* the last one may end in white space */
        status = text_spans_push(out, span.begin, span.end, err);
    }
    return status;
}

size_t text_sentence_count(const char *text, size_t len)
{
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin, *start;
    size_t count = 0;
    while (next_sentence(&p, end, &start)) {
        count++;
    }
    return count;
}

int32_t text_sentence_rule_parse(const char *name, enum text_sentence_rule *rule,
                                 struct sluice_error *err)
{
    static const char *const names[] = { "spacy-en", "marks", "lines", "uax29" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *rule = (enum text_sentence_rule)i;
            return SLUICE_OK;
        }
    }
    return text_error(
        err, SLUICE_E_CONFIG,
        "unknown sentence rule '%.64s'; the rules are spacy-en, marks, lines and uax29", name);
}

static int32_t sentences_spacy(const char *text, size_t len, struct text_word_cache *cache,
                               bool keep, struct text_spans *out, struct sluice_error *err)
{
    if (cache->state == NULL) {
        cache->state = text_spacy_create(keep, err);
    }
    return cache->state == NULL ? SLUICE_E_NOMEM
                                : text_spacy_sentences(cache->state, text, len, out, err);
}

/* What is left of the spans without white space at their ends. */
static int32_t stripped(int32_t status, const char *text, struct text_spans *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->count && status == SLUICE_OK; i++) {
        struct text_span line = text_strip(text, out->data[i]);
        if (line.begin < line.end) {
            out->data[kept++] = line;
        }
    }
    out->count = kept;
    return status;
}

int32_t text_sentences_cached(enum text_sentence_rule rule, const char *text, size_t len,
                              struct text_word_cache *cache, struct text_spans *out,
                              struct sluice_error *err)
{
    struct text_word_cache once = { NULL };
    out->count = 0;
    int32_t status = text_check_len(len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    switch (rule) {
    case TEXT_SENTENCES_SPACY_EN:
        status = sentences_spacy(text, len, cache != NULL ? cache : &once, cache != NULL, out, err);
        text_word_cache_deinit(&once);
        return status;
    case TEXT_SENTENCES_MARKS:
        return text_sentences(text, len, out, err);
    case TEXT_SENTENCES_LINES:
        return stripped(text_splitlines(text, len, out, err), text, out);
    case TEXT_SENTENCES_UAX29:
        return stripped(text_sentence_segments(text, len, out, err), text, out);
    }
    return text_error(err, SLUICE_E_CONFIG,
                      "sentence rule %d; the rules are 0 spacy-en, 1 marks, 2 lines and 3 uax29",
                      (int)rule);
}
