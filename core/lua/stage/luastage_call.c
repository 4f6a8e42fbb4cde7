/* Calls of a stage's function. Each row, line or file is a call of its own, and what goes wrong in
 * one costs that one alone.
 *
 * A call that leaves a doubt whether it stayed within its bounds is made again: counted, or alone
 * in a fresh state, so that neither the clock nor what other rows left behind can decide
 * (sandbox_bound.c). Where calls leave doubts again and again, the next ones are counted at once.
 * An ordered stage's state can't be made anew, so there each call is counted. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/stage/luastageInt.h"
#include "lua/sandbox/sandbox.h"
#include "lua/script/scriptInt.h"

/* ---- seeds ---- */

/* The current row's, from its number; rows of different splits have the same numbers: the beginning
 * of their text tells them apart. A record's, from its place in its file and its beginning. */
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
    if (worker->instance->stage->role != LUAROLE_TRANSFORM && worker->asks == NULL) {
        return 2;
    }
    luaask_call(worker);
    lua_pushvalue(L, AT_GIVE);
    return 3;
}

int luacall_abandon(struct luaworker *worker, lua_State *L, const struct sluice_error *err)
{
    worker->host_error = *err;
    worker->host_status = err->code;
    return luaL_error(L, "the host failed");
}

static sluice_status call(struct luaworker *worker, enum sandbox_rigour rigour,
                          struct sluice_error *err)
{
    lua_State *L = worker->L;

    sandbox_row(L, rigour);
    sandbox_seed(L, seed_of(worker));
    return sandbox_call(L, worker->push(worker), 4, err);
}

static bool stopped(const struct luaworker *worker)
{
    const struct luainstance *instance = worker->instance;
    return instance->api != NULL && instance->api->cancelled(instance->host) != 0;
}

/* A call that left something behind for the next, or tried to, or whose steps are no bound: the
 * script is at fault, not the row. */
static sluice_status leaves_nothing(struct luaworker *worker, sluice_status status,
                                    const struct sluice_error *why, struct sluice_error *err)
{
    if (status != SLUICE_OK && sandbox_blames_script(worker->L)) {
        *err = *why;
        err->code = SLUICE_E_CONFIG;
        return SLUICE_E_CONFIG;
    }
    return luaworker_check(worker, err);
}

/* Forgets what a call gave. */
static void take_back(struct luaworker *worker)
{
    if (luastage_builds(worker->instance->stage)) {
        luaout_rewind(worker);
    }
    luaread_forget(worker, worker->bad_start);
}

#define DOUBT_ROWS 64u /* for which a doubt is remembered */
#define WARY_ROWS 32u  /* counted at once after a second doubt, or one that was slow again */

/* Rows that are counted from the start cost half as much as those that are judged twice. */
static enum sandbox_rigour rigour_of(struct luaworker *worker)
{
    worker->doubted -= worker->doubted > 0;
    worker->wary -= worker->wary > 0;
    return worker->instance->stage->ordered || worker->wary > 0 ? ROW_COUNTED : ROW_TRUSTED;
}

static void learn(struct luaworker *worker, enum sandbox_rigour rigour)
{
    if (rigour == ROW_TRUSTED && sandbox_doubt(worker->L) == DOUBT_STEPS) {
        worker->wary = worker->doubted > 0 ? WARY_ROWS : 0;
        worker->doubted = DOUBT_ROWS;
    } else if (rigour == ROW_COUNTED && !sandbox_quick(worker->L)) {
        worker->wary = WARY_ROWS;
    }
}

/* Makes the call as often as it takes until nothing is in doubt. */
static sluice_status call_surely(struct luaworker *worker, struct sluice_error *why,
                                 struct sluice_error *err)
{
    enum sandbox_rigour rigour = rigour_of(worker);
    sluice_status status = call(worker, rigour, why);

    learn(worker, rigour);
    while (sandbox_doubt(worker->L) != DOUBT_NONE && !stopped(worker) &&
           worker->host_status == SLUICE_OK) {
        bool alone = sandbox_doubt(worker->L) == DOUBT_MEMORY;
        TRY(luaworker_check(worker, err)); /* it may have changed something all the same */
        luarow_clear(worker);              /* what it reads is counted again */
        take_back(worker);
        if (alone && luaworker_renew(worker, err) != SLUICE_OK) {
            err->code = SLUICE_E_INTERNAL;
            return SLUICE_E_INTERNAL;
        }
        worker->active = true;
        luacall_empty(why);
        status = call(worker, alone ? ROW_ALONE : ROW_COUNTED, why);
    }
    if (status == SLUICE_E_CANCELLED || sandbox_doubt(worker->L) != DOUBT_NONE) {
        return worker->host_status != SLUICE_OK ? SLUICE_OK
                                                : error_set(err, SLUICE_E_CANCELLED, "cancelled");
    }
    return status;
}

sluice_status luacall(struct luaworker *worker, const char **reason, struct sluice_error *why,
                      struct sluice_error *err)
{
    sluice_status status;

    *reason = NULL;
    worker->host_status = SLUICE_OK;
    worker->bad_start = worker->n_bad;
    if (luastage_builds(worker->instance->stage)) {
        luaout_start(worker);
    }
    status = call_surely(worker, why, err);
    if (worker->host_status != SLUICE_OK) {
        *err = worker->host_error;
        return worker->host_status;
    }
    if (status == SLUICE_E_CANCELLED || status == SLUICE_E_INTERNAL) {
        return status;
    }
    TRY(leaves_nothing(worker, status, why, err));
    switch (status) {
    case SLUICE_OK:
        return SLUICE_OK;
    case SLUICE_E_NOMEM:
        *reason = "lua_memory";
        luacall_place(worker, why);
        break;
    case SLUICE_E_DATA:
        *reason = "lua_endless";
        break;
    default:
        *reason = "lua_error";
        break;
    }
    take_back(worker);
    return SLUICE_OK;
}

void luacall_end(struct luaworker *worker)
{
    luarow_clear(worker);
    lua_settop(worker->L, luacall_base(worker) - 1);
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
    if (status == SLUICE_E_NOMEM) {
        return error_set(err, SLUICE_E_CONFIG, "%.800s (the %s of '%s')", err->message, what,
                         worker->instance->stage->name);
    }
    return status == SLUICE_OK ? luaworker_check(worker, err) : status;
}

/* ---- batches ---- */

/* Called by the watchdog now and then while rows are judged. Async-signal-safe. */
static void tick(void *ctx)
{
    struct luaworker *worker = ctx;
    lua_State *L = worker->L;

    if (worker->active && L != NULL && sandbox_late(L)) {
        sandbox_interrupt(L);
    }
}

sluice_status luacall_watched(struct luaworker *worker,
                              sluice_status (*work)(struct luaworker *, void *ctx,
                                                    struct sluice_error *),
                              void *ctx, struct sluice_error *err)
{
    const struct script_watch *watch = worker->instance->stage->script->options.watch;
    struct script_watching watching;
    sluice_status status;

    sandbox_clock(worker->L);
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
    return SLUICE_OK;
}
