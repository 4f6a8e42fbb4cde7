/* The n-grams of paragraphs as hashes. Private to plugins/dedup; zeroed memory is a fresh one. */
#ifndef DEDUP_PARAGRAPHS_H
#define DEDUP_PARAGRAPHS_H

#include "text/text.h"

#define PARAGRAPH_MODES "bff|dolma"
enum paragraph_mode { MODE_BFF, MODE_DOLMA };

struct paragraphs {
    struct text_spans spans, words;
    struct text_buffer joined;
    struct text_spans places; /* of the words in joined */
};

void paragraphs_deinit(struct paragraphs *);

/* Appends to out, for each paragraph of the text (what stands between newlines): u32 number of
 * hashes, u32 1 if the last one is of the whole paragraph and decides alone (else 0), and the
 * hashes (u64), all in order. Words are the segments of UAX #29 that are no white space. bff: all
 * n-grams, none of a shorter paragraph. dolma: with that tool's stride (the second n-gram is always
 * taken) and a paragraph of fewer than two compared as a whole. */
int32_t paragraphs_hash(struct paragraphs *, const char *text, size_t n, size_t ngram,
                        size_t stride, enum paragraph_mode, struct sluice_bytes *out,
                        struct sluice_error *) TEXT_MUST_CHECK;

#endif
