/* What the quality filters share: a text column, its words from the provider, one verdict a row. */
#ifndef QUALITY_H
#define QUALITY_H

#include <sluice_verdicts.h>
#include <stddef.h>

#include "text/text.h"

/* Every config begins with these. */
struct quality_common {
    const char *over;
    int32_t words;
};

#define QUALITY_OPTIONS(config)                                                           \
    { .name = "over",                                                                     \
      .doc = "Column that holds the text.",                                               \
      .def = "text",                                                                      \
      .type = SLUICE_OPT_COLUMN,                                                          \
      .offset = offsetof(struct config, common.over) },                                   \
    {                                                                                     \
        .name = "words", .doc = "Rule that cuts the text into words.", .def = "spacy-en", \
        .choices = "whitespace|uax29|spacy-en", .type = SLUICE_OPT_ENUM,                  \
        .offset = offsetof(struct config, common.words)                                   \
    }
#define QUALITY_INT(config, member, text, value)                                       \
    {                                                                                  \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_INT, .min = -1, \
        .max = 1e15, .offset = offsetof(struct config, member)                         \
    }
#define QUALITY_SHARE(config, member, text, value)                                      \
    {                                                                                   \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_FLOAT, .min = 0, \
        .max = 1e6, .offset = offsetof(struct config, member)                           \
    }
#define QUALITY_BOOL(config, member, text, value)                            \
    {                                                                        \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_BOOL, \
        .offset = offsetof(struct config, member)                            \
    }

/* An opened instance: a copy of the config, and what the filter made of it. */
struct quality {
    const void *config; /* config_size bytes */
    const struct quality_common *common;
    const struct sluice_stage *stage;
    bool has_words; /* asked for by quality_prepare */
};

struct quality_worker {
    const struct quality *quality;
    struct text_scratch scratch;
    struct text_buffer text; /* for editors */
    struct text_word_cache cache;
};

sluice_status quality_open(const struct sluice_stage *, const void *config, void **shared,
                           struct sluice_error *);
/* Needs the text and its words. */
sluice_status quality_prepare(void *shared, struct sluice_plan *, struct sluice_error *);
/* Needs the text. */
sluice_status quality_prepare_text(void *shared, struct sluice_plan *, struct sluice_error *);
sluice_status quality_worker_open(void *shared, void **worker, struct sluice_error *);
void quality_worker_close(void *worker);
void quality_close(void *shared);

void quality_verdict(struct sluice_verdict *, const struct text_verdict *judged);
typedef sluice_status (*quality_judge_fn)(struct quality_worker *, const struct text_doc *,
                                          struct text_verdict *, struct sluice_error *);
/* Judges every selected row and emits the verdicts. */
sluice_status quality_process(struct quality_worker *, const struct sluice_batch *,
                              struct sluice_emit *, quality_judge_fn, struct sluice_error *);

extern const struct sluice_stage gopher_quality_stage, gopher_repetition_stage,
    fineweb_quality_stage, c4_quality_stage, c4_paragraph_stage, c4_badwords_stage,
    c4_badwords_datatrove_stage, unigram_log_prob_stage;

#endif
