/* drop_listed: drops the rows that its side input names, split by split. The side input carries _pos (which the host turns into this split's
 * _row), dup_of (id of the survivor) and similarity, and is delivered sorted and completely before the rows. */
#include "dedup.h"

struct config {
    int32_t reason;
};

static const struct sluice_option options[] = {
    { .name = "reason",
      .doc = "Reason that dropped rows carry.",
      .def = "duplicate",
      .choices = "duplicate|exact_duplicate|minhash_duplicate|listed",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, reason) },
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct config *copy = malloc(sizeof *copy);

    (void)api;
    (void)host;
    if (copy == NULL) {
        return dedup_nomem(err);
    }
    *copy = *(const struct config *)config;
    *shared = copy;
    return SLUICE_OK;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const side[][2] = { { "_row", "uint64" },
                                           { "dup_of", "utf8" },
                                           { "similarity", "float64" } };
    int32_t index;
    sluice_status status = plan->need(plan, 0, "_row", "uint64", 0, &index, err);

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->need(plan, 1, side[i][0], side[i][1], 0, &index, err);
    }
    return status;
}

struct worker {
    const struct config *config;
    struct sluice_bytes rows;       /* uint64, ascending */
    struct sluice_bytes similarity; /* double */
    struct sluice_bytes ends;       /* uint64: end of each id in text */
    struct sluice_bytes text;
    uint64_t at; /* next listed row */
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return dedup_nomem(err);
    }
    worker->config = shared;
    *out = worker;
    return SLUICE_OK;
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->rows);
    sluice_bytes_free(&worker->similarity);
    sluice_bytes_free(&worker->ends);
    sluice_bytes_free(&worker->text);
    free(worker);
}

static sluice_status take_list(struct worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    const uint64_t *rows = batch->array->children[0]->buffers[1];
    const double *similarity = batch->array->children[2]->buffers[1];

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *id = sluice_text(batch->array->children[1], row, &n);
        uint64_t end;
        uint64_t count = worker->rows.size / 8;
        if (count > 0 &&
            ((const uint64_t *)(const void *)worker->rows.data)[count - 1] >= rows[row]) {
            if (((const uint64_t *)(const void *)worker->rows.data)[count - 1] == rows[row]) {
                continue;
            }
            return sluice_fail(err, SLUICE_E_INTERNAL, "",
                               "the list of rows to drop is not sorted");
        }
        if (!sluice_bytes_add(&worker->rows, &rows[row], 8) ||
            !sluice_bytes_add(&worker->similarity, &similarity[row], 8) ||
            !sluice_bytes_add(&worker->text, id, n)) {
            return dedup_nomem(err);
        }
        end = worker->text.size;
        if (!sluice_bytes_add(&worker->ends, &end, 8)) {
            return dedup_nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const uint64_t *rows;
    const uint64_t *listed;
    uint64_t n_listed;
    struct sluice_verdict *verdicts;
    sluice_status status;

    if (batch->port == 1) {
        return take_list(worker, batch, err);
    }
    verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    if (verdicts == NULL) {
        return dedup_nomem(err);
    }
    rows = batch->array->children[0]->buffers[1];
    listed = (const uint64_t *)(const void *)worker->rows.data;
    n_listed = worker->rows.size / 8;
    for (int64_t k = 0; k < batch->n; k++) {
        uint64_t row = rows[sluice_row(batch, k)];
        while (worker->at < n_listed && listed[worker->at] < row) {
            worker->at++;
        }
        if (worker->at < n_listed && listed[worker->at] == row) {
            const uint64_t *ends = (const uint64_t *)(const void *)worker->ends.data;
            uint64_t begin = worker->at == 0 ? 0 : ends[worker->at - 1];
            verdicts[k].reason = 1 + worker->config->reason;
            verdicts[k].similarity =
                ((const double *)(const void *)worker->similarity.data)[worker->at];
            verdicts[k].value = verdicts[k].similarity;
            verdicts[k].dup_of = worker->text.data + begin;
            verdicts[k].dup_of_length = (int32_t)(ends[worker->at] - begin);
        }
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static void stage_close(void *shared)
{
    free(shared);
}

const struct sluice_stage drop_listed_stage = {
    .size = sizeof drop_listed_stage,
    .name = "drop_listed",
    .version = "1.0",
    .summary = "Drops the rows that a side input lists (part of `exact` and `minhash`)",
    .doc = "The side input has the columns _pos (uint64: split << 40 | row), dup_of (utf8) and "
           "similarity (float64).",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = 1,
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "duplicate|exact_duplicate|minhash_duplicate|listed",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .worker_close = stage_worker_close,
    .close = stage_close,
};
