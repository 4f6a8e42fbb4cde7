/* A filter that asks a server about each text, where the host can: else it judges by the text itself. The including file defines PLUGIN_NAME,
 * STAGE_NAME and NEEDED, the minor that it says it needs, and includes a sluice.h first. */
#include <stdlib.h>
#include <string.h>

#include "tests/abi/layout_1_1.h"

struct asks_config {
    const char *url;
};

struct asks_shared {
    struct asks_config config;
    int32_t text;
};

static const struct sluice_option asks_options[] = {
    { .name = "url",
      .doc = "Where to ask.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct asks_config, url) },
};

static sluice_status asks_open(const struct sluice_host_api *api, struct sluice_host *host, const void *config, void **shared,
                               struct sluice_error *err)
{
    struct asks_shared *asks = calloc(1, sizeof *asks);

    (void)api;
    (void)host;
    (void)err;
    if (asks == NULL) {
        return SLUICE_E_NOMEM;
    }
    memcpy(&asks->config, config, sizeof asks->config);
    *shared = asks;
    return SLUICE_OK;
}

static sluice_status asks_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 0, "text", "utf8", 0, &((struct asks_shared *)shared)->text, err);
}

static const char *asks_text(const struct asks_shared *asks, const struct sluice_batch *batch, int64_t k, size_t *n)
{
    const struct ArrowArray *text = batch->array->children[asks->text];
    const int32_t *offsets = text->buffers[1];
    int64_t row = batch->rows != NULL ? (int64_t)batch->rows[k] : k;

    *n = (size_t)(offsets[row + 1] - offsets[row]);
    return *n > 0 ? (const char *)text->buffers[2] + offsets[row] : "";
}

static sluice_status asks_ask(const struct asks_shared *asks, struct sluice_emit *emit, uint64_t tag, const char *text, size_t n)
{
    size_t head = strlen(asks->config.url) + 7;
    char *payload = malloc(head + n);
    struct sluice_ask ask = { .size = sizeof ask, .kind = SLUICE_ASK_HTTP, .tag = tag, .payload = payload, .n = head + n };
    sluice_status status;

    if (payload == NULL) {
        return SLUICE_E_NOMEM;
    }
    memcpy(payload, "POST ", 5);
    memcpy(payload + 5, asks->config.url, head - 7);
    memcpy(payload + head - 2, "\n\n", 2);
    memcpy(payload + head, text, n);
    status = emit->ask(emit, &ask);
    free(payload);
    return status;
}

/* By the answers, or without them by the texts alone: both are as long as the answers of tests/http.pl say. */
static sluice_status asks_judge(const struct asks_shared *asks, const struct sluice_batch *batch, const struct sluice_answers *answers,
                                struct sluice_emit *emit)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        asks_text(asks, batch, k, &n);
        if (answers != NULL) {
            const struct sluice_answer *answer =
                (const struct sluice_answer *)((const char *)answers->items + (uint64_t)k * answers->stride);
            n = answer->status == SLUICE_OK && answer->n > 5 ? (size_t)strtol(answer->data + 5, NULL, 10) : 0;
        }
        verdicts[k].value = (double)n;
        verdicts[k].limit = 5;
        verdicts[k].reason = n < 5 ? 1 : 0;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static sluice_status asks_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    (void)err;
    if (!SLUICE_HAS_EMIT(emit, ask) || batch->n == 0) {
        return asks_judge(worker, batch, NULL, emit);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = asks_text(worker, batch, k, &n);
        status = asks_ask(worker, emit, (uint64_t)k, text, n);
    }
    return status;
}

static sluice_status asks_resume(void *worker, const struct sluice_answers *answers, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)err;
    return asks_judge(worker, answers->batch, answers, emit);
}

static const struct sluice_stage asks_stage = {
    .size = sizeof asks_stage,
    .name = STAGE_NAME,
    .version = "1",
    .summary = "Drops texts that a server calls short",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_RECORDED,
    .options = asks_options,
    .n_options = 1,
    .option_stride = sizeof asks_options[0],
    .config_size = sizeof(struct asks_config),
    .reasons = "short",
    .open = asks_open,
    .prepare = asks_prepare,
    .process = asks_process,
    .resume = asks_resume,
    .close = free,
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_stage *const stages[] = { &asks_stage, NULL };
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = SLUICE_ABI_MAJOR,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .abi_minor_needed = NEEDED,
        .verdict_stride = sizeof(struct sluice_verdict),
        .name = PLUGIN_NAME,
        .version = "1",
        .license = "MIT",
        .stages = stages,
    };

    return &plugin;
}
