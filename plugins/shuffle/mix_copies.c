/* mix_copies: each document as often as the mixture takes it, one copy behind the other; further
 * copies have "#2", "#3" … behind their id. */
#include "mix.h"
#include "shuffle_columns.h"

#define GIVE_BYTES (4u << 20) /* of rows, in an emitted batch, unless one row alone is larger */

struct stage {
    struct whole_rows rows;
    int32_t copies;
};

static sluice_status copies_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    (void)config;
    if (stage == NULL) {
        return shuffle_nomem(err);
    }
    *shared = stage;
    return SLUICE_OK;
}

static void copies_close(void *shared)
{
    struct stage *stage = shared;

    whole_rows_deinit(&stage->rows);
    free(stage);
}

static sluice_status copies_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    struct stage *stage = shared;
    int32_t id;
    sluice_status status = plan->need(plan, 0, "id", "utf8?", 0, &id, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_copies", "uint8", 0, &stage->copies, err);
    }
    return status == SLUICE_OK ? whole_rows_prepare(&stage->rows, plan, NULL, false, err) : status;
}

/* Rows on their way out. */
struct giving {
    struct layout_run *runs;
    uint32_t *copies;
    size_t n, capacity;
    uint64_t bytes, documents, repeated;
};

static int giving_add(struct giving *giving, int64_t row, uint32_t copy)
{
    if (giving->n == giving->capacity) {
        size_t capacity = giving->capacity == 0 ? 1024 : 2 * giving->capacity;
        struct layout_run *runs = realloc(giving->runs, capacity * sizeof *runs);
        uint32_t *copies;
        if (runs == NULL) {
            return 0;
        }
        giving->runs = runs;
        copies = realloc(giving->copies, capacity * sizeof *copies);
        if (copies == NULL) {
            return 0;
        }
        giving->copies = copies;
        giving->capacity = capacity;
    }
    giving->runs[giving->n] = (struct layout_run){ row, 1 };
    giving->copies[giving->n++] = copy;
    return 1;
}

static sluice_status give(const struct stage *stage, const struct sluice_batch *batch,
                          struct giving *giving, struct sluice_emit *emit, struct sluice_error *err)
{
    sluice_status status = giving->n == 0 ? SLUICE_OK
                                          : whole_rows_give(&stage->rows, batch, giving->runs,
                                                            giving->n, giving->copies, emit, err);

    giving->n = 0;
    giving->bytes = 0;
    return status;
}

static sluice_status give_row(const struct stage *stage, const struct sluice_batch *batch,
                              int64_t row, uint8_t copies, struct giving *giving,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t size = whole_rows_size(&stage->rows, batch, row);

    giving->documents += copies > 0;
    giving->repeated += copies > 1 ? copies - 1u : 0;
    for (uint32_t copy = 1; copy <= copies; copy++) {
        if (giving->bytes + size > GIVE_BYTES) {
            sluice_status status = give(stage, batch, giving, emit, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        giving->bytes += size;
        if (!giving_add(giving, row, copy)) {
            return shuffle_nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status copies_process(void *worker, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    const struct stage *stage = worker;
    const uint8_t *copies = batch->array->children[stage->copies]->buffers[1];
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    struct giving giving = { 0 };
    bool any_bad = false;
    sluice_status status = verdicts == NULL ? shuffle_nomem(err) : SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        if (copies[row] > MIXTURE_EPOCHS_MAX + 1) {
            sluice_judge_bad(&verdicts[k], "too_many_copies: a document goes by 65 times at most");
            any_bad = true;
            continue;
        }
        status = give_row(stage, batch, row, copies[row], &giving, emit, err);
    }
    if (status == SLUICE_OK) {
        status = give(stage, batch, &giving, emit, err);
    }
    if (status == SLUICE_OK && any_bad) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    if (status == SLUICE_OK && giving.documents > 0) {
        status = emit->measure(emit, "documents", (int64_t)giving.documents);
    }
    if (status == SLUICE_OK && giving.repeated > 0) {
        status = emit->measure(emit, "copies", (int64_t)giving.repeated);
    }
    free(giving.runs);
    free(giving.copies);
    free(verdicts);
    return status;
}

const struct sluice_stage mix_copies_stage = {
    .size = sizeof mix_copies_stage,
    .name = "mix_copies",
    .version = "1.0",
    .summary = "Each document as often as a mixture takes it (part of `mix`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 8 << 20,
    .open = copies_open,
    .prepare = copies_prepare,
    .process = copies_process,
    .close = copies_close,
};
