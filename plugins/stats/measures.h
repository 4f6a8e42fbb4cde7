/* measures.h - what the statistics of one document are: the measures of datatrove's stats blocks,
 * by their names there.
 *
 * Depends on sdk/text. A measure is a name and a number; whole numbers are marked. measures_plan
 * fills the table of names once, measures_take the numbers of a document in the same order. Lengths
 * are code points. A ratio with nothing below is 0, as there. */
#ifndef STATS_MEASURES_H
#define STATS_MEASURES_H

#include <sluice_arrays.h>
#include <stdbool.h>

#include "text/text.h"

#define MEASURES_MAX 128
#define MEASURES_LIMITS 8 /* thresholds of one list */

enum {
    BLOCK_DOC = 1,
    BLOCK_WORD = 2,
    BLOCK_LINE = 4,
    BLOCK_PARAGRAPH = 8,
    BLOCK_SENTENCE = 16,
    BLOCK_CONTAMINATION = 32
};

struct measure_limits {
    uint64_t value[MEASURES_LIMITS];
    int n;
};

struct measures {
    unsigned blocks; /* BLOCK_* */
    struct measure_limits short_words, long_words, short_lines, long_lines;
    struct measure_limits short_paragraphs, long_paragraphs, short_sentences, long_sentences;
    bool ignore_empty_lines;
    struct sluice_list stop_words, contamination; /* the host's */
    enum text_word_rule words_rule;               /* of the simplified text, for contamination */
    char *names[MEASURES_MAX];                    /* owned */
    bool whole[MEASURES_MAX];
    int n;
};

/* Memory that a worker reuses; zeroed memory is empty. */
struct measures_scratch {
    struct text_scratch text;
    struct text_spans spans, lines;
    struct text_buffer simplified;
    struct text_word_cache cache;
};

/* Fills names, whole and n from the members above. SLUICE_E_NOMEM; SLUICE_E_CONFIG when there are
 * too many. */
sluice_status measures_plan(struct measures *measures, struct sluice_error *err);
void measures_deinit(struct measures *measures);
void measures_scratch_deinit(struct measures_scratch *scratch);

/* The numbers of a document into values[measures->n]. words: its words, for the block `word`;
 * sentences: for `sentence`. */
sluice_status measures_take(const struct measures *measures, const struct text_doc *doc,
                            const struct text_span *sentences, size_t n_sentences,
                            struct measures_scratch *scratch, double *values,
                            struct sluice_error *err);

#endif
