/* text_measure.h — single measures of a text, for scripts and heuristics.
 *
 * Depends on text_doc.h. The same code as the filters use. Shares are in [0, 1] unless said
 * otherwise, and 0 for an empty text; lengths are code points.
 */
#ifndef TEXT_MEASURE_H
#define TEXT_MEASURE_H

#include "text/text_doc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Non-overlapping occurrences of needle, from the left: Python's text.count(needle). An empty
 * needle gives code points + 1, as there. */
size_t text_count(const char *text, size_t len, const char *needle, size_t needle_len);

/* Whether needle occurs; an empty one does. */
bool text_contains(const char *text, size_t len, const char *needle, size_t needle_len);

/* Byte offset of the first needle at or after `from`; len when there is none. */
size_t text_find(const char *text, size_t len, size_t from, const char *needle, size_t needle_len);

bool text_starts_with(const char *text, size_t len, const char *needle, size_t needle_len);
bool text_ends_with(const char *text, size_t len, const char *needle, size_t needle_len);

/* Code points that are in at least one of `classes` (enum text_class). */
size_t text_count_class(const char *text, size_t len, uint32_t classes);

/* text_count_class / code points. */
double text_share_class(const char *text, size_t len, uint32_t classes);

/* Elements and their code points that repeat an earlier element, exactly (bytes). */
struct text_duplicates {
    size_t elements, chars; /* of 2nd and later copies */
    size_t total;           /* elements in all */
};

/* Duplicates among spans of text. */
TEXT_MUST_CHECK int32_t text_duplicates(const char *text, const struct text_span *spans, size_t n,
                                        struct text_scratch *scratch,
                                        struct text_duplicates *result, struct sluice_error *err);

/* What counts as an element of text_dup_share. */
enum text_unit {
    TEXT_UNIT_LINE,      /* "line": text split on \n+ (Gopher) */
    TEXT_UNIT_PARAGRAPH, /* "paragraph": stripped text split on \n{2,} (Gopher) */
    TEXT_UNIT_FILLED,    /* "filled": text split on \n, blank lines left out (FineWeb) */
};

/* Duplicates among lines or paragraphs. For a share of elements divide elements by total; for a
 * share of characters divide chars by doc->chars. */
TEXT_MUST_CHECK int32_t text_unit_duplicates(const struct text_doc *doc, enum text_unit unit,
                                             struct text_scratch *scratch,
                                             struct text_duplicates *result,
                                             struct sluice_error *err);

/* elements / total of text_unit_duplicates. */
TEXT_MUST_CHECK int32_t text_dup_share(const struct text_doc *doc, enum text_unit unit,
                                       struct text_scratch *scratch, double *share,
                                       struct sluice_error *err);

/* chars / doc->chars of text_unit_duplicates. */
TEXT_MUST_CHECK int32_t text_dup_char_share(const struct text_doc *doc, enum text_unit unit,
                                            struct text_scratch *scratch, double *share,
                                            struct sluice_error *err);

/* Gopher's top n-gram: the most frequent of the n-grams of words (joined by one space; ties: the
 * first seen); its length x its count in *chars (0 when there are fewer than n words). The share,
 * chars / doc->chars, may exceed 1. n of 0: SLUICE_E_CONFIG. */
TEXT_MUST_CHECK int32_t text_top_ngram(const struct text_doc *doc, uint32_t n,
                                       struct text_scratch *scratch, uint64_t *chars,
                                       struct sluice_error *err);
TEXT_MUST_CHECK int32_t text_top_ngram_share(const struct text_doc *doc, uint32_t n,
                                             struct text_scratch *scratch, double *share,
                                             struct sluice_error *err);

/* Gopher's duplicated n-grams: scanning from the left, the characters (words joined by nothing) of
 * n-grams that were seen before, which are then skipped whole. n of 0: SLUICE_E_CONFIG. */
TEXT_MUST_CHECK int32_t text_dup_ngram(const struct text_doc *doc, uint32_t n,
                                       struct text_scratch *scratch, uint64_t *chars,
                                       struct sluice_error *err);
TEXT_MUST_CHECK int32_t text_dup_ngram_share(const struct text_doc *doc, uint32_t n,
                                             struct text_scratch *scratch, double *share,
                                             struct sluice_error *err);

/* Measures of the words of a document, in one pass. */
struct text_word_counts {
    size_t words;
    size_t content;       /* words with a code point outside PUNCTUATION_SET */
    size_t content_chars; /* their code points */
    size_t alphabetic;    /* words with a letter (L*) */
    size_t chars;         /* code points of all words */
};

void text_word_counts(const struct text_doc *doc, struct text_word_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
