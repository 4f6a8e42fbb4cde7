/* drop_listed: drops the rows that its side input names, split by split. The side input carries
 * _pos (which the host turns into this split's _row), dup_of (id of the survivor), similarity and,
 * where survivors may be in an index, reason, and is delivered sorted and completely before the
 * rows. */
#include "dedup.h"

struct config {
    int32_t reason;
    double limit;
    uint8_t aside;
};

#define REASON_OVER_CAP 6 /* its value is a number of rows, not a similarity */
#define REASON_IN_INDEX 8 /* behind those that the option may choose */

static const struct sluice_option options[] = {
    { .name = "reason",
      .doc = "Reason that dropped rows carry.",
      .def = "duplicate",
      .choices = "duplicate|exact_duplicate|minhash_duplicate|listed|contract_unique|superseded|"
                 "over_cap",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, reason) },
    { .name = "limit",
      .doc = "Similarity that dropped rows have at least, for the record; 0: not verified. Of "
             "over_cap: how many rows of a key stay.",
      .def = "0",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, limit) },
    { .name = "aside",
      .doc = "Set the rows aside, which max_bad counts, instead of dropping them.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, aside) },
};

struct shared {
    const struct config *config;
    int32_t reason; /* place of the side input's column; -1 = absent */
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct shared), shared, err);
}

static sluice_status stage_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const side[][2] = { { SLUICE_ROW, "uint64" },
                                           { "dup_of", "utf8" },
                                           { "similarity", "float64" } };
    struct shared *shared = state;
    sluice_status status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);

    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->need(plan, 1, side[i][0], side[i][1], 0, NULL, err);
    }
    return status == SLUICE_OK ? plan->need(plan, 1, "reason", "uint64", 1, &shared->reason, err)
                               : status;
}

/* A row to drop; its survivor's id ends in the text where `end` says. */
struct listed {
    uint64_t row, end;
    double similarity;
    int64_t in_index;
};

struct worker {
    const struct shared *shared;
    struct sluice_bytes list; /* struct listed, ascending */
    struct sluice_bytes text;
    uint64_t at; /* next listed row */
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->list);
    sluice_bytes_free(&worker->text);
    free(worker);
}

/* Of a row that is set aside people are told what it is like: "reason: the same values as ID". */
static int begin_detail(struct worker *worker)
{
    static const char *const reasons[] = { "duplicate", "exact_duplicate", "minhash_duplicate",
                                           "listed",    "contract_unique", "superseded",
                                           "over_cap" };
    static const char same[] = ": the same values as an earlier row, ";
    const char *reason = reasons[worker->shared->config->reason];

    return sluice_bytes_add(&worker->text, reason, strlen(reason)) &&
           sluice_bytes_add(&worker->text, same, sizeof same - 1);
}

static sluice_status take_list(struct worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    struct ArrowArray *const *columns = batch->array->children;
    int32_t reason = worker->shared->reason;

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t n_list = worker->list.size / sizeof(struct listed);
        struct listed listed = { .row = sluice_uint64(columns[0], row),
                                 .similarity = sluice_float64(columns[2], row),
                                 .in_index =
                                     reason >= 0 && sluice_uint64(columns[reason], row) == 1 };
        size_t n;
        const char *id = sluice_text(columns[1], row, &n);
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
        if (worker->shared->config->aside && !begin_detail(worker)) {
            return sluice_nomem(err);
        }
        listed.end = worker->text.size + n;
        if (!sluice_bytes_add(&worker->text, id, n) ||
            !sluice_bytes_add(&worker->list, &listed, sizeof listed)) {
            return sluice_nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status judge(void *state, const struct sluice_batch *batch, int64_t at,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->shared->config;
    const struct listed *list = (const struct listed *)(const void *)worker->list.data;
    uint64_t n = worker->list.size / sizeof *list;
    uint64_t row = sluice_uint64(batch->array->children[0], at);

    (void)err;
    while (worker->at < n && list[worker->at].row < row) {
        worker->at++;
    }
    verdict->limit = config->limit;
    if (worker->at < n && list[worker->at].row == row) {
        const struct listed *listed = &list[worker->at];
        uint64_t begin = worker->at == 0 ? 0 : listed[-1].end;
        verdict->reason = listed->in_index ? REASON_IN_INDEX : 1 + config->reason;
        verdict->value = listed->similarity;
        if (config->reason == REASON_OVER_CAP) {
            return SLUICE_OK;
        }
        verdict->similarity = listed->similarity;
        verdict->dup_of = worker->text.data + begin;
        verdict->dup_of_length = (int32_t)(listed->end - begin);
        if (config->aside) {
            *verdict = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                                .dup_of = verdict->dup_of,
                                                .dup_of_length = verdict->dup_of_length };
        }
    }
    return SLUICE_OK;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return batch->port == 1 ? take_list(state, batch, err)
                            : sluice_judge_rows(batch, emit, judge, state, err);
}

static sluice_status stage_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->at, sizeof worker->at);

    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_put(io, worker->list.data, worker->list.size);
    }
    return status == SLUICE_OK ? sluice_state_put(io, worker->text.data, worker->text.size)
                               : status;
}

static sluice_status stage_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    const struct listed *list;
    uint64_t n;
    sluice_status status = io->read(io, &worker->at, sizeof worker->at);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, sizeof *list, &worker->list);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 1, &worker->text);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    list = (const struct listed *)(const void *)worker->list.data;
    n = worker->list.size / sizeof *list;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t begin = k == 0 ? 0 : list[k - 1].end;
        if (list[k].end < begin || list[k].end > worker->text.size ||
            list[k].end - begin > INT32_MAX || (k > 0 && list[k].row <= list[k - 1].row)) {
            return SLUICE_E_DATA;
        }
    }
    return worker->at <= n ? SLUICE_OK : SLUICE_E_DATA;
}

const struct sluice_stage drop_listed_stage = {
    .size = sizeof drop_listed_stage,
    .name = "drop_listed",
    .version = "1.2",
    .summary = "Drops the rows that a side input lists (part of `exact`, `per_key` and `minhash`)",
    .doc = "The side input has the columns _pos (uint64: split << 40 | row), dup_of (utf8), "
           "similarity (float64) and, where survivors may be in an index, reason (uint64: 0 = a "
           "document of this run, 1 = of an index).",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "duplicate|exact_duplicate|minhash_duplicate|listed|contract_unique|superseded|"
               "over_cap|minhash_in_index",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .save = stage_save,
    .load = stage_load,
    .state_version = 1,
    .worker_close = stage_worker_close,
    .close = free,
};
