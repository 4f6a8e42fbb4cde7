/* gopher_quality and gopher_repetition (Rae et al. 2021, arXiv:2112.11446, appendix A1.1), with
 * datatrove's definitions and reasons. */
#include "quality.h"

/* ---- quality ---- */

struct quality_config {
    struct quality_common common;
    int64_t min_doc_words, max_doc_words;
    double min_avg_word_length, max_avg_word_length, max_symbol_word_ratio, max_bullet_lines_ratio,
        max_ellipsis_lines_ratio, max_non_alpha_words_ratio;
    int64_t min_stop_words;
    struct sluice_list stop_words;
};

static const struct sluice_option quality_options[] = {
    QUALITY_OPTIONS(quality_config),
    QUALITY_INT(quality_config, min_doc_words,
                "Fewest words (those with a character that is no punctuation); 0 disables.", "50"),
    QUALITY_INT(quality_config, max_doc_words, "Most words; 0 disables.", "100000"),
    QUALITY_SHARE(quality_config, min_avg_word_length,
                  "Smallest mean word length in characters; 0 disables.", "3"),
    QUALITY_SHARE(quality_config, max_avg_word_length,
                  "Largest mean word length in characters; 0 disables.", "10"),
    QUALITY_SHARE(quality_config, max_symbol_word_ratio, "Most # or ellipses per word; 0 disables.",
                  "0.1"),
    QUALITY_SHARE(quality_config, max_bullet_lines_ratio,
                  "Largest share of lines that begin with a bullet; 0 disables.", "0.9"),
    QUALITY_SHARE(quality_config, max_ellipsis_lines_ratio,
                  "Largest share of lines that end in an ellipsis; 0 disables.", "0.3"),
    QUALITY_SHARE(
        quality_config, max_non_alpha_words_ratio,
        "Smallest share of words with a letter (datatrove's name says the opposite); 0 disables.",
        "0.8"),
    QUALITY_INT(quality_config, min_stop_words, "Fewest distinct stop words; 0 disables.", "2"),
    { .name = "stop_words",
      .doc = "Stop words, case-sensitive.",
      .def = "the,be,to,of,and,that,have,with",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct quality_config, stop_words) },
};

static sluice_status judge_quality(struct quality_worker *worker, const struct text_doc *doc,
                                   struct text_verdict *verdict, struct sluice_error *err)
{
    const struct quality_config *config = worker->quality->config;
    struct text_string stop_words[256];
    struct text_gopher_quality_options options = {
        .min_doc_words = config->min_doc_words,
        .max_doc_words = config->max_doc_words,
        .min_avg_word_length = config->min_avg_word_length,
        .max_avg_word_length = config->max_avg_word_length,
        .max_symbol_word_ratio = config->max_symbol_word_ratio,
        .max_bullet_lines_ratio = config->max_bullet_lines_ratio,
        .max_ellipsis_lines_ratio = config->max_ellipsis_lines_ratio,
        .min_alpha_words_ratio = config->max_non_alpha_words_ratio,
        .min_stop_words = config->min_stop_words,
        .stop_words = stop_words,
    };

    for (uint64_t i = 0; i < config->stop_words.n && i < 256; i++) {
        stop_words[i] = (struct text_string){ config->stop_words.items[i],
                                              strlen(config->stop_words.items[i]) };
        options.n_stop_words++;
    }
    return text_gopher_quality(doc, &options, &worker->scratch, verdict, err);
}

static sluice_status quality_stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                        const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    if (((const struct quality_config *)config)->stop_words.n > 256) {
        return sluice_fail(err, SLUICE_E_CONFIG, "stop_words", "found more than 256 stop words");
    }
    return quality_open(&gopher_quality_stage, config, shared, err);
}

static sluice_status quality_stage_process(void *worker, const struct sluice_batch *batch,
                                           struct sluice_emit *emit, struct sluice_error *err)
{
    return quality_process(worker, batch, emit, judge_quality, err);
}

const struct sluice_stage gopher_quality_stage = {
    .size = sizeof gopher_quality_stage,
    .name = "gopher_quality",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "Gopher's document quality rules: length, word length, symbols, bullets, ellipses, "
               "letters, stop words",
    .doc = "Tests run in the order of the reasons; the first that fails decides. Rae et al. 2021 "
           "(arXiv:2112.11446), with datatrove's definitions.",
    .example = "docs | s.gopher_quality { min_doc_words = 80 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = quality_options,
    .n_options = sizeof quality_options / sizeof quality_options[0],
    .option_stride = sizeof quality_options[0],
    .config_size = sizeof(struct quality_config),
    .reasons = "gopher_short_doc|gopher_long_doc|gopher_below_avg_threshold|gopher_above_avg_"
               "threshold|gopher_too_many_hashes|gopher_too_many_ellipsis|"
               "gopher_too_many_bullets|gopher_too_many_end_ellipsis|gopher_below_alpha_threshold|"
               "gopher_enough_stop_words",
    .bytes_worker = 1 << 20,
    .open = quality_stage_open,
    .prepare = quality_prepare,
    .worker_open = quality_worker_open,
    .process = quality_stage_process,
    .worker_close = quality_worker_close,
    .close = quality_close,
};

/* ---- repetition ---- */

struct repetition_config {
    struct quality_common common;
    double dup_line_frac, dup_para_frac, dup_line_char_frac, dup_para_char_frac;
    double top_2_gram, top_3_gram, top_4_gram;
    double dup_5_gram, dup_6_gram, dup_7_gram, dup_8_gram, dup_9_gram, dup_10_gram;
};

static const struct sluice_option repetition_options[] = {
    QUALITY_OPTIONS(repetition_config),
    QUALITY_SHARE(repetition_config, dup_line_frac,
                  "Largest share of lines that repeat an earlier one; 0 disables.", "0.3"),
    QUALITY_SHARE(repetition_config, dup_para_frac,
                  "Largest share of paragraphs that repeat an earlier one; 0 disables.", "0.3"),
    QUALITY_SHARE(repetition_config, dup_line_char_frac,
                  "Largest share of characters in repeated lines; 0 disables.", "0.2"),
    QUALITY_SHARE(repetition_config, dup_para_char_frac,
                  "Largest share of characters in repeated paragraphs; 0 disables.", "0.2"),
    QUALITY_SHARE(repetition_config, top_2_gram,
                  "Largest share of characters in the most frequent 2-gram; 0 disables.", "0.2"),
    QUALITY_SHARE(repetition_config, top_3_gram,
                  "Largest share of characters in the most frequent 3-gram; 0 disables.", "0.18"),
    QUALITY_SHARE(repetition_config, top_4_gram,
                  "Largest share of characters in the most frequent 4-gram; 0 disables.", "0.16"),
    QUALITY_SHARE(repetition_config, dup_5_gram,
                  "Largest share of characters in repeated 5-grams; 0 disables.", "0.15"),
    QUALITY_SHARE(repetition_config, dup_6_gram,
                  "Largest share of characters in repeated 6-grams; 0 disables.", "0.14"),
    QUALITY_SHARE(repetition_config, dup_7_gram,
                  "Largest share of characters in repeated 7-grams; 0 disables.", "0.13"),
    QUALITY_SHARE(repetition_config, dup_8_gram,
                  "Largest share of characters in repeated 8-grams; 0 disables.", "0.12"),
    QUALITY_SHARE(repetition_config, dup_9_gram,
                  "Largest share of characters in repeated 9-grams; 0 disables.", "0.11"),
    QUALITY_SHARE(repetition_config, dup_10_gram,
                  "Largest share of characters in repeated 10-grams; 0 disables.", "0.10"),
};

/* A limit of 0 can't be passed to the n-gram tests: a share is always above it. An unreachable one
 * disables. */
static double limit_or_none(double limit)
{
    return limit > 0 ? limit : 1e300;
}

static sluice_status judge_repetition(struct quality_worker *worker, const struct text_doc *doc,
                                      struct text_verdict *verdict, struct sluice_error *err)
{
    const struct repetition_config *config = worker->quality->config;
    const struct text_ngram_limit top[] = { { 2, limit_or_none(config->top_2_gram) },
                                            { 3, limit_or_none(config->top_3_gram) },
                                            { 4, limit_or_none(config->top_4_gram) } };
    const struct text_ngram_limit dup[] = {
        { 5, limit_or_none(config->dup_5_gram) }, { 6, limit_or_none(config->dup_6_gram) },
        { 7, limit_or_none(config->dup_7_gram) }, { 8, limit_or_none(config->dup_8_gram) },
        { 9, limit_or_none(config->dup_9_gram) }, { 10, limit_or_none(config->dup_10_gram) }
    };
    const struct text_gopher_repetition_options options = {
        .dup_line_frac = config->dup_line_frac,
        .dup_para_frac = config->dup_para_frac,
        .dup_line_char_frac = config->dup_line_char_frac,
        .dup_para_char_frac = config->dup_para_char_frac,
        .top_n_grams = top,
        .n_top_n_grams = 3,
        .dup_n_grams = dup,
        .n_dup_n_grams = 6,
    };

    return text_gopher_repetition(doc, &options, &worker->scratch, verdict, err);
}

static sluice_status repetition_stage_open(const struct sluice_host_api *api,
                                           struct sluice_host *host, const void *config,
                                           void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return quality_open(&gopher_repetition_stage, config, shared, err);
}

static sluice_status repetition_stage_process(void *worker, const struct sluice_batch *batch,
                                              struct sluice_emit *emit, struct sluice_error *err)
{
    return quality_process(worker, batch, emit, judge_repetition, err);
}

const struct sluice_stage gopher_repetition_stage = {
    .size = sizeof gopher_repetition_stage,
    .name = "gopher_repetition",
    .version = "1.0",
    .bytes_per_batch = 7,
    .summary = "Gopher's repetition rules: repeated lines, paragraphs and n-grams",
    .doc = "Tests run in the order of the reasons; the first that fails decides. Rae et al. 2021 "
           "(arXiv:2112.11446), with datatrove's definitions.",
    .example = "docs | s.gopher_repetition {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = repetition_options,
    .n_options = sizeof repetition_options / sizeof repetition_options[0],
    .option_stride = sizeof repetition_options[0],
    .config_size = sizeof(struct repetition_config),
    .reasons = "empty|dup_para_frac|dup_para_char_frac|dup_line_frac|dup_line_char_frac|top_2_gram|"
               "top_3_gram|top_4_gram|duplicated_5_n_grams|"
               "duplicated_6_n_grams|duplicated_7_n_grams|duplicated_8_n_grams|duplicated_9_n_"
               "grams|duplicated_10_n_grams",
    .bytes_worker = 1 << 20,
    .open = repetition_stage_open,
    .prepare = quality_prepare,
    .worker_open = quality_worker_open,
    .process = repetition_stage_process,
    .worker_close = quality_worker_close,
    .close = quality_close,
};
