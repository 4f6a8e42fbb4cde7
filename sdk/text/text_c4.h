/* text_c4.h — the C4 page rules (Raffel et al. 2020) with the definitions of datatrove 0.10.
 *
 * Depends on text_doc.h, text_sentences.h. text_c4_quality edits: it drops lines and citation marks
 * and gives the new text, or drops the document.
 */
#ifndef TEXT_C4_H
#define TEXT_C4_H

#include "text/text_doc.h"
#include "text/text_sentences.h"

#ifdef __cplusplus
extern "C" {
#endif

struct text_c4_options {
    bool split_lines;              /* true: splitlines; false: sentences, joined by " " */
    bool remove_citations;         /* true: delete [12] [edit] [citation needed] */
    bool filter_no_terminal_punct; /* true: drop lines not ending in . ? ! " ' or ending in ... */
    int64_t min_num_sentences;     /* 5; -1 disables */
    int64_t min_words_per_line;    /* 3; -1 disables */
    int64_t max_word_length;       /* 1000 code points; -1 disables */
    bool filter_lorem_ipsum;       /* true */
    bool filter_javascript;        /* true */
    bool filter_curly_bracket;     /* true */
    bool filter_policy;            /* true */
    enum text_sentence_rule sentences; /* TEXT_SENTENCES_SPACY_EN; its pieces hold all of a text */
    struct text_word_cache *cache;     /* for it; NULL: none. Borrowed. */
};

enum text_c4_reason {
    TEXT_C4_LOREM_IPSUM = 1,   /* lorem_ipsum; value: index of the line */
    TEXT_C4_CURLY_BRACKET,     /* curly_bracket; value: index of the line */
    TEXT_C4_TOO_FEW_SENTENCES, /* too_few_sentences; value: sentences of the kept lines */
    TEXT_C4_REASONS = 3
};

/* What happened to the lines. Complete only when the document is kept or has too few sentences. */
struct text_c4_counts {
    uint64_t lines, kept, too_long_word, no_terminal_punct, too_few_words, javascript, policy;
    uint64_t sentences; /* of kept lines, until there are min_num_sentences */
};

/* The peer's defaults. */
void text_c4_defaults(struct text_c4_options *options);

/* The peer's string for a reason in 1..3; "" for 0; NULL otherwise. */
const char *text_c4_reason(int32_t reason);

/* Judges and edits doc (its words are not read). When kept, *out (cleared first) holds the new
 * text; it may equal the old one. counts may be NULL. SLUICE_E_NOMEM only. */
TEXT_MUST_CHECK int32_t text_c4_quality(const struct text_doc *doc,
                                        const struct text_c4_options *options,
                                        struct text_scratch *scratch, struct text_buffer *out,
                                        struct text_c4_counts *counts, struct text_verdict *verdict,
                                        struct sluice_error *err);

/* mC4's paragraph rule: at least min_paragraphs lines (split on "\n"), the min_paragraphs longest
 * of at least min_paragraph_len code points. The peer has 3 and 200. Reason 1, the peer's
 * "< 3 paragraphs"; value is the number of lines that long. */
void text_c4_paragraph(const struct text_doc *doc, int64_t min_paragraphs,
                       int64_t min_paragraph_len, struct text_verdict *verdict);

#ifdef __cplusplus
}
#endif

#endif
