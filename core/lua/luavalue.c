/* Between Lua values and option values: see luavalue.h. */
#include "lua/luavalue.h"

#include <lauxlib.h>
#include <string.h>

#define MAX_DEPTH 16

static sluice_status read_value(lua_State *L, int index, const char *what, int depth,
                                struct value *out, struct sluice_error *err);

static sluice_status read_list(lua_State *L, int index, lua_Integer n, const char *what, int depth,
                               struct value *out, struct sluice_error *err)
{
    value_list_init(out);
    for (lua_Integer i = 1; i <= n; i++) {
        struct value item;
        sluice_status status;
        lua_rawgeti(L, index, i);
        status = read_value(L, lua_gettop(L), what, depth + 1, &item, err);
        lua_pop(L, 1);
        if (status == SLUICE_OK && !value_list_add(out, item)) {
            status = error_nomem(err, "option values");
        }
        if (status != SLUICE_OK) {
            value_deinit(out);
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status read_table(lua_State *L, int index, const char *what, int depth,
                                struct value *out, struct sluice_error *err)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);
    lua_Integer keys = 0;
    bool strings = false;

    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        keys++;
        strings = strings || lua_type(L, -2) == LUA_TSTRING;
    }
    if (n > 0 && keys == n && !strings) {
        return read_list(L, index, n, what, depth, out, err);
    }
    value_map_init(out);
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        struct value item;
        sluice_status status;
        if (lua_type(L, -2) != LUA_TSTRING) {
            value_deinit(out);
            lua_pop(L, 2);
            return error_set(
                err, SLUICE_E_CONFIG,
                "%s: found a table that mixes names and numbers; use either a list or names", what);
        }
        status = read_value(L, lua_gettop(L), what, depth + 1, &item, err);
        if (status == SLUICE_OK && !value_map_set(out, lua_tostring(L, -2), item)) {
            status = error_nomem(err, "option values");
        }
        if (status != SLUICE_OK) {
            value_deinit(out);
            lua_pop(L, 2);
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status read_value(lua_State *L, int index, const char *what, int depth,
                                struct value *out, struct sluice_error *err)
{
    size_t n;
    const char *text;

    *out = value_nil();
    if (depth > MAX_DEPTH || !lua_checkstack(L, 8)) {
        return error_set(err, SLUICE_E_CONFIG, "%s: tables are nested deeper than %d", what,
                         MAX_DEPTH);
    }
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        return SLUICE_OK;
    case LUA_TBOOLEAN:
        *out = value_bool(lua_toboolean(L, index) != 0);
        return SLUICE_OK;
    case LUA_TNUMBER:
        *out = lua_isinteger(L, index) ? value_int(lua_tointeger(L, index))
                                       : value_float(lua_tonumber(L, index));
        return SLUICE_OK;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &n);
        return value_string(out, text, n) ? SLUICE_OK : error_nomem(err, "option values");
    case LUA_TTABLE:
        return read_table(L, index, what, depth, out, err);
    default:
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: found a %s, expected a boolean, number, string or table", what,
                         luaL_typename(L, index));
    }
}

sluice_status luavalue_read(lua_State *L, int index, const char *what, struct value *out,
                            struct sluice_error *err)
{
    return read_value(L, lua_absindex(L, index), what, 0, out, err);
}

void luavalue_push(lua_State *L, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NIL:
        lua_pushnil(L);
        break;
    case VALUE_BOOL:
        lua_pushboolean(L, value->as.boolean);
        break;
    case VALUE_INT:
        lua_pushinteger(L, value->as.integer);
        break;
    case VALUE_FLOAT:
        lua_pushnumber(L, value->as.number);
        break;
    case VALUE_STRING:
        lua_pushlstring(L, value->as.string.data, value->as.string.size);
        break;
    case VALUE_LIST:
        lua_createtable(L, (int)value->as.list.n, 0);
        for (size_t i = 0; i < value->as.list.n; i++) {
            luavalue_push(L, &value->as.list.items[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case VALUE_MAP:
        lua_createtable(L, 0, (int)value->as.map.n);
        for (size_t i = 0; i < value->as.map.n; i++) {
            luavalue_push(L, &value->as.map.entries[i].value);
            lua_setfield(L, -2, value->as.map.entries[i].key);
        }
        break;
    }
}
