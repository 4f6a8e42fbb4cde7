/* words - provides the derived columns `words` and `sentences`: spans of a text column, computed
 * once and shared by the stages behind. This file is the plugin and its stage words; the rules are
 * in sdk/text. */
#include "cut.h"
#include "sluice_simple.h"

static const struct sluice_option options[] = {
    { .name = "rule",
      .doc = "How a text is cut into words.",
      .def = "whitespace",
      .choices = "whitespace|uax29|spacy-en",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct cut_config, rule) },
    CUT_OVER,
};

static sluice_status words_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return cut_prepare(shared, plan, "words", err);
}

static sluice_status cut_words(struct cut_worker *worker, const char *text, size_t n,
                               struct sluice_error *err)
{
    /* The choices stand in the order of the enum. */
    return text_words_cached((enum text_word_rule)worker->config->rule, text, n, &worker->cache,
                             &worker->spans, err);
}

static sluice_status words_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return cut_process(worker, batch, emit, cut_words, err);
}

static const struct sluice_stage words_stage = {
    .size = sizeof words_stage,
    .name = "words",
    .version = "1.1",
    .bytes_per_batch = 15,
    .summary =
        "Word spans of a text, shared by the stages behind (a provider: inserted where needed)",
    .doc = "`whitespace` cuts as Python's `str.split()`. `uax29` gives the segments of Unicode's "
           "UAX #29 that hold a letter or number. `spacy-en` gives the tokens of spaCy 3.8's blank "
           "English pipeline without white space, which are the words of datatrove's filters; its "
           "rules (MIT licence) are built in as tables.",
    .example = "docs | s.words { rule = \"spacy-en\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct cut_config),
    .provides = "words",
    .bytes_worker = 2 << 20,
    .open = cut_open,
    .prepare = words_prepare,
    .worker_open = cut_worker_open,
    .process = words_process,
    .worker_close = cut_worker_close,
    .close = cut_close,
};

SLUICE_PLUGIN("words", "1.1", "MIT", &words_stage, &sentences_stage);
