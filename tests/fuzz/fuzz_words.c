/* Fuzzes the cutting of a text into words and sentences: bytes of any kind, which need not be
 * UTF-8. Beside what the sanitizers find: spans lie in the text, in order, without white space for
 * words and never empty; with a cache and without one they are equal; words of spacy-en cover all
 * ink. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

/* In order, none empty, inside. */
static void check_spans(const struct text_spans *spans, size_t n)
{
    uint32_t end = 0;
    for (size_t i = 0; i < spans->count; i++) {
        require(spans->data[i].begin >= end && spans->data[i].end > spans->data[i].begin);
        end = spans->data[i].end;
    }
    require(end <= n);
}

static int same(const struct text_spans *a, const struct text_spans *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->data, b->data, a->count * sizeof *a->data) == 0);
}

static size_t length(const struct text_spans *spans)
{
    size_t total = 0;
    for (size_t i = 0; i < spans->count; i++) {
        total += spans->data[i].end - spans->data[i].begin;
    }
    return total;
}

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text_word_cache cache = { NULL };
    struct text_spans ink = { 0 }, spans = { 0 }, again = { 0 };
    const char *text = (const char *)data;

    require(text_words(TEXT_WORDS_WHITESPACE, text, size, &ink, NULL) == SLUICE_OK);
    for (int rule = TEXT_WORDS_WHITESPACE; rule <= TEXT_WORDS_SPACY_EN; rule++) {
        require(text_words((enum text_word_rule)rule, text, size, &spans, NULL) == SLUICE_OK);
        check_spans(&spans, size);
        for (int i = 0; i < 2; i++) {
            require(text_words_cached((enum text_word_rule)rule, text, size, &cache, &again,
                                      NULL) == SLUICE_OK);
            require(same(&spans, &again));
        }
    }
    require(length(&spans) == length(&ink));
    for (int rule = TEXT_SENTENCES_SPACY_EN; rule <= TEXT_SENTENCES_LINES; rule++) {
        require(text_sentences_cached((enum text_sentence_rule)rule, text, size, NULL, &spans,
                                      NULL) == SLUICE_OK);
        check_spans(&spans, size);
        require(text_sentences_cached((enum text_sentence_rule)rule, text, size, &cache, &again,
                                      NULL) == SLUICE_OK);
        require(same(&spans, &again));
    }
    text_word_cache_deinit(&cache);
    text_spans_deinit(&ink);
    text_spans_deinit(&spans);
    text_spans_deinit(&again);
    return 0;
}
