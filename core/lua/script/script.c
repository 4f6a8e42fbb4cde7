/* A pipeline script: see script.h. */
#include "lua/script/script.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/say.h"
#include "lua/native/ffi_module.h"
#include "lua/luavalue.h"
#include "lua/sandbox/sandbox.h"
#include "lua/script/scriptInt.h"
#include "store/disk.h"
#include "text/text_phrases.h"

#define DEFAULT_MEMORY (UINT64_C(256) << 20)

/* ---- states ---- */

static const char binding_key = 0;

/* VM instructions of a script outside of its stages; a count, so that it ends at the same place
 * everywhere (some ten seconds). */
#define SCRIPT_BUDGET 1000000000u

/* What a script prints while it describes the pipeline; in workers print is silent. */
static void print_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    say_to(stderr, "%.*s\n", (int)(n < 10000 ? n : 10000), line);
}

/* only: the number of the stage that a worker wants; UINT32_MAX in the planner, which keeps all. */
static sluice_status open_state(struct script *script, uint32_t only, lua_State **out,
                                struct sluice_error *err)
{
    const bool planning = only == UINT32_MAX;
    struct binding *binding = calloc(1, sizeof *binding);
    lua_State *L = NULL;
    sluice_status status;

    *out = NULL;
    if (binding == NULL) {
        return error_nomem(err, "a Lua state");
    }
    binding->script = script;
    binding->only = only;
    binding->planning = planning;
    status = sandbox_create(script->options.memory > 0 ? script->options.memory : DEFAULT_MEMORY,
                            &L, err);
    if (status != SLUICE_OK) {
        free(binding);
        return status;
    }
    sandbox_heed(L, script->options.stop);
    lua_pushlightuserdata(L, binding);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &binding_key);
    sandbox_print(L, planning ? print_line : NULL, NULL);
    bindings_push(L, binding);
    status = script_chunk(script, L, NULL, planning, err);
    if (status == SLUICE_OK) {
        sandbox_limit(L, SCRIPT_BUDGET);
        status = sandbox_call(L, 0, 1, err);
        if (status == SLUICE_E_DATA) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "%s does not come to an end: more than %u million instructions; it "
                               "is to describe the pipeline, the rows' work belongs into stages",
                               script->files[0].name, SCRIPT_BUDGET / 1000000u);
        }
    }
    if (status == SLUICE_OK && planning && !binding->returned && !script->options.testing) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s: the script returns no pipeline; end it with: return s.pipeline { "
                           "\"name\", docs | s.write_jsonl { \"out\" } }",
                           script->files[0].name);
    }
    if (status == SLUICE_OK && !planning && binding->n_stages != script->n_stages) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s: the script defines %u Lua stages in a worker, %u in the planner; "
                           "it must not depend on anything but its arguments",
                           script->files[0].name, binding->n_stages, script->n_stages);
    }
    if (status != SLUICE_OK) {
        script_worker_close(L);
        return status;
    }
    lua_settop(L, 0);
    sandbox_seal(L);
    binding->sealed = !planning;
    *out = L;
    return SLUICE_OK;
}

sluice_status script_worker_open(struct script *script, uint32_t k, lua_State **out,
                                 struct sluice_error *err)
{
    return open_state(script, k, out, err);
}

void script_worker_close(lua_State *L)
{
    struct binding *binding;

    if (L == NULL) {
        return;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &binding_key);
    binding = lua_touserdata(L, -1);
    sandbox_destroy(L);
    free(binding);
}

void script_push_stage(lua_State *L, uint32_t k)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "sluice.stages");
    lua_rawgeti(L, -1, (lua_Integer)k + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_remove(L, -3);
    lua_remove(L, -3);
}

/* ---- the script ---- */

static char *copy(const char *text)
{
    return text == NULL ? NULL : str_copy(text, strlen(text));
}

sluice_status script_load(const struct script_options *options, struct script **out,
                          struct graph **graph, struct sluice_error *err)
{
    struct script *script = calloc(1, sizeof *script);
    const char *slash = strrchr(options->path, '/');
    sluice_status status = SLUICE_OK;

    *out = NULL;
    *graph = NULL;
    if (script == NULL) {
        return error_nomem(err, "the script");
    }
    script->options = *options;
    script->path = copy(options->path);
    script->base_dir = copy(options->base_dir);
    script->cwd = copy(options->cwd);
    script->module_dir = copy(options->module_dir);
    script->folder = str_copy(options->path, slash == NULL ? 0 : (size_t)(slash - options->path));
    script->args = calloc(options->n_args + 1, sizeof *script->args);
    script->graph = graph_create();
    script->ffi = ffi_module_create();
    if (script->path == NULL || script->base_dir == NULL || script->cwd == NULL ||
        script->module_dir == NULL || script->folder == NULL || script->args == NULL ||
        script->graph == NULL || script->ffi == NULL) {
        status = error_nomem(err, "the script");
    }
    for (size_t i = 0; status == SLUICE_OK && i < options->n_args; i++) {
        script->args[i] =
            (struct script_arg){ copy(options->args[i].name), copy(options->args[i].value) };
        script->n_args++;
        status = script->args[i].name == NULL || script->args[i].value == NULL
                     ? error_nomem(err, "the script")
                     : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = script_file(script, options->path, slash == NULL ? options->path : slash + 1,
                             SCRIPT_BYTES, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = open_state(script, UINT32_MAX, &script->L, err);
    }
    if (status == SLUICE_OK && script->n_args > 0 && script->graph->n_args == 0) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "%s declares no arguments, found %s=%s; declare them with s.args { ... }",
                      script->files[0].name, script->args[0].name, script->args[0].value);
    }
    if (status != SLUICE_OK) {
        graph_destroy(script->graph);
        script->graph = NULL;
        script_destroy(script);
        return status;
    }
    *graph = script->graph;
    script->graph = NULL;
    *out = script;
    return SLUICE_OK;
}

uint64_t script_new_list_bytes(struct script *script)
{
    uint64_t known = script->list_bytes;

    script->list_bytes = 0;
    for (size_t i = 0; i < script->n_lists; i++) {
        script->list_bytes += text_phrases_bytes(script->lists[i].phrases);
    }
    return script->list_bytes - known;
}

void script_destroy(struct script *script)
{
    if (script == NULL) {
        return;
    }
    script_worker_close(script->L);
    for (uint32_t i = 0; i < script->n_stages; i++) {
        luastage_destroy(script->stages[i]);
        free(script->stage_names[i]);
    }
    for (size_t i = 0; i < script->n_files; i++) {
        free(script->files[i].name);
        free(script->files[i].path);
        free(script->files[i].text);
        buf_deinit(&script->codes[i]);
    }
    for (size_t i = 0; i < script->n_lists; i++) {
        free(script->lists[i].spec);
        text_phrases_destroy(script->lists[i].phrases);
    }
    free(script->lists);
    for (size_t i = 0; i < script->n_args; i++) {
        free((char *)(uintptr_t)script->args[i].name);
        free((char *)(uintptr_t)script->args[i].value);
    }
    free(script->args);
    free(script->stages);
    free(script->stage_names);
    free(script->files);
    free(script->codes);
    free(script->path);
    free(script->base_dir);
    free(script->cwd);
    free(script->module_dir);
    ffi_module_destroy(script->ffi);
    free(script->folder);
    free(script);
}

const struct script_file *script_files(const struct script *script, size_t *n)
{
    *n = script->n_files;
    return (const struct script_file *)(const void *)script->files;
}

uint32_t script_n_stages(const struct script *script)
{
    return script->n_stages;
}

const char *script_library(const struct script *script, uint32_t k)
{
    return ffi_module_library(script->ffi, k);
}

const char *script_stage_name(const struct script *script, uint32_t k)
{
    return k < script->n_stages ? script->stage_names[k] : NULL;
}

/* Calls a function of a policy with its options and facts; two results are on the stack. *there
 * false: the policy has none of that name, and nothing is. The caller clears the stack. */
static sluice_status ask_policy(lua_State *L, uint32_t policy, const char *name,
                                const char *facts_json, bool *there, struct sluice_error *err)
{
    struct value facts;
    sluice_status status = value_parse_json(facts_json, strlen(facts_json), &facts, err);

    *there = false;
    if (status != SLUICE_OK) {
        return status;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "sluice.policies");
    lua_rawgeti(L, -1, (lua_Integer)policy + 1);
    lua_getfield(L, -1, "functions");
    lua_getfield(L, -1, name);
    *there = lua_isfunction(L, -1);
    if (*there) {
        lua_getfield(L, -3, "options");
        luavalue_push(L, &facts);
        sandbox_limit(L, SCRIPT_BUDGET);
        status = sandbox_call(L, 2, 2, err);
    }
    value_deinit(&facts);
    return status == SLUICE_E_DATA
               ? error_set(
                     err, SLUICE_E_CONFIG,
                     "a policy's %s does not come to an end: more than %u million instructions",
                     name, SCRIPT_BUDGET / 1000000u)
               : status;
}

sluice_status script_judge(struct script *script, uint32_t policy, const char *run_json,
                           int *outcome, char message[1000], struct sluice_error *err)
{
    lua_State *L = script->L;
    const char *word;
    bool there;
    sluice_status status = ask_policy(L, policy, "judge", run_json, &there, err);

    *outcome = 0;
    message[0] = '\0';
    if (status == SLUICE_OK && there && !lua_isnil(L, -2)) {
        word = lua_tostring(L, -2);
        if (word == NULL || (strcmp(word, "warn") != 0 && strcmp(word, "halt") != 0)) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "a policy's judge returned %s, expected nil, \"warn\" or \"halt\"",
                               word == NULL ? luaL_typename(L, -2) : word);
        } else {
            *outcome = strcmp(word, "halt") == 0 ? 2 : 1;
            snprintf(message, 1000, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
        }
    }
    lua_settop(L, 0);
    return status;
}

sluice_status script_retry(struct script *script, uint32_t policy, const char *facts_json,
                           bool *said, double *seconds, struct sluice_error *err)
{
    lua_State *L = script->L;
    sluice_status status = ask_policy(L, policy, "retry", facts_json, said, err);

    if (status == SLUICE_OK && *said) {
        *said = !lua_isnil(L, -2);
        *seconds = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : SCRIPT_GIVE_UP;
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "halt") == 0) {
            *seconds = SCRIPT_HALT;
        } else if (*said && !(lua_type(L, -2) == LUA_TNUMBER && *seconds >= 0) &&
                   !(lua_isboolean(L, -2) && !lua_toboolean(L, -2))) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "a policy's retry returned a %s, expected seconds, nil, false or "
                               "\"halt\"",
                               luaL_typename(L, -2));
        }
    }
    lua_settop(L, 0);
    return status;
}

sluice_status script_speculate(struct script *script, uint32_t policy, const char *facts_json,
                               bool *said, bool *wanted, struct sluice_error *err)
{
    lua_State *L = script->L;
    sluice_status status = ask_policy(L, policy, "speculate", facts_json, said, err);

    *wanted = false;
    if (status == SLUICE_OK && *said) {
        *said = !lua_isnil(L, -2);
        *wanted = lua_toboolean(L, -2);
        if (*said && !lua_isboolean(L, -2)) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "a policy's speculate returned a %s, expected true, false or nil",
                               luaL_typename(L, -2));
        }
    }
    lua_settop(L, 0);
    return status;
}
