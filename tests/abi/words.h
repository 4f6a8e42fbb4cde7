/* A small real plugin: drops documents with too few words. Compiled twice: by good.c against today's header and by old.c against the frozen
 * header of ABI 1.0. The including file defines PLUGIN_NAME and STAGE_NAME and includes a sluice.h first. */
#include <stdlib.h>
#include <string.h>

#include "tests/abi/layout.h"

struct words_config {
    int64_t min_words;
    const char *over;
    uint8_t strict;
};

struct words_shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct words_config config;
    int32_t text;
};

struct words_worker {
    const struct words_shared *shared;
    struct sluice_verdict *verdicts;
    int64_t capacity, rows;
};

static sluice_status words_open(const struct sluice_host_api *api, struct sluice_host *host, const void *config, void **shared,
                                struct sluice_error *err)
{
    struct words_shared *words;

    (void)err;
    if (!SLUICE_HAS(api, alloc) || !SLUICE_HAS(api, free)) {
        return SLUICE_E_INTERNAL;
    }
    words = api->alloc(host, sizeof *words);
    if (words == NULL) {
        return SLUICE_E_NOMEM;
    }
    words->api = api;
    words->host = host;
    memcpy(&words->config, config, sizeof words->config);
    *shared = words;
    return SLUICE_OK;
}

static sluice_status words_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct words_shared *words = shared;

    return plan->need(plan, 0, words->config.over, "utf8", 0, &words->text, err);
}

static sluice_status words_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct words_worker *own = calloc(1, sizeof *own);

    (void)err;
    if (own == NULL) {
        return SLUICE_E_NOMEM;
    }
    own->shared = shared;
    *worker = own;
    return SLUICE_OK;
}

static sluice_status words_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    struct words_worker *own = worker;
    const struct ArrowArray *text = batch->array->children[own->shared->text];
    const int32_t *offsets = text->buffers[1];
    const char *bytes = text->buffers[2];

    (void)err;
    if (batch->n > own->capacity) {
        void *more = realloc(own->verdicts, (size_t)batch->n * sizeof *own->verdicts);
        if (more == NULL) {
            return SLUICE_E_NOMEM;
        }
        own->verdicts = more;
        own->capacity = batch->n;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = batch->rows != NULL ? batch->rows[k] : k;
        int64_t words = 0;
        for (int32_t i = offsets[row]; i < offsets[row + 1]; i++) {
            words += bytes[i] != ' ' && (i == offsets[row] || bytes[i - 1] == ' ') ? 1 : 0;
        }
        memset(&own->verdicts[k], 0, sizeof own->verdicts[k]);
        own->verdicts[k].reason = words < own->shared->config.min_words ? 1 : 0;
        own->verdicts[k].value = (double)words;
        own->verdicts[k].limit = (double)own->shared->config.min_words;
    }
    own->rows += batch->n;
    return emit->verdicts(emit, own->verdicts, batch->n);
}

static void words_worker_close(void *worker)
{
    struct words_worker *own = worker;

    free(own->verdicts);
    free(own);
}

static void words_close(void *shared)
{
    struct words_shared *words = shared;

    words->api->free(words->host, words);
}

static const struct sluice_option words_options[] = {
    { .name = "min_words", .doc = "Drop documents with fewer words.", .def = "50", .min = 0, .max = 1000000,
      .type = SLUICE_OPT_INT, .offset = offsetof(struct words_config, min_words) },
    { .name = "over", .doc = "Column of text.", .def = "text", .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct words_config, over) },
    { .name = "strict", .doc = "Count words without letters as well.", .def = "false", .type = SLUICE_OPT_BOOL,
      .flags = SLUICE_OPTF_NO_OUTPUT, .offset = offsetof(struct words_config, strict) },
};

static const struct sluice_stage words_stage = {
    .size = sizeof words_stage,
    .name = STAGE_NAME,
    .version = "1.0.0",
    .summary = "Drops documents with too few words.",
    .example = STAGE_NAME "{ min_words = 80 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = words_options,
    .n_options = sizeof words_options / sizeof words_options[0],
    .option_stride = sizeof words_options[0],
    .config_size = sizeof(struct words_config),
    .reasons = "too_few_words",
    .open = words_open,
    .prepare = words_prepare,
    .worker_open = words_worker_open,
    .process = words_process,
    .worker_close = words_worker_close,
    .close = words_close,
};

static const struct sluice_stage *const words_stages[] = { &words_stage, NULL };

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = 1,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .abi_minor_needed = 0,
        .name = PLUGIN_NAME,
        .version = "1.2.3",
        .license = "MIT",
        .stages = words_stages,
    };

    return &plugin;
}
