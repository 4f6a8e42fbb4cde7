/* What the bad plugins of this folder share: a filter over `text` that drops rows of under 20
 * bytes, around which each stage misbehaves in one way of its own.
 *
 * Without options a stage misbehaves always, which the conformance kit must name. With on =
 * "CRASH-ME" it misbehaves only on rows whose text holds that, so that a pipeline can tell what
 * happens to such a row from what happens to all others. Calls that see no rows (open, close ...)
 * misbehave in either case. */
#ifndef TESTS_CONFORM_BAD_H
#define TESTS_CONFORM_BAD_H

#include <stdlib.h>
#include <string.h>

#include "sluice.h"

#define UNUSED __attribute__((unused))

struct bad_config {
    const char *on;
};

struct bad_shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct bad_config config;
    int32_t text;
};

struct bad_worker {
    struct bad_shared *shared;
    int64_t rows, bytes, batches;
};

static const struct sluice_option bad_options[] = {
    { .name = "on",
      .doc = "Misbehave only on rows whose text holds this.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct bad_config, on) },
};

UNUSED static sluice_status bad_open(const struct sluice_host_api *api, struct sluice_host *host,
                                     const void *config, void **out, struct sluice_error *err)
{
    struct bad_shared *shared = calloc(1, sizeof *shared);

    (void)err;
    if (shared == NULL) {
        return SLUICE_E_NOMEM;
    }
    shared->api = api;
    shared->host = host;
    shared->config = *(const struct bad_config *)config;
    *out = shared;
    return SLUICE_OK;
}

UNUSED static sluice_status bad_prepare(void *state, struct sluice_plan *plan,
                                        struct sluice_error *err)
{
    struct bad_shared *shared = state;

    return plan->need(plan, 0, "text", "utf8?", 0, &shared->text, err);
}

UNUSED static sluice_status bad_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct bad_worker *worker = calloc(1, sizeof *worker);

    (void)err;
    if (worker == NULL) {
        return SLUICE_E_NOMEM;
    }
    worker->shared = shared;
    *out = worker;
    return SLUICE_OK;
}

UNUSED static int64_t bad_row_of(const struct sluice_batch *batch, int64_t k)
{
    return batch->rows != NULL ? (int64_t)batch->rows[k] : k;
}

/* Text of the k-th selected row; a null is empty. */
UNUSED static const char *bad_text(const struct bad_worker *worker,
                                   const struct sluice_batch *batch, int64_t k, size_t *n)
{
    const struct ArrowArray *column = batch->array->children[worker->shared->text];
    const int32_t *offsets = column->buffers[1];
    const uint8_t *validity = column->null_count != 0 ? column->buffers[0] : NULL;
    int64_t row = bad_row_of(batch, k);

    *n = validity != NULL && (validity[row >> 3] >> (row & 7) & 1) == 0
             ? 0
             : (size_t)(offsets[row + 1] - offsets[row]);
    return *n > 0 ? (const char *)column->buffers[2] + offsets[row] : "";
}

/* The first selected row on which to misbehave, or -1. */
UNUSED static int64_t bad_row(const struct bad_worker *worker, const struct sluice_batch *batch)
{
    const char *on = worker->shared->config.on;

    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *text = bad_text(worker, batch, k, &n);
        if (on == NULL || (n > 0 && memmem(text, n, on, strlen(on)) != NULL)) {
            return k;
        }
    }
    return -1;
}

/* The honest verdicts, with add more than there are rows. */
UNUSED static sluice_status bad_verdicts(struct bad_worker *worker,
                                         const struct sluice_batch *batch, struct sluice_emit *emit,
                                         int64_t add)
{
    struct sluice_verdict *verdicts = calloc((size_t)(batch->n + 2), sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(worker, batch, k, &n);
        verdicts[k].reason = n < 20 ? 1 : 0;
        verdicts[k].value = (double)n;
        verdicts[k].limit = 20;
        worker->bytes += (int64_t)n;
    }
    worker->rows += batch->n;
    worker->batches++;
    status = emit->verdicts(emit, verdicts, batch->n + add);
    free(verdicts);
    return status;
}

UNUSED static sluice_status bad_process(void *state, const struct sluice_batch *batch,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    (void)err;
    return bad_verdicts(state, batch, emit, 0);
}

/* A stage of this folder: everything that is not named is honest. */
#define BAD_STAGE(NAME, SUMMARY, ROLE, MODE, REASONS, OPEN, PREPARE, WORKER_OPEN, PROCESS, FLUSH,  \
                  WORKER_CLOSE, CLOSE)                                                             \
    BAD_STAGE_WITH(NAME, SUMMARY, ROLE, MODE, REASONS, OPEN, PREPARE, WORKER_OPEN, PROCESS, FLUSH, \
                   WORKER_CLOSE, CLOSE, .flags = 0)

#define BAD_STAGE_WITH(NAME, SUMMARY, ROLE, MODE, REASONS, OPEN, PREPARE, WORKER_OPEN, PROCESS, \
                       FLUSH, WORKER_CLOSE, CLOSE, ...)                                         \
    static const struct sluice_stage NAME##_stage = { .size = sizeof(struct sluice_stage),      \
                                                      .name = #NAME,                            \
                                                      .version = "1.0",                         \
                                                      .summary = SUMMARY,                       \
                                                      .example = "docs | bad." #NAME            \
                                                                 " { on = \"CRASH-ME\" }",      \
                                                      .role = ROLE,                             \
                                                      .mode = MODE,                             \
                                                      .options = bad_options,                   \
                                                      .n_options = 1,                           \
                                                      .option_stride = sizeof bad_options[0],   \
                                                      .config_size = sizeof(struct bad_config), \
                                                      .reasons = REASONS,                       \
                                                      .bytes_worker = 1 << 20,                  \
                                                      .open = OPEN,                             \
                                                      .prepare = PREPARE,                       \
                                                      .worker_open = WORKER_OPEN,               \
                                                      .process = PROCESS,                       \
                                                      .flush = FLUSH,                           \
                                                      .worker_close = WORKER_CLOSE,             \
                                                      .close = CLOSE,                           \
                                                      __VA_ARGS__ }

/* A stateless filter that misbehaves in process alone. */
#define BAD_FILTER(NAME, SUMMARY, PROCESS)                                                 \
    BAD_STAGE(NAME, SUMMARY, SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS, "short", bad_open, \
              bad_prepare, bad_worker_open, PROCESS, NULL, free, free)

#define BAD_PLUGIN(NAME, ...)                                                     \
    static const struct sluice_stage *const bad_stages[] = { __VA_ARGS__, NULL }; \
    static const struct sluice_plugin bad_plugin = {                              \
        .size = sizeof bad_plugin,                                                \
        .abi_major = SLUICE_ABI_MAJOR,                                            \
        .abi_minor_built = SLUICE_ABI_MINOR,                                      \
        .name = NAME,                                                             \
        .version = "1.0",                                                         \
        .license = "MIT",                                                         \
        .stages = bad_stages,                                                     \
    };                                                                            \
    const struct sluice_plugin *sluice_plugin_v1(void)                            \
    {                                                                             \
        return &bad_plugin;                                                       \
    }

#endif
