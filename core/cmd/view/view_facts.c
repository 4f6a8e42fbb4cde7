/* Facts as Lua tables: see viewInt.h. */
#include <lauxlib.h>

#include "cmd/view/viewInt.h"

/* Registry keys: the metatables, and the JSON behind each table of facts. */
static const char unread_key, object_key, sources_key;

/* An array or object becomes an empty table, and is filled when a view first looks into it: most
 * facts are never looked at. */
void viewfacts_push(lua_State *L, const json_t *json)
{
    luaL_checkstack(L, 6, "facts are nested too deeply");
    switch (json == NULL ? JSON_NULL : json_typeof(json)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        lua_newtable(L);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key);
        lua_pushvalue(L, -2);
        lua_pushlightuserdata(L, (void *)(uintptr_t)json);
        lua_rawset(L, -3);
        lua_pop(L, 1);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &unread_key);
        lua_setmetatable(L, -2);
        break;
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(json), json_string_length(json));
        break;
    case JSON_INTEGER:
        lua_pushinteger(L, json_integer_value(json));
        break;
    case JSON_REAL:
        lua_pushnumber(L, json_real_value(json));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(json));
        break;
    case JSON_NULL:
        lua_pushnil(L);
        break;
    }
}

json_t *viewfacts_source(lua_State *L, int index)
{
    json_t *json;

    lua_pushvalue(L, index);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key);
    lua_insert(L, -2);
    json = lua_rawget(L, -2) == LUA_TLIGHTUSERDATA ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 2);
    return json;
}

/* Fills the table at index 1 and makes it a plain one; objects keep the order of their members. */
static void fill(lua_State *L)
{
    json_t *json = viewfacts_source(L, 1);
    const char *key;
    json_t *value;
    size_t i;

    luaL_argcheck(L, json != NULL, 1, "expected facts of this call");
    lua_pushnil(L);
    lua_setmetatable(L, 1);
    json_object_foreach(json, key, value)
    {
        viewfacts_push(L, value);
        lua_setfield(L, 1, key);
    }
    json_array_foreach(json, i, value)
    {
        viewfacts_push(L, value);
        lua_rawseti(L, 1, (lua_Integer)i + 1);
    }
    if (json_is_object(json)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &object_key);
        lua_setmetatable(L, 1);
    }
}

static int unread_index(lua_State *L)
{
    fill(L);
    lua_settop(L, 2);
    lua_rawget(L, 1);
    return 1;
}

static int unread_length(lua_State *L)
{
    fill(L);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
    return 1;
}

/* One step of pairs: the next member. Upvalues: the object, where in it. */
static int object_next(lua_State *L)
{
    json_t *json = lua_touserdata(L, lua_upvalueindex(1));
    void *at = lua_touserdata(L, lua_upvalueindex(2));

    if (at == NULL) {
        return 0;
    }
    lua_pushlightuserdata(L, json_object_iter_next(json, at));
    lua_replace(L, lua_upvalueindex(2));
    lua_pushstring(L, json_object_iter_key(at));
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}

/* Members in the order of the JSON; tables of an earlier call, whose JSON may be gone, have them in
 * any. */
static int object_pairs(lua_State *L)
{
    json_t *json;

    lua_settop(L, 1);
    json = viewfacts_source(L, 1);
    if (json_is_object(json)) {
        void *first = json_object_iter(json);
        lua_pushlightuserdata(L, json);
        lua_pushlightuserdata(L, first);
        lua_pushcclosure(L, object_next, 2);
    } else {
        lua_getglobal(L, "next");
    }
    lua_pushvalue(L, 1);
    return 2;
}

static int unread_pairs(lua_State *L)
{
    fill(L);
    return object_pairs(L);
}

void viewfacts_open(lua_State *L)
{
    static const luaL_Reg unread[] = { { "__index", unread_index },
                                       { "__len", unread_length },
                                       { "__pairs", unread_pairs },
                                       { NULL, NULL } };
    static const luaL_Reg object[] = { { "__pairs", object_pairs }, { NULL, NULL } };

    luaL_newlib(L, unread);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &unread_key);
    luaL_newlib(L, object);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &object_key);
    viewfacts_begin(L);
}

void viewfacts_begin(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sources_key);
}

void viewfacts_end(lua_State *L)
{
    viewfacts_begin(L);
}
