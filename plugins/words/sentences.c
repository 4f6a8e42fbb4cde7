/* sentences - the provider of the derived column `sentences`. The rules are in
 * sdk/text/text_sentences.h. */
#include "cut.h"

static const struct sluice_option options[] = {
    { .name = "rule",
      .doc = "How a text is cut into sentences.",
      .def = "spacy-en",
      .choices = "spacy-en|marks|lines|uax29",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct cut_config, rule) },
    CUT_OVER,
};

static sluice_status sentences_prepare(void *shared, struct sluice_plan *plan,
                                       struct sluice_error *err)
{
    return cut_prepare(shared, plan, "sentences", err);
}

static sluice_status cut_sentences(struct cut_worker *worker, const char *text, size_t n,
                                   struct sluice_error *err)
{
    return text_sentences_cached((enum text_sentence_rule)worker->config->rule, text, n,
                                 &worker->cache, &worker->spans, err);
}

static sluice_status sentences_process(void *worker, const struct sluice_batch *batch,
                                       struct sluice_emit *emit, struct sluice_error *err)
{
    return cut_process(worker, batch, emit, cut_sentences, err);
}

const struct sluice_stage sentences_stage = {
    .size = sizeof sentences_stage,
    .name = "sentences",
    .version = "1.0",
    .bytes_per_batch = 10,
    .summary = "Sentence spans of a text, shared by the stages behind (a provider: inserted where "
               "needed)",
    .doc =
        "`spacy-en` is the rule sentencizer of spaCy 3.8 over the tokens of its blank English "
        "pipeline: a sentence ends before the first token behind a mark (. ! ? and the like) "
        "that is no mark and not punctuation alone; the spans are those of datatrove's "
        "`span_tokenize` and may begin or end with white space. `marks` ends a sentence at a run "
        "of marks before white space, or at a CJK full stop. `lines` gives the lines that are "
        "not white space alone. `uax29` gives the sentences of Unicode (UAX #29), without white "
        "space around them.",
    .example = "docs | s.sentences {}",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct cut_config),
    .provides = "sentences",
    .bytes_worker = 2 << 20,
    .open = cut_open,
    .prepare = sentences_prepare,
    .worker_open = cut_worker_open,
    .process = sentences_process,
    .worker_close = cut_worker_close,
    .close = cut_close,
};
