/* Showing facts to people: see view.h. */
#include "cmd/view/view.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/program.h"
#include "cmd/view/viewInt.h"
#include "store/pending.h"

struct view {
    lua_State *L; /* on its stack: the view's function */
    char *folder, *path;
    char *shared; /* where else its modules are, or NULL */
    FILE *out;
};

/* Pushes what FOLDER/NAME.lua gives when it is loaded; false pushes why not. */
static bool load_file(lua_State *L, const char *folder, const char *name)
{
    const char *path = lua_pushfstring(L, "%s/%s.lua", folder, name);
    bool loaded = luaL_loadfilex(L, path, "t") == LUA_OK;

    lua_remove(L, -2);
    return loaded;
}

/* Is NAME.lua beside the view? Also where there is no other place for it. */
static bool is_beside(const struct view *view, const char *name)
{
    char *path = view->shared == NULL ? NULL : str_printf("%s/%s.lua", view->folder, name);
    bool yes = path == NULL || access(path, F_OK) == 0;

    free(path);
    return yes;
}

/* require: a file of the folder, or of the shared one, once. Upvalues: what is loaded, the view. */
static int host_require(lua_State *L)
{
    const struct view *view = lua_touserdata(L, lua_upvalueindex(2));
    const char *name = luaL_checkstring(L, 1);

    lua_settop(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) {
        return 1;
    }
    luaL_argcheck(L, strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name), 1,
                  "expected the name of a file beside the view, without .lua");
    if (!load_file(L, is_beside(view, name) ? view->folder : view->shared, name)) {
        return lua_error(L);
    }
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    return 1;
}

static void open_libraries(lua_State *L, const struct view *view)
{
    static const luaL_Reg libraries[] = { { LUA_GNAME, luaopen_base },
                                          { LUA_STRLIBNAME, luaopen_string },
                                          { LUA_TABLIBNAME, luaopen_table },
                                          { LUA_MATHLIBNAME, luaopen_math },
                                          { LUA_UTF8LIBNAME, luaopen_utf8 } };
    static const char *const removed[] = { "print", "load", "loadfile", "dofile" };

    for (size_t k = 0; k < sizeof libraries / sizeof libraries[0]; k++) {
        luaL_requiref(L, libraries[k].name, libraries[k].func, 1);
        lua_pop(L, 1);
    }
    for (size_t k = 0; k < sizeof removed / sizeof removed[0]; k++) {
        lua_pushnil(L);
        lua_setglobal(L, removed[k]);
    }
    lua_createtable(L, 0, 2);
    viewhost_push(L, view->out);
    lua_setfield(L, -2, "host");
    lua_pushlightuserdata(L, (void *)(uintptr_t)view);
    lua_pushcclosure(L, host_require, 2);
    lua_setglobal(L, "require");
}

/* Protected: the view and its name. Gives the view's function. */
static int prepare(lua_State *L)
{
    const struct view *view = lua_touserdata(L, 1);
    const char *name = lua_touserdata(L, 2);

    viewfacts_open(L);
    open_libraries(L, view);
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

/* Protected: the view's function, facts, style. */
static int call(lua_State *L)
{
    viewfacts_begin(L);
    viewfacts_push(L, lua_touserdata(L, 2));
    if (lua_touserdata(L, 3) == NULL) {
        lua_newtable(L);
    } else {
        viewfacts_push(L, lua_touserdata(L, 3));
    }
    lua_remove(L, 3);
    lua_remove(L, 2);
    lua_call(L, 2, 0);
    viewfacts_end(L);
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

sluice_status view_open(const char *folder, const char *name, const char *shared, FILE *out,
                        struct view **opened, struct sluice_error *err)
{
    struct view *view = calloc(1, sizeof *view);
    int result;

    *opened = view;
    if (view != NULL) {
        view->out = out;
        view->folder = str_copy(folder, strlen(folder));
        view->path = str_printf("%s/%s.lua", folder, name);
        view->shared = shared == NULL ? NULL : str_copy(shared, strlen(shared));
        view->L = luaL_newstate();
    }
    if (view == NULL || view->folder == NULL || view->path == NULL || view->L == NULL ||
        (shared != NULL && view->shared == NULL)) {
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
    free(view->shared);
    free(view);
}

/* The folder and the name of a user's file: dir/mine.lua is mine of dir. */
static sluice_status split_file(struct arena *arena, const char *file, const char **folder,
                                const char **name, struct sluice_error *err)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash == NULL ? file : slash + 1;
    size_t n = strlen(base);
    struct stat st;

    if (n < 5 || strcmp(base + n - 4, ".lua") != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--view: found '%s', expected a Lua file: FILE.lua, which returns "
                         "function(facts, style)",
                         file);
    }
    if (stat(file, &st) != 0) {
        return error_set(err, SLUICE_E_CONFIG, "--view: can't open %s: %s", file, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, SLUICE_E_CONFIG, "--view: %s is no file, expected FILE.lua", file);
    }
    *folder =
        slash == NULL ? "." : arena_copy(arena, file, slash == file ? 1 : (size_t)(slash - file));
    *name = arena_copy(arena, base, n - 4);
    return arena_status(arena, err, "a path");
}

static sluice_status find(const char *name, const char *file, FILE *out, struct view **view,
                          struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    struct program program;
    const char *own = NULL;
    const char *folder = NULL;
    sluice_status status = program_find(&arena, &program, err);

    *view = NULL;
    if (status == SLUICE_OK) {
        own = folder = arena_printf(&arena, "%s/views", program.scripts);
        status = arena_status(&arena, err, "a path");
    }
    if (status == SLUICE_OK && file != NULL) {
        status = split_file(&arena, file, &folder, &name, err);
    }
    if (status == SLUICE_OK) {
        status = view_open(folder, name, file == NULL ? NULL : own, out, view, err);
    }
    arena_deinit(&arena);
    return status;
}

sluice_status view_find(const char *name, const char *file, struct view **view,
                        struct sluice_error *err)
{
    return find(name, file, stdout, view, err);
}

sluice_status view_once(const char *name, const char *file, const json_t *facts, json_t *style,
                        struct sluice_error *err)
{
    struct view *view = NULL;
    sluice_status status = view_find(name, file, &view, err);

    if (status == SLUICE_OK) {
        status = view_show(view, facts, style, err);
    }
    view_close(view);
    json_decref(style);
    return status;
}

/* Puts a text under a path, whole or not at all. */
static sluice_status put_file(const char *path, const char *text, size_t n,
                              struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash == NULL ? str_copy(".", 1)
                              : str_copy(path, slash == path ? 1 : (size_t)(slash - path));
    struct published published;
    sluice_status status = dir == NULL ? error_nomem(err, "a path")
                                       : pending_put(dir, slash == NULL ? path : slash + 1, text, n,
                                                     0, &published, err);

    free(dir);
    return status;
}

sluice_status view_page(const char *name, const char *path, const json_t *facts, json_t *style,
                        struct sluice_error *err)
{
    struct view *view = NULL;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    sluice_status status =
        out == NULL ? error_nomem(err, "a page") : find(name, NULL, out, &view, err);

    if (status == SLUICE_OK) {
        status = view_show(view, facts, style, err);
    }
    if (out != NULL && fclose(out) != 0 && status == SLUICE_OK) {
        status = error_nomem(err, "a page");
    }
    if (status == SLUICE_OK) {
        status = put_file(path, text, n, err);
    }
    free(text);
    view_close(view);
    json_decref(style);
    return status;
}
