/* web_words.h - what DCLM and datamap-rs call a word, in each of the ways they count.
 *
 * Depends on sdk/text and web_class.h. Texts are valid UTF-8. Functions that fill a list clear it
 * first and fail with SLUICE_E_NOMEM. */
#ifndef WEB_WORDS_H
#define WEB_WORDS_H

#include "text/text.h"

enum web_peer { WEB_DCLM, WEB_DATAMAP };

/* Words between white space: Python's str.split() (dclm) or Rust's split_whitespace() (datamap,
 * which knows no U+001C to U+001F). */
TEXT_MUST_CHECK int32_t web_split(enum web_peer peer, const char *text, size_t len,
                                  struct text_spans *out, struct sluice_error *err);

/* DCLM's word count without punctuation: tokens between fastText's white space (space \n \r \t \v
 * \f NUL) that begin with a letter or digit (str.isalnum). */
size_t web_count_fasttext(const char *text, size_t len);

/* datamap-rs' count of the page: runs of ASCII letters and digits in an ASCII text; else
 * unicode_words(). `scratch` is a list to work in. */
TEXT_MUST_CHECK int32_t web_count_page(const char *text, size_t len, struct text_spans *scratch,
                                       size_t *count, struct sluice_error *err);

/* The words by UAX #29 as the peer filters the segments: those that begin with a letter or digit
 * (dclm: uniseg's words, isalnum) or hold one (datamap: unicode_words(), is_alphanumeric). `spans`
 * are the segments that hold an L* or N* (the provider's); *words is `spans` itself or
 * out->data. */
TEXT_MUST_CHECK int32_t web_words(enum web_peer peer, const char *text, size_t len,
                                  const struct text_span *spans, size_t n_spans,
                                  struct text_spans *out, const struct text_span **words,
                                  size_t *n_words, struct sluice_error *err);

/* unicode_words() of a piece of text, cut here. */
TEXT_MUST_CHECK int32_t web_unicode_words(const char *text, size_t len, struct text_spans *out,
                                          struct sluice_error *err);

#endif
