/* bloom_grams: the hashes of the n-grams of a text's paragraphs, a row a document, for the filter
 * that sees all documents in order. */
#include "dedup.h"
#include "paragraphs.h"

struct config {
    const char *over;
    int64_t ngram, stride;
    int32_t mode;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "ngram",
      .doc = "Words of an n-gram.",
      .def = "13",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 10000,
      .offset = offsetof(struct config, ngram) },
    { .name = "stride",
      .doc = "Words from one n-gram to the next.",
      .def = "1",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 10000,
      .offset = offsetof(struct config, stride) },
    { .name = "mode",
      .doc = "Whose short paragraphs and strides.",
      .def = "bff",
      .choices = PARAGRAPH_MODES,
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, mode) },
};

static sluice_status grams_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "grams", "binary", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, SLUICE_ROW, "uint64", NULL, err) : status;
}

struct worker {
    const struct config *config;
    struct paragraphs paragraphs;
    struct sluice_bytes hashes;
};

static sluice_status grams_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void grams_worker_close(void *state)
{
    struct worker *worker = state;

    paragraphs_deinit(&worker->paragraphs);
    sluice_bytes_free(&worker->hashes);
    free(worker);
}

static sluice_status grams_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->config;
    const uint64_t *numbers = batch->array->children[1]->buffers[1];
    struct sluice_rows rows = sluice_rows_begin("tf");
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *text = sluice_text(batch->array->children[0], row, &n);
        worker->hashes.size = 0;
        status = paragraphs_hash(&worker->paragraphs, text, n, (size_t)config->ngram,
                                 (size_t)config->stride, (enum paragraph_mode)config->mode,
                                 &worker->hashes, err);
        if (status != SLUICE_OK || worker->hashes.size == 0) {
            continue;
        }
        if (rows.n > 0 && rows.data[0].size + worker->hashes.size > 64 << 20) {
            status = sluice_rows_emit(&rows, status, emit, err);
        }
        sluice_rows_add(&rows, 0, worker->hashes.data, worker->hashes.size);
        sluice_rows_add(&rows, 1, &numbers[row], 8);
        sluice_rows_next(&rows);
    }
    return sluice_rows_emit(&rows, status, emit, err);
}

const struct sluice_stage bloom_grams_stage = {
    .size = sizeof bloom_grams_stage,
    .name = "bloom_grams",
    .version = "1.0",
    .bytes_per_batch = 25,
    .summary = "Hashes of the n-grams of paragraphs (part of `bloom_paragraphs`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 4 << 20,
    .open = sluice_open_config,
    .prepare = grams_prepare,
    .worker_open = grams_worker_open,
    .process = grams_process,
    .worker_close = grams_worker_close,
};
