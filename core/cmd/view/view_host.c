/* What views call: see viewInt.h. */
#include <lauxlib.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/look/look.h"
#include "cmd/progress.h"
#include "cmd/view/viewInt.h"

/* Upvalue 1 of all of these. */
static FILE *out_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int host_write(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    say_text(out_of(L), text, n);
    return 0;
}

/* Printable ASCII stands for itself, a column a character. */
static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return true;
}

static void push_excerpt(lua_State *L, const char *text, size_t n, size_t columns)
{
    struct buf out = BUF_INIT;

    excerpt_put(&out, text, n, columns);
    if (out.failed) {
        buf_deinit(&out);
        luaL_error(L, "out of memory");
    }
    lua_pushlstring(L, buf_str(&out), out.size);
    buf_deinit(&out);
}

static int host_excerpt(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    lua_Integer columns = luaL_optinteger(L, 2, 0);

    luaL_argcheck(L, columns >= 0, 2, "columns can't be negative");
    if (is_plain(text, n) && (columns == 0 || n <= (size_t)columns)) {
        lua_settop(L, 1);
    } else {
        push_excerpt(L, text, n, (size_t)columns);
    }
    return 1;
}

/* say(format, ...): as string.format, upvalue 2, but texts are put on one line first. */
static int host_say(lua_State *L)
{
    int n = lua_gettop(L);
    size_t size;
    const char *text;

    for (int i = 2; i <= n; i++) {
        if (lua_type(L, i) == LUA_TSTRING) {
            text = lua_tolstring(L, i, &size);
            if (!is_plain(text, size)) {
                push_excerpt(L, text, size, 0);
                lua_replace(L, i);
            }
        }
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, n, 1);
    text = lua_tolstring(L, -1, &size);
    say_text(out_of(L), text, size);
    return 0;
}

static int host_width(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    lua_pushinteger(L, (lua_Integer)(is_plain(text, n) ? n : excerpt_width(text, n)));
    return 1;
}

static int host_count(lua_State *L)
{
    char text[24];

    lua_pushstring(L, human_count((uint64_t)luaL_checkinteger(L, 1), text));
    return 1;
}

static int host_bytes(lua_State *L)
{
    char text[24];

    lua_pushstring(L, human_bytes(luaL_checknumber(L, 1), text));
    return 1;
}

static int host_time(lua_State *L)
{
    char text[24];

    lua_pushstring(L, human_time(luaL_checknumber(L, 1), text));
    return 1;
}

/* json(fact): as compact JSON. */
static int host_json(lua_State *L)
{
    json_t *json = viewfacts_source(L, 1);
    char *text;

    luaL_argcheck(L, json != NULL || !lua_istable(L, 1), 1, "expected a fact");
    json = json != NULL                    ? json_incref(json)
           : lua_isinteger(L, 1)           ? json_integer(lua_tointeger(L, 1))
           : lua_isboolean(L, 1)           ? json_boolean(lua_toboolean(L, 1))
           : lua_type(L, 1) == LUA_TNUMBER ? json_real(lua_tonumber(L, 1))
           : lua_type(L, 1) == LUA_TSTRING ? json_stringn(lua_tostring(L, 1), lua_rawlen(L, 1))
                                           : json_null();
    text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    json_decref(json);
    lua_pushstring(L, text == NULL ? "null" : text);
    free(text);
    return 1;
}

void viewhost_push(lua_State *L, FILE *out)
{
    static const luaL_Reg functions[] = { { "write", host_write }, { "excerpt", host_excerpt },
                                          { "width", host_width }, { "count", host_count },
                                          { "bytes", host_bytes }, { "time", host_time },
                                          { "json", host_json },   { NULL, NULL } };

    luaL_newlibtable(L, functions);
    lua_pushlightuserdata(L, out);
    luaL_setfuncs(L, functions, 1);
    lua_pushlightuserdata(L, out);
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "format");
    lua_remove(L, -2);
    lua_pushcclosure(L, host_say, 2);
    lua_setfield(L, -2, "say");
}
