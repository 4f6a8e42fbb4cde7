/* Decontamination: what its files share. Private to plugins/decontaminate.
 *
 * A reference is a list of benchmark items (reference.c); a rule makes an index of it once
 * (index_*.c), shared and read-only from then on, and judges a text with a worker's own memory.
 * Depends on sluice_arrays.h, sdk/text, jansson. */
#ifndef DECONT_H
#define DECONT_H

#include <jansson.h>
#include <sluice_arrays.h>
#include <sluice_stage.h>
#include <stdbool.h>
#include <stdint.h>

#include "text/text.h"

enum decont_rule { RULE_DATATROVE, RULE_JANITOR, RULE_DECON };

struct decont_options {
    const char *over, *reference, *question, *answer, *passage, *id, *task, *join;
    int32_t rule;
    int64_t ngram; /* 0: the rule's own */
    uint8_t query_ngrams, overlap_ngrams, peer;
    int64_t window, min_piece, max_hits;            /* janitor */
    int64_t sample, misses, min_tokens, min_unique; /* decon */
    double threshold;
    int64_t decay_begin, decay_end;
};

/* ---- reference.c ---- */

enum decont_part { PART_QUESTION, PART_ANSWER, PART_PASSAGE, PARTS };

/* Owned texts; a part that is missing has len 0. Several answers of one line are several items with
 * one id. */
struct decont_item {
    char *id, *task;
    struct text_buffer parts[PARTS];
};

struct decont_reference {
    struct decont_item *items;
    size_t n, capacity;
};

/* Reads JSON lines into *out, which the caller deinits, also after an error. SLUICE_E_CONFIG names
 * line and field. */
sluice_status decont_reference_read(const struct decont_options *, const char *data, size_t size,
                                    struct decont_reference *out,
                                    struct sluice_error *) TEXT_MUST_CHECK;
void decont_reference_deinit(struct decont_reference *);

/* ---- grams.c: a set of n-grams, compared byte by byte ---- */

struct gram {
    uint64_t hash;
    uint32_t size, item; /* the item that the set's user chose */
    uint64_t text;       /* place in grams.text */
};

struct grams {
    struct gram *items;
    uint32_t *slots; /* number of an item + 1; a power of two of them */
    size_t n, capacity, n_slots;
    struct sluice_bytes text;
};

void grams_deinit(struct grams *);
/* The number of the n-gram, which is added when it is new (*fresh = 1; its item is `item` then).
 * UINT32_MAX: out of memory. */
uint32_t grams_add(struct grams *, const char *text, size_t n, uint32_t item, int *fresh);
/* Its number, or UINT32_MAX. */
uint32_t grams_find(const struct grams *, const char *text, size_t n);

/* Words joined by single spaces: an n-gram is a stretch of text. Zeroed memory is empty. */
struct joined {
    struct text_buffer text;
    struct text_spans words; /* of text */
};
void joined_deinit(struct joined *);
sluice_status joined_add(struct joined *, const char *word, size_t n,
                         struct sluice_error *) TEXT_MUST_CHECK;
/* The n words from the i-th on. */
static inline const char *joined_gram(const struct joined *joined, size_t i, size_t n, size_t *size)
{
    *size = joined->words.data[i + n - 1].end - joined->words.data[i].begin;
    return joined->text.data + joined->words.data[i].begin;
}

/* ---- a worker, an index, a finding ---- */

struct decont_worker {
    struct text_word_cache cache;
    struct text_buffer simple, kept;
    struct text_spans raw; /* words of the text itself */
    struct joined joined;
    struct sluice_bytes numbers; /* decon: the n-gram at each word */
    void *candidates;            /* decon */
    size_t candidates_capacity;
};
void decont_worker_deinit(struct decont_worker *);

struct finding {
    bool found, drop, edited; /* edited: the text is now worker->kept */
    uint32_t item;
    double value, limit; /* what was measured and its threshold */
    json_t *report;      /* owned; NULL when nothing was found */
};

struct decont_overlap;
struct decont_index {
    const struct decont_options *options;
    struct decont_reference reference;
    struct grams grams; /* datatrove, janitor */
    struct decont_overlap *overlap;
    size_t ngram;
};

/* Makes the index of reference; memory of a rule is freed by decont_index_deinit. */
sluice_status decont_index_datatrove(struct decont_index *, struct sluice_error *) TEXT_MUST_CHECK;
sluice_status decont_index_janitor(struct decont_index *, struct sluice_error *) TEXT_MUST_CHECK;
sluice_status decont_index_overlap(struct decont_index *, struct sluice_error *) TEXT_MUST_CHECK;
void decont_overlap_destroy(struct decont_overlap *);

sluice_status decont_judge_datatrove(const struct decont_index *, struct decont_worker *,
                                     const char *text, size_t n, struct finding *,
                                     struct sluice_error *) TEXT_MUST_CHECK;
sluice_status decont_judge_janitor(const struct decont_index *, struct decont_worker *,
                                   const char *text, size_t n, struct finding *,
                                   struct sluice_error *) TEXT_MUST_CHECK;
sluice_status decont_judge_overlap(const struct decont_index *, struct decont_worker *,
                                   const char *text, size_t n, struct finding *,
                                   struct sluice_error *) TEXT_MUST_CHECK;

#endif
