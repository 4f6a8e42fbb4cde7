/* NAME_HERE - a gate: halts the run when too large a share of its documents is short.
 *
 * A gate lets all rows pass. Each task counts its own, the host saves the counts and adds them up
 * at the barrier (`save`, `merge`), and `judge` decides before anything is published. Counts are
 * integers: their sum must not depend on the order.
 *
 * To make it yours, change struct config and its option table, what is counted, and judge().
 * <sluice.h> explains every field and function. */
#include <sluice_simple.h>
#include <stdio.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t min_bytes;
    double max_share;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, min_bytes, "20", 0, 1000000,
                      "Fewest bytes of a document that isn't short."),
    /* Only judge() looks at it: changing it counts nothing again. */
    { .name = "max_share",
      .doc = "Largest share of short documents, 0 to 1.",
      .def = "0.5",
      .type = SLUICE_OPT_FLOAT,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, max_share) },
};

/* ---- the stage ---- */

/* One configured use of the stage. Read-only once `prepare` is done: many threads use it. */
struct stage {
    struct config config;
    int32_t text; /* place of the column among those that process() is given */
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    if (stage == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    stage->config = *(const struct config *)config;
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;

    return plan->need(plan, 0, "text", "utf8?", 0, &stage->text, err);
}

/* One thread's counts. */
struct counts {
    uint64_t rows, short_rows;
};

struct worker {
    const struct stage *stage;
    struct counts counts;
};

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->stage = shared;
    *out = worker;
    return SLUICE_OK;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct ArrowArray *text = batch->array->children[worker->stage->text];

    (void)emit;
    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        sluice_text(text, sluice_row(batch, k), &n);
        worker->counts.rows++;
        worker->counts.short_rows += (int64_t)n < worker->stage->config.min_bytes;
    }
    return SLUICE_OK;
}

static sluice_status stage_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->counts, sizeof worker->counts);

    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the counts can't be saved");
}

static sluice_status stage_merge(void *state, struct sluice_io *io, uint64_t version,
                                 struct sluice_error *err)
{
    struct worker *worker = state;
    struct counts saved;
    sluice_status status = io->read(io, &saved, sizeof saved);

    (void)version; /* of the state: 1 is the only one so far */
    if (status != SLUICE_OK) {
        return sluice_fail(err, status, "", "the saved counts can't be read");
    }
    worker->counts.rows += saved.rows;
    worker->counts.short_rows += saved.short_rows;
    return SLUICE_OK;
}

static sluice_status stage_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;

    worker->counts = (struct counts){ 0, 0 };
    return stage_merge(state, io, version, err);
}

static sluice_status stage_judge(void *state, struct sluice_verdict_io *io,
                                 struct sluice_error *err)
{
    const struct worker *worker = state;
    const struct counts *counts = &worker->counts;
    double share = counts->rows == 0 ? 0 : (double)counts->short_rows / (double)counts->rows;

    (void)err;
    io->outcome = SLUICE_GATE_PASS;
    if (share > worker->stage->config.max_share) {
        io->outcome = SLUICE_GATE_HALT; /* or SLUICE_GATE_WARN */
        snprintf(io->message, sizeof io->message,
                 "%.6g of the documents are short (%llu of %llu), expected max_share = %.6g or "
                 "less. Likely cause: the input changed: see `sluice report`",
                 share, (unsigned long long)counts->short_rows, (unsigned long long)counts->rows,
                 worker->stage->config.max_share);
    }
    return SLUICE_OK;
}

static void worker_close(void *state)
{
    free(state);
}

static void stage_close(void *shared)
{
    free(shared);
}

static const struct sluice_stage stage = {
    .size = sizeof stage,
    .name = "NAME_HERE",
    .version = "0.1.0",
    .summary = "Halts the run when too many documents are short",
    .doc = "Judged when all rows are counted, before anything is published.",
    .example = "docs | NAME_HERE { max_share = 0.2 }",
    .role = SLUICE_ROLE_GATE,
    .mode = SLUICE_MODE_ORDERED,
    SLUICE_OPTIONS(struct config, options),
    .state_version = 1,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = worker_open,
    .process = stage_process,
    .save = stage_save,
    .load = stage_load,
    .merge = stage_merge,
    .judge = stage_judge,
    .worker_close = worker_close,
    .close = stage_close,
};

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &stage);
