/* fineweb_quality (Penedo et al. 2024, arXiv:2406.17557), with datatrove's definitions and
 * reasons. */
#include "quality.h"

struct config {
    struct quality_common common;
    double line_punct_thr, short_line_thr, char_duplicates_ratio, new_line_ratio;
    int64_t short_line_length;
    uint8_t line_punct_exclude_zero;
};

static const struct sluice_option options[] = {
    QUALITY_OPTIONS(config),
    QUALITY_SHARE(config, line_punct_thr, "Smallest share of lines that end in punctuation.",
                  "0.12"),
    QUALITY_BOOL(config, line_punct_exclude_zero, "Whether a share of exactly 0 passes.", "false"),
    QUALITY_SHARE(config, short_line_thr, "Largest share of short lines.", "0.67"),
    QUALITY_INT(config, short_line_length, "Most characters of a short line.", "30"),
    QUALITY_SHARE(config, char_duplicates_ratio, "Largest share of characters in repeated lines.",
                  "0.01"),
    QUALITY_SHARE(config, new_line_ratio, "Most newlines per word.", "0.3"),
};

static sluice_status judge(struct quality_worker *worker, const struct text_doc *doc,
                           struct text_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->quality->config;
    const struct text_fineweb_options rules = {
        .line_punct_thr = config->line_punct_thr,
        .line_punct_exclude_zero = config->line_punct_exclude_zero != 0,
        .short_line_thr = config->short_line_thr,
        .short_line_length = config->short_line_length,
        .char_duplicates_ratio = config->char_duplicates_ratio,
        .new_line_ratio = config->new_line_ratio,
        .count_words = !worker->quality->has_words,
        .word_rule = (enum text_word_rule)config->common.words,
        .cache = &worker->cache,
    };

    return text_fineweb_quality(doc, &rules, &worker->scratch, verdict, err);
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return quality_open(&fineweb_quality_stage, given, shared, err);
}

/* Words are asked for only where white space does not bound their number: they would be cut again
 * behind a stage that edits the text, for one test that seldom needs them. */
static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct quality *quality = shared;

    return quality->common->words == TEXT_WORDS_UAX29 ? quality_prepare(shared, plan, err)
                                                      : quality_prepare_text(shared, plan, err);
}

static sluice_status stage_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return quality_process(worker, batch, emit, judge, err);
}

const struct sluice_stage fineweb_quality_stage = {
    .size = sizeof fineweb_quality_stage,
    .name = "fineweb_quality",
    .version = "1.0",
    .bytes_per_batch = 18,
    .summary =
        "FineWeb's quality rules: line endings, short lines, repeated lines, newlines per word",
    .doc = "Penedo et al. 2024 (arXiv:2406.17557), with datatrove's definitions. Tests run in the "
           "order of the reasons.",
    .example = "docs | s.fineweb_quality {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "empty|line_punct_ratio|short_line_ratio|char_dup_ratio|list_ratio",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = quality_worker_open,
    .process = stage_process,
    .worker_close = quality_worker_close,
    .close = quality_close,
};
