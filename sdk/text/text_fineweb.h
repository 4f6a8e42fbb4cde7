/* text_fineweb.h — the FineWeb quality filter (Penedo et al. 2024, arXiv:2406.17557) with the
 * definitions of datatrove 0.10.
 *
 * Depends on text_doc.h. Lines are text.split("\n") without the blank ones. The first failing test
 * decides.
 */
#ifndef TEXT_FINEWEB_H
#define TEXT_FINEWEB_H

#include "text/text_doc.h"
#include "text/text_words.h"
#include "text/text_gopher.h" /* struct text_string */

#ifdef __cplusplus
extern "C" {
#endif

struct text_fineweb_options {
    double line_punct_thr; /* 0.12: share of lines ending in a stop character below it fails */
    bool line_punct_exclude_zero; /* false: true lets a share of exactly 0 pass */
    /* NULL: TERMINAL_PUNCTUATION; else line endings, borrowed */
    const struct text_string *stop_chars;
    size_t n_stop_chars;
    double short_line_thr;        /* 0.67 */
    int64_t short_line_length;    /* 30 code points, inclusive */
    double char_duplicates_ratio; /* 0.01 */
    double new_line_ratio;        /* 0.3: newlines / words */
    /* false: the document has its words; true: they are counted here, by the rule and with the
     * cache (NULL is fine), when white space can't settle the test */
    bool count_words;
    enum text_word_rule word_rule;
    struct text_word_cache *cache;
};

enum text_fineweb_reason {
    TEXT_FINEWEB_EMPTY = 1,   /* empty: no line that is not blank */
    TEXT_FINEWEB_LINE_PUNCT,  /* line_punct_ratio */
    TEXT_FINEWEB_SHORT_LINES, /* short_line_ratio */
    TEXT_FINEWEB_CHAR_DUP,    /* char_dup_ratio */
    TEXT_FINEWEB_LIST,        /* list_ratio */
    TEXT_FINEWEB_REASONS = 5
};

/* The peer's defaults. */
void text_fineweb_defaults(struct text_fineweb_options *options);

/* The peer's string for a reason in 1..5; "" for 0; NULL otherwise. */
const char *text_fineweb_reason(int32_t reason);

/* Judges doc (only n_words of its words is read, if at all). SLUICE_E_NOMEM only. */
TEXT_MUST_CHECK int32_t text_fineweb_quality(const struct text_doc *doc,
                                             const struct text_fineweb_options *options,
                                             struct text_scratch *scratch,
                                             struct text_verdict *verdict,
                                             struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
