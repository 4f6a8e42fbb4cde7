/* Sets of characters, as text methods take them: text_set.h's, each parsed once a state. See
 * textlib.h. */
#include <lauxlib.h>

#include "lua/text/textlibInt.h"

#define KEPT_MOST 64 /* of a kind */

void *textlib_kept(lua_State *L, const void *key, int index,
                   void (*make)(lua_State *L, const char *text, size_t n))
{
    size_t n;
    const char *text = luaL_checklstring(L, index, &n);
    void *made;

    index = lua_absindex(L, index);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, key);
    }
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    made = lua_touserdata(L, -1);
    if (made == NULL) {
        lua_Integer count;
        lua_pop(L, 1);
        lua_rawgeti(L, -1, 0);
        count = lua_tointeger(L, -1);
        lua_pop(L, 1);
        if (count >= KEPT_MOST) {
            lua_pop(L, 1);
            lua_newtable(L);
            lua_pushvalue(L, -1);
            lua_rawsetp(L, LUA_REGISTRYINDEX, key);
            count = 0;
        }
        make(L, text, n);
        made = lua_touserdata(L, -1);
        lua_pushvalue(L, index);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
        lua_pushinteger(L, count + 1);
        lua_rawseti(L, -3, 0);
    }
    lua_pop(L, 2); /* the table holds it, at least until the next is made */
    return made;
}

static void parse(lua_State *L, const char *text, size_t n)
{
    struct sluice_error *err = textlib_error(L);
    struct text_set *set = lua_newuserdatauv(L, sizeof *set, 0);

    textlib_check(L, text_set_parse(text, n, set, err), err);
}

const struct text_set *textlib_set(lua_State *L, int index)
{
    static const char key = 0; /* its address */

    return textlib_kept(L, &key, index, parse);
}

int textlib_count_in(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    const struct text_set *set = textlib_set(L, 2);

    sandbox_charge(L, len / 8);
    lua_pushinteger(L, (lua_Integer)text_set_count(set, text, len));
    return 1;
}

int textlib_strip_in(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    const struct text_set *set = textlib_set(L, 2);
    struct text_span span;

    luaL_argcheck(L, len <= TEXT_MAX, 1, "text too long");
    span = text_set_strip(set, text, (struct text_span){ 0, (uint32_t)len });
    lua_pushlstring(L, text + span.begin, span.end - span.begin);
    return 1;
}
