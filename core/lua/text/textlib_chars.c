/* Methods of strings about their bytes and characters: substrings, classes, forms. See
 * textlib.h. */
#include "lua/text/textlibInt.h"

/* ---- substrings ---- */

int textlib_contains(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    sandbox_charge(L, n / 64);
    lua_pushboolean(L, text_contains(text, n, needle, m));
    return 1;
}

int textlib_count(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    sandbox_charge(L, n / 16);
    lua_pushinteger(L, (lua_Integer)text_count(text, n, needle, m));
    return 1;
}

int textlib_find_plain(lua_State *L)
{
    size_t n, m, at;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);
    lua_Integer from = luaL_optinteger(L, 3, 1);

    luaL_argcheck(L, from >= 1, 3, "positions begin with 1");
    if ((uint64_t)from - 1 > n) {
        luaL_pushfail(L);
        return 1;
    }
    at = text_find(text, n, (size_t)from - 1, needle, m);
    sandbox_charge(L, n / 64);
    if (m > 0 && at == n) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, (lua_Integer)at + 1);
    lua_pushinteger(L, (lua_Integer)(at + m));
    return 2;
}

/* Whether a string has another where `has` looks for it. */
static int push_has(lua_State *L,
                    bool (*has)(const char *text, size_t n, const char *needle, size_t m))
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    lua_pushboolean(L, has(text, n, needle, m));
    return 1;
}

int textlib_starts(lua_State *L)
{
    return push_has(L, text_starts_with);
}

int textlib_ends(lua_State *L)
{
    return push_has(L, text_ends_with);
}

/* ---- characters ---- */

int textlib_chars(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    sandbox_charge(L, n / 64);
    lua_pushinteger(L, (lua_Integer)text_utf8_count(text, n));
    return 1;
}

/* How many characters are in the class named at 2, or equal to the one character there. */
static size_t count_at(lua_State *L, const char *text, size_t n)
{
    size_t m;
    const char *name = luaL_checklstring(L, 2, &m);
    uint32_t classes = text_class_by_name(name, m);
    uint32_t cp;

    sandbox_charge(L, n / 8);
    if (classes != 0) {
        return text_count_class(text, n, classes);
    }
    if (m == 0 || text_utf8_decode(name, m, 0, &cp) != m) {
        luaL_error(L,
                   "unknown class '%s'; expected letter, digit, number, alnum, space, upper, "
                   "lower, punct, symbol, punctuation, terminal "
                   "or one character",
                   name);
    }
    return text_count(text, n, name, m);
}

int textlib_share(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    size_t count = count_at(L, text, n);

    lua_pushnumber(L, textlib_ratio((double)count, (double)text_utf8_count(text, n)));
    return 1;
}

int textlib_count_class(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    lua_pushinteger(L, (lua_Integer)count_at(L, text, n));
    return 1;
}

/* ---- forms ---- */

int textlib_strip(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct text_span span;

    luaL_argcheck(L, n <= TEXT_MAX, 1, "text too long");
    span = text_strip(text, (struct text_span){ 0, (uint32_t)n });
    lua_pushlstring(L, text + span.begin, span.end - span.begin);
    return 1;
}

int textlib_lower_unicode(lua_State *L)
{
    struct textlib *lib = textlib_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct sluice_error *err = textlib_error(L);

    sandbox_charge(L, n / 4);
    textlib_check(L, text_lower(text, n, &lib->buffer, err), err);
    lua_pushlstring(L, lib->buffer.data, lib->buffer.len);
    return 1;
}

int textlib_simplify(lua_State *L)
{
    struct textlib *lib = textlib_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct sluice_error *err = textlib_error(L);

    sandbox_charge(L, n / 2);
    textlib_check(L, text_simplify(text, n, TEXT_SIMPLIFY_ALL, &lib->buffer, err), err);
    lua_pushlstring(L, lib->buffer.data, lib->buffer.len);
    return 1;
}
