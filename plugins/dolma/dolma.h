/* dolma.h - the stages of this plugin, and what a tagger is.
 *
 * Depends on sluice.h, sdk/text. A tagger is a rule of Dolma's registry under its name there: it
 * reads a document and gives spans of constant types. Taggers share what dolma_doc computes once
 * and the results that several of them need (struct dolma_work). */
#ifndef DOLMA_H
#define DOLMA_H

#include <sluice_arrays.h>
#include <stdbool.h>

#include "dolma_doc.h"
#include "dolma_gopher.h"
#include "dolma_out.h"
#include "dolma_phrases.h"
#include "dolma_pii.h"
#include "dolma_repeat.h"
#include "dolma_tokens.h"

/* A worker's memory: what several taggers use of one document is computed by the first. */
struct dolma_work {
    struct dolma_doc doc;
    struct dolma_out out;
    const struct dolma_phrases *phrases; /* of the C4 taggers; NULL when none was asked for */
    uint32_t phrase_bits;                /* DOLMA_HAS_*; valid when has_phrases */
    bool has_phrases;
    struct dolma_gopher gopher;
    struct dolma_repeat repeat;
    struct dolma_pii pii;
    struct dolma_tokens tokens; /* open when a tokenizer was given */
    struct text_spans scratch, other;
    uint64_t seed; /* of random_number_v1 */
};

struct dolma_tagger {
    const char *name;
    const char *types; /* all that it may give: "a|b" */
    uint32_t flags;    /* DOLMA_NEEDS_* */
    int32_t (*tag)(struct dolma_work *work, struct sluice_error *err);
};

#define DOLMA_NEEDS_WORD_LIST 1u /* bad_words */
#define DOLMA_NEEDS_TOKENIZER 2u /* tokenizer */

/* What the taggers of repetitions say of a document: the most repetitions, the longest span, the
 * characters of all. */
struct dolma_repeat_sums {
    size_t most, longest, all;
};
void dolma_repeat_add(struct dolma_repeat_sums *sums, size_t count, size_t length);
void dolma_repeat_document(struct dolma_work *work, const struct dolma_repeat_sums *sums);

/* All taggers, ended by one without a name. */
extern const struct dolma_tagger dolma_gopher_taggers[];
extern const struct dolma_tagger dolma_c4_taggers[];
extern const struct dolma_tagger dolma_repetition_taggers[];
extern const struct dolma_tagger dolma_pii_taggers[];
extern const struct dolma_tagger dolma_length_taggers[];
extern const struct dolma_tagger dolma_code_taggers[];
extern const struct dolma_tagger dolma_token_taggers[];

extern const struct sluice_stage dolma_tag_stage;
extern const struct sluice_stage dolma_attribute_stage;
extern const struct sluice_stage dolma_mix_stage;
extern const struct sluice_stage write_attributes_stage;
extern const struct sluice_stage dolma_line_keys_stage, dolma_line_match_stage,
    dolma_line_join_stage, write_attribute_files_stage;

#endif
