/* c4_paragraph - mC4's page rule (Xue et al. 2021, arXiv:2010.11934): enough long lines;
 * datatrove's C4ParagraphFilter. */
#include "quality.h"

#include <sluice_stage.h>

struct config {
    const char *over;
    int64_t min_paragraphs, min_paragraph_len;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    QUALITY_INT(config, min_paragraphs, "Fewest lines that are long enough.", "3"),
    QUALITY_INT(config, min_paragraph_len, "Characters of a line that is long enough.", "200"),
};

static sluice_status paragraph_prepare(void *shared, struct sluice_plan *plan,
                                       struct sluice_error *err)
{
    int32_t index;

    return plan->need(plan, 0, ((const struct config *)shared)->over, "utf8?", 0, &index, err);
}

static sluice_status judge(void *worker, const char *text, size_t n, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    const struct config *config = worker;
    struct text_doc doc;
    struct text_verdict judged = { 0 };
    sluice_status status = text_doc_init(&doc, text, n, NULL, 0, err);

    if (status == SLUICE_OK) {
        text_c4_paragraph(&doc, config->min_paragraphs, config->min_paragraph_len, &judged);
        quality_verdict(verdict, &judged);
    }
    return status;
}

static sluice_status paragraph_process(void *worker, const struct sluice_batch *batch,
                                       struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_texts(batch, emit, judge, worker, err);
}

const struct sluice_stage c4_paragraph_stage = {
    .size = sizeof c4_paragraph_stage,
    .name = "c4_paragraph",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "mC4's rule: a document has at least three lines of 200 characters",
    .doc =
        "Xue et al. 2021 (arXiv:2010.11934), with the definitions of datatrove 0.10's "
        "C4ParagraphFilter (filters/c4_filters.py), whose reason is `< 3 paragraphs`. Lines end at "
        "\\n alone.",
    .example = "docs | s.c4_paragraph {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "too_few_paragraphs",
    .open = sluice_open_config,
    .prepare = paragraph_prepare,
    .process = paragraph_process,
};
