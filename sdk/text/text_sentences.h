/* text_sentences.h — sentences by a rule, without a model.
 *
 * The rule. A sentence ends after a run of TEXT_SENTENCE_END code points (. ! ? … and Unicode's
 * Sentence_Terminal), with TEXT_CLOSER code points (quotes, closing brackets) and non-spacing marks
 * after or among them, when white space or the end of the text follows; a run that holds one of
 * 。！？｡ ends it whatever follows. The rest after the last end is a sentence too.
 * Spans are stripped of white space; a text of white space has none. Abbreviations are not
 * known: "Dr. No" is two sentences. It approximates spaCy's rule sentencizer without its tokens.
 */
#ifndef TEXT_SENTENCES_H
#define TEXT_SENTENCES_H

#include "text/text_span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sentences in order, into *out (cleared first). SLUICE_E_DATA when longer than TEXT_MAX. */
TEXT_MUST_CHECK int32_t text_sentences(const char *text, size_t len, struct text_spans *out,
                                       struct sluice_error *err);

/* How many text_sentences would give; any length. */
size_t text_sentence_count(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
