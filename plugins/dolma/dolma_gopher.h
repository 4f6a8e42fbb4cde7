/* dolma_gopher.h - the measures of Dolma's Gopher taggers over whitespace words.
 *
 * Depends on dolma_doc.h, libxxhash. Exact: hashes only find candidates. Not the measures of
 * gopher_repetition: n-grams of words without what joins them, all copies of a repeated n-gram
 * count, the length of a word is its median. */
#ifndef DOLMA_GOPHER_H
#define DOLMA_GOPHER_H

#include "dolma_doc.h"

#define DOLMA_NGRAM_MIN 2
#define DOLMA_NGRAM_MAX 10

struct dolma_gopher {
    /* Results of dolma_gopher_words; an n-gram longer than the text has no share. */
    bool done; /* for this document */
    double ngram[DOLMA_NGRAM_MAX + 1];
    double median, symbols, alpha, required;
    uint64_t word_chars;
    /* Memory. */
    uint32_t *length;          /* characters of each word */
    uint32_t *ids;             /* of the n-gram from each word, or DOLMA_ONCE */
    uint64_t *keys;            /* table */
    uint32_t *counts, *firsts; /* of its slots */
    uint32_t *slot;            /* of each word, for one n */
    uint64_t *hash;            /* of each word or line */
    size_t capacity, table;    /* of the arrays above; of the table */
};

/* Lines: shares that gopher_v1 and gopher_v2 compute over other lines. */
struct dolma_lines {
    double bullets, ellipsis, duplicates, duplicate_chars;
};

void dolma_gopher_deinit(struct dolma_gopher *gopher);

TEXT_MUST_CHECK int32_t dolma_gopher_words(struct dolma_gopher *gopher, const struct dolma_doc *doc,
                                           struct sluice_error *err);

/* After dolma_gopher_words. */
TEXT_MUST_CHECK int32_t dolma_gopher_lines(struct dolma_gopher *gopher, const struct dolma_doc *doc,
                                           const struct text_spans *lines, struct dolma_lines *out,
                                           struct sluice_error *err);

#endif
