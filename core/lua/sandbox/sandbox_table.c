/* The table library of the sandbox: the stock one with a stable sort, and with bounds on loops that
 * run in C. See sandbox.h. */
#include <lualib.h>

#include "lua/sandbox/sandboxInt.h"

#define MOST_ELEMENTS (1 << 26)

/* The stock function (upvalue 1), in this frame: none of them has upvalues of its own. */
static int call_stock(lua_State *L)
{
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* The length of the table at 1: one that a metamethod invents would keep C busy for years. */
static lua_Integer length(lua_State *L)
{
    lua_Integer n = lua_istable(L, 1) || lua_isuserdata(L, 1) ? luaL_len(L, 1) : 0;

    luaL_argcheck(L, n <= MOST_ELEMENTS, 1, "table too big");
    return n;
}

/* Charges the elements from .. to of the table at 1; the stock function checks the arguments. */
static void charge(lua_State *L, lua_Integer from, lua_Integer to)
{
    if (to >= from) {
        lua_Unsigned n = (lua_Unsigned)to - (lua_Unsigned)from + 1;
        luaL_argcheck(L, n <= MOST_ELEMENTS, 1, "too many elements");
        sandbox_charge(L, n);
    }
}

/* table.insert(t, value) without detours; table.insert(t, position, value) moves what is behind. */
static int table_insert(lua_State *L)
{
    int top = lua_gettop(L);

    if (top == 2 && lua_istable(L, 1)) {
        if (!lua_getmetatable(L, 1)) {
            lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
            return 0;
        }
        lua_pop(L, 1);
    }
    if (top == 3 && lua_isinteger(L, 2)) {
        charge(L, lua_tointeger(L, 2), length(L));
    }
    return call_stock(L);
}

/* table.remove(t [, position]) */
static int table_remove(lua_State *L)
{
    if (lua_isinteger(L, 2)) {
        charge(L, lua_tointeger(L, 2), length(L));
    }
    return call_stock(L);
}

/* table.concat(t [, separator [, i [, j]]]) */
static int table_concat(lua_State *L)
{
    charge(L, luaL_optinteger(L, 3, 1), lua_isnoneornil(L, 4) ? length(L) : lua_tointeger(L, 4));
    return call_stock(L);
}

/* table.unpack(t [, i [, j]]): each call that hands the results on copies them. */
static int table_unpack(lua_State *L)
{
    lua_Integer from = luaL_optinteger(L, 2, 1);
    lua_Integer to = lua_isnoneornil(L, 3) ? length(L) : luaL_checkinteger(L, 3);

    if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from >= SANDBOX_MOST_RESULTS) {
        return luaL_error(L, "too many results to unpack");
    }
    charge(L, from, to);
    return call_stock(L);
}

static int table_pack(lua_State *L)
{
    sandbox_charge(L, (uint64_t)lua_gettop(L));
    return call_stock(L);
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
    wrap(L, "remove", table_remove);
    wrap(L, "concat", table_concat);
    wrap(L, "unpack", table_unpack);
    wrap(L, "pack", table_pack);
    wrap(L, "move", bounded_move);
    lua_pushcfunction(L, sandbox_table_sort);
    lua_setfield(L, -2, "sort");
    sandbox_protect(L, LUA_TABLIBNAME);
    lua_setglobal(L, LUA_TABLIBNAME);
}
