/* mix_targets: the sums of all splits by source, and what the mixture takes of each. */
#include "mix.h"

struct config {
    struct sluice_map weights, epochs;
    int64_t total, each;
    double max_epochs;
};

static const struct sluice_option options[] = {
    { .name = "weights",
      .doc = "Shares of the output by source.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, weights) },
    { .name = "epochs",
      .doc = "How often each source goes by; instead of weights.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, epochs) },
    { .name = "each",
      .doc = "So much of each source; instead of weights.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, each) },
    { .name = "total",
      .doc = "Size of the output; 0: as much as max_epochs allow.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 9e15,
      .offset = offsetof(struct config, total) },
    { .name = "max_epochs",
      .doc = "How often a document may go by.",
      .def = "1",
      .type = SLUICE_OPT_FLOAT,
      .min = 1e-9,
      .max = MIXTURE_EPOCHS_MAX,
      .offset = offsetof(struct config, max_epochs) },
};

struct worker {
    const struct config *config;
    struct mix_sources sources;
};

static struct mixture_goal goal_of(const struct config *config)
{
    struct mixture_goal goal = { .total = (uint64_t)config->total,
                                 .each = (uint64_t)config->each,
                                 .max_epochs = config->max_epochs };

    goal.mode = config->each > 0       ? MIXTURE_EACH
                : config->epochs.n > 0 ? MIXTURE_EPOCHS
                                       : MIXTURE_WEIGHTS;
    goal.values = goal.mode == MIXTURE_EPOCHS ? config->epochs : config->weights;
    return goal;
}

static sluice_status targets_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    const struct mixture_goal goal = goal_of(config);
    sluice_status status = mixture_check(&goal, err);

    return status == SLUICE_OK ? sluice_open_config(api, host, config, shared, err) : status;
}

static sluice_status targets_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < MIX_COUNT_COLUMNS; i++) {
        status =
            plan->need(plan, 0, mix_count_columns[i].name, mix_count_columns[i].type, 0, NULL, err);
    }
    return status == SLUICE_OK ? mix_declare(plan, mix_target_columns, MIX_TARGET_COLUMNS, err)
                               : status;
}

static sluice_status targets_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void targets_worker_close(void *state)
{
    struct worker *worker = state;

    mix_sources_deinit(&worker->sources);
    free(worker);
}

/* Sums that no corpus has are set aside, which ends the run unless max_bad says otherwise. */
static sluice_status targets_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status = verdicts == NULL ? shuffle_nomem(err) : SLUICE_OK;
    bool any_bad = false;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t documents = sluice_uint64(columns[2], row);
        uint64_t size = sluice_uint64(columns[3], row);
        struct mixture_source *source;
        size_t n;
        const char *name = sluice_text(columns[1], row, &n);
        if (documents >= MIXTURE_SOURCE_MAX || size >= MIXTURE_SOURCE_MAX) {
            sluice_judge_bad(&verdicts[k], "too_large: a source of 2^47 or more can't be counted");
            any_bad = true;
            continue;
        }
        status = mix_sources_find(&worker->sources, sluice_uint64(columns[0], row), name, n,
                                  &source, err);
        if (status == SLUICE_OK) {
            source->documents += documents;
            source->size += size;
        }
    }
    if (status == SLUICE_OK && any_bad) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return status;
}

static sluice_status targets_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct mixture_goal goal = goal_of(worker->config);
    struct mix_rows rows = { 0 };
    sluice_status status;
    int ok = 1;

    status = mixture_targets(&goal, worker->sources.items, worker->sources.n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t k = 0; ok && k < worker->sources.n; k++) {
        const struct mixture_source *source = &worker->sources.items[k];
        const uint64_t words[] = { source->documents, source->size, source->target, source->whole,
                                   source->rest };
        ok = mix_rows_fixed(&rows, 0, &source->key, sizeof source->key) &&
             mix_rows_text(&rows, 1, source->name, strlen(source->name));
        for (int i = 0; ok && i < 5; i++) {
            ok = mix_rows_fixed(&rows, 2 + i, &words[i], sizeof words[i]);
        }
        rows.n++;
    }
    return mix_rows_emit(&rows, ok, mix_target_columns, MIX_TARGET_COLUMNS, emit, err);
}

static sluice_status targets_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return mix_sources_save(&((struct worker *)state)->sources, io);
}

static sluice_status targets_load(void *state, struct sluice_io *io, uint64_t version,
                                  struct sluice_error *err)
{
    (void)version;
    return mix_sources_load(&((struct worker *)state)->sources, io, err);
}

const struct sluice_stage mix_targets_stage = {
    .size = sizeof mix_targets_stage,
    .name = "mix_targets",
    .version = "1.0",
    .summary = "What a mixture takes of each source (part of `mix`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = targets_open,
    .prepare = targets_prepare,
    .worker_open = targets_worker_open,
    .process = targets_process,
    .save = targets_save,
    .load = targets_load,
    .state_version = 1,
    .flush = targets_flush,
    .worker_close = targets_worker_close,
};
