/* The base library of the sandbox: what the stock one has without load, dofile and collectgarbage;
 * pairs and next go in the order of the keys; tostring shows no addresses; nothing catches a memory
 * cap, an interrupt or a limit. See sandbox.h. */
#include <lualib.h>
#include <string.h>

#include "lua/sandbox/sandboxInt.h"

/* ---- pairs, next ---- */

/* Iterates 1 .. n of a table that had no other keys; upvalues: n, what a frozen table holds. */
static int sequence_next(lua_State *L)
{
    lua_Integer n = lua_tointeger(L, lua_upvalueindex(1));
    int table = lua_isnil(L, lua_upvalueindex(2)) ? 1 : lua_upvalueindex(2);

    for (lua_Integer i = lua_tointeger(L, 2) + 1; i <= n; i++) {
        if (lua_rawgeti(L, table, i) != LUA_TNIL) {
            lua_pushinteger(L, i);
            lua_insert(L, -2);
            return 2;
        }
        lua_pop(L, 1);
    }
    return 0;
}

/* Iterates the keys of upvalue 1 (an array); upvalue 2: how many were given; 3: what a frozen table
 * holds. Keys whose value is gone are left out. */
static int keys_next(lua_State *L)
{
    lua_Integer *i = lua_touserdata(L, lua_upvalueindex(2));
    int table = lua_isnil(L, lua_upvalueindex(3)) ? 1 : lua_upvalueindex(3);

    while (lua_rawgeti(L, lua_upvalueindex(1), ++*i) != LUA_TNIL) {
        lua_pushvalue(L, -1);
        if (lua_rawget(L, table) != LUA_TNIL) {
            return 2;
        }
        lua_pop(L, 2);
    }
    return 0;
}

/* n if the keys of the table at index are 1 .. n, else -1. */
static lua_Integer sequence_length(lua_State *L, int index)
{
    lua_Integer n = 0;

    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        n++;
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) != n) {
            lua_pop(L, 2);
            return -1;
        }
    }
    return n;
}

static int base_pairs(lua_State *L)
{
    lua_Integer n;
    int table = 1;

    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    if (sandbox_thaw(L, 2)) {
        table = 2;
    } else {
        lua_settop(L, 1);
        lua_pushnil(L);
    }
    n = sequence_length(L, table);
    sandbox_charge(L, n > 0 ? (uint64_t)n : 0);
    if (n >= 0) {
        lua_pushinteger(L, n);
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, sequence_next, 2);
        lua_pushvalue(L, 1);
        lua_pushinteger(L, 0);
        return 3;
    }
    sandbox_keys(L, table);
    *(lua_Integer *)lua_newuserdatauv(L, sizeof n, 0) = 0;
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, keys_next, 3);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* Is the table at 1 the one whose keys are kept, and was the key at 2 the last one given? */
static bool next_is_cached(lua_State *L, struct sandbox *box)
{
    bool yes;

    if (!box->next_cached) {
        return false;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.next_table");
    lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.next_keys");
    lua_rawgeti(L, -1, box->next_at);
    yes = lua_rawequal(L, -3, 1) && lua_rawequal(L, -1, 2);
    lua_pop(L, 3);
    return yes;
}

static int base_next(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);
    lua_Integer n;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    sandbox_thaw(L, 1);
    if (lua_isnil(L, 2)) {
        sandbox_key_after(L, 1, 0); /* next(t) == nil is the usual test for {}: no sorting */
    } else if (next_is_cached(L, box)) {
        lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.next_keys");
        do {
            lua_settop(L, 3);
            lua_rawgeti(L, 3, ++box->next_at);
            lua_pushvalue(L, -1);
        } while (!lua_isnil(L, -1) && lua_rawget(L, 1) == LUA_TNIL);
        lua_settop(L, 4);
    } else {
        n = sandbox_keys(L, 1);
        box->next_cached = true;
        box->next_at = 0;
        for (lua_Integer i = 1; i <= n && box->next_at == 0; i++) {
            lua_rawgeti(L, 3, i);
            box->next_at = lua_rawequal(L, 2, -1) ? i : 0;
            lua_pop(L, 1);
        }
        lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.next_keys");
        lua_pushvalue(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.next_table");
        if (box->next_at == 0) {
            return luaL_error(L, "next: the key is not in the table");
        }
        return base_next(L);
    }
    if (lua_isnil(L, -1)) {
        return 1;
    }
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}

/* ---- metatables ---- */

static bool is_special(lua_State *L, int index)
{
    const char *key = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";

    return strcmp(key, "__gc") == 0 || strcmp(key, "__mode") == 0;
}

static int refuse_special(lua_State *L, const char *key)
{
    return luaL_error(L,
                      "the metamethod '%s' is not available: what it does would depend on when "
                      "memory is collected",
                      key);
}

/* __newindex of metatables: what is collected when must not show. */
static int guard_newindex(lua_State *L)
{
    if (is_special(L, 2)) {
        return refuse_special(L, lua_tostring(L, 2));
    }
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

static int base_setmetatable(lua_State *L)
{
    static const char *const special[] = { "__gc", "__mode" };
    bool guarded = false;

    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (sandbox_is_frozen(L, 1)) {
        return sandbox_refuse_frozen(L, 1, 0);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox_guard_key);
    if (lua_getmetatable(L, 1)) {
        guarded = lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
    }
    if (!guarded && luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    lua_settop(L, 2);
    if (lua_istable(L, 2) && !sandbox_thaw(L, 2)) {
        for (size_t i = 0; i < 2; i++) {
            lua_pushstring(L, special[i]);
            if (lua_rawget(L, 2) != LUA_TNIL) {
                return refuse_special(L, special[i]);
            }
            lua_pop(L, 1);
        }
        if (!lua_getmetatable(L, 2)) {
            lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox_guard_key);
            lua_setmetatable(L, 2);
        }
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* The metatable as the script knows it: not the one that stands in its place where it is frozen. */
static int base_getmetatable(lua_State *L)
{
    luaL_checkany(L, 1);
    if (!lua_getmetatable(L, 1)) {
        lua_pushnil(L);
    } else if (luaL_getmetafield(L, 1, "__metatable") == LUA_TNIL) {
        sandbox_given_metatable(L);
    }
    return 1;
}

static int base_rawget(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    sandbox_thaw(L, 1);
    lua_rawget(L, 1);
    return 1;
}

static int base_rawlen(lua_State *L)
{
    luaL_argexpected(L, lua_istable(L, 1) || lua_type(L, 1) == LUA_TSTRING, 1, "table or string");
    sandbox_thaw(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
    return 1;
}

static int base_rawset(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (is_special(L, 2)) {
        return refuse_special(L, lua_tostring(L, 2));
    }
    if (sandbox_is_protected(L, 1)) {
        return luaL_error(L, "rawset: this table can't be changed");
    }
    if (sandbox_is_frozen(L, 1)) {
        return sandbox_refuse_frozen(L, 1, 2);
    }
    lua_rawset(L, 1);
    return 1;
}

/* ---- tostring, print ---- */

const char *sandbox_tostring(lua_State *L, int index, size_t *n)
{
    index = lua_absindex(L, index);
    if (luaL_callmeta(L, index, "__tostring")) {
        if (!lua_isstring(L, -1)) {
            luaL_error(L, "'__tostring' must return a string");
        }
        return lua_tolstring(L, -1, n);
    }
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
    case LUA_TSTRING:
        lua_pushvalue(L, index);
        break;
    case LUA_TBOOLEAN:
        lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
        break;
    case LUA_TNIL:
        lua_pushliteral(L, "nil");
        break;
    default:
        if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) {
            lua_pushstring(L, luaL_typename(L, index));
        }
        break;
    }
    return lua_tolstring(L, -1, n);
}

static int base_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    sandbox_tostring(L, 1, NULL);
    return 1;
}

static int base_print(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);
    int n = lua_gettop(L);
    luaL_Buffer line;
    const char *text;
    size_t size;

    if (box->print == NULL) {
        return 0;
    }
    for (int i = 1; i <= n; i++) {
        sandbox_tostring(L, i, NULL);
        lua_replace(L, i);
    }
    luaL_buffinit(L, &line);
    for (int i = 1; i <= n; i++) {
        if (i > 1) {
            luaL_addchar(&line, '\t');
        }
        text = lua_tolstring(L, i, &size);
        luaL_addlstring(&line, text, size);
    }
    luaL_pushresult(&line);
    text = lua_tolstring(L, -1, &size);
    box->print(box->print_ctx, text, size);
    return 0;
}

/* ---- pcall ---- */

#define CALL_STEPS 10   /* of a protected call */
#define RAISE_STEPS 100 /* of an error that is caught */

/* A cap, an interrupt or a limit ends the whole call: a script that could catch it would see the
 * clock or the memory. */
static int finish_pcall(lua_State *L, int status, int results_from)
{
    if (sandbox_ended(L, status)) {
        return sandbox_end_again(L);
    }
    if (status != LUA_OK) {
        sandbox_charge(L, RAISE_STEPS);
    }
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, results_from);
    return lua_gettop(L) - results_from + 1;
}

static int base_pcall(lua_State *L)
{
    int status;

    luaL_checkany(L, 1);
    sandbox_charge(L, CALL_STEPS);
    status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    return finish_pcall(L, status, 1);
}

/* Upvalue: the script's handler. */
static int call_handler(lua_State *L)
{
    if (sandbox_of(L)->fatal == FATAL_NONE) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
    }
    return 1;
}

static int base_xpcall(lua_State *L)
{
    int n = lua_gettop(L);
    int status;

    luaL_checktype(L, 2, LUA_TFUNCTION);
    sandbox_charge(L, CALL_STEPS);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, call_handler, 1);
    lua_replace(L, 2);
    lua_pushvalue(L, 1);
    lua_insert(L, 3);
    status = lua_pcall(L, n - 2, LUA_MULTRET, 2);
    return finish_pcall(L, status, 3);
}

/* select and tonumber; upvalue 1: the stock function, which has no upvalues of its own. */
static int counted(lua_State *L)
{
    uint64_t text = lua_type(L, 1) == LUA_TSTRING ? lua_rawlen(L, 1) : 0;

    sandbox_charge(L, (uint64_t)lua_gettop(L) / 8 + text / 8);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void sandbox_open_base(lua_State *L)
{
    static const char *const removed[] = { "load",           "loadfile", "dofile", "loadstring",
                                           "collectgarbage", "warn",     NULL };
    static const luaL_Reg functions[] = {
        { "pairs", base_pairs },
        { "next", base_next },
        { "setmetatable", base_setmetatable },
        { "getmetatable", base_getmetatable },
        { "rawset", base_rawset },
        { "rawget", base_rawget },
        { "rawlen", base_rawlen },
        { "tostring", base_tostring },
        { "print", base_print },
        { "pcall", base_pcall },
        { "xpcall", base_xpcall },
        { NULL, NULL },
    };

    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    for (size_t i = 0; removed[i] != NULL; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, removed[i]);
    }
    luaL_setfuncs(L, functions, 0);
    lua_getfield(L, -1, "select");
    lua_pushcclosure(L, counted, 1);
    lua_setfield(L, -2, "select");
    lua_getfield(L, -1, "tonumber");
    lua_pushcclosure(L, counted, 1);
    lua_setfield(L, -2, "tonumber");
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, guard_newindex);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox_guard_key);
}
