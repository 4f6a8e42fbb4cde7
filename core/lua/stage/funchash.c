/* Hashes of Lua functions by the tokens of their lines and by their upvalues: what a stage computes
 * is in its task key. See luastage.h. */
#include <lauxlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "lua/native/ffi_module.h"
#include "lua/stage/luastageInt.h"
#include "lua/stage/luatokens.h"
#include "lua/sandbox/sandbox.h"
#include "lua/sandbox/sandboxInt.h"
#include "lua/script/scriptInt.h"

#define MAX_DEPTH 100

struct walk {
    struct script *script;
    struct hasher *hasher;
    uint64_t n_values;
    lua_Integer n_seen;
    int seen;            /* stack index of the table of what was visited: value -> number */
    const char *upvalue; /* for messages: the one being hashed */
    bool foreign;        /* a function of a shared library was met, */
    bool serial;         /* that bears one call at a time */
};

static void hash_value(lua_State *L, struct walk *walk, int index, int depth);

static void tag(struct walk *walk, char kind)
{
    hasher_add(walk->hasher, &kind, 1);
}

/* The file that the function which ar describes is written in; NULL: it is not at hand. */
static const struct loaded_file *file_of(const struct script *script, const lua_Debug *ar)
{
    for (size_t i = 0; i < script->n_files; i++) {
        if (ar->source[0] != '\0' && strcmp(script->files[i].name, ar->source + 1) == 0) {
            return &script->files[i];
        }
    }
    return NULL;
}

/* Was the value at index visited already? Then its number stands for it. */
static bool visited(lua_State *L, struct walk *walk, int index)
{
    lua_pushvalue(L, index);
    if (lua_rawget(L, walk->seen) != LUA_TNIL) {
        tag(walk, 'v');
        hasher_add_u64(walk->hasher, (uint64_t)lua_tointeger(L, -1));
        lua_pop(L, 1);
        return true;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, index);
    lua_pushinteger(L, ++walk->n_seen);
    lua_rawset(L, walk->seen);
    return false;
}

/* ---- tables ---- */

/* Is it the table in the registry under key, or under key.name? */
static bool is_module(lua_State *L, int index, const char *key, const char *name)
{
    int top = lua_gettop(L);
    bool yes;

    lua_getfield(L, LUA_REGISTRYINDEX, key);
    if (name != NULL && lua_istable(L, -1)) {
        lua_getfield(L, -1, name);
    }
    yes = lua_rawequal(L, -1, index) != 0;
    lua_settop(L, top);
    return yes;
}

/* Globals that the script made; those of the sandbox are the same in every state. */
static void hash_globals(lua_State *L, struct walk *walk, int index, int depth)
{
    lua_Integer n;
    int globals, builtins;

    if (sandbox_is_protected(L, index)) { /* sealed: the values are behind it */
        lua_getmetatable(L, index);
        lua_getfield(L, -1, "__index");
        lua_remove(L, -2);
    } else {
        lua_pushvalue(L, index);
    }
    globals = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.builtins");
    builtins = lua_gettop(L);
    n = sandbox_keys(L, globals);
    tag(walk, 'G');
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, builtins + 1, i);
        lua_pushvalue(L, -1);
        lua_rawget(L, globals);
        lua_pushvalue(L, -2);
        lua_rawget(L, builtins);
        if (!lua_rawequal(L, -1, -2) &&
            !(lua_type(L, -3) == LUA_TSTRING && strcmp(lua_tostring(L, -3), "require") == 0)) {
            hash_value(L, walk, lua_gettop(L) - 2, depth + 1);
            hash_value(L, walk, lua_gettop(L) - 1, depth + 1);
        }
        lua_pop(L, 3);
    }
    lua_settop(L, globals - 1);
}

static void hash_table(lua_State *L, struct walk *walk, int index, int depth)
{
    int top = lua_gettop(L);
    const char *name;
    lua_Integer n;

    lua_pushglobaltable(L);
    if (lua_rawequal(L, -1, index)) {
        lua_settop(L, top);
        hash_globals(L, walk, index, depth);
        return;
    }
    lua_settop(L, top);
    name = sandbox_protected_name(L, index);
    if (name == NULL && is_module(L, index, "sluice.loaded", "sluice")) {
        name = "sluice";
    }
    if (name == NULL && is_module(L, index, "sluice.core", NULL)) {
        name = "core";
    }
    if (name != NULL) {
        tag(walk, 'l');
        hasher_add_string(walk->hasher, name);
        return;
    }
    tag(walk, '{');
    n = sandbox_keys(L, index);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, top + 1, i);
        hash_value(L, walk, top + 2, depth + 1);
        lua_rawget(L, index);
        hash_value(L, walk, top + 2, depth + 1);
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
    if (lua_getmetatable(L, index)) {
        if (!sandbox_is_guard(L, -1)) {
            tag(walk, 'm');
            hash_value(L, walk, top + 1, depth + 1);
        }
        lua_settop(L, top);
    }
    tag(walk, '}');
}

/* ---- functions ---- */

static void hash_c_function(lua_State *L, struct walk *walk, int index)
{
    bool serial = false;
    const char *identity = ffi_module_identity(L, index, &serial);

    if (identity != NULL) {
        walk->foreign = true;
        walk->serial = walk->serial || serial;
        tag(walk, 'N');
        hasher_add_string(walk->hasher, identity);
        return;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.names");
    lua_pushvalue(L, index);
    if (lua_rawget(L, -2) != LUA_TSTRING) {
        luaL_error(L,
                   "the upvalue '%s' holds a function that is not written in Lua, which can't be "
                   "part of a stage's identity",
                   walk->upvalue);
    }
    tag(walk, 'c');
    hasher_add_string(walk->hasher, lua_tostring(L, -1));
    lua_pop(L, 2);
}

static void hash_function(lua_State *L, struct walk *walk, int index, int depth)
{
    lua_Debug ar;
    const struct loaded_file *file;
    const char *name;

    lua_pushvalue(L, index);
    lua_getinfo(L, ">S", &ar);
    tag(walk, 'F');
    file = file_of(walk->script, &ar);
    if (file == NULL) {
        luaL_error(L, "the source of the function at %s:%d is not at hand", ar.short_src,
                   ar.linedefined);
    }
    luatokens_hash(walk->hasher, file->text, file->size, ar.linedefined, ar.lastlinedefined);
    if (ar.source[0] == '=') { /* of the pipeline language: its upvalues are not the user's */
        hasher_add_u64(walk->hasher, (uint64_t)ar.linedefined);
        return;
    }
    for (int k = 1; (name = lua_getupvalue(L, index, k)) != NULL; k++) {
        const char *outer = walk->upvalue;
        if (depth == 0) {
            walk->upvalue = name;
        }
        hasher_add_string(walk->hasher, name);
        hash_value(L, walk, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
        walk->upvalue = outer;
    }
}

static void hash_value(lua_State *L, struct walk *walk, int index, int depth)
{
    lua_Number number;
    const char *text;
    size_t size;
    uint64_t bits;

    luaL_checkstack(L, 20, "upvalues");
    if (depth > MAX_DEPTH) {
        luaL_error(L, "the upvalue '%s' is nested deeper than %d", walk->upvalue, MAX_DEPTH);
    }
    walk->n_values++;
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        tag(walk, 'n');
        break;
    case LUA_TBOOLEAN:
        tag(walk, lua_toboolean(L, index) ? 'T' : 'f');
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            tag(walk, 'i');
            hasher_add_u64(walk->hasher, (uint64_t)lua_tointeger(L, index));
        } else {
            number = lua_tonumber(L, index);
            memcpy(&bits, &number, sizeof bits);
            tag(walk, 'd');
            hasher_add_u64(walk->hasher, number != number ? UINT64_C(0x7ff8000000000000) : bits);
        }
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &size);
        tag(walk, 's');
        hasher_add_u64(walk->hasher, size);
        hasher_add(walk->hasher, text, size);
        break;
    case LUA_TTABLE:
        if (!visited(L, walk, index)) {
            hash_table(L, walk, index, depth);
        }
        break;
    case LUA_TFUNCTION:
        if (lua_iscfunction(L, index)) {
            hash_c_function(L, walk, index);
        } else if (!visited(L, walk, index)) {
            hash_function(L, walk, index, depth);
        }
        break;
    default:
        luaL_error(L,
                   "the upvalue '%s' holds a %s, which can't be part of a stage's identity; use "
                   "strings, numbers, tables and functions",
                   walk->upvalue, luaL_typename(L, index));
    }
}

/* ---- protected ---- */

/* Arguments: the walk, the value. */
static int protected_walk(lua_State *L)
{
    struct walk *walk = lua_touserdata(L, 1);

    lua_newtable(L);
    walk->seen = lua_gettop(L);
    hash_value(L, walk, 2, 0);
    return 0;
}

/* Hashes the value at the top and pops it. */
static sluice_status hash_top(struct script *script, lua_State *L, const char *name,
                              struct hash128 *out, uint64_t *n_values, struct walk *met,
                              struct sluice_error *err)
{
    struct walk walk = { .script = script, .hasher = hasher_create(), .upvalue = name };
    int status;

    if (walk.hasher == NULL) {
        lua_pop(L, 1);
        return error_nomem(err, "hashing");
    }
    lua_pushcfunction(L, protected_walk);
    lua_insert(L, -2);
    lua_pushlightuserdata(L, &walk);
    lua_insert(L, -2);
    status = lua_pcall(L, 2, 0, 0);
    *out = hasher_digest(walk.hasher);
    if (n_values != NULL) {
        *n_values = walk.n_values;
    }
    if (met != NULL) {
        met->foreign = walk.foreign;
        met->serial = walk.serial;
    }
    hasher_destroy(walk.hasher);
    if (status != LUA_OK) {
        const char *message =
            lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "hashing failed";
        error_set(err, status == LUA_ERRMEM ? SLUICE_E_NOMEM : SLUICE_E_CONFIG, "%s", message);
        lua_pop(L, 1);
        return status == LUA_ERRMEM ? SLUICE_E_NOMEM : SLUICE_E_CONFIG;
    }
    return SLUICE_OK;
}

sluice_status funchash(struct script *script, lua_State *L, int index, struct hash128 *out,
                       struct sluice_error *err)
{
    lua_pushvalue(L, index);
    return hash_top(script, L, "the function", out, NULL, NULL, err);
}

bool ffi_module_reached(struct script *script, lua_State *L, int index, bool *serial)
{
    struct sluice_error err = ERROR_INIT;
    struct walk met = { .foreign = false };
    struct hash128 hash;

    lua_pushvalue(L, index);
    /* What can't be walked can't be hashed either, so no stage has it. */
    (void)(hash_top(script, L, "the definition", &hash, NULL, &met, &err) == SLUICE_OK);
    *serial = *serial || met.serial;
    return met.foreign;
}
