/* Running a stage over a sample: derived columns, batches on all cores, what became of each row.
 * See try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/metrics.h"
#include "run/pool.h"

#define MAX_NEEDS PLAN_NEEDS_MAX
#define MAX_DEPTH 4 /* providers that need providers */

/* ---- a stage over the batches ---- */

struct running {
    struct stage *stage;
    struct sample *sample;
    const struct stage_prepared *prepared;
    uint32_t n_batches;      /* the first so many */
    struct outcome *out;     /* NULL: a provider, whose columns are wanted */
    struct column **columns; /* of a provider: one a batch */
    atomic_uint_fast64_t ns, emitted;
};

struct view {
    struct ArrowArray array, empty;
    struct ArrowArray *children[MAX_NEEDS];
    const void *buffers[1];
    struct sluice_batch batch;
};

static void make_view(const struct running *running, uint32_t b, struct view *view)
{
    const struct sample_batch *batch = &running->sample->batches[b];
    uint32_t n = running->prepared->n_needs[0];

    memset(view, 0, sizeof *view);
    for (uint32_t k = 0; k < n; k++) {
        int32_t field = running->prepared->needs[0][k].field;
        if (field == STAGE_FIELD_ROW) {
            field = schema_find(&running->sample->schema, "_row");
        }
        view->children[k] = field < 0 ? &view->empty : &batch->columns[field]->array;
    }
    view->array = (struct ArrowArray){ .length = batch->n,
                                       .n_buffers = 1,
                                       .n_children = n,
                                       .buffers = view->buffers,
                                       .children = view->children };
    view->batch =
        (struct sluice_batch){ .size = sizeof view->batch, .array = &view->array, .n = batch->n };
}

static sluice_status take_verdict(struct fate *fate, const struct sluice_verdict *verdict,
                                  struct sluice_error *err)
{
    fate->reason = verdict->reason;
    fate->value = verdict->value;
    fate->limit = verdict->limit;
    fate->valued = verdict->reason != SLUICE_VERDICT_BAD &&
                   (verdict->value != 0 || verdict->limit != 0); /* else nothing was measured */
    if (verdict->reason == SLUICE_VERDICT_BAD && verdict->dup_of != NULL) {
        fate->note = str_copy(verdict->dup_of, (size_t)verdict->dup_of_length);
        if (fate->note == NULL) {
            return error_nomem(err, "verdicts");
        }
    }
    return SLUICE_OK;
}

/* Row k of what the stage was given is row first + k of the sample. */
static sluice_status take_result(struct running *running, const struct stage_result *result,
                                 uint64_t first, int64_t n, struct sluice_error *err)
{
    struct outcome *out = running->out;
    uint32_t role = stage_kind(running->stage)->role;

    if (role == SLUICE_ROLE_TRANSFORM) {
        for (uint32_t i = 0; i < result->n_batches; i++) {
            atomic_fetch_add(&running->emitted, (uint64_t)result->batches[i].length);
        }
    }
    for (int64_t k = 0; result->has_verdicts && k < n; k++) {
        TRY(take_verdict(&out->fates[first + (uint64_t)k], &result->verdicts[k], err));
    }
    for (int64_t k = 0; role == SLUICE_ROLE_ANNOTATOR && result->n_batches == 1 && k < n; k++) {
        struct fate *fate = &out->fates[first + (uint64_t)k];
        if (fate->note == NULL && fate->reason == 0) {
            fate->note = outcome_note(running->prepared, &result->batches[0], running->sample,
                                      first + (uint64_t)k, k);
            if (fate->note == NULL) {
                return error_nomem(err, "values");
            }
        }
    }
    return SLUICE_OK;
}

struct lane_state {
    struct running *running;
    struct stage_worker *worker;
    struct stage_result result;
    bool opened;
};

static sluice_status process(struct lane_state *state, const struct sluice_batch *batch,
                             struct sluice_error *err)
{
    sluice_status status;
    uint64_t start;
    int tries = 0;

    do {
        if (state->worker == NULL) {
            TRY(stage_worker_open(state->running->stage, &state->worker, err));
        }
        start = clock_ns();
        status = stage_process(state->worker, batch, &state->result, err);
        atomic_fetch_add(&state->running->ns, clock_ns() - start);
        if (status != SLUICE_OK && !stage_worker_usable(state->worker)) {
            stage_worker_close(state->worker);
            state->worker = NULL;
        }
    } while (status == SLUICE_E_RETRY && ++tries < 5);
    return status;
}

/* Rows from..to of a batch whose stage reported a data error, or died: halves it until the row is
 * alone. */
static sluice_status bisect(struct lane_state *state, const struct view *view, uint64_t first,
                            uint32_t from, uint32_t to, struct sluice_error *err)
{
    struct sluice_batch batch = view->batch;
    uint32_t *rows;
    sluice_status status;

    rows = malloc((size_t)(to - from) * sizeof *rows);
    if (rows == NULL) {
        return error_nomem(err, "a selection");
    }
    for (uint32_t k = from; k < to; k++) {
        rows[k - from] = k;
    }
    batch.rows = rows;
    batch.n = (int64_t)(to - from);
    status = process(state, &batch, err);
    free(rows);
    if (status == SLUICE_OK) {
        return take_result(state->running, &state->result, first + from, (int64_t)(to - from), err);
    }
    if (status != SLUICE_E_DATA && status != STAGE_CRASHED) { /* killed or late: no row's doing */
        return status;
    }
    if (to - from == 1) {
        struct fate *fate = &state->running->out->fates[first + from];
        fate->reason = SLUICE_VERDICT_BAD;
        fate->note =
            str_printf("%s: %s", status == STAGE_CRASHED ? "crash" : "data_error", err->message);
        return fate->note == NULL ? error_nomem(err, "verdicts") : SLUICE_OK;
    }
    TRY(bisect(state, view, first, from, from + (to - from) / 2, err));
    return bisect(state, view, first, from + (to - from) / 2, to, err);
}

static sluice_status run_batch(void *ctx, void *thread, uint32_t b, bool *taken,
                               struct sluice_error *err)
{
    struct running *running = ctx;
    struct lane_state *state = thread;
    const struct sample_batch *batch = &running->sample->batches[b];
    struct view view;
    sluice_status status;

    (void)taken;
    if (state == NULL) {
        return error_nomem(err, "a worker");
    }
    make_view(running, b, &view);
    status = process(state, &view.batch, err);
    if (running->out == NULL) {
        TRY(status);
        if (state->result.n_batches != 1 || state->result.batches[0].n_children != 1) {
            return error_set(err, SLUICE_E_INTERNAL, "the provider '%s' gave no column",
                             stage_name(running->stage));
        }
        running->columns[b] = column_create(state->result.batches[0].children[0]);
        return running->columns[b] == NULL ? error_nomem(err, "a column") : SLUICE_OK;
    }
    if ((status == SLUICE_E_DATA || status == STAGE_CRASHED) &&
        stage_kind(running->stage)->mode == SLUICE_MODE_STATELESS) {
        return bisect(state, &view, batch->first, 0, (uint32_t)batch->n, err);
    }
    return status == SLUICE_OK ? take_result(running, &state->result, batch->first, batch->n, err)
                               : status;
}

static void *open_thread(void *ctx)
{
    struct lane_state *state = calloc(1, sizeof *state);

    if (state != NULL) {
        state->running = ctx;
        stage_result_init(&state->result);
    }
    return state;
}

static void close_thread(void *ctx, void *thread)
{
    struct lane_state *state = thread;

    (void)ctx;
    if (state != NULL) {
        stage_worker_close(state->worker);
        stage_result_deinit(&state->result);
        free(state);
    }
}

static sluice_status run_batches(struct running *running, uint32_t workers,
                                 struct sluice_error *err)
{
    bool ordered = stage_kind(running->stage)->mode != SLUICE_MODE_STATELESS;
    struct pool_job job = { .ctx = running,
                            .n = running->n_batches,
                            .n_threads = ordered ? 1 : workers,
                            .thread_open = open_thread,
                            .thread_close = close_thread,
                            .run = run_batch,
                            .drain = &session_drain };
    bool drained = false;

    TRY(pool_run(&job, &drained, err));
    return drained ? error_set(err, SLUICE_E_CANCELLED, "stopped") : SLUICE_OK;
}

/* ---- derived columns ---- */

static sluice_status provider_options(struct registry *registry, const char *provider,
                                      const char *text, const char *source,
                                      const struct registry_entry **entry, struct options **options,
                                      char **canonical, struct sluice_error *err)
{
    struct value named = VALUE_INIT;
    struct value over;
    struct option_args args = { .named = &named, .text = true };
    struct option_table table;
    struct buf out = BUF_INIT;
    sluice_status status = registry_load_all(registry, err);

    *entry = NULL;
    *options = NULL;
    *canonical = NULL;
    for (size_t k = 0; status == SLUICE_OK && k < registry_count(registry); k++) {
        const char *provides = registry_at(registry, k)->stage.provides;
        if (provides != NULL && strcmp(provides, provider) == 0) {
            *entry = registry_at(registry, k);
            break;
        }
    }
    if (status == SLUICE_OK && *entry == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "no plugin provides the derived column '%s'",
                         provider);
    }
    value_map_init(&named);
    if (status == SLUICE_OK) {
        status = options_split(text, &named, err);
    }
    if (status == SLUICE_OK &&
        (!value_string(&over, source, strlen(source)) || !value_map_set(&named, "over", over))) {
        status = error_nomem(err, "options");
    }
    if (status == SLUICE_OK) {
        table = option_table_of(&(*entry)->stage);
        status = options_parse(&table, &args, NULL, options, err);
    }
    if (status == SLUICE_OK) {
        options_canonical(*options, &out);
        *canonical = buf_take(&out);
        status = *canonical == NULL ? error_nomem(err, "options") : SLUICE_OK;
    }
    value_deinit(&named);
    if (status != SLUICE_OK) {
        options_destroy(*options);
        *options = NULL;
    }
    return status;
}

struct finding {
    struct registry *registry;
    const struct sample *sample;
};

static sluice_status find_derived(void *ctx, uint32_t port, const char *provider,
                                  const char *options_text, const char *source, int32_t *field,
                                  struct sluice_error *err)
{
    const struct finding *finding = ctx;
    const struct schema *schema = &finding->sample->schema;
    const struct registry_entry *entry;
    struct options *options;
    char *canonical;

    (void)port;
    *field = STAGE_FIELD_MISSING;
    TRY(provider_options(finding->registry, provider, options_text, source, &entry, &options,
                         &canonical, err));
    for (uint32_t k = 0; k < schema->n; k++) {
        const struct field *f = &schema->fields[k];
        if (f->derived_provider != NULL && strcmp(f->derived_provider, provider) == 0 &&
            strcmp(f->derived_options, canonical) == 0 && strcmp(f->derived_source, source) == 0) {
            *field = (int32_t)k;
        }
    }
    options_destroy(options);
    free(canonical);
    return SLUICE_OK;
}

static sluice_status prepare_stage(struct trial *trial, struct sample *sample, struct stage *stage,
                                   uint32_t depth, struct stage_prepared *prepared,
                                   struct sluice_error *err);

/* Runs a provider over the sample; its column stays there for later runs. */
static sluice_status derive(struct trial *trial, struct sample *sample,
                            const struct stage_need *need, uint32_t depth, struct sluice_error *err)
{
    const struct registry_entry *entry;
    struct options *options;
    struct stage *stage = NULL;
    struct stage_prepared prepared = { 0 };
    struct running running = { .sample = sample,
                               .prepared = &prepared,
                               .n_batches = sample->n_batches };
    char *canonical;
    char name[100];
    struct field field;
    int32_t place;
    sluice_status status;

    TRY(provider_options(trial->session.registry, need->provider, need->options, need->source,
                         &entry, &options, &canonical, err));
    snprintf(name, sizeof name, "_derived_%u", sample->schema.n);
    running.columns = calloc(sample->n_batches + 1u, sizeof(struct column *));
    if (running.columns == NULL) {
        options_destroy(options);
        free(canonical);
        return error_nomem(err, "a column");
    }
    status = stage_open(entry, options, need->provider, &trial->session.services, &stage, err);
    if (status == SLUICE_OK) {
        status = prepare_stage(trial, sample, stage, depth, &prepared, err);
        running.stage = stage;
    }
    if (status == SLUICE_OK && prepared.added.n != 1) {
        status = error_set(err, SLUICE_E_INTERNAL, "the provider '%s' gives %u columns, expected 1",
                           need->provider, prepared.added.n);
    }
    if (status == SLUICE_OK) {
        status = run_batches(&running, trial->workers, err);
    }
    if (status == SLUICE_OK) {
        field = prepared.added.fields[0];
        field.name = name;
        field.derived_provider = need->provider;
        field.derived_options = canonical;
        field.derived_source = need->source;
        status = sample_add(sample, &field, running.columns, &place, err);
    } else {
        for (uint32_t b = 0; b < sample->n_batches; b++) {
            column_unref(running.columns[b]);
        }
    }
    free(running.columns);
    free(canonical);
    stage_prepared_deinit(&prepared);
    stage_close(stage);
    return status;
}

static sluice_status prepare_stage(struct trial *trial, struct sample *sample, struct stage *stage,
                                   uint32_t depth, struct stage_prepared *prepared,
                                   struct sluice_error *err)
{
    struct finding finding = { trial->session.registry, sample };
    struct stage_inputs inputs = { .n_ports = 1, .find_derived = find_derived, .ctx = &finding };

    for (;;) {
        const struct stage_need *missing = NULL;
        inputs.schemas[0] = &sample->schema;
        TRY(stage_prepare(stage, &inputs, prepared, err));
        for (uint32_t k = 0; missing == NULL && k < prepared->n_needs[0]; k++) {
            const struct stage_need *need = &prepared->needs[0][k];
            if (need->provider != NULL && need->field == STAGE_FIELD_MISSING) {
                missing = need;
            }
            if (need->field == STAGE_FIELD_POS) {
                return error_set(err, SLUICE_E_SCHEMA,
                                 "'%s' needs _pos, which the rows of a sample do not have",
                                 stage_name(stage));
            }
        }
        if (prepared->n_needs[0] > MAX_NEEDS) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "stage '%s' needs %u columns, at most %d are possible",
                             stage_name(stage), prepared->n_needs[0], MAX_NEEDS);
        }
        if (missing == NULL) {
            return SLUICE_OK;
        }
        if (depth >= MAX_DEPTH) {
            return error_set(err, SLUICE_E_INTERNAL, "the provider of '%s' does not deliver it",
                             missing->provider);
        }
        TRY(derive(trial, sample, missing, depth + 1, err));
        stage_prepared_deinit(prepared);
        memset(prepared, 0, sizeof *prepared);
    }
}

/* ---- the run ---- */

static sluice_status init_outcome(const struct stage *stage, const struct sample *sample,
                                  uint32_t n_batches, struct outcome *out, struct sluice_error *err)
{
    memset(out, 0, sizeof *out);
    for (uint32_t b = 0; b < n_batches; b++) {
        out->n += (uint64_t)sample->batches[b].n;
        out->bytes += sample->batches[b].bytes;
    }
    out->fates = calloc(out->n + 1, sizeof *out->fates);
    out->reasons = calloc(stage_n_reasons(stage) + 1u, sizeof *out->reasons);
    out->transforms = stage_kind(stage)->role == SLUICE_ROLE_TRANSFORM;
    out->annotates = stage_kind(stage)->role == SLUICE_ROLE_ANNOTATOR;
    if (out->fates == NULL || out->reasons == NULL) {
        return error_nomem(err, "verdicts");
    }
    for (uint32_t k = 0; k < stage_n_reasons(stage); k++) {
        const char *reason = stage_reason(stage, k + 1);
        out->reasons[k] = str_copy(reason, strlen(reason));
        out->n_reasons++;
        if (out->reasons[k] == NULL) {
            return error_nomem(err, "reasons");
        }
    }
    return SLUICE_OK;
}

/* A kept row of a heuristic with two limits carries the upper one; the nearer one says more. */
static sluice_status near_limits(const struct trial *trial, struct outcome *out,
                                 struct sluice_error *err)
{
    double below = 0;
    bool whole;

    if (trial->above == NULL && trial->below == NULL) {
        return SLUICE_OK;
    }
    if (trial->below != NULL) {
        TRY(trial_number(trial, trial->below, &below, &whole, err));
    }
    for (uint64_t i = 0; i < out->n; i++) {
        struct fate *fate = &out->fates[i];
        fate->valued = fate->reason != SLUICE_VERDICT_BAD;
        if (trial->below != NULL && trial->above != NULL && fate->reason == 0 &&
            fabs(fate->value - below) < fabs(fate->limit - fate->value)) {
            fate->limit = below;
        }
    }
    return SLUICE_OK;
}

sluice_status trial_run(struct trial *trial, struct sample *sample, struct outcome *out,
                        struct sluice_error *err)
{
    struct options *options = NULL;
    struct stage *stage = NULL;
    struct stage_prepared prepared = { 0 };
    struct running running = { .sample = sample, .prepared = &prepared, .out = out };
    uint64_t start;
    sluice_status status;

    memset(out, 0, sizeof *out);
    session_services(&trial->session);
    trial->session.services.scratch_dir = NULL; /* there is no run */
    if (trial->session.script == NULL) {
        trial->session.services.budget = NULL;
    }
    while (running.n_batches < sample->n_batches &&
           (trial->most_rows == 0 || sample->batches[running.n_batches].first < trial->most_rows)) {
        running.n_batches++;
    }
    TRY(trial_options(trial, &options, err));
    status = stage_open(trial->entry, options, trial->name, &trial->session.services, &stage, err);
    if (status == SLUICE_OK) {
        status = prepare_stage(trial, sample, stage, 0, &prepared, err);
    }
    if (status == SLUICE_OK) {
        status = init_outcome(stage, sample, running.n_batches, out, err);
    }
    if (status == SLUICE_OK) {
        running.stage = stage;
        start = clock_ns();
        status = run_batches(&running, trial->workers, err);
        out->seconds = (double)(clock_ns() - start) / 1e9;
        out->core_seconds = (double)atomic_load(&running.ns) / 1e9;
        out->emitted = atomic_load(&running.emitted);
    }
    if (status == SLUICE_OK) {
        status = near_limits(trial, out, err);
    }
    stage_prepared_deinit(&prepared);
    stage_close(stage);
    if (status != SLUICE_OK) {
        outcome_deinit(out);
    }
    return status;
}
