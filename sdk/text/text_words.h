/* text_words.h — words of a text, as spans.
 *
 * Depends on text_span.h, text_class.h. SLUICE_E_DATA when the text is longer than TEXT_MAX.
 */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include "text/text_span.h"

#ifdef __cplusplus
extern "C" {
#endif

enum text_word_rule {
    TEXT_WORDS_WHITESPACE, /* "whitespace": maximal runs of non-TEXT_SPACE: Python's str.split() */
    TEXT_WORDS_UAX29,      /* "uax29": segments of UAX #29 (Unicode 15, default rules) that hold at
                            * least one code point of category L* or N*. As ICU's word status > 0,
                            * but without its dictionaries: scripts written without spaces give
                            * one word a character (Katakana runs stay whole). */
    /* "spacy-en": the tokens of spaCy 3.8's blank English pipeline that are not white space, which
     * are the words of datatrove's English tokenizer: a word is never more than a part of a run of
     * non-TEXT_SPACE. */
    TEXT_WORDS_SPACY_EN,
};

/* What the rule spacy-en remembers between texts: how it cut the chunks it met. One user (a worker)
 * at a time; bounded memory (256 KiB, and lists as
 * long as the longest text's); results never depend on it. Zero-initialised memory is
 * an empty cache. */
struct text_word_cache {
    struct text_spacy *state;
};

void text_word_cache_init(struct text_word_cache *cache);
void text_word_cache_deinit(struct text_word_cache *cache);

/* Finds a rule by name ("whitespace", "uax29", "spacy-en") into *rule; SLUICE_E_CONFIG names the
 * choices. */
TEXT_MUST_CHECK int32_t text_word_rule_parse(const char *name, enum text_word_rule *rule,
                                             struct sluice_error *err);

/* The words of text in order, into *out (cleared first). */
TEXT_MUST_CHECK int32_t text_words(enum text_word_rule rule, const char *text, size_t len,
                                   struct text_spans *out, struct sluice_error *err);

/* The same words, for callers with many texts; rules other than spacy-en leave the cache alone. A
 * NULL cache is text_words. */
TEXT_MUST_CHECK int32_t text_words_cached(enum text_word_rule rule, const char *text, size_t len,
                                          struct text_word_cache *cache, struct text_spans *out,
                                          struct sluice_error *err);

/* How many words the rule whitespace gives: no rule but uax29 gives fewer. */
size_t text_word_count(const char *text, size_t len);

/* Every UAX #29 segment (spaces and punctuation too): they tile the text. */
TEXT_MUST_CHECK int32_t text_segments(const char *text, size_t len, struct text_spans *out,
                                      struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
