/* Showing facts to people: see view.h. */
#include "cmd/view.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/say.h"
#include "cmd/look/look.h"
#include "cmd/program.h"
#include "cmd/progress.h"

struct view {
    lua_State *L; /* on its stack: the view's function */
    char *folder, *path;
    FILE *out;
};

/* Registry keys: the view, the metatables, and the JSON behind each table of facts. */
static const char self_key, unread_key, object_key, sources_key;

static struct view *view_of(lua_State *L)
{
    struct view *view;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &self_key);
    view = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return view;
}

/* ---- facts as tables ---- */

/* An array or object becomes an empty table, and is filled when a view first looks into it: most
 * facts are never looked at. */
static void push_json(lua_State *L, const json_t *json)
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

/* The JSON behind the table at index 1; NULL = it is of an earlier call, or no fact. */
static json_t *source_of(lua_State *L)
{
    json_t *json;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &sources_key);
    lua_pushvalue(L, 1);
    json = lua_rawget(L, -2) == LUA_TLIGHTUSERDATA ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 2);
    return json;
}

/* Fills the table at index 1 and makes it a plain one; objects keep the order of their members. */
static void fill(lua_State *L)
{
    json_t *json = source_of(L);
    const char *key;
    json_t *value;
    size_t i;

    luaL_argcheck(L, json != NULL, 1, "expected facts of this call");
    lua_pushnil(L);
    lua_setmetatable(L, 1);
    json_object_foreach(json, key, value)
    {
        push_json(L, value);
        lua_setfield(L, 1, key);
    }
    json_array_foreach(json, i, value)
    {
        push_json(L, value);
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

/* One step of pairs: the next member that is not null. Upvalues: the object, where in it. */
static int object_next(lua_State *L)
{
    json_t *json = lua_touserdata(L, lua_upvalueindex(1));
    void *at = lua_touserdata(L, lua_upvalueindex(2));

    while (at != NULL && json_is_null(json_object_iter_value(at))) {
        at = json_object_iter_next(json, at);
    }
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
    json = source_of(L);
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

/* ---- what views call ---- */

static int host_write(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    say_text(view_of(L)->out, text, n);
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

    look_excerpt(&out, text, n, columns);
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

/* say(format, ...): as string.format, upvalue 1, but texts are put on one line first. */
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
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, 1);
    text = lua_tolstring(L, -1, &size);
    say_text(view_of(L)->out, text, size);
    return 0;
}

static int host_width(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    lua_pushinteger(L, (lua_Integer)(is_plain(text, n) ? n : look_width(text, n)));
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

/* ---- loading ---- */

/* Pushes what FOLDER/NAME.lua gives when it is loaded; false pushes why not. */
static bool load_file(lua_State *L, const char *folder, const char *name)
{
    const char *path = lua_pushfstring(L, "%s/%s.lua", folder, name);
    bool loaded = luaL_loadfilex(L, path, "t") == LUA_OK;

    lua_remove(L, -2);
    return loaded;
}

/* require: a file of the folder, once. Upvalue: what is loaded. */
static int host_require(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_settop(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) {
        return 1;
    }
    luaL_argcheck(L, strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name), 1,
                  "expected the name of a file beside the view, without .lua");
    if (!load_file(L, view_of(L)->folder, name)) {
        return lua_error(L);
    }
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    return 1;
}

static void open_libraries(lua_State *L)
{
    static const luaL_Reg libraries[] = { { LUA_GNAME, luaopen_base },
                                          { LUA_STRLIBNAME, luaopen_string },
                                          { LUA_TABLIBNAME, luaopen_table },
                                          { LUA_MATHLIBNAME, luaopen_math },
                                          { LUA_UTF8LIBNAME, luaopen_utf8 } };
    static const char *const removed[] = { "print", "load", "loadfile", "dofile" };
    static const luaL_Reg host[] = { { "write", host_write }, { "excerpt", host_excerpt },
                                     { "width", host_width }, { "count", host_count },
                                     { "bytes", host_bytes }, { "time", host_time },
                                     { NULL, NULL } };

    for (size_t k = 0; k < sizeof libraries / sizeof libraries[0]; k++) {
        luaL_requiref(L, libraries[k].name, libraries[k].func, 1);
        lua_pop(L, 1);
    }
    for (size_t k = 0; k < sizeof removed / sizeof removed[0]; k++) {
        lua_pushnil(L);
        lua_setglobal(L, removed[k]);
    }
    lua_createtable(L, 0, 2);
    luaL_newlib(L, host);
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "format");
    lua_remove(L, -2);
    lua_pushcclosure(L, host_say, 1);
    lua_setfield(L, -2, "say");
    lua_setfield(L, -2, "host");
    lua_pushcclosure(L, host_require, 1);
    lua_setglobal(L, "require");
}

/* Protected: upvalues of nothing; the arguments are the view and its name. Gives the function. */
static int prepare(lua_State *L)
{
    static const luaL_Reg unread[] = { { "__index", unread_index },
                                       { "__len", unread_length },
                                       { "__pairs", unread_pairs },
                                       { NULL, NULL } };
    static const luaL_Reg object[] = { { "__pairs", object_pairs }, { NULL, NULL } };
    struct view *view = lua_touserdata(L, 1);
    const char *name = lua_touserdata(L, 2);

    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &self_key);
    luaL_newlib(L, unread);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &unread_key);
    luaL_newlib(L, object);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &object_key);
    open_libraries(L);
    if (!load_file(L, view->folder, name)) {
        return lua_error(L);
    }
    lua_call(L, 0, 1);
    if (!lua_isfunction(L, -1)) {
        return luaL_error(L, "expected a file that returns a function, found a %s",
                          luaL_typename(L, -1));
    }
    return 1;
}

/* Protected: the view's function, facts and style. */
static int call(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sources_key);
    push_json(L, lua_touserdata(L, 2));
    if (lua_touserdata(L, 3) == NULL) {
        lua_newtable(L);
    } else {
        push_json(L, lua_touserdata(L, 3));
    }
    lua_remove(L, 3);
    lua_remove(L, 2);
    lua_call(L, 2, 0);
    return 0;
}

/* The status of a protected call whose message is on the stack. */
static sluice_status failed(struct view *view, int result, struct sluice_error *err)
{
    const char *message = lua_tostring(view->L, -1);
    sluice_status status =
        result == LUA_ERRMEM
            ? error_nomem(err, "showing facts")
            : error_set(err, SLUICE_E_CONFIG,
                        "the view %s failed: %s; with --json the command needs no view", view->path,
                        message == NULL ? "its error is no text" : message);

    lua_settop(view->L, 0);
    return status;
}

sluice_status view_open(const char *folder, const char *name, FILE *out, struct view **opened,
                        struct sluice_error *err)
{
    struct view *view = calloc(1, sizeof *view);
    int result;

    *opened = view;
    if (view != NULL) {
        view->out = out;
        view->folder = str_copy(folder, strlen(folder));
        view->path = str_printf("%s/%s.lua", folder, name);
        view->L = luaL_newstate();
    }
    if (view == NULL || view->folder == NULL || view->path == NULL || view->L == NULL) {
        view_close(view);
        *opened = NULL;
        return error_nomem(err, "showing facts");
    }
    lua_gc(view->L, LUA_GCINC, 400, 0, 0); /* most views end before a collection would */
    lua_pushcfunction(view->L, prepare);
    lua_pushlightuserdata(view->L, view);
    lua_pushlightuserdata(view->L, (void *)(uintptr_t)name);
    result = lua_pcall(view->L, 2, 1, 0);
    if (result != LUA_OK) {
        sluice_status status = failed(view, result, err);
        view_close(view);
        *opened = NULL;
        return status;
    }
    return SLUICE_OK;
}

sluice_status view_show(struct view *view, const json_t *facts, const json_t *style,
                        struct sluice_error *err)
{
    int result;

    lua_settop(view->L, 1);
    lua_pushcfunction(view->L, call);
    lua_pushvalue(view->L, 1);
    lua_pushlightuserdata(view->L, (void *)(uintptr_t)facts);
    lua_pushlightuserdata(view->L, (void *)(uintptr_t)style);
    result = lua_pcall(view->L, 3, 0, 0);
    lua_pushnil(view->L);
    lua_rawsetp(view->L, LUA_REGISTRYINDEX, &sources_key);
    return result == LUA_OK ? SLUICE_OK : failed(view, result, err);
}

void view_close(struct view *view)
{
    if (view == NULL) {
        return;
    }
    if (view->L != NULL) {
        lua_close(view->L);
    }
    free(view->folder);
    free(view->path);
    free(view);
}

sluice_status view_find(const char *name, struct view **view, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    struct program program;
    const char *folder = NULL;
    sluice_status status = program_find(&arena, &program, err);

    *view = NULL;
    if (status == SLUICE_OK) {
        folder = arena_printf(&arena, "%s/views", program.scripts);
        status = arena_status(&arena, err, "a path");
    }
    if (status == SLUICE_OK) {
        status = view_open(folder, name, stdout, view, err);
    }
    arena_deinit(&arena);
    return status;
}

sluice_status view_once(const char *name, const json_t *facts, json_t *style,
                        struct sluice_error *err)
{
    struct view *view = NULL;
    sluice_status status = view_find(name, &view, err);

    if (status == SLUICE_OK) {
        status = view_show(view, facts, style, err);
    }
    view_close(view);
    json_decref(style);
    return status;
}
