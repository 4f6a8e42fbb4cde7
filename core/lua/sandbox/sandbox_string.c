/* The string and utf8 libraries of the sandbox: no dump, no %p, a bounded rep, its own pattern
 * matching; and the metatable of strings, which scripts can't reach. See sandbox.h. */
#include <lualib.h>
#include <string.h>

#include "lua/sandbox/sandboxInt.h"

#define LONGEST_REP (UINT64_C(256) << 20)

/* A stock function (upvalue 1) that looks at each byte of its strings and at each argument: charged
 * for them, then called in this frame, since none of them has upvalues of its own. */
static int counted(lua_State *L)
{
    int top = lua_gettop(L);
    uint64_t units = (uint64_t)top / 4;

    for (int i = 1; i <= top; i++) {
        units += lua_type(L, i) == LUA_TSTRING ? lua_rawlen(L, i) / 16 : 0;
    }
    sandbox_charge(L, units);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Positions as Lua counts them, from the end when negative: at least 1, and at most n. */
static lua_Integer first(lua_Integer position, lua_Integer n)
{
    return position > 0 ? position : position == 0 || position < -n ? 1 : n + position + 1;
}

static lua_Integer last(lua_Integer position, lua_Integer n)
{
    return position > n ? n : position >= 0 ? position : position < -n ? 0 : n + position + 1;
}

/* Charges what gives the bytes or characters from .. to; more than so many are refused: each
 * instruction that hands them on copies them. */
static void charge_results(lua_State *L, lua_Integer from, lua_Integer to)
{
    if (to > from) {
        sandbox_charge(L, (uint64_t)to - (uint64_t)from);
        if (to - from >= (lua_Integer)SANDBOX_MOST_RESULTS) {
            luaL_error(L, "too many results: more than %d", (int)SANDBOX_MOST_RESULTS);
        }
    }
}

/* string.byte(s [, i [, j]]): loops over characters call it, so it is not the stock one in a
 * wrapper. */
static int string_byte(lua_State *L)
{
    size_t size;
    const char *text = luaL_checklstring(L, 1, &size);
    lua_Integer from = luaL_optinteger(L, 2, 1);
    lua_Integer to = last(luaL_optinteger(L, 3, from), (lua_Integer)size);

    from = first(from, (lua_Integer)size);
    charge_results(L, from, to);
    luaL_checkstack(L, to >= from ? (int)(to - from) + 1 : 0, "string slice too long");
    for (lua_Integer i = from; i <= to; i++) {
        lua_pushinteger(L, (unsigned char)text[i - 1]);
    }
    return to >= from ? (int)(to - from) + 1 : 0;
}

/* utf8.codepoint(s [, i [, j]]); upvalue 1: the stock function. */
static int codepoint(lua_State *L)
{
    size_t size;
    lua_Integer n = (luaL_checklstring(L, 1, &size), (lua_Integer)size);
    lua_Integer from = first(luaL_optinteger(L, 2, 1), n);

    charge_results(L, from, last(luaL_optinteger(L, 3, from), n));
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static void wrap(lua_State *L, const char *name, lua_CFunction function)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

/* What it takes to print a number so: %f has all digits of 1e308, and %.99f as many behind the
 * point. */
#define FORMAT_STEPS 4
#define FLOAT_STEPS 16
#define PLAIN_STEPS 256

static uint64_t format_steps(char how, const char *flags, const char *end)
{
    const char *point = memchr(flags, '.', (size_t)(end - flags));
    uint64_t digits = 0;

    if (memchr("aAeEfFgG", how, 8) == NULL) {
        return FORMAT_STEPS;
    }
    for (point = point == NULL ? end : point + 1; point < end && digits < 100; point++) {
        digits = digits * 10 + (uint64_t)(*point >= '0' && *point <= '9' ? *point - '0' : 0);
    }
    return FLOAT_STEPS + digits + (how == 'f' || how == 'F' ? PLAIN_STEPS : 0);
}

/* string.format(format, ...): upvalue 1 is the stock function. Checks the directives and turns the
 * arguments of %s into text without addresses first. */
static int string_format(lua_State *L)
{
    int top = lua_gettop(L);
    size_t n;
    const char *format = luaL_checklstring(L, 1, &n);
    const char *end = format + n;
    const char *flags;
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
        flags = format;
        while (format < end && *format != '\0' && strchr("-+ #0123456789.", *format) != NULL) {
            format++;
        }
        if (format < end) {
            sandbox_charge(L, format_steps(*format, flags, format));
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
    return counted(L);
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

/* utf8.offset(s, n [, i]): goes over at most 4n bytes. */
static int offset(lua_State *L)
{
    uint64_t n = (uint64_t)luaL_len(L, 1);
    lua_Integer by = luaL_checkinteger(L, 2);
    uint64_t steps = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;

    sandbox_charge(L, (steps < n ? steps : n) / 4);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void sandbox_open_string(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "find", sandbox_find }, { "match", sandbox_match }, { "gmatch", sandbox_gmatch },
        { "gsub", sandbox_gsub }, { "rep", string_rep },      { "byte", string_byte },
        { NULL, NULL },
    };

    static const char *const looking[] = { "lower", "upper",  "reverse", "char",
                                           "pack",  "unpack", NULL };

    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
    luaL_setfuncs(L, functions, 0);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    wrap(L, "format", string_format);
    for (size_t i = 0; looking[i] != NULL; i++) {
        wrap(L, looking[i], counted);
    }
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
    wrap(L, "codepoint", codepoint);
    wrap(L, "len", counted);
    wrap(L, "char", counted);
    wrap(L, "offset", offset);
    sandbox_protect(L, LUA_UTF8LIBNAME);
    lua_setglobal(L, LUA_UTF8LIBNAME);
}
