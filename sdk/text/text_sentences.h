/* text_sentences.h — sentences by a rule, without a model.
 *
 * The rule "marks". A sentence ends after a run of TEXT_SENTENCE_END code points (. ! ? … and
 * Unicode's Sentence_Terminal), with TEXT_CLOSER code points (quotes, closing brackets) and
 * non-spacing marks after or among them, when white space or the end of the text follows; a run
 * that holds one of 。！？｡ ends it whatever follows. The rest after the last end is a sentence too.
 * Spans are stripped of white space; a text of white space has none. Abbreviations are not known:
 * "Dr. No" is two sentences. It approximates spaCy's rule sentencizer without its tokens.
 *
 * The rule "spacy-en" is spaCy's rule sentencizer over the tokens of TEXT_WORDS_SPACY_EN: a
 * sentence ends before the first token behind a mark (. ! ? and the like, a token of its own) that
 * is neither a mark nor punctuation alone. White space tokens (all white space but one space
 * between tokens) count, so that a span may begin or end with white space; the spans are those of
 * datatrove's span_tokenize. A text without tokens has none.
 *
 * The rule "lines": the lines of text_splitlines without their ends, stripped, the empty ones left
 * out.
 *
 * The rule "uax29": the sentences of UAX #29 (text_sentence_break.h), stripped, the empty ones left
 * out.
 */
#ifndef TEXT_SENTENCES_H
#define TEXT_SENTENCES_H

#include "text/text_span.h"
#include "text/text_words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sentences in order, into *out (cleared first). SLUICE_E_DATA when longer than TEXT_MAX. */
TEXT_MUST_CHECK int32_t text_sentences(const char *text, size_t len, struct text_spans *out,
                                       struct sluice_error *err);

enum text_sentence_rule {
    TEXT_SENTENCES_SPACY_EN,
    TEXT_SENTENCES_MARKS,
    TEXT_SENTENCES_LINES,
    TEXT_SENTENCES_UAX29
};

/* Finds a rule by name ("spacy-en", "marks", "lines", "uax29") into *rule; SLUICE_E_CONFIG names
 * them. */
TEXT_MUST_CHECK int32_t text_sentence_rule_parse(const char *name, enum text_sentence_rule *rule,
                                                 struct sluice_error *err);

/* The sentences of a rule in order, into *out (cleared first). cache is of text_words.h and may be
 * NULL; only spacy-en uses it. */
TEXT_MUST_CHECK int32_t text_sentences_cached(enum text_sentence_rule rule, const char *text,
                                              size_t len, struct text_word_cache *cache,
                                              struct text_spans *out, struct sluice_error *err);

/* How many text_sentences would give; any length. */
size_t text_sentence_count(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
