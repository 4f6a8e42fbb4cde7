/* A worker's Lua state: made, frozen, looked at for what a row left behind, thrown away. See
 * luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox.h"
#include "lua/script/script.h"
#include "lua/stage/luastageInt.h"

void luacall_place(const struct luaworker *worker, struct sluice_error *err)
{
    error_prefix(err, "%s:%d", worker->instance->stage->file, worker->instance->stage->line);
}

void luaread_forget(struct luaworker *worker, size_t from)
{
    for (size_t i = from; i < worker->n_bad; i++) {
        free(worker->bad[i].reason);
        free(worker->bad[i].detail);
    }
    worker->n_bad = from < worker->n_bad ? from : worker->n_bad;
}

static void push_root(lua_State *L, int definition, const char *member)
{
    lua_getfield(L, definition, member);
    lua_pushfstring(L, "its %s", member);
}

/* Nothing that the functions can reach may keep what a row leaves behind; in an ordered stage it
 * may. Definition: on the stack, popped. */
static sluice_status freeze(struct luaworker *worker, struct sluice_error *err)
{
    lua_State *L = worker->L;
    int definition = lua_gettop(L);
    sluice_status status;

    if (worker->instance->stage->ordered) {
        lua_pop(L, 1);
        return SLUICE_OK;
    }
    lua_pushvalue(L, AT_FUNCTION);
    lua_pushliteral(L, "its function");
    lua_pushvalue(L, AT_OPTIONS);
    lua_pushliteral(L, "its 'options");
    push_root(L, definition, "judge");
    push_root(L, definition, "header");
    status = sandbox_freeze(L, 4, err);
    lua_settop(L, definition - 1);
    if (status == SLUICE_E_CONFIG) {
        luacall_place(worker, err);
    }
    return status;
}

sluice_status luaworker_check(struct luaworker *worker, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    const char *changed = stage->ordered ? NULL : sandbox_changed(worker->L);

    return changed == NULL
               ? SLUICE_OK
               : error_set(err, SLUICE_E_CONFIG,
                           "the function at %s:%d changes %s', so results would depend on which "
                           "worker gets which rows; "
                           "use a local inside the function, or run = \"ordered\"",
                           stage->file, stage->line, changed);
}

sluice_status luaworker_begin(struct luaworker *worker, struct sluice_error *err)
{
    const struct luainstance *instance = worker->instance;
    const struct luastage *stage = instance->stage;
    lua_State *L = NULL;

    TRY(script_worker_open(stage->script, stage->k, &L, err));
    worker->L = L;
    lua_settop(L, 0);
    if (!lua_checkstack(L, (int)instance->n_fields + 40)) {
        return error_nomem(err, "a stage in Lua");
    }
    script_push_stage(L, stage->k);
    lua_insert(L, AT_FUNCTION); /* the definition, behind it, is needed until all is frozen */
    luarow_push(worker);        /* doc, cache */
    lua_rotate(L, AT_DOC, -1);
    if (stage->role == LUAROLE_GATE) {
        luaoptions_push_keyed(L, stage->options, instance->config);
    } else {
        luaoptions_push(L, stage->options, instance->config);
    }
    lua_insert(L, AT_OPTIONS);
    TRY(freeze(worker, err));
    if (worker->give != NULL) {
        lua_pushlightuserdata(L, worker);
        lua_pushcclosure(L, worker->give, 1);
    } else {
        lua_pushnil(L);
    }
    memset(worker->loaded, 0, instance->n_fields * sizeof *worker->loaded);
    worker->n_loaded = 0;
    for (uint32_t k = 0; k < instance->n_fields; k++) {
        worker->names[k] = lua_pushstring(L, instance->fields[k].name);
    }
    sandbox_row_steps(L, stage->steps);
    if (!stage->ordered) { /* there rows leave behind what they like, up to the cap */
        sandbox_ready(L);
    }
    return SLUICE_OK;
}

sluice_status luaworker_renew(struct luaworker *worker, struct sluice_error *err)
{
    script_worker_close(worker->L);
    worker->L = NULL;
    return luaworker_begin(worker, err);
}
