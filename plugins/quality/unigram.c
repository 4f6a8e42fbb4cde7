/* unigram_log_prob - drops documents whose words are rare on average; datatrove's
 * UnigramLogProbFilter. */
#include "quality.h"

#include <sluice_stage.h>
#include "unigram_table.h"

struct config {
    struct quality_common common;
    const char *frequencies;
    double threshold;
};

static const struct sluice_option options[] = {
    QUALITY_OPTIONS(config),
    { .name = "frequencies",
      .doc = "CSV file with the columns word and count.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, frequencies) },
    { .name = "threshold",
      .doc = "The mean log-probability that must be above this.",
      .def = "-10",
      .type = SLUICE_OPT_FLOAT,
      .min = -1e9,
      .max = 1e9,
      .offset = offsetof(struct config, threshold) },
};

struct unigram {
    const struct config *config;
    struct unigram_table *table;
};

struct worker {
    const struct unigram *unigram;
    struct text_buffer lower;
};

static void unigram_close(void *shared)
{
    struct unigram *unigram = shared;

    unigram_table_destroy(unigram->table);
    free(unigram);
}

static sluice_status unigram_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    struct unigram *unigram = calloc(1, sizeof *unigram);
    const void *data;
    uint64_t n;
    sluice_status status;

    if (unigram == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    unigram->config = config;
    status = api->read_file(host, unigram->config->frequencies, &data, &n, err);
    if (status == SLUICE_OK) {
        status = unigram_table_build(data, (size_t)n, &unigram->table, err);
    }
    if (status != SLUICE_OK) {
        unigram_close(unigram);
        return status;
    }
    *shared = unigram;
    return SLUICE_OK;
}

static sluice_status unigram_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    const struct quality quality = { .common = &((const struct unigram *)shared)->config->common };

    return quality_prepare((void *)(uintptr_t)&quality, plan, err);
}

static sluice_status unigram_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void unigram_worker_close(void *state)
{
    struct worker *worker = state;

    text_buffer_deinit(&worker->lower);
    free(worker);
}

/* The logarithm of one word in lower case. */
static sluice_status word_log(struct worker *worker, const char *word, size_t n, double *log,
                              struct sluice_error *err)
{
    char ascii[64];
    sluice_status status = SLUICE_OK;

    if (n <= sizeof ascii && text_utf8_is_ascii(word, n)) {
        for (size_t i = 0; i < n; i++) {
            ascii[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
        }
        *log = unigram_table_log(worker->unigram->table, ascii, n);
    } else {
        status = text_lower(word, n, &worker->lower, err);
        if (status == SLUICE_OK) {
            *log = unigram_table_log(worker->unigram->table, worker->lower.data, worker->lower.len);
        }
    }
    return status;
}

static sluice_status judge(void *state, const struct sluice_batch *batch, int64_t row,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    size_t length;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &length);
    const struct text_span *words =
        (const struct text_span *)(const void *)sluice_list_u64(batch->array->children[1], row, &n);
    struct text_doc doc;
    double sum = 0;
    double log = 0;
    sluice_status status = text_doc_init(&doc, text, length, words, n, err); /* checks the words */

    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = word_log(worker, text + words[i].begin, words[i].end - words[i].begin, &log, err);
        sum += log;
    }
    verdict->value = n == 0 ? 0 : sum / (double)n;
    verdict->value = verdict->value < -1e300 ? -1e300 : verdict->value;
    verdict->limit = worker->unigram->config->threshold;
    verdict->reason = !(verdict->value > verdict->limit);
    return status;
}

static sluice_status unigram_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, judge, state, err);
}

const struct sluice_stage unigram_log_prob_stage = {
    .size = sizeof unigram_log_prob_stage,
    .name = "unigram_log_prob",
    .version = "1.0",
    .summary = "Drops documents whose words are rare on average",
    .doc = "datatrove 0.10's UnigramLogProbFilter (filters/unigram_log_probs.py), an idea of "
           "peS2o: the "
           "mean over all words of the logarithm of their share of a large corpus, 1e-9 for words "
           "that are not in it. A document without words has 0. datatrove drops without a reason; "
           "here it is `unigram_log_prob`.\n\n"
           "The table is an asset of the user's; datatrove fetches unigram_freq.csv (Google Web "
           "Trillion Word Corpus by Norvig, as on "
           "kaggle.com/datasets/rtatman/english-word-frequency), "
           "nothing is fetched here.",
    .example = "docs | s.unigram_log_prob { \"unigram_freq.csv\", threshold = -10 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "unigram_log_prob",
    .bytes_worker = 1 << 20,
    .open = unigram_open,
    .prepare = unigram_prepare,
    .worker_open = unigram_worker_open,
    .process = unigram_process,
    .worker_close = unigram_worker_close,
    .close = unigram_close,
};
