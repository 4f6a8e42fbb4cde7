/* minhash_drop: drops the rows that its side input names, split by split, as duplicates of another document of the run or of an index. */
#include "minhash_stages.h"

struct config {
    double limit;
};

static const struct sluice_option options[] = {
    { .name = "limit",
      .doc = "Similarity that dropped rows have at least, for the record; 0: not verified.",
      .def = "0",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, limit) },
};

static sluice_status drop_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct config *copy = malloc(sizeof *copy);

    (void)api;
    (void)host;
    if (copy == NULL) {
        return minhash_nomem(err);
    }
    *copy = *(const struct config *)config;
    *shared = copy;
    return SLUICE_OK;
}

static sluice_status drop_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const side[][2] = { { "_row", "uint64" },
                                           { "dup_of", "utf8" },
                                           { "similarity", "float64" },
                                           { "reason", "uint64" } };
    int32_t index;
    sluice_status status = plan->need(plan, 0, "_row", "uint64", 0, &index, err);

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 1, side[i][0], side[i][1], 0, &index, err);
    }
    return status;
}

/* A row to drop; its survivor's id ends in the text where `end` says. */
struct listed {
    uint64_t row, end;
    double similarity;
    uint64_t reason;
};

struct worker {
    const struct config *config;
    struct sluice_bytes list; /* struct listed, ascending */
    struct sluice_bytes text;
    uint64_t at; /* next listed row */
};

static sluice_status drop_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return minhash_nomem(err);
    }
    worker->config = shared;
    *out = worker;
    return SLUICE_OK;
}

static void drop_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->list);
    sluice_bytes_free(&worker->text);
    free(worker);
}

static sluice_status take_list(struct worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t n_list = worker->list.size / sizeof(struct listed);
        struct listed listed = { .row = sluice_uint64(batch->array->children[0], row),
                                 .similarity = sluice_float64(batch->array->children[2], row),
                                 .reason = sluice_uint64(batch->array->children[3], row) };
        size_t n;
        const char *id = sluice_text(batch->array->children[1], row, &n);
        if (n_list > 0) {
            const struct listed *last =
                (const struct listed *)(const void *)worker->list.data + n_list - 1;
            if (last->row == listed.row) {
                continue;
            }
            if (last->row > listed.row) {
                return sluice_fail(err, SLUICE_E_INTERNAL, "",
                                   "the list of rows to drop is not sorted");
            }
        }
        listed.end = worker->text.size + n;
        if (!sluice_bytes_add(&worker->text, id, n) ||
            !sluice_bytes_add(&worker->list, &listed, sizeof listed)) {
            return minhash_nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status drop_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct listed *list;
    uint64_t n_list;
    struct sluice_verdict *verdicts;
    sluice_status status;

    if (batch->port == 1) {
        return take_list(worker, batch, err);
    }
    verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    if (verdicts == NULL) {
        return minhash_nomem(err);
    }
    list = (const struct listed *)(const void *)worker->list.data;
    n_list = worker->list.size / sizeof *list;
    for (int64_t k = 0; k < batch->n; k++) {
        uint64_t row = sluice_uint64(batch->array->children[0], sluice_row(batch, k));
        while (worker->at < n_list && list[worker->at].row < row) {
            worker->at++;
        }
        verdicts[k].limit = worker->config->limit;
        if (worker->at < n_list && list[worker->at].row == row) {
            const struct listed *listed = &list[worker->at];
            uint64_t begin = worker->at == 0 ? 0 : listed[-1].end;
            verdicts[k].reason = listed->reason == 1 ? 2 : 1;
            verdicts[k].similarity = verdicts[k].value = listed->similarity;
            verdicts[k].dup_of = worker->text.data + begin;
            verdicts[k].dup_of_length = (int32_t)(listed->end - begin);
        }
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

const struct sluice_stage minhash_drop_stage = {
    .size = sizeof minhash_drop_stage,
    .name = "minhash_drop",
    .version = "1.0",
    .summary = "Drops near-duplicates and records what they duplicate (part of `minhash`)",
    .doc = "The side input has the columns _pos (uint64: split << 40 | row), dup_of (utf8), "
           "similarity (float64) and reason (uint64: 0 = a document of this run, 1 = of an index).",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "minhash_duplicate|minhash_in_index",
    .bytes_worker = 1 << 20,
    .open = drop_open,
    .prepare = drop_prepare,
    .worker_open = drop_worker_open,
    .process = drop_process,
    .worker_close = drop_worker_close,
    .close = free,
};
