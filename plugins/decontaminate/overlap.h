/* overlap.h - what the index of decon's rule holds, for index_overlap.c, which makes it, and
 * overlap_judge.c, which reads it. Depends on decont.h. */
#ifndef DECONT_OVERLAP_H
#define DECONT_OVERLAP_H

#include "decont.h"

#define ANSWER_NGRAM 3
#define PASSAGE_NGRAM 4
#define SHORT_ANSWER 3 /* words of an answer that must stand there as it is */

/* What is known of a part of an item. */
struct part {
    uint32_t words, unique_words;
    /* place in overlap.ids: its n-grams, ascending; of a short answer its words' numbers in
     * order */
    uint64_t ids;
    uint32_t n_ids;
    double weight; /* sum of its n-grams' */
};

struct item {
    struct part parts[PARTS];
    bool indexed;
};

struct decont_overlap {
    struct grams sets[PARTS]; /* n-grams of questions, answers, passages */
    struct grams words;       /* of short answers */
    double *weights[PARTS];   /* of each n-gram */
    uint32_t *postings;       /* items of the questions' n-grams, ascending */
    uint64_t *posting_begin;  /* [n-grams + 1] */
    struct sluice_bytes ids;  /* uint32_t */
    struct item *items;
    size_t n_indexed;
};

/* The words of the text in lower case with spaces for punctuation. */
sluice_status overlap_words(struct decont_worker *worker, const char *text, size_t n,
                            struct joined *out, struct sluice_error *err) TEXT_MUST_CHECK;

/* Orders uint32_t for qsort and bsearch. */
int overlap_by_number(const void *left, const void *right);

/* The n-grams of a part, ascending; NULL while no part has any. */
const uint32_t *overlap_ids(const struct decont_overlap *overlap, const struct part *part);

#endif
