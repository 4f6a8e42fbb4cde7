/* mapped - a filter for tests of mapped files: keeps rows whose ids stand in a file that the host
 * maps, each on a line of its own. */
#include <string.h>

#include "sluice_arrays.h"

struct config {
    const char *list;
};

static const struct sluice_option options[] = {
    { .name = "list",
      .doc = "Ids, one a line.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, list) },
};

struct mapped {
    const void *data;
    uint64_t size;
};

static sluice_status mapped_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    struct mapped *mapped = malloc(sizeof *mapped);
    sluice_status status;

    if (mapped == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    status =
        api->map(host, ((const struct config *)config)->list, &mapped->data, &mapped->size, err);
    if (status != SLUICE_OK) {
        free(mapped);
        return status;
    }
    *shared = mapped;
    return SLUICE_OK;
}

static void mapped_close(void *shared)
{
    free(shared);
}

static sluice_status mapped_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    int32_t index;

    (void)shared;
    return plan->need(plan, 0, "id", "utf8", 0, &index, err);
}

static sluice_status mapped_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    (void)err;
    *worker = shared;
    return SLUICE_OK;
}

/* Whether "ID\n" stands in the file. */
static int has(const struct mapped *mapped, const char *id, size_t n)
{
    const char *at = mapped->data;
    const char *end = at + mapped->size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        if ((size_t)(stop - at) == n && memcmp(at, id, n) == 0) {
            return 1;
        }
        at = stop + 1;
    }
    return 0;
}

static sluice_status mapped_process(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *id = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        verdicts[k].reason = !has(state, id, n);
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static const struct sluice_stage mapped_stage = {
    .size = sizeof mapped_stage,
    .name = "mapped",
    .version = "1.0",
    .summary = "Keeps what a mapped file lists, for tests",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = 1,
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "not_listed",
    .open = mapped_open,
    .prepare = mapped_prepare,
    .worker_open = mapped_worker_open,
    .process = mapped_process,
    .close = mapped_close,
};

static const struct sluice_stage *const stages[] = { &mapped_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "mapped",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
