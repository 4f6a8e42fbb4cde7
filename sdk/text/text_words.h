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
};

/* Finds a rule by name ("whitespace", "uax29") into *rule; SLUICE_E_CONFIG names the choices. */
TEXT_MUST_CHECK int32_t text_word_rule_parse(const char *name, enum text_word_rule *rule,
                                             struct sluice_error *err);

/* The words of text in order, into *out (cleared first). */
TEXT_MUST_CHECK int32_t text_words(enum text_word_rule rule, const char *text, size_t len,
                                   struct text_spans *out, struct sluice_error *err);

/* Every UAX #29 segment (spaces and punctuation too): they tile the text. */
TEXT_MUST_CHECK int32_t text_segments(const char *text, size_t len, struct text_spans *out,
                                      struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
