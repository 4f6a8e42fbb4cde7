/* Makes a state: its libraries, and what they are called. See sandbox.h. */
#include <stdlib.h>

#include "lua/sandbox/sandboxInt.h"
#include "lua/text/textlib.h"

/* names[function] = "prefix.key" for the functions of the table at index. */
static void name_functions(lua_State *L, int index, const char *prefix, int names)
{
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_iscfunction(L, -1) && lua_type(L, -2) == LUA_TSTRING) {
            lua_pushvalue(L, -1);
            lua_pushfstring(L, "%s.%s", prefix, lua_tostring(L, -3));
            lua_rawset(L, names);
        }
    }
}

/* Remembers what globals there are and what their functions are called: both are the same in all
 * states (funchash). */
static void remember_builtins(lua_State *L)
{
    int top = lua_gettop(L);

    lua_pushglobaltable(L);
    lua_newtable(L); /* builtins: name -> value */
    lua_newtable(L); /* names: function -> name */
    for (lua_pushnil(L); lua_next(L, top + 1) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, top + 2);
        if (sandbox_is_protected(L, -1)) {
            lua_getmetatable(L, -1);
            lua_getfield(L, -1, "__index");
            name_functions(L, lua_gettop(L), lua_tostring(L, -4), top + 3);
            lua_pop(L, 2);
        }
    }
    name_functions(L, top + 1, LUA_GNAME, top + 3);
    lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.names");
    lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.builtins");
    lua_settop(L, top);
}

static int open_libraries(lua_State *L)
{
    sandbox_open_base(L);
    sandbox_open_table(L);
    sandbox_open_math(L);
    sandbox_open_string(L);
    textlib_open(L);
    remember_builtins(L);
    return 0;
}

sluice_status sandbox_create(uint64_t memory, lua_State **out, struct sluice_error *err)
{
    struct sandbox *box = calloc(1, sizeof *box);
    lua_State *L = box == NULL ? NULL : lua_newstate(sandbox_allocate, box);

    *out = NULL;
    if (L == NULL) {
        free(box);
        return error_nomem(err, "a Lua state");
    }
    *(struct sandbox **)lua_getextraspace(L) = box;
    box->L = L;
    box->cap = memory;
    box->limit = UINT64_MAX;
    box->row_steps = SANDBOX_ROW_STEPS;
    lua_pushcfunction(L, open_libraries);
    if (sandbox_call(L, 0, 0, err) != SLUICE_OK) {
        sandbox_destroy(L);
        return err != NULL && err->code == SLUICE_E_NOMEM ? SLUICE_E_NOMEM : SLUICE_E_INTERNAL;
    }
    *out = L;
    return SLUICE_OK;
}

void sandbox_destroy(lua_State *L)
{
    struct sandbox *box;

    if (L == NULL) {
        return;
    }
    box = sandbox_of(L);
    textlib_close(box->text);
    lua_close(L);
    free(box);
}
