/* c4_quality (Raffel et al. 2020, arXiv:1910.10683), with datatrove's definitions and reasons:
 * edits the text and drops documents. */
#include "quality.h"

struct config {
    struct quality_common common;
    int64_t min_num_sentences, min_words_per_line, max_word_length;
    uint8_t split_paragraph, remove_citations, filter_no_terminal_punct, filter_lorem_ipsum,
        filter_javascript, filter_curly_bracket, filter_policy;
    int32_t sentences;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text, replaced by what is left of it.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, common.over) },
    { .name = "sentences",
      .doc = "Rule that counts the sentences.",
      .def = "spacy-en",
      .choices = "spacy-en|marks",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, sentences) },
    QUALITY_BOOL(config, split_paragraph, "Whether lines are judged (false: sentences).", "true"),
    QUALITY_BOOL(config, remove_citations, "Delete [12], [edit] and [citation needed].", "true"),
    QUALITY_BOOL(config, filter_no_terminal_punct,
                 "Drop lines that do not end in . ? ! or a quotation mark.", "true"),
    QUALITY_INT(config, min_num_sentences, "Fewest sentences of what is left; -1 disables.", "5"),
    QUALITY_INT(config, min_words_per_line, "Fewest words of a line; -1 disables.", "3"),
    QUALITY_INT(config, max_word_length, "Longest word of a line in characters; -1 disables.",
                "1000"),
    QUALITY_BOOL(config, filter_lorem_ipsum, "Drop documents with lorem ipsum.", "true"),
    QUALITY_BOOL(config, filter_javascript, "Drop lines with the word javascript.", "true"),
    QUALITY_BOOL(config, filter_curly_bracket, "Drop documents with {.", "true"),
    QUALITY_BOOL(config, filter_policy, "Drop lines about cookies and terms of use.", "true"),
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return quality_open(&c4_quality_stage, given, shared, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct quality *quality = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, quality->common->over, "utf8?", 0, &index, err);

    return status == SLUICE_OK ? plan->add(plan, quality->common->over, "utf8", NULL, err) : status;
}

/* A batch in the making: its texts as edited, those of dropped rows empty. */
struct editing {
    struct quality_worker *worker;
    struct sluice_bytes offsets, data;
};

static sluice_status edit_row(void *state, const struct sluice_batch *batch, int64_t row,
                              struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct editing *editing = state;
    struct quality_worker *worker = editing->worker;
    const struct config *config = worker->quality->config;
    const struct text_c4_options rules = {
        .split_lines = config->split_paragraph != 0,
        .remove_citations = config->remove_citations != 0,
        .filter_no_terminal_punct = config->filter_no_terminal_punct != 0,
        .min_num_sentences = config->min_num_sentences,
        .min_words_per_line = config->min_words_per_line,
        .max_word_length = config->max_word_length,
        .filter_lorem_ipsum = config->filter_lorem_ipsum != 0,
        .filter_javascript = config->filter_javascript != 0,
        .filter_curly_bracket = config->filter_curly_bracket != 0,
        .filter_policy = config->filter_policy != 0,
        .sentences = (enum text_sentence_rule)config->sentences,
        .cache = &worker->cache,
    };
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    struct text_doc doc;
    struct text_verdict judged;
    int32_t end;
    sluice_status status = text_doc_init(&doc, text, n, NULL, 0, err);

    if (status == SLUICE_OK) {
        status = text_c4_quality(&doc, &rules, &worker->scratch, &worker->text, NULL, &judged, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    quality_verdict(verdict, &judged);
    if (judged.reason == 0 &&
        !sluice_bytes_add(&editing->data, worker->text.data, worker->text.len)) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
    }
    if (editing->data.size > INT32_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "", "a batch of texts grew over 2 GiB");
    }
    end = (int32_t)editing->data.size;
    return sluice_bytes_add(&editing->offsets, &end, sizeof end)
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const int32_t begin = 0;
    struct editing editing = { .worker = state };
    struct ArrowArray column;
    struct ArrowArray out;
    sluice_status status = sluice_bytes_add(&editing.offsets, &begin, sizeof begin)
                               ? SLUICE_OK
                               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");

    if (status == SLUICE_OK) {
        status = sluice_judge_rows(batch, emit, edit_row, &editing, err);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_text(&column, batch->n, &editing.offsets, &editing.data, NULL, 0);
        if (status == SLUICE_OK) {
            status = sluice_make_struct(&out, batch->n, 1, &column);
        }
        status = status == SLUICE_OK ? emit->batch(emit, &out)
                                     : sluice_fail(err, status, "", "out of memory for the text");
    }
    sluice_bytes_free(&editing.offsets);
    sluice_bytes_free(&editing.data);
    return status;
}

const struct sluice_stage c4_quality_stage = {
    .size = sizeof c4_quality_stage,
    .name = "c4_quality",
    .version = "1.0",
    .bytes_per_batch = 6,
    .summary = "C4's page rules: drops lines and documents, and gives the text that is left",
    .doc = "Raffel et al. 2020 (arXiv:1910.10683), with datatrove's definitions; sentences are "
           "counted as its tokenizer counts them, or by `marks` (a run of . ! ? … before white "
           "space).",
    .example = "docs | s.c4_quality { filter_no_terminal_punct = false }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "lorem_ipsum|curly_bracket|too_few_sentences",
    .bytes_worker = 2 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = quality_worker_open,
    .process = stage_process,
    .worker_close = quality_worker_close,
    .close = quality_close,
};
