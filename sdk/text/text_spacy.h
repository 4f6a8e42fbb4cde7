/* text_spacy.h — the word rule spacy-en, behind text_words.
 *
 * Private to sdk/text. Depends on text_span.h and the generated text_spacy_tables.c.
 */
#ifndef TEXT_SPACY_H
#define TEXT_SPACY_H

#include "text/text_span.h"

#include <stdbool.h>

/* What it remembers between texts, and its scratch memory. */
struct text_spacy;

/* NULL: out of memory. Without a cache it is made fast, for one text. */
struct text_spacy *text_spacy_create(bool cached, struct sluice_error *err);
void text_spacy_destroy(struct text_spacy *spacy); /* NULL is fine */

/* The words of the text into *out (cleared first). The text is at most TEXT_MAX bytes. */
TEXT_MUST_CHECK int32_t text_spacy_words(struct text_spacy *spacy, const char *text, size_t len,
                                         struct text_spans *out, struct sluice_error *err);

/* The sentences of the text: spans of spaCy's rule sentencizer, which begin and end at tokens,
 * white space tokens included, as datatrove's span_tokenize gives them. */
TEXT_MUST_CHECK int32_t text_spacy_sentences(struct text_spacy *spacy, const char *text, size_t len,
                                             struct text_spans *out, struct sluice_error *err);

#endif
