/* Tables that scripts can read and not write, and the mark of the metatables that they are given.
 * See sandboxInt.h. */
#include "lua/sandbox/sandboxInt.h"

static const char protected_key = 0;

static int refuse_write(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);

    return luaL_error(
        L, "'%s.%s' can't be assigned: the libraries are the same for all; use a local", name, key);
}

void sandbox_mark_protected(lua_State *L, const char *name)
{
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushstring(L, name);
    lua_rawsetp(L, -2, &protected_key);
}

void sandbox_protect(lua_State *L, const char *name)
{
    lua_newtable(L); /* library, proxy */
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, -2, "__newindex");
    sandbox_mark_protected(L, name);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

const char *sandbox_protected_name(lua_State *L, int index)
{
    const char *name = NULL;

    if (lua_getmetatable(L, index)) {
        name = lua_rawgetp(L, -1, &protected_key) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        lua_pop(L, 2);
    }
    return name; /* the metatable holds the string */
}

bool sandbox_is_protected(lua_State *L, int index)
{
    return sandbox_protected_name(L, index) != NULL;
}

const char sandbox_guard_key = 0;

bool sandbox_is_guard(lua_State *L, int index)
{
    bool yes;

    index = lua_absindex(L, index);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox_guard_key);
    yes = lua_rawequal(L, -1, index) != 0;
    lua_pop(L, 1);
    return yes;
}
