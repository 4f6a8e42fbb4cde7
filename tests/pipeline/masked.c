/* masked - an annotator for token_files.sh: a loss mask of 0 for every third token and 1 for the
 * others. With id >= 0 every token becomes that id. */
#include "sluice_arrays.h"

struct config {
    int64_t id;
};

static const struct sluice_option options[] = {
    { .name = "id",
      .doc = "What every token becomes; -1 leaves them.",
      .def = "-1",
      .type = SLUICE_OPT_INT,
      .min = -1,
      .max = UINT32_MAX,
      .offset = offsetof(struct config, id) },
};

static sluice_status masked_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    struct config *own = malloc(sizeof *own);

    (void)api;
    (void)host;
    if (own == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    *own = *(const struct config *)config;
    *shared = own;
    return SLUICE_OK;
}

static void masked_close(void *shared)
{
    free(shared);
}

static sluice_status masked_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, "tokens", "list<uint32>", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->add(plan, "tokens", "list<uint32>", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "loss_mask", "list<uint8>", NULL, err) : status;
}

static sluice_status masked_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    (void)err;
    *worker = shared;
    return SLUICE_OK;
}

static sluice_status masked_process(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    const struct config *config = state;
    struct sluice_bytes ends[2] = { { 0 }, { 0 } };
    struct sluice_bytes tokens = { 0 };
    struct sluice_bytes mask = { 0 };
    struct ArrowArray columns[2];
    struct ArrowArray out;
    int32_t end = 0;
    int ok = sluice_bytes_add(&ends[0], &end, 4) && sluice_bytes_add(&ends[1], &end, 4);

    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const uint32_t *ids = sluice_list_u32(batch->array->children[0], sluice_row(batch, k), &n);
        for (size_t i = 0; i < n; i++) {
            uint32_t id = config->id >= 0 ? (uint32_t)config->id : ids[i];
            uint8_t trained = (i + 1) % 3 != 0;
            ok = ok && sluice_bytes_add(&tokens, &id, 4) && sluice_bytes_add(&mask, &trained, 1);
        }
        end += (int32_t)n;
        ok = ok && sluice_bytes_add(&ends[0], &end, 4) && sluice_bytes_add(&ends[1], &end, 4);
    }
    if (!ok || sluice_make_list(&columns[0], batch->n, &ends[0], &tokens, end) != SLUICE_OK ||
        sluice_make_list(&columns[1], batch->n, &ends[1], &mask, end) != SLUICE_OK ||
        sluice_make_struct(&out, batch->n, 2, columns) != SLUICE_OK) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    return emit->batch(emit, &out);
}

static const struct sluice_stage masked_stage = {
    .size = sizeof masked_stage,
    .name = "masked",
    .version = "1.0",
    .summary = "A loss mask for tests",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = 1,
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .open = masked_open,
    .prepare = masked_prepare,
    .worker_open = masked_worker_open,
    .process = masked_process,
    .close = masked_close,
};

static const struct sluice_stage *const stages[] = { &masked_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "masked",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
