/* The state of the sandbox: calls, limits, sealing. It is made in sandbox_open.c. See sandbox.h. */
#include "lua/sandbox/sandbox.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lua/sandbox/sandboxInt.h"
#include "lua/text/textlib.h"

void sandbox_seed(lua_State *L, uint64_t seed)
{
    struct sandbox *box = sandbox_of(L);

    box->seed = seed;
    box->seeded = false;
}

void sandbox_print(lua_State *L, sandbox_print_fn print, void *ctx)
{
    struct sandbox *box = sandbox_of(L);

    box->print = print;
    box->print_ctx = ctx;
}

/* ---- globals that can't be assigned ---- */

static int refuse_global(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);

    return luaL_error(L,
                      "the global '%s' is assigned while rows run, so results would depend on "
                      "their order; use a local",
                      name);
}

/* Moves all globals behind the global table, so that every assignment is one to an absent key. */
void sandbox_seal(lua_State *L)
{
    double kilobytes;
    int top = lua_gettop(L);

    lua_pushglobaltable(L);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, top + 1) != 0;) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, top + 2);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, top + 1); /* clearing during a traversal is allowed */
    }
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, top + 2);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_global);
    lua_setfield(L, -2, "__newindex");
    sandbox_mark_protected(L, LUA_GNAME);
    lua_setmetatable(L, top + 1);
    lua_settop(L, top);
    /* Rows make garbage of a document each. Where little lives, marking it again and again would
     * cost more than the rows. */
    lua_gc(L, LUA_GCCOLLECT);
    kilobytes = lua_gc(L, LUA_GCCOUNT);
    lua_gc(L, LUA_GCINC, kilobytes < 4096 ? 1000 : 200, 0, 0);
}

/* ---- calls ---- */

/* Does the message begin with "FILE:LINE: "? */
static bool has_place(const char *message)
{
    const char *colon = strchr(message, ':');
    size_t digits = colon == NULL ? 0 : strspn(colon + 1, "0123456789");

    return digits > 0 && colon[1 + digits] == ':';
}

#define MESSAGE_MOST 640 /* bytes of what is raised that are kept */

/* The string at 1, made fit for a message: cut where it is long, NUL bytes to be seen. */
static void shorten(lua_State *L)
{
    size_t n;
    const char *text = lua_tolstring(L, 1, &n);
    const size_t keep = utf8_cut(text, n, MESSAGE_MOST);
    luaL_Buffer out;

    if (keep == n && memchr(text, '\0', n) == NULL) {
        return;
    }
    luaL_buffinit(L, &out);
    for (size_t i = 0; i < keep; i++) {
        if (text[i] == '\0') {
            luaL_addstring(&out, "\\0");
        } else {
            luaL_addchar(&out, text[i]);
        }
    }
    if (keep < n) {
        luaL_addstring(&out, "... (");
        lua_pushinteger(L, (lua_Integer)n);
        luaL_addvalue(&out);
        luaL_addstring(&out, " bytes)");
    }
    luaL_pushresult(&out);
    lua_replace(L, 1);
}

/* Says what stands in place of a library of Lua's that scripts have not, behind "attempt to index a
 * nil value (global 'io')" at 1. */
static void advise(lua_State *L)
{
    static const struct {
        const char *name, *instead;
    } lacking[] = {
        { "io", "a script opens no files: s.files names what a pipeline reads, its readers and "
                "writers open it" },
        { "os", "a script knows no clock, environment or processes, so that it does the same "
                "everywhere: declare an argument, s.args { day = { \"string\" } }, and give it as "
                "day=VALUE" },
        { "dofile", "require \"name\" loads name.lua, which lies beside the script" },
        { "loadfile", "require \"name\" loads name.lua, which lies beside the script" },
        { "load", "a script runs no text that it makes; functions can be values" },
        { "loadstring", "a script runs no text that it makes; functions can be values" },
        { "package", "require \"name\" loads name.lua, which lies beside the script" },
        { "debug", "nothing in its place: what a stage does depends on its rows alone" },
        { "coroutine", "nothing in its place: a stage is called once for each row" },
        { "collectgarbage", "memory is bounded by the host" },
    };
    const char *message = lua_tostring(L, 1);

    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        char word[32];
        snprintf(word, sizeof word, "(global '%s')", lacking[i].name);
        if (strstr(message, word) != NULL && strstr(message, "a nil value") != NULL) {
            lua_pushfstring(L, "%s; there is no '%s' here: %s", message, lacking[i].name,
                            lacking[i].instead);
            lua_replace(L, 1);
            return;
        }
    }
}

/* Turns whatever was raised into text with the place of the innermost function in Lua. */
static int on_error(lua_State *L)
{
    lua_Debug ar;
    int level = 1;

    if (sandbox_of(L)->fatal != FATAL_NONE) {
        return 1; /* its words are kept */
    }
    if (lua_type(L, 1) != LUA_TSTRING) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) {
            lua_replace(L, 1);
        } else {
            lua_pushfstring(L, "error(%s)", luaL_typename(L, 1));
            lua_replace(L, 1);
        }
    }
    lua_settop(L, 1);
    shorten(L);
    advise(L);
    if (!has_place(lua_tostring(L, 1))) {
        while (lua_getstack(L, level, &ar) != 0 && lua_getinfo(L, "Sl", &ar) != 0 &&
               ar.currentline <= 0) {
            level++;
        }
        luaL_where(L, level);
        lua_insert(L, 1);
        lua_concat(L, 2);
    }
    return 1;
}

bool sandbox_blames_script(lua_State *L)
{
    return sandbox_of(L)->fatal == FATAL_STATE || sandbox_of(L)->fatal == FATAL_SLOW;
}

static void forget_next(lua_State *L, struct sandbox *box)
{
    if (box->next_cached) {
        lua_pushnil(L);
        lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.next_table");
        lua_pushnil(L);
        lua_setfield(L, LUA_REGISTRYINDEX, "sandbox.next_keys");
        box->next_cached = false;
    }
}

static void bytes_text(uint64_t n, char text[32])
{
    if (n >= 1 << 20) {
        snprintf(text, 32, "%llu MiB", (unsigned long long)(n >> 20));
    } else {
        snprintf(text, 32, "%llu bytes", (unsigned long long)n);
    }
}

static sluice_status failed(lua_State *L, const struct sandbox *box, struct sluice_error *err)
{
    const char *message =
        lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error without a message";
    char size[32];

    if (box->fatal == FATAL_MEMORY) {
        bytes_text(box->row_room > 0 ? box->row_room : box->cap, size);
        lua_pop(L, 1);
        lua_gc(L, LUA_GCCOLLECT);
        return error_set(err, SLUICE_E_NOMEM, "the %s needs more than its %s of memory",
                         box->row_room > 0 ? "row" : "script", size);
    }
    if (box->fatal != FATAL_NONE) {
        message = box->words;
    }
    if (box->fatal == FATAL_INTERRUPT) {
        error_set(err, SLUICE_E_CANCELLED, "%s", message);
    } else if (box->fatal == FATAL_ENDLESS) {
        error_set(err, SLUICE_E_DATA, "%s", message);
    } else {
        error_set(err, SLUICE_E_CONFIG, "%s", message);
    }
    lua_pop(L, 1);
    return box->fatal == FATAL_INTERRUPT ? SLUICE_E_CANCELLED
           : box->fatal == FATAL_ENDLESS ? SLUICE_E_DATA
                                         : SLUICE_E_CONFIG;
}

sluice_status sandbox_call(lua_State *L, int n_args, int n_results, struct sluice_error *err)
{
    struct sandbox *box = sandbox_of(L);
    int base = lua_gettop(L) - n_args;
    sluice_status result = SLUICE_OK;
    int status;

    if (box->depth == 0) {
        forget_next(L, box);
        textlib_forget(box->text);
        sandbox_bounds_begin(L, box);
    }
    lua_pushcfunction(L, on_error);
    lua_insert(L, base);
    box->depth++;
    status = lua_pcall(L, n_args, n_results, base);
    box->depth--;
    if (sandbox_ended(L, status) && status == LUA_OK) {
        lua_settop(L, base); /* a handler has put a value in place of the error */
        lua_pushnil(L);
        status = LUA_ERRRUN;
    }
    if (status != LUA_OK) {
        result = failed(L, box, err);
    }
    lua_remove(L, base);
    if (box->depth == 0) {
        sandbox_bounds_end(L, box);
    }
    return result;
}
