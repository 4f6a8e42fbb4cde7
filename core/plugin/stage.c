/* Drives the vtable of a stage: every call into a plugin after loading is in this file. See stage.h
 * for the contract, stageInt.h for the parts. */
#include "plugin/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/stageInt.h"
#include "plugin/stage_state.h"

/* How often a call is answered at most: more is a loop, which would have the run wait for ever. */
#define ROUNDS_MAX 100000u

/* ---- errors ---- */

/* Before a call: an empty error of ours, so that a plugin need not fill all of it. */
static void error_begin(struct sluice_error *err)
{
    err->size = sizeof *err;
    err->code = SLUICE_OK;
    err->row = -1;
    err->field[0] = '\0';
    err->message[0] = '\0';
}

/* After a call: the status as the host understands it, with a clean message that names the stage.
 */
static sluice_status error_end(const struct stage *stage, sluice_status status,
                               struct sluice_error *err)
{
    sluice_status known = error_known(status);

    if (known == SLUICE_OK) {
        return SLUICE_OK;
    }
    if (stage->remote && stage_died(status)) {
        known = status;
    }
    if (known == SLUICE_E_HALT && stage->kind->role != SLUICE_ROLE_GATE) {
        known = SLUICE_E_INTERNAL;
    }
    err->size = sizeof *err;
    err->code = known;
    err->field[sizeof err->field - 1] = '\0';
    err->message[sizeof err->message - 1] = '\0';
    if (err->message[0] == '\0') {
        const char *field = err->field;
        char copy[sizeof err->field];
        int64_t row = err->row;
        memcpy(copy, field, sizeof copy);
        error_set(err, known,
                  known == SLUICE_E_NOMEM ? "it has not enough memory (status %d, no message)"
                                          : "it failed with status %d and left no message",
                  (int)status);
        memcpy(err->field, copy, sizeof copy);
        err->row = row;
    }
    utf8_clean(err->field);
    utf8_clean(err->message);
    if (stage->host.services.unnamed) {
        return known;
    }
    if (strcmp(stage->name, stage->kind->name) == 0) {
        error_prefix(err, "stage '%s'", stage->name);
    } else {
        error_prefix(err, "stage '%s' (%s)", stage->name, stage->kind->name);
    }
    return known;
}

/* Runs body with a usable error even if the caller gave none. */
#define WITH_ERROR(err)                   \
    struct sluice_error own_error;        \
    err = err != NULL ? err : &own_error; \
    error_begin(err)

/* ---- instances ---- */

static sluice_status split_reasons(struct stage *stage, struct sluice_error *err)
{
    const char *reasons = stage->kind->reasons;
    uint32_t n = 1;
    char *at;

    if (reasons == NULL) {
        return SLUICE_OK;
    }
    for (const char *c = reasons; *c != '\0'; c++) {
        n += *c == '|' ? 1 : 0;
    }
    stage->reason_text = str_copy(reasons, strlen(reasons));
    stage->reasons = calloc(n, sizeof *stage->reasons);
    if (stage->reason_text == NULL || stage->reasons == NULL) {
        return error_nomem(err, "a stage");
    }
    at = stage->reason_text;
    for (uint32_t k = 0; k < n; k++) {
        size_t length = strcspn(at, "|");
        stage->reasons[k] = at;
        at[length] = '\0';
        at += length + 1;
    }
    stage->n_reasons = n;
    return SLUICE_OK;
}

sluice_status stage_open(const struct registry_entry *entry, struct options *options,
                         const char *name, const struct stage_services *services,
                         struct stage **out, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    sluice_status status;

    WITH_ERROR(err);
    *out = NULL;
    if (stage == NULL) {
        options_destroy(options);
        return error_nomem(err, "a stage");
    }
    stage->entry = entry;
    stage->kind = &entry->stage;
    stage->options = options;
    stage->deep = !entry->trusted || services->check;
    /* Only a plugin in this process lays its verdicts out; adapters have this header. */
    stage->verdict_stride = entry->plugin != NULL && entry->isolation == REGISTRY_IN_PROCESS
                                ? entry->plugin->verdict_stride
                                : sizeof(struct sluice_verdict);
    stage->output.kind = TYPE_STRUCT;
    stage->name = str_copy(name, strlen(name));
    status = stage->name == NULL ? error_nomem(err, "a stage")
                                 : stage_host_init(&stage->host, stage, services, err);
    if (status == SLUICE_OK) {
        status = split_reasons(stage, err);
    }
    if (status == SLUICE_OK && stage->kind->open != NULL) {
        status = stage->kind->open(&stage_host_api, &stage->host, options_config(options),
                                   &stage->shared, err);
        status = error_end(stage, status, err);
    }
    if (status != SLUICE_OK) {
        stage_close(stage);
        return status;
    }
    stage->opened = true;
    *out = stage;
    return SLUICE_OK;
}

void stage_close(struct stage *stage)
{
    if (stage == NULL) {
        return;
    }
    assert(atomic_load(&stage->n_workers) == 0);
    if (stage->opened && stage->kind->close != NULL) {
        stage->kind->close(stage->shared);
    }
    stage_host_deinit(&stage->host);
    stage_output_deinit(stage);
    options_destroy(stage->options);
    free(stage->lacking);
    free(stage->reason_text);
    free(stage->reasons);
    free(stage->name);
    free(stage);
}

const char *stage_name(const struct stage *stage)
{
    return stage->name;
}

const struct registry_entry *stage_entry(const struct stage *stage)
{
    return stage->entry;
}

const struct sluice_stage *stage_kind(const struct stage *stage)
{
    return stage->kind;
}

const struct options *stage_options(const struct stage *stage)
{
    return stage->options;
}

uint32_t stage_n_reasons(const struct stage *stage)
{
    return stage->n_reasons;
}

const char *stage_reason(const struct stage *stage, uint32_t k)
{
    assert(k >= 1 && k <= stage->n_reasons);
    return stage->reasons[k - 1];
}

const struct type *stage_output(const struct stage *stage)
{
    return &stage->output;
}

bool stage_can_save(const struct stage *stage)
{
    return stage->kind->save != NULL && stage->kind->load != NULL;
}

bool stage_can_merge(const struct stage *stage)
{
    return stage->kind->save != NULL && stage->kind->merge != NULL;
}

sluice_status stage_prepare(struct stage *stage, const struct stage_inputs *inputs,
                            struct stage_prepared *out, struct sluice_error *err)
{
    struct stage_recorder recorder;
    sluice_status status = SLUICE_OK;

    WITH_ERROR(err);
    assert(stage->opened && atomic_load(&stage->n_workers) == 0);
    memset(out, 0, sizeof *out);
    schema_init(&out->added);
    stage->prepared = false;
    stage_recorder_init(&recorder, stage, inputs, out);
    if (stage->kind->prepare != NULL) {
        status = stage->kind->prepare(stage->shared, &recorder.plan, err);
    }
    if (status == SLUICE_OK || recorder.failed != SLUICE_OK) {
        status = stage_recorder_finish(&recorder, err);
    }
    stage_recorder_deinit(&recorder);
    status = error_end(stage, status, err);
    stage->prepared = status == SLUICE_OK;
    return status;
}

void stage_prepared_deinit(struct stage_prepared *prepared)
{
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        for (uint32_t k = 0; k < prepared->n_needs[port]; k++) {
            struct stage_need *need = &prepared->needs[port][k];
            free(need->name);
            free(need->type);
            free(need->provider);
            free(need->options);
            free(need->source);
        }
        free(prepared->needs[port]);
    }
    for (uint32_t k = 0; k < prepared->n_outputs; k++) {
        free(prepared->outputs[k].suffix);
        free(prepared->outputs[k].codec);
    }
    for (uint32_t k = 0; k < prepared->n_notes; k++) {
        free(prepared->notes[k].key);
        free(prepared->notes[k].json);
    }
    free(prepared->outputs);
    free(prepared->notes);
    schema_deinit(&prepared->added);
    memset(prepared, 0, sizeof *prepared);
}

/* ---- workers ---- */

sluice_status stage_worker_open(struct stage *stage, struct stage_worker **out,
                                struct sluice_error *err)
{
    struct stage_worker *worker = calloc(1, sizeof *worker);
    sluice_status status = SLUICE_OK;

    WITH_ERROR(err);
    assert(stage->prepared || stage->kind->survey != NULL);
    *out = NULL;
    if (stage->lacking != NULL) {
        status =
            error_set(err, SLUICE_E_INTERNAL,
                      "it is to run without a column that it needs: %s; the host must add that "
                      "and prepare the stage again",
                      stage->lacking);
        free(worker);
        return error_end(stage, status, err);
    }
    if (worker == NULL) {
        return error_nomem(err, "a worker");
    }
    worker->stage = stage;
    if (stage->kind->worker_open != NULL) {
        status =
            error_end(stage, stage->kind->worker_open(stage->shared, &worker->state, err), err);
    } else {
        /* A stage without workers of its own is called with what open gave. */
        worker->state = stage->shared;
    }
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    atomic_fetch_add(&stage->n_workers, 1);
    *out = worker;
    return SLUICE_OK;
}

void stage_worker_close(struct stage_worker *worker)
{
    struct stage *stage;

    if (worker == NULL) {
        return;
    }
    stage = worker->stage;
    if (stage->kind->worker_close != NULL) {
        stage->kind->worker_close(worker->state);
    }
    atomic_fetch_sub(&stage->n_workers, 1);
    free(worker);
}

bool stage_worker_usable(const struct stage_worker *worker)
{
    return worker->at != WORKER_FAILED;
}

/* Common end of the calls that emit: checks what came, or discards it. */
static sluice_status call_end(struct stage_worker *worker, struct stage_emitter *emitter,
                              sluice_status status, struct sluice_error *err)
{
    if (status == SLUICE_OK || emitter->failed != SLUICE_OK) {
        status = stage_emitter_finish(emitter, err);
    }
    worker->at = WORKER_OPEN;
    if (status == SLUICE_OK && emitter->out->n_asks > 0) {
        worker->at = WORKER_WAITING;
        worker->call = emitter->call;
        if (worker->rounds == ROUNDS_MAX) {
            status = DEFECT(err,
                            "it asks without end in one call: %u times it was answered, and asks "
                            "again",
                            ROUNDS_MAX);
        }
    } else {
        worker->rounds = 0;
    }
    if (status != SLUICE_OK) {
        status = error_end(worker->stage, status, err);
        stage_result_clear(emitter->out);
        if (status != SLUICE_E_RETRY) {
            worker->at = WORKER_FAILED;
        }
    }
    return status;
}

/* A stage is never called without a column that it was promised: it would find a NULL there. */
static sluice_status check_columns(const struct stage *stage, const struct sluice_batch *batch,
                                   struct sluice_error *err)
{
    const struct ArrowArray *array = batch->array;
    uint32_t n = stage->n_needs[batch->port];

    for (uint32_t k = 0; k < n; k++) {
        if (k >= array->n_children || array->children[k] == NULL) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "the host gave it %lld columns of the %u that it needs: number %u is "
                             "missing",
                             (long long)array->n_children, n, k);
        }
    }
    return SLUICE_OK;
}

sluice_status stage_process(struct stage_worker *worker, const struct sluice_batch *batch,
                            struct stage_result *out, struct sluice_error *err)
{
    struct stage_call call = { .kind = batch->port == 0 ? EMIT_PROCESS : EMIT_SIDE,
                               .batch = batch };
    struct stage_emitter emitter;
    sluice_status status;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN && worker->stage->kind->process != NULL &&
           batch->port < STAGE_PORTS);
    stage_result_clear(out);
    status = check_columns(worker->stage, batch, err);
    if (status != SLUICE_OK) {
        worker->at = WORKER_FAILED;
        return error_end(worker->stage, status, err);
    }
    stage_emitter_init(&emitter, worker->stage, out, &call);
    status = worker->stage->kind->process(worker->state, batch, &emitter.emit, err);
    return call_end(worker, &emitter, status, err);
}

sluice_status stage_read(struct stage_worker *worker, struct sluice_chunk *chunk,
                         struct stage_result *out, struct sluice_error *err)
{
    struct stage_call call = { .kind = EMIT_READ };
    struct stage_emitter emitter;
    uint64_t n = chunk->n;
    sluice_status status;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN && worker->stage->kind->read != NULL);
    stage_result_clear(out);
    stage_emitter_init(&emitter, worker->stage, out, &call);
    chunk->consumed = n;
    status = worker->stage->kind->read(worker->state, chunk, &emitter.emit, err);
    if (status == SLUICE_OK && chunk->consumed > n) {
        status = DEFECT(err, "it consumed %llu of %llu bytes", (unsigned long long)chunk->consumed,
                        (unsigned long long)n);
    }
    return call_end(worker, &emitter, status, err);
}

sluice_status stage_survey(struct stage_worker *worker, const struct sluice_file *file,
                           struct stage_result *out, struct sluice_error *err)
{
    struct stage_call call = { .kind = EMIT_SURVEY, .file = file };
    struct stage_emitter emitter;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN && worker->stage->kind->survey != NULL);
    stage_result_clear(out);
    stage_emitter_init(&emitter, worker->stage, out, &call);
    return call_end(worker, &emitter,
                    worker->stage->kind->survey(worker->state, file, &emitter.emit, err), err);
}

sluice_status stage_scan(struct stage_worker *worker, struct sluice_scan *scan,
                         struct stage_result *out, struct sluice_error *err)
{
    struct stage_call call = { .kind = EMIT_SCAN, .file = scan->file, .scan = scan };
    struct stage_emitter emitter;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN && worker->stage->kind->scan != NULL);
    stage_result_clear(out);
    scan->more = 0;
    stage_emitter_init(&emitter, worker->stage, out, &call);
    return call_end(worker, &emitter,
                    worker->stage->kind->scan(worker->state, scan, &emitter.emit, err), err);
}

bool stage_may_ask(const struct stage *stage)
{
    return stage->kind->resume != NULL;
}

sluice_status stage_resume(struct stage_worker *worker, const struct sluice_answer *items,
                           uint32_t n, struct stage_result *out, struct sluice_error *err)
{
    struct sluice_answers answers = { .size = sizeof answers,
                                      .items = items,
                                      .n = n,
                                      .stride = sizeof *items,
                                      .batch = worker->call.batch,
                                      .scan = worker->call.scan };
    struct stage_emitter emitter;

    WITH_ERROR(err);
    assert(worker->at == WORKER_WAITING && n == out->n_asks);
    worker->rounds++;
    out->n_asks = 0;
    buf_clear(&out->asked);
    stage_emitter_init(&emitter, worker->stage, out, &worker->call);
    return call_end(worker, &emitter,
                    worker->stage->kind->resume(worker->state, &answers, &emitter.emit, err), err);
}

sluice_status stage_flush(struct stage_worker *worker, struct stage_result *out,
                          struct sluice_error *err)
{
    struct stage_call call = { .kind = EMIT_FLUSH };
    struct stage_emitter emitter;
    sluice_status status = SLUICE_OK;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN);
    stage_result_clear(out);
    stage_emitter_init(&emitter, worker->stage, out, &call);
    if (worker->stage->kind->flush != NULL) {
        status = worker->stage->kind->flush(worker->state, &emitter.emit, err);
    }
    status = call_end(worker, &emitter, status, err);
    if (status == SLUICE_OK) {
        worker->at = WORKER_FLUSHED;
    }
    return status;
}

/* ---- state ---- */

sluice_status stage_save(struct stage_worker *worker, struct buf *out, struct sluice_error *err)
{
    const struct sluice_stage *kind = worker->stage->kind;
    struct stage_state_io state;
    struct stage_frame frame;
    sluice_status status = SLUICE_OK;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN || worker->at == WORKER_FLUSHED);
    stage_frame_begin(&frame, out, kind->state_version);
    stage_state_io_init(&state, out, NULL, 0);
    if (kind->save != NULL) {
        status = kind->save(worker->state, &state.io, err);
    }
    stage_frame_end(&frame, out);
    if (status == SLUICE_OK || out->failed) {
        status = buf_status(out, err);
    }
    if (status != SLUICE_OK) {
        out->size = frame.begin < out->size ? frame.begin : out->size;
        status = error_end(worker->stage, status, err);
        worker->at = WORKER_FAILED;
    }
    return status;
}

typedef sluice_status (*load_function)(void *, struct sluice_io *, uint64_t, struct sluice_error *);

static sluice_status load_with(struct stage_worker *worker, load_function load,
                               struct stage_state_io *state, uint64_t version,
                               struct sluice_error *err)
{
    const struct sluice_stage *kind = worker->stage->kind;

    if (version > kind->state_version) {
        return error_set(err, SLUICE_E_CONFIG,
                         "its state was saved by a newer version of it (format %llu, this one "
                         "reads up to %llu); use that version "
                         "or start afresh",
                         (unsigned long long)version, (unsigned long long)kind->state_version);
    }
    if (load != NULL) {
        sluice_status status = load(worker->state, &state->io, version, err);
        TRY(state->status);
        TRY(status);
    }
    if (state->short_read || stage_state_left(&state->io) > 0) {
        return error_set(err, SLUICE_E_DATA, "a saved state is %s than what it reads",
                         state->short_read ? "shorter" : "longer");
    }
    return state->status;
}

static sluice_status load_framed(struct stage_worker *worker, load_function load, const void *data,
                                 size_t n, struct sluice_error *err)
{
    struct stage_state_io state;
    const void *bytes;
    size_t size;
    uint64_t version;

    TRY(stage_frame_open(data, n, &version, &bytes, &size, err));
    stage_state_io_init(&state, NULL, bytes, size);
    return load_with(worker, load, &state, version, err);
}

static sluice_status load_state(struct stage_worker *worker, load_function load, const void *data,
                                size_t n, struct sluice_error *err)
{
    sluice_status status;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN || worker->at == WORKER_FLUSHED);
    status = load_framed(worker, load, data, n, err);
    if (status != SLUICE_OK) {
        status = error_end(worker->stage, status, err);
        worker->at = WORKER_FAILED;
    }
    return status;
}

sluice_status stage_load(struct stage_worker *worker, const void *data, size_t n,
                         struct sluice_error *err)
{
    return load_state(worker, worker->stage->kind->load, data, n, err);
}

sluice_status stage_merge(struct stage_worker *worker, const void *data, size_t n,
                          struct sluice_error *err)
{
    return load_state(worker, worker->stage->kind->merge, data, n, err);
}

sluice_status stage_save_to(struct stage_worker *worker, const struct stage_stream *stream,
                            struct sluice_error *err)
{
    const struct sluice_stage *kind = worker->stage->kind;
    struct stage_state_io state;
    sluice_status status;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN || worker->at == WORKER_FLUSHED);
    stage_state_io_stream(&state, stream, true, err);
    status = stream->put(stream->ctx, &kind->state_version, sizeof kind->state_version, err);
    if (status == SLUICE_OK && kind->save != NULL) {
        status = kind->save(worker->state, &state.io, err);
    }
    if (state.status != SLUICE_OK) {
        status = state.status;
    }
    if (status == SLUICE_OK) {
        status = stage_state_io_end(&state);
    }
    stage_state_io_deinit(&state);
    if (status != SLUICE_OK) {
        status = error_end(worker->stage, status, err);
        worker->at = WORKER_FAILED;
    }
    return status;
}

sluice_status stage_load_from(struct stage_worker *worker, const struct stage_stream *stream,
                              struct sluice_error *err)
{
    const struct sluice_stage *kind = worker->stage->kind;
    struct stage_state_io state;
    uint64_t version = 0;
    sluice_status status;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN || worker->at == WORKER_FLUSHED);
    stage_state_io_stream(&state, stream, false, err);
    status = state.io.read(&state.io, &version, sizeof version);
    if (status == SLUICE_OK) {
        status =
            load_with(worker, kind->load != NULL ? kind->load : kind->merge, &state, version, err);
    } else if (state.short_read) {
        status = error_set(err, SLUICE_E_DATA, "a saved state has no version");
    }
    stage_state_io_deinit(&state);
    if (status != SLUICE_OK) {
        status = error_end(worker->stage, status, err);
        worker->at = WORKER_FAILED;
    }
    return status;
}

/* ---- gates ---- */

struct counter {
    int64_t (*count)(void *ctx, const char *node);
    void *ctx;
};

static int64_t count_node(struct sluice_verdict_io *io, const char *node)
{
    const struct counter *counter = io->ctx;

    return counter->count != NULL && node != NULL ? counter->count(counter->ctx, node) : -1;
}

sluice_status stage_judge(struct stage_worker *worker,
                          int64_t (*count)(void *ctx, const char *node), void *ctx,
                          struct stage_judgement *out, struct sluice_error *err)
{
    const struct sluice_stage *kind = worker->stage->kind;
    struct counter counter = { count, ctx };
    struct sluice_verdict_io io = {
        .size = sizeof io, .ctx = &counter, .count = count_node, .outcome = SLUICE_GATE_PASS
    };
    sluice_status status = SLUICE_OK;

    WITH_ERROR(err);
    assert(worker->at == WORKER_OPEN || worker->at == WORKER_FLUSHED);
    memset(out, 0, sizeof *out);
    if (kind->judge != NULL) {
        status = kind->judge(worker->state, &io, err);
    }
    if (status == SLUICE_OK && io.outcome != SLUICE_GATE_PASS && io.outcome != SLUICE_GATE_WARN &&
        io.outcome != SLUICE_GATE_HALT) {
        status = DEFECT(err, "it judged %d, which is neither pass, warn nor halt", (int)io.outcome);
    }
    if (status != SLUICE_OK) {
        status = error_end(worker->stage, status, err);
        worker->at = WORKER_FAILED;
        return status;
    }
    io.message[sizeof io.message - 1] = '\0';
    out->outcome = io.outcome;
    memcpy(out->message, io.message, sizeof out->message);
    utf8_clean(out->message);
    return SLUICE_OK;
}
