/* text_gopher.h — the quality and repetition filters of Gopher (Rae et al. 2021, arXiv:2112.11446,
 * appendix A1.1) with the definitions of datatrove 0.10: same order of tests, same decisions.
 *
 * Depends on text_doc.h. The first failing test decides. Lengths are code points. A threshold of 0
 * disables its test. A ratio over no words follows IEEE: x/0 is infinite and 0/0 breaks no limit
 * (the peer raises an error there).
 */
#ifndef TEXT_GOPHER_H
#define TEXT_GOPHER_H

#include "text/text_doc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct text_string {
    const char *data; /* UTF-8, borrowed */
    size_t len;
};

struct text_gopher_quality_options {
    int64_t min_doc_words;                /* 50 */
    int64_t max_doc_words;                /* 100000 */
    double min_avg_word_length;           /* 3 */
    double max_avg_word_length;           /* 10 */
    double max_symbol_word_ratio;         /* 0.1: for "#" and for ellipses */
    double max_bullet_lines_ratio;        /* 0.9 */
    double max_ellipsis_lines_ratio;      /* 0.3 */
    double min_alpha_words_ratio;         /* 0.8 (the peer calls it max_non_alpha_words_ratio) */
    int64_t min_stop_words;               /* 2 */
    const struct text_string *stop_words; /* NULL: the be to of and that have with */
    size_t n_stop_words;
};

enum text_gopher_quality_reason {
    TEXT_GOPHER_SHORT_DOC = 1, /* gopher_short_doc: words with a char outside PUNCTUATION_SET */
    TEXT_GOPHER_LONG_DOC,      /* gopher_long_doc */
    TEXT_GOPHER_BELOW_AVG,     /* gopher_below_avg_threshold */
    TEXT_GOPHER_ABOVE_AVG,     /* gopher_above_avg_threshold */
    TEXT_GOPHER_HASHES,        /* gopher_too_many_hashes */
    TEXT_GOPHER_ELLIPSIS,      /* gopher_too_many_ellipsis */
    TEXT_GOPHER_BULLETS,       /* gopher_too_many_bullets */
    TEXT_GOPHER_END_ELLIPSIS,  /* gopher_too_many_end_ellipsis */
    TEXT_GOPHER_ALPHA,         /* gopher_below_alpha_threshold */
    TEXT_GOPHER_STOP_WORDS,    /* gopher_enough_stop_words */
    TEXT_GOPHER_QUALITY_REASONS = 10 /* how many there are */
};

/* The peer's defaults. */
void text_gopher_quality_defaults(struct text_gopher_quality_options *options);

/* The peer's string for a reason in 1..10; "" for 0; NULL otherwise. */
const char *text_gopher_quality_reason(int32_t reason);

/* Judges doc (its words are needed). SLUICE_E_NOMEM only. */
TEXT_MUST_CHECK int32_t text_gopher_quality(const struct text_doc *doc,
                                            const struct text_gopher_quality_options *options,
                                            struct text_scratch *scratch,
                                            struct text_verdict *verdict, struct sluice_error *err);

/* A limit for n-grams of n words. */
struct text_ngram_limit {
    uint32_t n;   /* >= 1 */
    double limit; /* share of the text's characters; a share above it fails */
};

struct text_gopher_repetition_options {
    double dup_line_frac;                       /* 0.3 */
    double dup_para_frac;                       /* 0.3 */
    double dup_line_char_frac;                  /* 0.2 */
    double dup_para_char_frac;                  /* 0.2 */
    const struct text_ngram_limit *top_n_grams; /* (2, .2) (3, .18) (4, .16); borrowed */
    size_t n_top_n_grams;
    const struct text_ngram_limit *dup_n_grams; /* (5, .15) ... (10, .10); borrowed */
    size_t n_dup_n_grams;
};

/* Reasons are numbered: 1 empty, 2 dup_para_frac, 3 dup_para_char_frac, 4 dup_line_frac,
 * 5 dup_line_char_frac, then one for each of top_n_grams in order ("top_2_gram"), then one for
 * each of dup_n_grams ("duplicated_5_n_grams"). */
enum text_gopher_repetition_reason {
    TEXT_GOPHER_EMPTY = 1,
    TEXT_GOPHER_DUP_PARA,
    TEXT_GOPHER_DUP_PARA_CHARS,
    TEXT_GOPHER_DUP_LINE,
    TEXT_GOPHER_DUP_LINE_CHARS,
    TEXT_GOPHER_TOP_N_GRAM /* the first of the n-gram reasons */
};

/* The peer's defaults; the limit tables are static. */
void text_gopher_repetition_defaults(struct text_gopher_repetition_options *options);

/* Writes the peer's string for a reason of these options into out; "" when there is none. */
void text_gopher_repetition_reason(const struct text_gopher_repetition_options *options,
                                   int32_t reason, char out[36]);

/* Judges doc (its words are needed). SLUICE_E_NOMEM; SLUICE_E_CONFIG for an n of 0. */
TEXT_MUST_CHECK int32_t text_gopher_repetition(const struct text_doc *doc,
                                               const struct text_gopher_repetition_options *options,
                                               struct text_scratch *scratch,
                                               struct text_verdict *verdict,
                                               struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
