/* Transforms in Lua: any number of rows out for a row in, given by emit{...}. What a call that
 * fails has given is taken back, so a row is there with all that it becomes, or quarantined. See
 * luastageInt.h. */
#include <lauxlib.h>

#include "lua/stage/luastageInt.h"

/* Stops a call from giving without end. */
static void limit(lua_State *L, const struct luaworker *worker)
{
    if (luaout_call_bytes(worker) > ROW_BYTES) {
        luaL_error(L, "a row gives more than %d MiB", (int)(ROW_BYTES >> 20));
    }
}

int luagive_emit(lua_State *L)
{
    struct luaworker *worker = lua_touserdata(L, lua_upvalueindex(1));
    const struct luainstance *instance = worker->instance;
    struct sluice_error err;
    uint64_t origin = 0;
    sluice_status status;

    luacall_empty(&err);
    if (!worker->active) {
        return luaL_error(L, "emit is called after the function returned");
    }
    if (!lua_istable(L, 1)) {
        return luaL_error(L, "emit: found %s, expected a table of columns",
                          lua_isnone(L, 1) ? "nothing" : luaL_typename(L, 1));
    }
    if (worker->array != NULL) {
        const struct ArrowArray *rows = worker->array->children[instance->row_index];
        origin = ((const uint64_t *)rows->buffers[1])[worker->row];
    }
    status = luaout_add(worker, L, 1, &err);
    if (status == SLUICE_OK) {
        status = luaout_place(worker, &origin, &err);
    }
    if (status == SLUICE_E_NOMEM) {
        return luacall_abandon(worker, L, &err);
    }
    if (status != SLUICE_OK) {
        return luaL_error(L, "emit: %s", err.message);
    }
    limit(L, worker);
    return 0;
}

sluice_status luagive_result(struct luaworker *worker, int index, struct sluice_error *err)
{
    lua_State *L = worker->L;

    return lua_isnil(L, index)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "the function returned a %s, expected nothing: a transform gives rows "
                           "with its third argument, emit { ... }",
                           luaL_typename(L, index));
}

sluice_status luagive_batch(struct luaworker *worker, struct sluice_error *err)
{
    struct ArrowArray columns;
    int64_t n = worker->given;

    if (n == 0) {
        luaout_clear(worker);
        return SLUICE_OK;
    }
    TRY(luaout_finish(worker, n, &columns, err));
    return worker->emit->batch(worker->emit, &columns);
}

static sluice_status give_row(struct luaworker *worker, const struct ArrowArray *array, int64_t row,
                              int64_t k, struct sluice_error *err)
{
    struct sluice_error *why = luacall_error(worker);
    const char *reason;

    luarow_set(worker, array, row);
    TRY(luacall(worker, &reason, why, err));
    if (reason == NULL && luagive_result(worker, luacall_base(worker), why) != SLUICE_OK) {
        reason = "lua_error";
        luacall_place(worker, why);
        luaout_rewind(worker);
    }
    luacall_end(worker);
    if (reason != NULL) {
        TRY(luaverdict_bad(worker, k, reason, why->message, err));
    }
    if (luaout_bytes(worker) >= GIVE_BYTES) {
        TRY(luagive_batch(worker, err));
        return luaout_begin(worker, err);
    }
    return SLUICE_OK;
}

sluice_status luagive_process(void *state, const struct sluice_batch *batch,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;

    TRY(luaverdict_begin(worker, batch->n, err));
    TRY(luaout_begin(worker, err));
    TRY(luacall_rows(worker, batch, emit, give_row, err));
    TRY(luagive_batch(worker, err));
    return luaverdict_emit_bad(worker, batch->n);
}
