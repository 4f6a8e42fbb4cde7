/* The string and utf8 libraries of the sandbox: no dump, no %p, a bounded rep, its own pattern matching; and the metatable of strings,
 * which scripts can't reach. See sandbox.h. */
#include <lualib.h>
#include <string.h>

#include "lua/sandboxInt.h"

#define LONGEST_REP (UINT64_C(256) << 20)

/* string.format(format, ...): upvalue 1 is the stock function. Checks the directives and turns the arguments of %s into text without
 * addresses first. */
static int string_format(lua_State *L)
{
    int top = lua_gettop(L);
    size_t n;
    const char *format = luaL_checklstring(L, 1, &n);
    const char *end = format + n;
    int arg = 1;

    while (format < end) {
        if (*format++ != '%') {
            continue;
        }
        if (format < end && *format == '%') {
            format++;
            continue;
        }
        arg++;
        while (format < end && *format != '\0' && strchr("-+ #0123456789.", *format) != NULL) {
            format++;
        }
        if (format < end && *format == 'p') {
            return luaL_error(
                L, "string.format: %%p is not available: addresses differ from run to run");
        }
        if (format < end && *format == 's' && arg <= top && lua_type(L, arg) != LUA_TSTRING &&
            lua_type(L, arg) != LUA_TNUMBER) {
            sandbox_tostring(L, arg, NULL);
            lua_replace(L, arg);
            lua_settop(L, top);
        }
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, top, 1);
    return 1;
}

static int string_rep(lua_State *L)
{
    size_t size, between;
    const char *text = luaL_checklstring(L, 1, &size);
    lua_Integer n = luaL_checkinteger(L, 2);
    const char *separator = luaL_optlstring(L, 3, "", &between);
    size_t total;
    luaL_Buffer out;
    char *to;

    if (n <= 0 || size + between == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if ((uint64_t)n > LONGEST_REP / (size + between)) {
        return luaL_error(L, "string.rep: the result would be longer than %d MiB",
                          (int)(LONGEST_REP >> 20));
    }
    total = (size + between) * (size_t)n - between;
    sandbox_charge(L, total / 64);
    to = luaL_buffinitsize(L, &out, total);
    for (lua_Integer i = 0; i < n; i++) {
        memcpy(to, text, size);
        to += size;
        if (i + 1 < n && between > 0) {
            memcpy(to, separator, between);
            to += between;
        }
    }
    luaL_pushresultsize(&out, total);
    return 1;
}

void sandbox_open_string(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "find", sandbox_find }, { "match", sandbox_match }, { "gmatch", sandbox_gmatch },
        { "gsub", sandbox_gsub }, { "rep", string_rep },      { NULL, NULL },
    };

    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
    luaL_setfuncs(L, functions, 0);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, string_format, 1);
    lua_setfield(L, -2, "format");
    /* Methods: textlib_open adds to this table, which string hides behind a proxy. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
    sandbox_protect(L, LUA_STRLIBNAME);
    lua_setglobal(L, LUA_STRLIBNAME);

    luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 0);
    sandbox_protect(L, LUA_UTF8LIBNAME);
    lua_setglobal(L, LUA_UTF8LIBNAME);
}
