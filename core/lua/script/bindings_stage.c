/* The functions of `core` that give stages: found by name, of a plugin's file, or defined by the
 * script. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/script/bindingsInt.h"
#include "lua/native/ffi_module.h"
#include "plugin/libraries.h"

static int core_find(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    const char *name = luaL_checkstring(L, 1);
    const struct registry_entry *entry = NULL;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    if (!binding->planning) {
        lua_pushlightuserdata(L, binding);
        return 1;
    }
    if (lua_islightuserdata(L, 2)) {
        status = registry_find_in(binding->script->options.registry, lua_touserdata(L, 2), name,
                                  &entry, &err);
    } else {
        status = registry_find(binding->script->options.registry, name, &entry, &err);
    }
    if (status != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)entry);
    return 1;
}

static int core_load(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    const char *path = luaL_checkstring(L, 1);
    const struct registry_plugin *plugin = NULL;
    struct sluice_error err = ERROR_INIT;
    char *full;
    sluice_status status;

    if (!binding->planning) {
        lua_pushlightuserdata(L, binding);
        return 1;
    }
    full = path[0] == '/' ? str_printf("%s", path)
                          : str_printf("%s/%s", binding->script->base_dir, path);
    status = full == NULL ? error_nomem(&err, "a path")
                          : registry_load(binding->script->options.registry,
                                          script_place(binding->script, full), &plugin, &err);
    free(full);
    if (status != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)plugin);
    return 1;
}

static sluice_status add_stage(struct script *script, struct luastage *stage, const char *name,
                               struct sluice_error *err)
{
    struct luastage **stages = realloc(script->stages, (script->n_stages + 1) * sizeof *stages);
    char **names;

    if (stages == NULL) {
        luastage_destroy(stage);
        return error_nomem(err, "a stage");
    }
    script->stages = stages;
    names = realloc(script->stage_names, (script->n_stages + 1) * sizeof *names);
    if (names == NULL) {
        luastage_destroy(stage);
        return error_nomem(err, "a stage");
    }
    script->stage_names = names;
    names[script->n_stages] = str_copy(name, strlen(name));
    stages[script->n_stages++] = stage;
    return names[script->n_stages - 1] == NULL ? error_nomem(err, "a stage") : SLUICE_OK;
}

/* Function 3 and definition 4 may reach functions of shared libraries. */
static void place_foreign(lua_State *L, struct script *script, const struct registry_entry *entry)
{
    bool serial = false;
    bool reached = ffi_module_reached(script, L, 3, &serial);

    if (ffi_module_reached(script, L, 4, &serial) || reached) {
        registry_isolate_always(script->options.registry, entry);
    }
    if (serial) {
        registry_serialise(script->options.registry, entry);
    }
}

/* What a row function computes with beside Sluice's own code. */
static sluice_status say_libraries(struct script *script, const struct registry_entry *entry,
                                   struct sluice_error *err)
{
    static const char *const shaping[] = { "liblua", "libutf8proc", "libpcre2-8", NULL };
    char *libraries = NULL;
    sluice_status status = libraries_here(shaping, &libraries, err);

    if (status == SLUICE_OK) {
        status = registry_set_libraries(script->options.registry, entry, libraries, err);
    }
    free(libraries);
    return status;
}

/* core.lua_stage(role, name, function, definition) */
static int core_lua_stage(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct script *script = binding->script;
    const char *role = luaL_checkstring(L, 1);
    const char *name = luaL_checkstring(L, 2);
    const struct registry_entry *entry = NULL;
    struct sluice_error err = ERROR_INIT;
    struct luastage *stage = NULL;
    struct hash128 hash;
    char where[300];
    const struct sluice_stage *descriptor;
    sluice_status status;

    if (binding->planning || binding->only == binding->n_stages) {
        /* registry[STAGES_KEY][k] = { definition, function } */
        lua_getfield(L, LUA_REGISTRYINDEX, STAGES_KEY);
        lua_createtable(L, 2, 0);
        lua_pushvalue(L, 4);
        lua_rawseti(L, -2, 1);
        lua_pushvalue(L, 3);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, (lua_Integer)binding->n_stages + 1);
        lua_pop(L, 1);
    }
    if (!binding->planning) {
        if (binding->n_stages >= script->n_stages ||
            strcmp(script->stage_names[binding->n_stages], name) != 0) {
            error_set(&err, SLUICE_E_CONFIG,
                      "the script defines other stages in a worker than in the planner (found "
                      "'%s'); it must not depend on anything but its arguments",
                      name);
            return bindings_raise(L, &err);
        }
        binding->n_stages++;
        lua_pushlightuserdata(L, binding);
        return 1;
    }
    bindings_where(L, binding, where, sizeof where);
    status = luastage_create(script, binding->n_stages, L, role, name, 4, 3, where, &stage, &err);
    if (status == SLUICE_OK) {
        descriptor = luastage_descriptor(stage, &hash);
        status = add_stage(script, stage, name, &err);
        if (status == SLUICE_OK) {
            status = registry_add_user(script->options.registry, descriptor, stage, PLUGIN_SCRIPT,
                                       where, hash, &entry, &err);
        }
    }
    if (status == SLUICE_OK) {
        status = say_libraries(script, entry, &err);
    }
    if (status == SLUICE_OK) {
        place_foreign(L, script, entry);
    }
    if (status != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    binding->n_stages++;
    lua_pushlightuserdata(L, (void *)(uintptr_t)entry);
    return 1;
}

const luaL_Reg bindings_stage[] = {
    { "find", core_find },
    { "load", core_load },
    { "lua_stage", core_lua_stage },
    { NULL, NULL },
};
