/* The module `ffi`: see ffi_module.h. */
#include "lua/native/ffi_module.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "lua/native/ffi_foreign.h"
#include "lua/native/ffi_symbols.h"
#include "lua/sandbox/sandboxInt.h"
#include "store/disk.h"

/* ---- what is defined ---- */

struct ffi_function {
    struct foreign_signature signature;
    struct foreign foreign; /* open once a worker has asked for it */
    char *path, *identity;
    bool thread_safe;
    pthread_mutex_t *lock; /* of the library */
};

struct ffi_library {
    char *path;
    struct hash128 hash;
    pthread_mutex_t lock; /* around its functions, unless they are thread_safe */
};

struct ffi_module {
    pthread_mutex_t opening;         /* workers start at once */
    struct ffi_function **functions; /* in the order in which the script defines them */
    uint32_t n_functions;
    struct ffi_library **libraries;
    uint32_t n_libraries;
};

struct ffi_module *ffi_module_create(void)
{
    struct ffi_module *module = calloc(1, sizeof *module);

    if (module != NULL && pthread_mutex_init(&module->opening, NULL) != 0) {
        free(module);
        return NULL;
    }
    return module;
}

static void destroy_function(struct ffi_function *function)
{
    if (function != NULL) {
        free(function->path);
        free(function->identity);
        free(function);
    }
}

void ffi_module_destroy(struct ffi_module *module)
{
    if (module == NULL) {
        return;
    }
    for (uint32_t k = 0; k < module->n_functions; k++) {
        destroy_function(module->functions[k]);
    }
    for (uint32_t k = 0; k < module->n_libraries; k++) {
        pthread_mutex_destroy(&module->libraries[k]->lock);
        free(module->libraries[k]->path);
        free(module->libraries[k]);
    }
    pthread_mutex_destroy(&module->opening);
    free(module->functions);
    free(module->libraries);
    free(module);
}

const char *ffi_module_library(const struct ffi_module *module, uint32_t k)
{
    return k < module->n_libraries ? module->libraries[k]->path : NULL;
}

/* The library at path, hashed once. */
static sluice_status find_library(struct ffi_module *module, const char *path,
                                  struct ffi_library **out, struct sluice_error *err)
{
    struct ffi_library **more;
    struct ffi_library *library;
    uint64_t bytes;

    for (uint32_t k = 0; k < module->n_libraries; k++) {
        if (strcmp(module->libraries[k]->path, path) == 0) {
            *out = module->libraries[k];
            return SLUICE_OK;
        }
    }
    more = realloc(module->libraries, (module->n_libraries + 1) * sizeof(struct ffi_library *));
    if (more == NULL) {
        return error_nomem(err, "a library");
    }
    module->libraries = more;
    library = calloc(1, sizeof *library);
    if (library == NULL || pthread_mutex_init(&library->lock, NULL) != 0) {
        free(library);
        return error_nomem(err, "a library");
    }
    more[module->n_libraries++] = library;
    library->path = str_copy(path, strlen(path));
    if (library->path == NULL) {
        return error_nomem(err, "a library");
    }
    TRY(disk_hash_file(path, &bytes, &library->hash, NULL, err));
    *out = library;
    return SLUICE_OK;
}

static sluice_status new_function(struct ffi_module *module,
                                  const struct foreign_signature *signature,
                                  struct ffi_library *library, bool thread_safe,
                                  struct sluice_error *err)
{
    struct ffi_function **more =
        realloc(module->functions, (module->n_functions + 1) * sizeof(struct ffi_function *));
    struct ffi_function *function;
    struct buf text = BUF_INIT;
    char hex[33];

    if (more == NULL) {
        return error_nomem(err, "a foreign function");
    }
    module->functions = more;
    function = calloc(1, sizeof *function);
    if (function == NULL) {
        return error_nomem(err, "a foreign function");
    }
    more[module->n_functions++] = function;
    hash_hex(library->hash, hex);
    prototype_print(&signature->prototype, &text);
    buf_printf(&text, " of %s", hex);
    function->signature = *signature;
    function->path = str_copy(library->path, strlen(library->path));
    function->identity = buf_take(&text);
    function->thread_safe = thread_safe;
    function->lock = &library->lock;
    return function->path == NULL || function->identity == NULL
               ? error_nomem(err, "a foreign function")
               : SLUICE_OK;
}

/* ---- calls ---- */

static const char *function_name(const struct ffi_function *function)
{
    return function->signature.prototype.name;
}

/* "score: argument 2 (size_t n): found a string, expected ..." */
static int wrong(lua_State *L, const struct ffi_function *function, uint32_t k,
                 const char *expected)
{
    const struct prototype_param *param =
        &function->signature.prototype.params[function->signature.values[k].param];
    int index = (int)k + 1;
    const char *found = luaL_typename(L, index);

    if (lua_type(L, index) == LUA_TNUMBER) {
        found = lua_pushfstring(L, "%s %s", lua_isinteger(L, index) ? "integer" : "float",
                                sandbox_tostring(L, index, NULL));
    }
    return luaL_error(L, "%s: argument %d%s%s: found %s %s, expected %s", function_name(function),
                      index, param->name[0] != '\0' ? " " : "", param->name,
                      lua_type(L, index) == LUA_TNUMBER ? "the" : "a", found, expected);
}

static void load_text(lua_State *L, const struct ffi_function *function, uint32_t k,
                      union foreign_slot *slots)
{
    const struct foreign_value *value = &function->signature.values[k];
    const char *text;
    size_t n;

    if (lua_type(L, (int)k + 1) != LUA_TSTRING) {
        wrong(L, function, k, "a string");
    }
    text = lua_tolstring(L, (int)k + 1, &n);
    if (value->form == FOREIGN_CSTRING && memchr(text, '\0', n) != NULL) {
        wrong(L, function, k,
              "one without a NUL in it; a function with const char *, size_t takes any");
    }
    slots[value->param].pointer = text;
    if (value->count >= 0) {
        enum scalar scalar = function->signature.prototype.params[value->count].type.scalar;
        if (!scalar_holds(scalar, (int64_t)n)) {
            wrong(L, function, k, "a shorter one");
        }
        foreign_slot_integer(&slots[value->count], scalar, (int64_t)n);
    }
}

/* The number at the top as scalar. */
static bool take_number(lua_State *L, int index, enum scalar scalar, union foreign_slot *slot)
{
    lua_Integer integer;
    int whole;

    if (scalar == SCALAR_BOOL) {
        slot->uint8 = lua_toboolean(L, index) != 0;
        return lua_type(L, index) == LUA_TBOOLEAN;
    }
    if (lua_type(L, index) != LUA_TNUMBER) {
        return false;
    }
    if (scalar == SCALAR_DOUBLE) {
        slot->float64 = lua_tonumber(L, index);
        return true;
    }
    if (scalar == SCALAR_FLOAT) {
        slot->float32 = (float)lua_tonumber(L, index);
        return true;
    }
    integer = lua_tointegerx(L, index, &whole); /* a float counts when it is whole */
    foreign_slot_integer(slot, scalar, integer);
    return whole != 0 && scalar_holds(scalar, integer);
}

static void print_range(lua_State *L, enum scalar scalar)
{
    uint64_t bits = scalar_size(scalar) * 8;

    if (scalar == SCALAR_BOOL) {
        lua_pushliteral(L, "a boolean");
    } else if (scalar == SCALAR_DOUBLE || scalar == SCALAR_FLOAT) {
        lua_pushliteral(L, "a number");
    } else if (bits == 64) {
        lua_pushliteral(L, "an integer");
    } else if (scalar_is_signed(scalar)) {
        lua_pushfstring(L, "an integer from -%I to %I", (LUAI_UACINT)1 << (bits - 1),
                        ((LUAI_UACINT)1 << (bits - 1)) - 1);
    } else {
        lua_pushfstring(L, "an integer from 0 to %I", ((LUAI_UACINT)1 << bits) - 1);
    }
}

/* A table of numbers, copied side by side; a string is the bytes of an array of uint8_t. */
static void load_array(lua_State *L, const struct ffi_function *function, uint32_t k,
                       union foreign_slot *slots)
{
    const struct foreign_value *value = &function->signature.values[k];
    enum scalar count = function->signature.prototype.params[value->count].type.scalar;
    size_t size = scalar_size(value->scalar);
    lua_Integer n;
    char *items;

    if (value->scalar == SCALAR_UINT8 && lua_type(L, (int)k + 1) == LUA_TSTRING) {
        load_text(L, function, k, slots);
        return;
    }
    if (!lua_istable(L, (int)k + 1)) {
        wrong(L, function, k, "a list of numbers");
    }
    sandbox_thaw(L, (int)k + 1);
    n = (lua_Integer)lua_rawlen(L, (int)k + 1);
    if (!scalar_holds(count, n)) {
        wrong(L, function, k, "a shorter one");
    }
    items =
        lua_newuserdatauv(L, ((size_t)n + 1) * size, 0); /* on the stack until the call returns */
    for (lua_Integer i = 0; i < n; i++) {
        union foreign_slot slot;
        lua_rawgeti(L, (int)k + 1, i + 1);
        if (!take_number(L, -1, value->scalar, &slot)) {
            print_range(L, value->scalar);
            luaL_error(L, "%s: argument %d: item %I is %s, expected %s", function_name(function),
                       (int)k + 1, (LUAI_UACINT)i + 1,
                       lua_type(L, -2) == LUA_TNUMBER ? "out of range" : luaL_typename(L, -2),
                       lua_tostring(L, -1));
        }
        memcpy(items + (size_t)i * size, &slot, size); /* little-endian: the low bytes come first */
        lua_pop(L, 1);
    }
    slots[value->param].pointer = items;
    foreign_slot_integer(&slots[value->count], count, n);
}

/* Protected: the text that a function returned. Argument: the result. */
static int push_text(lua_State *L)
{
    const union foreign_result *result = lua_touserdata(L, 1);

    lua_pushstring(L, result->text); /* nil for NULL */
    return 1;
}

/* A number or bool: needs no memory. */
static void push_result(lua_State *L, const struct ffi_function *function,
                        const union foreign_result *result)
{
    enum scalar scalar = function->signature.result;
    double number;

    switch (scalar) {
    case SCALAR_BOOL:
        lua_pushboolean(L, foreign_integer(result, scalar) != 0);
        break;
    case SCALAR_FLOAT:
    case SCALAR_DOUBLE:
        number = scalar == SCALAR_FLOAT ? (double)result->float32 : result->float64;
        lua_pushnumber(L, number != number ? (double)NAN : number); /* one NaN on all processors */
        break;
    default: /* of a uint64 the bits, as in rows */
        lua_pushinteger(L, foreign_integer(result, scalar));
        break;
    }
}

/* A function that ffi.def gave. Upvalue: its struct ffi_function. */
static int call(lua_State *L)
{
    struct ffi_function *function = lua_touserdata(L, lua_upvalueindex(1));
    const struct foreign_signature *signature = &function->signature;
    union foreign_slot slots[PROTOTYPE_PARAMS];
    union foreign_result result;
    int n = lua_gettop(L);
    int status = LUA_OK;

    if (function->foreign.function == NULL || !lua_toboolean(L, lua_upvalueindex(2))) {
        return luaL_error(L,
                          "'%s' is a function of %s, which only rows of stages call: their stages "
                          "run in a process of their own",
                          function_name(function), function->path);
    }
    if (n != (int)signature->n_values) {
        return luaL_error(
            L, "%s: found %d argument%s, expected %d (a text or list and its length are one)",
            function_name(function), n, n == 1 ? "" : "s", (int)signature->n_values);
    }
    luaL_checkstack(L, n + 10, "arguments of a native function");
    memset(slots, 0, sizeof slots);
    for (uint32_t k = 0; k < signature->n_values; k++) {
        const struct foreign_value *value = &signature->values[k];
        if (value->form == FOREIGN_ARRAY) {
            load_array(L, function, k, slots);
        } else if (value->form != FOREIGN_SCALAR) {
            load_text(L, function, k, slots);
        } else if (!take_number(L, (int)k + 1, value->scalar, &slots[value->param])) {
            print_range(L, value->scalar);
            return wrong(L, function, k, lua_tostring(L, -1));
        }
    }
    memset(&result, 0, sizeof result);
    if (!function->thread_safe) {
        pthread_mutex_lock(function->lock);
    }
    foreign_call(&function->foreign, slots, &result);
    if (signature->result != SCALAR_CHAR) {
        push_result(L, function, &result);
    } else {
        lua_pushcfunction(L, push_text);
        lua_pushlightuserdata(L, &result);
        status = lua_pcall(
            L, 1, 1, 0); /* before the next thread may enter, and without leaving the lock behind */
    }
    if (!function->thread_safe) {
        pthread_mutex_unlock(function->lock);
    }
    return status == LUA_OK ? 1 : lua_error(L);
}

const char *ffi_module_identity(lua_State *L, int index, bool *serial)
{
    const struct ffi_function *function;

    if (lua_tocfunction(L, index) != call || lua_getupvalue(L, index, 1) == NULL) {
        return NULL;
    }
    function = lua_touserdata(L, -1);
    lua_pop(L, 1);
    *serial = !function->thread_safe;
    return function->identity;
}

/* ---- definitions ---- */

static int raise(lua_State *L, const struct binding *binding, const struct sluice_error *err)
{
    char where[300];

    bindings_where(L, binding, where, sizeof where);
    lua_pushfstring(L, "%s: ffi.def: %s", where, err->message);
    return lua_error(L);
}

/* What stands between { }: checks the names. */
static sluice_status read_members(lua_State *L, const char **lib, bool *thread_safe,
                                  struct sluice_error *err)
{
    static const char *const known[] = { "lib", "thread_safe" };

    for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (lua_isinteger(L, -2)) {
            if (lua_type(L, -1) != LUA_TSTRING) {
                return error_set(err, SLUICE_E_CONFIG,
                                 "item %d is a %s, expected a prototype such as \"double "
                                 "score(const char *, size_t)\"",
                                 (int)lua_tointeger(L, -2), luaL_typename(L, -1));
            }
        } else if (name != NULL && strcmp(name, "lib") == 0 && lua_type(L, -1) == LUA_TSTRING) {
            *lib = lua_tostring(L, -1); /* the table holds it */
        } else if (name != NULL && strcmp(name, "thread_safe") == 0 && lua_isboolean(L, -1)) {
            *thread_safe = lua_toboolean(L, -1) != 0;
        } else if (name != NULL && (strcmp(name, "lib") == 0 || strcmp(name, "thread_safe") == 0)) {
            return error_set(err, SLUICE_E_CONFIG, "%s: found a %s, expected %s", name,
                             luaL_typename(L, -1),
                             name[0] == 'l' ? "the path of a shared library" : "true or false");
        } else {
            const char *near = name == NULL ? NULL : error_suggest(name, known, 2);
            return error_set(err, SLUICE_E_CONFIG,
                             "unknown member '%s'%s%s%s; expected lib, thread_safe and prototypes",
                             name == NULL ? luaL_typename(L, -2) : name,
                             near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                             near == NULL ? "" : "'?");
        }
    }
    if (*lib == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "lib, the path of a shared library, is missing");
    }
    return lua_rawlen(L, 1) > 0 ? SLUICE_OK
                                : error_set(err, SLUICE_E_CONFIG,
                                            "the prototype of a function is missing: \"double "
                                            "score(const char *, size_t)\"");
}

/* In the planner's state: takes the definition down. */
static sluice_status define(struct script *script, const char *text, const char *path,
                            bool thread_safe, struct sluice_error *err)
{
    struct foreign_signature signature;
    struct ffi_library *library = NULL;
    bool compared;

    TRY(foreign_signature_read(text, &signature, err));
    if (signature.columns) {
        return error_set(err, SLUICE_E_CONFIG,
                         "prototype \"%.200s\": functions over whole columns are for s.native; "
                         "here it must return a value",
                         text);
    }
    TRY(symbols_place(path, err));
    if (script->options.foreign) {
        TRY(symbols_check(path, &signature.prototype, &compared, err));
    }
    TRY(find_library(script->ffi, path, &library, err));
    return new_function(script->ffi, &signature, library, thread_safe, err);
}

/* In a worker's state: the same definition must come again; where it may, the function is
 * opened. */
static sluice_status find_again(struct script *script, uint32_t k, const char *text,
                                const char *path, struct sluice_error *err)
{
    struct foreign_signature signature;
    struct ffi_module *module = script->ffi;
    struct ffi_function *function;
    sluice_status status = SLUICE_OK;

    TRY(foreign_signature_read(text, &signature, err));
    if (k >= module->n_functions ||
        strcmp(function_name(module->functions[k]), signature.prototype.name) != 0 ||
        strcmp(module->functions[k]->path, path) != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the script defines other functions in a worker than in the planner "
                         "(found '%s'); it must not depend on anything "
                         "but its arguments",
                         signature.prototype.name);
    }
    function = module->functions[k];
    if (!script->options.foreign) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&module->opening);
    if (function->foreign.function == NULL) {
        status = foreign_open(&function->signature, function->path, &function->foreign, err);
    }
    pthread_mutex_unlock(&module->opening);
    return status;
}

/* ffi.def { lib = "./x.so", "prototype", ... } -> a function each. Upvalue: the binding. */
static int def(lua_State *L)
{
    struct binding *binding = lua_touserdata(L, lua_upvalueindex(1));
    struct script *script = binding->script;
    struct sluice_error err = ERROR_INIT;
    const char *lib = NULL;
    bool thread_safe = false;
    const char *path;
    lua_Integer n;
    sluice_status status;

    if (!lua_istable(L, 1)) {
        error_set(
            &err, SLUICE_E_CONFIG,
            "found a %s, expected { lib = \"./x.so\", \"double score(const char *, size_t)\" }",
            luaL_typename(L, 1));
        return raise(L, binding, &err);
    }
    lua_settop(L, 1);
    if (read_members(L, &lib, &thread_safe, &err) != SLUICE_OK) {
        return raise(L, binding, &err);
    }
    path = lib[0] == '/' ? lib
                         : lua_pushfstring(L, "%s/%s", script->base_dir,
                                           strncmp(lib, "./", 2) == 0 ? lib + 2 : lib);
    path = script_place(script, path);
    n = (lua_Integer)lua_rawlen(L, 1);
    luaL_checkstack(L, (int)n + 10, "functions");
    for (lua_Integer i = 1; i <= n; i++) {
        const char *text;
        lua_rawgeti(L, 1, i);
        text = lua_tostring(L, -1);
        status = binding->planning ? define(script, text, path, thread_safe, &err)
                                   : find_again(script, binding->n_functions, text, path, &err);
        if (status != SLUICE_OK) {
            return raise(L, binding, &err);
        }
        lua_pushlightuserdata(L, script->ffi->functions[binding->n_functions]);
        lua_pushboolean(L, !binding->planning && script->options.foreign);
        lua_pushcclosure(L, call, 2);
        lua_remove(L, -2);
        binding->n_functions++;
    }
    return (int)n;
}

void ffi_module_push(lua_State *L, struct binding *binding)
{
    lua_createtable(L, 0, 1);
    lua_pushlightuserdata(L, binding);
    lua_pushcclosure(L, def, 1);
    lua_setfield(L, -2, "def");
    sandbox_protect(L, "ffi");
}
