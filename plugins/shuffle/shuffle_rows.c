/* shuffle_rows: hands on the rows of a partition, which the exchange delivers in the order of their
 * keys, without the key. */
#include <stdio.h>

#include "shuffle.h"
#include "shuffle_columns.h"

struct config {
    struct sluice_list by;
    int64_t seed;
};

struct stage {
    const struct config *config;
    struct whole_rows rows;
};

static const struct sluice_option options[] = {
    { .name = "by",
      .doc = "What shuffle_keys was given, for the manifest.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, by) },
    { .name = "seed",
      .doc = "What shuffle_keys was given, for the manifest.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, seed) },
};

static sluice_status rows_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void rows_close(void *shared)
{
    struct stage *stage = shared;

    whole_rows_deinit(&stage->rows);
    free(stage);
}

static const char *without_key(const void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, SLUICE_KEY) == 0 ? NULL : name;
}

static sluice_status rows_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const struct whole_choice choice = { without_key, NULL };
    struct stage *stage = shared;
    char seed[24];
    sluice_status status = plan->need(plan, 0, SLUICE_KEY, "fixed[16]", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = whole_rows_prepare(&stage->rows, plan, &choice, true, err);
    }
    (void)snprintf(seed, sizeof seed, "%lld", (long long)stage->config->seed);
    return status == SLUICE_OK ? plan->note(plan, "seed", seed, err) : status;
}

static sluice_status rows_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct stage *stage = worker;

    return whole_rows_give_all(&stage->rows, batch, emit, err);
}

const struct sluice_stage shuffle_rows_stage = {
    .size = sizeof shuffle_rows_stage,
    .name = "shuffle_rows",
    .version = "1.0",
    .summary = "The rows of a shuffled order (part of `shuffle`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 4 << 20,
    .open = rows_open,
    .prepare = rows_prepare,
    .process = rows_process,
    .close = rows_close,
};
