/* The units of a text that are compared: sentences, lines, paragraphs; and their normal forms.
 * Private to plugins/dedup.
 *
 * Depends on sdk/text. A units belongs to one worker, zeroed memory is a fresh one, and what it
 * gives is valid until its next use. */
#ifndef DEDUP_UNITS_H
#define DEDUP_UNITS_H

#include <sluice_arrays.h>

#include "text/text.h"

enum unit { UNIT_SENTENCES, UNIT_LINES, UNIT_PARAGRAPHS };
#define UNIT_CHOICES "sentences|lines|paragraphs"

struct units {
    struct text_word_cache cache;
    struct text_spans spans;   /* of the text, in order */
    struct text_spans words;   /* units_words */
    struct text_buffer simple; /* of one unit */
    struct text_buffer joined; /* units_normalise: the normal forms, one space between two */
    struct text_spans pieces;  /* where each one stands in joined */
};

void units_deinit(struct units *);

/* Cuts a text. Sentences are spaCy's rule sentencizer's, white space and all: each ends where the
 * next one begins. Lines are Python's splitlines, without their ends; paragraphs are what stands
 * between newlines. */
sluice_status units_cut(struct units *, enum unit, const char *text, size_t n,
                        struct sluice_error *) TEXT_MUST_CHECK;

/* Fills joined and pieces from spans: each unit stripped (sentences) and, if asked, simplified.
 * Sentences of nothing but white space are left out, as datatrove does. */
sluice_status units_normalise(struct units *, enum unit, const char *text, int simplify,
                              struct sluice_error *) TEXT_MUST_CHECK;

/* Counts the words of a text under the rule spacy-en. */
sluice_status units_words(struct units *, const char *text, size_t n, size_t *count,
                          struct sluice_error *) TEXT_MUST_CHECK;

#endif
