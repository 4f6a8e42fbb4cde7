/* The table `core`, on which the pipeline language in scripts/lib/sluice.lua stands: its making,
 * the place in the user's script that an error names, and modules. In the planner's state its
 * functions build the graph; in a worker's they count and keep functions. A failure raises
 * "FILE:LINE: message". See bindingsInt.h for the other files of the table. */
#include <string.h>

#include "lua/script/bindingsInt.h"
#include "lua/native/ffi_module.h"
#include "lua/sandbox/sandboxInt.h"

static int core_fail(lua_State *L)
{
    char where[300];

    bindings_where(L, bindings_own(L), where, sizeof where);
    lua_pushfstring(L, "%s: %s", where, luaL_checkstring(L, 1));
    return lua_error(L);
}

static int core_where(lua_State *L)
{
    char where[300];

    bindings_where(L, bindings_of(L), where, sizeof where);
    lua_pushstring(L, where);
    return 1;
}

static int core_at(lua_State *L)
{
    struct binding *binding = bindings_of(L);

    snprintf(binding->at, sizeof binding->at, "%s", luaL_optstring(L, 1, ""));
    return 0;
}

/* core.module(name): runs a module of the standard library with the arguments given. */
static int core_module(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct sluice_error err = ERROR_INIT;
    int n = lua_gettop(L) - 1;

    if (script_chunk(binding->script, L, luaL_checkstring(L, 1), binding->planning, &err) !=
        SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    lua_insert(L, 2);
    lua_call(L, n, 1);
    return 1;
}

static int require(lua_State *L)
{
    struct binding *binding = bindings_own(L);
    const char *name = luaL_checkstring(L, 1);
    struct sluice_error err = ERROR_INIT;

    /* It is in no stage's identity, and what it gives could depend on the row that came first. */
    if (binding->sealed) {
        lua_pushfstring(
            L,
            "the function requires '%s' while rows run; write local m = require '%s' at "
            "the top of the script, outside of the function, so that it is part of what "
            "the stage is",
            name, name);
        return sandbox_refuse_call(L);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "sluice.loaded");
    lua_getfield(L, -1, name);
    if (!lua_isnil(L, -1)) {
        return 1;
    }
    lua_pop(L, 1);
    if (script_chunk(binding->script, L, strcmp(name, "sluice") == 0 ? "lib.sluice" : name,
                     binding->planning, &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    if (strcmp(name, "sluice") == 0) {
        lua_getfield(L, LUA_REGISTRYINDEX, "sluice.core");
        lua_call(L, 1, 1);
    } else {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
    }
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, name);
    return 1;
}

void bindings_push(lua_State *L, struct binding *binding)
{
    static const luaL_Reg functions[] = {
        { "fail", core_fail },     { "where", core_where }, { "at", core_at },
        { "module", core_module }, { NULL, NULL },
    };
    const luaL_Reg *const parts[] = { functions,     bindings_graph,    bindings_stage,
                                      bindings_args, bindings_pipeline, bindings_list };

    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, STAGES_KEY);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, POLICIES_KEY);
    lua_newtable(L);
    ffi_module_push(L, binding);
    lua_setfield(L, -2, "ffi");
    lua_setfield(L, LUA_REGISTRYINDEX, "sluice.loaded");
    lua_pushlightuserdata(L, binding);
    lua_pushcclosure(L, require, 1);
    lua_setglobal(L, "require");
    lua_createtable(L, 0, 24);
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        lua_pushlightuserdata(L, binding);
        luaL_setfuncs(L, parts[k], 1);
    }
    if (binding->planning && binding->script->options.describer != NULL) {
        lua_pushlightuserdata(L, binding);
        luaL_setfuncs(L, bindings_describe, 1);
    }
    lua_getglobal(L, "math");
    lua_setfield(L, -2, "math");
    lua_setfield(L, LUA_REGISTRYINDEX, "sluice.core");
}
