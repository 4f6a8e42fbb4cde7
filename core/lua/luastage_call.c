/* Calls of a stage's function. Each row, line or file is a call of its own, and what goes wrong in one costs that one alone.
 *
 * A call that needs more memory than the cap is made again, alone in a fresh state, so that what others left behind can't decide.
 * A call that the watchdog found late is made again in a fresh state under a count of instructions, so that the clock can't either.
 * See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/luastageInt.h"
#include "lua/sandbox.h"
#include "lua/scriptInt.h"

/* ---- seeds ---- */

/* The current row's, from its number; rows of different splits have the same numbers: the beginning of their text tells them apart. A
 * record's, from its place in its file and its beginning. */
static uint64_t seed_of(const struct luaworker *worker)
{
    const struct luainstance *instance = worker->instance;
    const struct bound_field *text_field =
        instance->text_field < 0 ? NULL : &instance->fields[instance->text_field];
    uint64_t seed = instance->seed;
    const char *text = NULL;
    size_t n = 0;

    if (instance->stage->role == LUAROLE_READER) {
        seed += worker->record.offset * UINT64_C(0x9E3779B97F4A7C15);
        text = worker->record.text;
        n = worker->record.n;
    } else if (worker->array == NULL) {
        return seed; /* an example */
    }
    if (text == NULL && instance->row_index >= 0) {
        const struct ArrowArray *rows = worker->array->children[instance->row_index];
        seed += ((const uint64_t *)rows->buffers[1])[worker->row] * UINT64_C(0x9E3779B97F4A7C15);
    }
    if (text == NULL && text_field != NULL && text_field->index >= 0 && !text_field->type.list &&
        text_field->type.cell >= CELL_TEXT) {
        text = sluice_text(worker->array->children[text_field->index], worker->row, &n);
    }
    return text == NULL ? seed : seed ^ (hash_bytes(text, n < 64 ? n : 64).lo + n);
}

/* ---- one call ---- */

struct sluice_error *luacall_error(struct luaworker *worker)
{
    return luacall_empty(&worker->why);
}

int luacall_base(const struct luaworker *worker)
{
    return AT_NAMES + (int)worker->instance->n_fields;
}

int luacall_push_row(struct luaworker *worker)
{
    lua_State *L = worker->L;

    lua_pushvalue(L, AT_FUNCTION);
    lua_pushvalue(L, AT_DOC);
    lua_pushvalue(L, AT_OPTIONS);
    if (worker->instance->stage->role != LUAROLE_TRANSFORM) {
        return 2;
    }
    lua_pushvalue(L, AT_GIVE);
    return 3;
}

int luacall_abandon(struct luaworker *worker, lua_State *L, const struct sluice_error *err)
{
    worker->host_error = *err;
    worker->host_status = err->code;
    return luaL_error(L, "the host failed");
}

static sluice_status call(struct luaworker *worker, struct sluice_error *err)
{
    lua_State *L = worker->L;
    int n_args;

    if (worker->counting) {
        sandbox_limit(L, ROW_BUDGET);
    }
    sandbox_seed(L, seed_of(worker));
    n_args = worker->push(worker);
    return sandbox_call(L, n_args, 4, err);
}

/* In a fresh state, under a count of instructions if it was late. */
static sluice_status call_again(struct luaworker *worker, bool late, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;

    worker->active = false;
    if (luastage_builds(worker->instance->stage)) {
        luaout_rewind(worker);
    }
    luaread_forget(worker, worker->bad_start);
    if (luaworker_renew(worker, &error) != SLUICE_OK) {
        *err = error;
        err->code = SLUICE_E_INTERNAL;
        return SLUICE_E_INTERNAL;
    }
    worker->active = true;
    worker->counting = late;
    return call(worker, err);
}

static bool stopped(const struct luaworker *worker)
{
    const struct luainstance *instance = worker->instance;
    return instance->api != NULL && instance->api->cancelled(instance->host) != 0;
}

sluice_status luacall(struct luaworker *worker, const char **reason, struct sluice_error *why,
                      struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    sluice_status status;

    *reason = NULL;
    worker->counting = stage->ordered; /* its state can't be made anew for a second try */
    worker->host_status = SLUICE_OK;
    worker->bad_start = worker->n_bad;
    if (luastage_builds(stage)) {
        luaout_start(worker);
    }
    status = call(worker, why);
    if (!stage->ordered && (status == SLUICE_E_NOMEM || status == SLUICE_E_CANCELLED)) {
        /* Such a call may take seconds: whoever stops the run waits for one, not for all of a batch. */
        if (!stopped(worker) && status == SLUICE_E_NOMEM) {
            status = call_again(worker, false, why);
        }
        if (!stopped(worker) && status == SLUICE_E_CANCELLED) {
            status = call_again(worker, true, why);
        }
        if (stopped(worker)) {
            return error_set(err, SLUICE_E_CANCELLED, "cancelled");
        }
    }
    if (worker->host_status != SLUICE_OK) {
        *err = worker->host_error;
        return worker->host_status;
    }
    switch (status) {
    case SLUICE_OK:
        worker->endless_rows = 0;
        return SLUICE_OK;
    case SLUICE_E_INTERNAL:
        *err = *why;
        return status;
    case SLUICE_E_NOMEM:
        *reason = "lua_memory";
        luacall_place(worker, why);
        break;
    case SLUICE_E_DATA:
        *reason = "lua_endless";
        if (++worker->endless_rows >= ENDLESS_ROWS) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%u rows in succession ran into the limit of %llu instructions "
                             "(%.500s): the function has an endless loop",
                             ENDLESS_ROWS, (unsigned long long)ROW_BUDGET, why->message);
        }
        break;
    default:
        *reason = "lua_error";
        break;
    }
    if (luastage_builds(stage)) {
        luaout_rewind(worker);
    }
    luaread_forget(worker, worker->bad_start);
    return SLUICE_OK;
}

void luacall_end(struct luaworker *worker)
{
    luarow_clear(worker);
    lua_settop(worker->L, luacall_base(worker) - 1);
}

void luacall_place(const struct luaworker *worker, struct sluice_error *err)
{
    error_prefix(err, "%s:%d", worker->instance->stage->file, worker->instance->stage->line);
}

sluice_status luacall_aside(struct luaworker *worker, const char *what, int n_args, int n_results,
                            struct sluice_error *err)
{
    sluice_status status;

    sandbox_limit(worker->L, ASIDE_BUDGET);
    sandbox_seed(worker->L, worker->instance->seed);
    status = sandbox_call(worker->L, n_args, n_results, err);
    if (status == SLUICE_E_DATA) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the %s of stage '%s' does not come to an end: more than %llu million "
                         "instructions",
                         what, worker->instance->stage->name,
                         (unsigned long long)(ASIDE_BUDGET / 1000000));
    }
    return status == SLUICE_E_NOMEM ? error_set(err, SLUICE_E_CONFIG, "%.800s (the %s of '%s')",
                                                err->message, what, worker->instance->stage->name)
                                    : status;
}

/* ---- batches ---- */

/* Called by the watchdog now and then while rows are judged: two ticks without a new row, and the row is late. Async-signal-safe. */
static void tick(void *ctx)
{
    struct luaworker *worker = ctx;
    lua_State *L = worker->L;

    if (worker->active && !worker->counting && L != NULL &&
        worker->rows_done == worker->rows_seen) {
        sandbox_interrupt(L);
    }
    worker->rows_seen = worker->rows_done;
}

sluice_status luacall_watched(struct luaworker *worker,
                              sluice_status (*work)(struct luaworker *, void *ctx,
                                                    struct sluice_error *),
                              void *ctx, struct sluice_error *err)
{
    const struct script_watch *watch = worker->instance->stage->script->options.watch;
    struct script_watching watching;
    sluice_status status;

    worker->rows_seen = UINT64_MAX;
    if (watch != NULL) {
        watch->begin(&watching, tick, worker);
    }
    status = work(worker, ctx, err);
    if (watch != NULL) {
        watch->end(&watching);
    }
    return status;
}

struct rows_work {
    const struct sluice_batch *batch;
    sluice_status (*judge)(struct luaworker *, const struct ArrowArray *, int64_t row, int64_t k,
                           struct sluice_error *);
};

static sluice_status run_rows(struct luaworker *worker, void *ctx, struct sluice_error *err)
{
    const struct rows_work *work = ctx;
    const struct sluice_batch *batch = work->batch;

    for (int64_t k = 0; k < batch->n; k++) {
        if ((k & 63) == 63 && worker->instance->api->cancelled(worker->instance->host) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "cancelled");
        }
        worker->rows_done++;
        TRY(work->judge(worker, batch->array, sluice_row(batch, k), k, err));
    }
    return SLUICE_OK;
}

sluice_status luacall_rows(struct luaworker *worker, const struct sluice_batch *batch,
                           struct sluice_emit *emit,
                           sluice_status (*judge)(struct luaworker *, const struct ArrowArray *,
                                                  int64_t row, int64_t k, struct sluice_error *),
                           struct sluice_error *err)
{
    struct rows_work work = { batch, judge };

    worker->emit = emit;
    TRY(luacall_watched(worker, run_rows, &work, err));
    return luaworker_check(worker, err);
}
