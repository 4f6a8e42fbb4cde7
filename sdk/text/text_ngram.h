/* text_ngram.h — n-grams of a document's words: the most frequent one, and repeated ones.
 *
 * Private to sdk/text; text_measure.h and text_gopher.h offer it. Results are exact; before the
 * exact count a bound that is never too low is computed for all n in one pass, and most documents
 * need no more.
 */
#ifndef TEXT_NGRAM_H
#define TEXT_NGRAM_H

#include "text/text_doc.h"
#include "text/text_gopher.h"

/* What is computed once a document. Borrows the document and the scratch until its last use; no
 * other user of the scratch's bytes and arena in between. */
struct text_ngrams {
    const struct text_doc *doc;
    struct text_scratch *scratch;
    size_t n;                     /* words */
    const unsigned char *compact; /* the words' bytes, joined by nothing */
    const unsigned char *joined;  /* joined by one space; NULL until it is needed */
    uint64_t *hash;               /* [n] of each word */
    uint32_t *at;                 /* [n + 1] where a word begins in compact */
    const uint32_t *chars;        /* [n + 1] code points before a word */
    bool spaces;      /* a word holds a space: joined n-grams can be equal with other words */
    uint8_t *repeats; /* [n] the n-grams from here may occur twice (text_ngrams_repeats) */
    uint64_t *table;  /* [slots] */
    size_t slots;
    uint32_t *first, *count; /* [n] of distinct n-grams */
    uint32_t *sums;          /* [TEXT_NGRAM_BUCKETS] a limit */
    size_t key;              /* bytes of the prefixes behind repeats */
    uint64_t pair_bound; /* no 2-gram has more characters, all its places together; 0: unknown */
};

#define TEXT_NGRAM_LIMITS 8 /* most limits of a call with bounds; longer lists give no bounds */
#define TEXT_NGRAM_BUCKETS 2048

TEXT_MUST_CHECK int32_t text_ngrams_init(struct text_ngrams *grams, const struct text_doc *doc,
                                         struct text_scratch *scratch, struct sluice_error *err);

/* For each of at most TEXT_NGRAM_LIMITS limits a number of characters that text_ngrams_top will not
 * exceed. */
void text_ngrams_top_bounds(const struct text_ngrams *grams, const struct text_ngram_limit *limits,
                            size_t n_limits, uint64_t *bounds);

/* Length of the most frequent n-gram (joined by spaces; ties: the first) times its count; 0 when
 * there are none. */
TEXT_MUST_CHECK int32_t text_ngrams_top(struct text_ngrams *grams, uint32_t n, uint64_t *chars,
                                        struct sluice_error *err);

/* Fills grams->repeats for these n, and for each limit a number of characters that text_ngrams_dup
 * will not exceed. With more than TEXT_NGRAM_LIMITS limits every place repeats and bounds is not
 * written. */
void text_ngrams_repeats(struct text_ngrams *grams, const struct text_ngram_limit *limits,
                         size_t n_limits, uint64_t *bounds);

/* Narrows grams->repeats and bounds with prefixes as long as limits[0].n suggests; does nothing
 * when they are about that long. limits: the rest of those given to text_ngrams_repeats, from any
 * one on; n_limits >= 1. */
void text_ngrams_narrow(struct text_ngrams *grams, const struct text_ngram_limit *limits,
                        size_t n_limits, uint64_t *bounds);

/* Characters of repeated n-grams (Gopher's scan). n must have been among the limits of
 * text_ngrams_repeats and of each text_ngrams_narrow since. */
uint64_t text_ngrams_dup(struct text_ngrams *grams, uint32_t n);

#endif
