/* The table library of the sandbox: the stock one with a stable sort, and with bounds on loops that run in C. See sandbox.h. */
#include <lualib.h>

#include "lua/sandboxInt.h"

#define MOST_ELEMENTS (1 << 26)

/* Calls the stock function (upvalue 1) with the arguments as they are. */
static int call_stock(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* insert, remove, concat: a length that a metamethod invents would keep them busy for years. */
static int bounded_length(lua_State *L)
{
    if (lua_getmetatable(L, 1)) {
        lua_Integer n = luaL_len(L, 1);
        lua_pop(L, 1);
        luaL_argcheck(L, n <= MOST_ELEMENTS, 1, "table too big");
        sandbox_charge(L, n > 0 ? (uint64_t)n / 4 : 0);
    } else if (lua_istable(L, 1)) {
        sandbox_charge(L, lua_rawlen(L, 1) / 4);
    }
    return call_stock(L);
}

/* table.insert(t, value) without detours. */
static int table_insert(lua_State *L)
{
    if (lua_gettop(L) == 2 && lua_istable(L, 1)) {
        if (!lua_getmetatable(L, 1)) {
            lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
            return 0;
        }
        lua_pop(L, 1);
    }
    return bounded_length(L);
}

/* table.move(a1, f, e, t [, a2]) */
static int bounded_move(lua_State *L)
{
    lua_Integer from = luaL_checkinteger(L, 2);
    lua_Integer to = luaL_checkinteger(L, 3);

    luaL_argcheck(L, to < from || (lua_Unsigned)to - (lua_Unsigned)from < MOST_ELEMENTS, 3,
                  "too many elements to move");
    sandbox_charge(L, to >= from ? (lua_Unsigned)to - (lua_Unsigned)from : 0);
    return call_stock(L);
}

static void wrap(lua_State *L, const char *name, lua_CFunction function)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

void sandbox_open_table(lua_State *L)
{
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
    wrap(L, "insert", table_insert);
    wrap(L, "remove", bounded_length);
    wrap(L, "concat", bounded_length);
    wrap(L, "move", bounded_move);
    lua_pushcfunction(L, sandbox_table_sort);
    lua_setfield(L, -2, "sort");
    sandbox_protect(L, LUA_TABLIBNAME);
    lua_setglobal(L, LUA_TABLIBNAME);
}
