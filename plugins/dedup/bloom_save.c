/* bloom_collect: the filter of all hashes, as the bytes of its file. write_bloom: that file, in a
 * dataset. */
#include <stdio.h>

#include "bloom.h"
#include "dedup.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CHUNK ((uint64_t)1 << 20)

struct config {
    int64_t expected;
    double rate;
    const char *rule;
};

static const struct sluice_option options[] = {
    BLOOM_OPTIONS(config),
};

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct config *config;
};

static sluice_status collect_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *given, void **out, struct sluice_error *err)
{
    struct shared *shared = malloc(sizeof *shared);

    if (shared == NULL) {
        return sluice_nomem(err);
    }
    *shared = (struct shared){ api, host, given };
    *out = shared;
    return SLUICE_OK;
}

static sluice_status collect_prepare(void *state, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    const struct shared *shared = state;
    struct bloom_size size =
        bloom_size_for((uint64_t)shared->config->expected, shared->config->rate);
    sluice_status status = plan->need(plan, 0, "grams", "binary", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, "chunk", "binary", NULL, err);
    }
    return status == SLUICE_OK ? bloom_note(&size, plan, err) : status;
}

struct worker {
    const struct shared *shared;
    struct bloom bloom;
};

static sluice_status collect_worker_open(void *state, void **out, struct sluice_error *err)
{
    const struct shared *shared = state;
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->shared = shared;
    status = bloom_alloc(shared->api, shared->host,
                         bloom_size_for((uint64_t)shared->config->expected, shared->config->rate),
                         &worker->bloom, err);
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static void collect_worker_close(void *state)
{
    struct worker *worker = state;

    worker->shared->api->free(worker->shared->host, worker->bloom.words);
    free(worker);
}

static sluice_status collect_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    (void)emit;
    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *bytes = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        for (size_t at = 0; at + 8 <= n;) {
            uint32_t count;
            memcpy(&count, bytes + at, 4);
            at += 8;
            for (uint32_t i = 0; i < count && at + 8 <= n; i++, at += 8) {
                uint64_t hash;
                memcpy(&hash, bytes + at, 8);
                if (!bloom_has(&worker->bloom, hash)) {
                    bloom_add(&worker->bloom, hash);
                }
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status emit_chunk(const void *bytes, uint64_t n, XXH3_state_t *hash,
                                struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_rows rows = sluice_rows_begin("t");

    sluice_rows_add(&rows, 0, bytes, n);
    sluice_rows_next(&rows);
    XXH3_128bits_update(hash, bytes, n);
    return sluice_rows_emit(&rows, SLUICE_OK, emit, err);
}

static sluice_status collect_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_bytes head = { 0 };
    XXH3_state_t *hash = XXH3_createState();
    uint64_t size = worker->bloom.size.bits / 8;
    const char *words = (const char *)worker->bloom.words;
    XXH128_canonical_t sum;
    sluice_status status =
        hash != NULL && bloom_write_head(&worker->bloom, worker->shared->config->rule, &head)
            ? SLUICE_OK
            : sluice_nomem(err);

    if (status == SLUICE_OK) {
        XXH3_128bits_reset(hash);
        status = emit_chunk(head.data, head.size, hash, emit, err);
    }
    for (uint64_t at = 0; status == SLUICE_OK && at < size; at += CHUNK) {
        status = emit_chunk(words + at, size - at < CHUNK ? size - at : CHUNK, hash, emit, err);
    }
    if (status == SLUICE_OK) {
        XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(hash));
        status = emit_chunk(sum.digest, sizeof sum.digest, hash, emit, err);
    }
    XXH3_freeState(hash);
    sluice_bytes_free(&head);
    return status;
}

static sluice_status collect_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return bloom_save(&((const struct worker *)state)->bloom, io);
}

static sluice_status collect_load(void *state, struct sluice_io *io, uint64_t version,
                                  struct sluice_error *err)
{
    (void)version;
    (void)err;
    return bloom_load(&((struct worker *)state)->bloom, io);
}

const struct sluice_stage bloom_collect_stage = {
    .size = sizeof bloom_collect_stage,
    .name = "bloom_collect",
    .version = "1.0",
    .summary = "The Bloom filter of all paragraphs' n-grams (part of `bloom_index`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 2 << 20,
    .open = collect_open,
    .prepare = collect_prepare,
    .worker_open = collect_worker_open,
    .process = collect_process,
    .save = collect_save,
    .load = collect_load,
    .state_version = 1,
    .flush = collect_flush,
    .worker_close = collect_worker_close,
    .close = free,
};

/* ---- write_bloom ---- */

struct write_config {
    const char *path;
};

static const struct sluice_option write_options[] = {
    { .name = "path",
      .doc = "Dataset folder; the filter is the one file of a snapshot.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct write_config, path) },
};

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, "chunk", "binary", 0, NULL, err);

    (void)shared;
    return status == SLUICE_OK ? plan->output(plan, ".bloom", "none", 0, err) : status;
}

static sluice_status write_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    (void)worker;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *bytes = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        status = n == 0 ? SLUICE_OK : emit->write(emit, 0, bytes, n);
    }
    return status == SLUICE_OK ? status
                               : sluice_fail(err, status, "", "the host refused to write a chunk");
}

const struct sluice_stage write_bloom_stage = {
    .size = sizeof write_bloom_stage,
    .name = "write_bloom",
    .version = "1.0",
    .summary = "Writes the filter of `bloom_index`, for `bloom_paragraphs { use = ... }`",
    .doc =
        "The file: \"SLBLOOM1\"; u64 bits, expected n-grams, n-grams in it; u32 probes, u32 length "
        "of the rule, f64 false-positive rate; the rule, padded to 8 bytes; the bits; XXH3-128 of "
        "all before. Little-endian.",
    .example = "docs | s.bloom_index { expected = 1e9 } | s.write_bloom { \"seen\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    .options = write_options,
    .n_options = 1,
    .option_stride = sizeof write_options[0],
    .config_size = sizeof(struct write_config),
    .bytes_worker = 1 << 20,
    .prepare = write_prepare,
    .process = write_process,
};
