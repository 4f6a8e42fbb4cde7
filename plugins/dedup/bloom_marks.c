/* bloom_marks: sees the hashes of all documents' paragraphs in order, and marks the paragraphs most
 * of whose n-grams it saw before. */
#include <stdio.h>

#include "bloom.h"
#include "dedup.h"
#include "paragraphs.h"

struct config {
    int64_t expected;
    double rate, threshold;
    int32_t mode;
    const char *rule, *use;
    uint8_t read_only;
};

static const struct sluice_option options[] = {
    BLOOM_OPTIONS(config),
    { .name = "threshold",
      .doc = "Share of a paragraph's n-grams that were seen before, above which it is a duplicate.",
      .def = "0.8",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, threshold) },
    { .name = "mode",
      .doc = "bff: n-grams of paragraphs that stay are remembered; dolma: all are.",
      .def = "bff",
      .choices = PARAGRAPH_MODES,
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, mode) },
    { .name = "use",
      .doc = "A filter to begin with, made by `write_bloom`.",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, use) },
    { .name = "read_only",
      .doc = "Remember nothing: judge by the filter of `use` alone.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, read_only) },
};

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct config *config;
    struct bloom loaded; /* of use; its words are the host's */
};

static sluice_status marks_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **out, struct sluice_error *err)
{
    struct shared *shared = calloc(1, sizeof *shared);
    const void *data;
    uint64_t size;
    sluice_status status = SLUICE_OK;

    if (shared == NULL) {
        return sluice_nomem(err);
    }
    shared->api = api;
    shared->host = host;
    shared->config = given;
    if (shared->config->use != NULL) {
        status = api->read_file(host, shared->config->use, &data, &size, err);
        if (status == SLUICE_OK) {
            status = bloom_read(data, size, shared->config->rule, &shared->loaded, err);
        }
    } else if (shared->config->read_only) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "read_only",
                             "read_only needs a filter to read: give `use` a file of write_bloom");
    }
    if (status != SLUICE_OK) {
        free(shared);
        return status;
    }
    *out = shared;
    return SLUICE_OK;
}

static struct bloom_size size_of(const struct shared *shared)
{
    return shared->config->use != NULL
               ? shared->loaded.size
               : bloom_size_for((uint64_t)shared->config->expected, shared->config->rate);
}

static sluice_status marks_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = { { SLUICE_POS, "uint64" },
                                              { "at", "uint32" },
                                              { "similarity", "float64" } };
    const struct shared *shared = state;
    struct bloom_size size = size_of(shared);
    sluice_status status = plan->need(plan, 0, "grams", "binary", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_POS, "uint64", 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->add(plan, columns[i][0], columns[i][1], NULL, err);
    }
    return status == SLUICE_OK ? bloom_note(&size, plan, err) : status;
}

struct worker {
    const struct shared *shared;
    struct bloom bloom;
    int own; /* the words are from the host's alloc */
};

static sluice_status marks_worker_open(void *state, void **out, struct sluice_error *err)
{
    const struct shared *shared = state;
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status = SLUICE_OK;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->shared = shared;
    if (shared->config->read_only) {
        worker->bloom = shared->loaded;
    } else {
        worker->own = 1;
        status = bloom_alloc(shared->api, shared->host, size_of(shared), &worker->bloom, err);
    }
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    if (worker->own && shared->config->use != NULL) {
        memcpy(worker->bloom.words, shared->loaded.words, shared->loaded.size.bits / 8);
        worker->bloom.inserted = shared->loaded.inserted;
    }
    *out = worker;
    return SLUICE_OK;
}

static void marks_worker_close(void *state)
{
    struct worker *worker = state;

    if (worker->own) {
        worker->shared->api->free(worker->shared->host, worker->bloom.words);
    }
    free(worker);
}

static void add_mark(struct sluice_rows *rows, uint64_t position, uint32_t at, double share)
{
    sluice_rows_add(rows, 0, &position, 8);
    sluice_rows_add(rows, 1, &at, 4);
    sluice_rows_add(rows, 2, &share, 8);
    sluice_rows_next(rows);
}

/* One document: its paragraphs' hashes. */
static void mark_document(struct worker *worker, const char *bytes, size_t n, uint64_t position,
                          struct sluice_rows *rows)
{
    const struct config *config = worker->shared->config;
    struct bloom *bloom = &worker->bloom;
    uint64_t all = 0;
    uint64_t seen = 0;
    uint32_t marked = 0;
    uint32_t at = 0;

    for (size_t place = 0; place + 8 <= n; at++) {
        uint32_t count[2];
        uint64_t before = 0; /* of the paragraph's hashes that decide */
        uint64_t decide;
        double share;
        int duplicate;
        const char *hashes = bytes + place + 8;
        memcpy(count, bytes + place, sizeof count);
        count[0] = count[0] < (n - place - 8) / 8 ? count[0] : (uint32_t)((n - place - 8) / 8);
        decide = count[1] ? 1 : count[0];
        for (uint32_t i = 0; i < count[0]; i++) {
            uint64_t hash;
            int has;
            memcpy(&hash, hashes + 8 * (size_t)i, 8);
            has = bloom_has(bloom, hash);
            before += has && (!count[1] || i + 1 == count[0]);
            if (!has && config->mode == MODE_DOLMA && !config->read_only) {
                bloom_add(bloom, hash);
            }
        }
        share = decide == 0                  ? 0
                : config->mode == MODE_DOLMA ? (double)((float)before / (float)decide)
                                             : (double)before / (double)decide;
        duplicate = decide > 0 && share > config->threshold;
        for (uint32_t i = 0;
             config->mode == MODE_BFF && !config->read_only && !duplicate && i < count[0]; i++) {
            uint64_t hash;
            memcpy(&hash, hashes + 8 * (size_t)i, 8);
            if (!bloom_has(bloom, hash)) {
                bloom_add(bloom, hash);
            }
        }
        all += decide;
        seen += before;
        place += 8 + 8 * (size_t)count[0];
        if (duplicate) {
            marked++;
            add_mark(rows, position, at, share);
        }
    }
    if (seen > 0 || marked > 0) { /* of the document as a whole */
        add_mark(rows, position, UINT32_MAX, all == 0 ? 0 : (double)seen / (double)all);
    }
}

static sluice_status marks_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const uint64_t *positions = batch->array->children[1]->buffers[1];
    struct sluice_rows rows = sluice_rows_begin("fff");
    uint64_t inserted = worker->bloom.inserted;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *bytes = sluice_text(batch->array->children[0], row, &n);
        mark_document(worker, bytes, n, positions[row], &rows);
    }
    if (worker->bloom.inserted > inserted) {
        status = emit->measure(emit, "inserted", (int64_t)(worker->bloom.inserted - inserted));
    }
    return sluice_rows_emit(&rows, status, emit, err);
}

static sluice_status marks_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct bloom *bloom = &worker->bloom;
    char message[400];

    (void)emit;
    (void)err;
    if (bloom->inserted > bloom->size.expected) {
        (void)snprintf(message, sizeof message,
                       "the filter was made for %llu n-grams and holds %llu: its false-positive "
                       "rate is now %.3g instead of %.3g; give a larger `expected`",
                       (unsigned long long)bloom->size.expected,
                       (unsigned long long)bloom->inserted, bloom_rate_now(bloom),
                       bloom->size.rate);
        worker->shared->api->log(worker->shared->host, SLUICE_LOG_WARN, message);
    }
    return SLUICE_OK;
}

/* A filter that is only read is that of the file. */
static sluice_status marks_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;

    (void)err;
    return worker->own ? bloom_save(&worker->bloom, io) : SLUICE_OK;
}

static sluice_status marks_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;

    (void)version;
    (void)err;
    return worker->own ? bloom_load(&worker->bloom, io) : SLUICE_OK;
}

const struct sluice_stage bloom_marks_stage = {
    .size = sizeof bloom_marks_stage,
    .name = "bloom_marks",
    .version = "1.0",
    .bytes_per_batch = 4,
    .summary = "Paragraphs whose n-grams were seen before (part of `bloom_paragraphs`)",
    .doc = "A Bloom filter (BFF of DCLM, Dolma's deduper), filled in order of position with fixed "
           "constants, so that every run decides alike. Marks carry the share of n-grams seen "
           "before; `at` 4294967295 is the document as a whole.",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 2 << 20,
    .open = marks_open,
    .prepare = marks_prepare,
    .worker_open = marks_worker_open,
    .process = marks_process,
    .save = marks_save,
    .load = marks_load,
    .state_version = 1,
    .flush = marks_flush,
    .worker_close = marks_worker_close,
    .close = free,
};
