/* pretoken.h — pre-tokenization: a sequence of splits that cuts a text into the pieces that BPE
 * merges apart from each other.
 *
 * Owns: the steps and their order. Depends on: pretoken_scan.h (known patterns), pretoken_regex.h
 * (any other), bpe_error.h.
 * Promises: the pieces are those of the tokenizer's own library, in order; memory O(1) for known
 * patterns. */
#ifndef TOKENIZE_PRETOKEN_H
#define TOKENIZE_PRETOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "split/pretoken_regex.h"
#include "split/pretoken_scan.h"

#define PRETOKEN_STEPS 8u
#define PRETOKEN_BATCH 1024u /* the most pieces a sink gets at once */

/* What becomes of matches and gaps: tokenizers' SplitDelimiterBehavior, and tiktoken's (a gap is an
 * error here: tiktoken would drop its text without a word). */
enum pretoken_behavior {
    PRETOKEN_ISOLATED,
    PRETOKEN_REMOVED,
    PRETOKEN_MERGED_WITH_PREVIOUS,
    PRETOKEN_MERGED_WITH_NEXT,
    PRETOKEN_CONTIGUOUS,
    PRETOKEN_NO_GAPS
};

struct pretoken_step {
    pretoken_fill *fill; /* a known pattern under PRETOKEN_ISOLATED, or */
    struct regex *regex; /* owned */
    enum pretoken_behavior behavior;
    int invert;
};

struct pretoken {
    struct unicode_table unicode;
    struct pretoken_step steps[PRETOKEN_STEPS];
    size_t n_steps;
};

struct pretoken_worker;

/* Caller's memory; no steps yet (the text is one piece). SLUICE_E_NOMEM. */
int32_t pretoken_init(struct pretoken *pretoken, struct sluice_error *err);
void pretoken_deinit(struct pretoken *pretoken);

/* Appends a step. `force_regex` 1 never uses a hand-written scanner (tests). SLUICE_E_CONFIG,
 * SLUICE_E_NOMEM. */
int32_t pretoken_add(struct pretoken *pretoken, const char *pattern, enum regex_dialect dialect,
                     enum pretoken_behavior behavior, int invert, int force_regex,
                     struct sluice_error *err);

int32_t pretoken_worker_create(const struct pretoken *pretoken, struct pretoken_worker **out,
                               struct sluice_error *err);
void pretoken_worker_destroy(struct pretoken_worker *worker);

/* Gets adjacent pieces: text[start .. ends[0]), text[ends[0] .. ends[1]) … A status other than
 * SLUICE_OK stops. */
typedef int32_t pretoken_sink(void *context, const uint8_t *text, size_t start, const size_t *ends,
                              size_t n, struct sluice_error *err);

/* Hands all pieces of the text to the sink. */
int32_t pretoken_run(struct pretoken_worker *worker, const uint8_t *text, size_t len,
                     pretoken_sink *sink, void *context, struct sluice_error *err);

#endif
