/* The functions of `core`, on which the pipeline language in scripts/lib/sluice.lua stands. In the planner's state they build the
 * graph; in a worker's they count and keep functions. A failure raises "FILE:LINE: message" with the place in the user's script. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/ffi_module.h"
#include "lua/luaoptions.h"
#include "lua/luavalue.h"
#include "lua/native.h"
#include "lua/scriptInt.h"

#define STAGES_KEY "sluice.stages"
#define POLICIES_KEY "sluice.policies"

static struct binding *bound(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

void bindings_where(lua_State *L, const struct binding *binding, char *text, size_t size)
{
    lua_Debug ar;

    snprintf(text, size, "%s", binding->at);
    for (int level = 0; text[0] == '\0' && lua_getstack(L, level, &ar) != 0; level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.source[0] == '@' && ar.currentline > 0) {
            snprintf(text, size, "%s:%d", ar.source + 1, ar.currentline);
        }
    }
    if (text[0] == '\0') {
        snprintf(text, size, "%s",
                 binding->script->n_files > 0 ? binding->script->files[0].name : "script");
    }
}

/* Raises err at the user's place. err lies on the C stack of the caller, so its text is copied first. */
static int raise(lua_State *L, const struct sluice_error *err)
{
    char where[300];

    bindings_where(L, bound(L), where, sizeof where);
    if (strncmp(err->message, where, strlen(where)) == 0) {
        lua_pushstring(L, err->message);
    } else {
        lua_pushfstring(L, "%s: %s", where, err->message);
    }
    return lua_error(L);
}

static int core_fail(lua_State *L)
{
    char where[300];

    bindings_where(L, bound(L), where, sizeof where);
    lua_pushfstring(L, "%s: %s", where, luaL_checkstring(L, 1));
    return lua_error(L);
}

static int core_where(lua_State *L)
{
    char where[300];

    bindings_where(L, bound(L), where, sizeof where);
    lua_pushstring(L, where);
    return 1;
}

static int core_at(lua_State *L)
{
    struct binding *binding = bound(L);

    snprintf(binding->at, sizeof binding->at, "%s", luaL_optstring(L, 1, ""));
    return 0;
}

static struct node *node_at(lua_State *L, int index)
{
    struct binding *binding = bound(L);
    lua_Integer id = luaL_checkinteger(L, index);

    luaL_argcheck(L, id >= 0 && (uint64_t)id < binding->script->graph->n_nodes, index,
                  "no such node");
    return binding->script->graph->nodes[id];
}

static int core_node(lua_State *L)
{
    static const char *const kinds[] = { "files", "stage", "union", "dropped", "dataset", NULL };
    struct binding *binding = bound(L);
    int kind = luaL_checkoption(L, 1, NULL, kinds);
    struct sluice_error err = ERROR_INIT;
    struct node *node;

    if (!binding->planning) {
        lua_pushinteger(L, binding->n_nodes++);
        return 1;
    }
    if (graph_add(binding->script->graph, (enum node_kind)kind, luaL_checkstring(L, 2),
                  luaL_checkstring(L, 3), &node, &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    lua_pushinteger(L, node->id);
    return 1;
}

static int core_group(lua_State *L)
{
    if (bound(L)->planning) {
        node_at(L, 1)->group = (uint32_t)luaL_checkinteger(L, 2);
    }
    return 0;
}

static int core_connect(lua_State *L)
{
    struct binding *binding = bound(L);
    struct sluice_error err = ERROR_INIT;

    if (binding->planning && graph_connect(binding->script->graph, node_at(L, 1),
                                           (uint32_t)luaL_checkinteger(L, 2), &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    return 0;
}

/* ---- isolate = ... ---- */

struct isolate_config {
    int64_t threads, max_deaths, timeout;
    uint64_t memory;
    int32_t on_timeout;
    uint8_t network, gpu;
};

static const struct sluice_option isolate_options[] = {
    { .name = "threads",
      .doc =
          "Calls served at once by the stage's process; as many as there are workers unless given.",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1024,
      .offset = offsetof(struct isolate_config, threads) },
    { .name = "memory",
      .doc = "Bytes of memory the process may have.",
      .type = SLUICE_OPT_SIZE,
      .min = 1 << 20,
      .max = 17592186044416.0,
      .offset = offsetof(struct isolate_config, memory) },
    { .name = "timeout",
      .doc = "Longest time of one call.",
      .type = SLUICE_OPT_DURATION,
      .min = 1e6,
      .max = 86400e9,
      .offset = offsetof(struct isolate_config, timeout) },
    { .name = "network",
      .doc = "Whether it may open sockets.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct isolate_config, network) },
    { .name = "gpu",
      .doc = "Whether it may use the devices of GPUs.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct isolate_config, gpu) },
    { .name = "on_timeout",
      .doc = "What a row that takes too long does: end the run, or go to quarantine.",
      .def = "halt",
      .choices = "halt|quarantine",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct isolate_config, on_timeout) },
    { .name = "max_deaths",
      .doc = "Batches that may kill a process before the run ends.",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1000000,
      .offset = offsetof(struct isolate_config, max_deaths) },
};

static sluice_status read_isolation(const struct node *node, const struct value *value,
                                    struct node_isolation *out, struct sluice_error *err)
{
    char owner[200];
    struct option_table table = { owner, isolate_options,
                                  sizeof isolate_options / sizeof isolate_options[0],
                                  sizeof isolate_options[0], sizeof(struct isolate_config) };
    struct option_args args = { .named = value };
    struct options *parsed = NULL;
    const struct isolate_config *config;

    if (value->kind == VALUE_BOOL) {
        *out = (struct node_isolation){ .given = true, .on = value->as.boolean };
        return SLUICE_OK;
    }
    if (value->kind == VALUE_LIST && value->as.list.n == 0) { /* {} */
        *out = (struct node_isolation){ .given = true, .on = true };
        return SLUICE_OK;
    }
    if (value->kind != VALUE_MAP) {
        struct buf text = BUF_INIT;
        value_describe(value, &text);
        error_field(err, SLUICE_E_CONFIG, "isolate",
                    "option 'isolate' of '%s': found %s, expected true, false or limits such as "
                    "{ memory = \"1GiB\", timeout = \"30s\" }",
                    node->name, buf_str(&text));
        buf_deinit(&text);
        return SLUICE_E_CONFIG;
    }
    snprintf(owner, sizeof owner, "isolate of %s", node->name);
    TRY(options_parse(&table, &args, NULL, &parsed, err));
    config = options_config(parsed);
    *out = (struct node_isolation){ .given = true,
                                    .on = true,
                                    .network = config->network != 0,
                                    .gpu = config->gpu != 0,
                                    .quarantine_late = config->on_timeout == 1,
                                    .threads = (uint32_t)config->threads,
                                    .max_deaths = (uint32_t)config->max_deaths,
                                    .memory = config->memory,
                                    .timeout_ns = (uint64_t)config->timeout };
    options_destroy(parsed);
    return SLUICE_OK;
}

/* Every stage takes the option `isolate`, which is the host's; unless it has one of that name itself. */
static sluice_status take_isolation(struct node *node, struct sluice_error *err)
{
    struct option_table table = option_table_of(&node->entry->stage);
    const struct value *value =
        node->named.kind == VALUE_MAP ? value_map_get(&node->named, "isolate") : NULL;
    struct sluice_option option;

    for (uint64_t k = 0; value != NULL && option_at(&table, k, &option); k++) {
        if (strcmp(option.name, "isolate") == 0) {
            return SLUICE_OK;
        }
    }
    if (value == NULL) {
        return SLUICE_OK;
    }
    TRY(read_isolation(node, value, &node->isolation, err));
    for (size_t k = 0; k < node->named.as.map.n; k++) {
        struct value_entry *entry = &node->named.as.map.entries[k];
        if (strcmp(entry->key, "isolate") == 0) {
            free(entry->key);
            value_deinit(&entry->value);
            memmove(entry, entry + 1, (--node->named.as.map.n - k) * sizeof *entry);
        }
    }
    return SLUICE_OK;
}

static int core_stage(lua_State *L)
{
    struct binding *binding = bound(L);
    struct sluice_error err = ERROR_INIT;
    struct node *node;

    if (!binding->planning) {
        return 0;
    }
    node = node_at(L, 1);
    node->entry = lua_touserdata(L, 2);
    if (luavalue_read(L, 3, node->name, &node->named, &err) != SLUICE_OK ||
        luavalue_read(L, 4, node->name, &node->positional, &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    if (node->named.kind == VALUE_LIST) { /* {} */
        value_deinit(&node->named);
    }
    if (take_isolation(node, &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    if (node->entry->serial || native_is_serial(node->entry, &node->named)) {
        node->isolation.threads = 1;
    }
    return 0;
}

static int core_partitions(lua_State *L)
{
    if (bound(L)->planning) {
        lua_Integer n = luaL_checkinteger(L, 2);
        if (n < 1 || n > 65536) {
            struct sluice_error err = ERROR_INIT;
            error_set(&err, SLUICE_E_CONFIG, "found %d partitions, expected 1 to 65536", (int)n);
            return raise(L, &err);
        }
        node_at(L, 1)->partitions = (uint32_t)n;
    }
    return 0;
}

static int core_name(lua_State *L)
{
    lua_pushstring(L, bound(L)->planning ? node_at(L, 1)->name : "node");
    return 1;
}

static int core_rename(lua_State *L)
{
    struct binding *binding = bound(L);
    struct sluice_error err = ERROR_INIT;

    if (binding->planning && graph_rename(binding->script->graph, node_at(L, 1)->id,
                                          luaL_checkstring(L, 2), &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    return 0;
}

/* A composite's last node is called after the composite, unless it has a name. */
static int core_rename_default(lua_State *L)
{
    struct binding *binding = bound(L);
    const char *base = luaL_checkstring(L, 2);
    struct sluice_error err = ERROR_INIT;
    char name[200];
    struct node *node;

    if (!binding->planning) {
        return 0;
    }
    node = node_at(L, 1);
    if (node->has_name) {
        return 0;
    }
    snprintf(name, sizeof name, "%s", base);
    for (unsigned k = 2; graph_find(binding->script->graph, name) != NULL &&
                         graph_find(binding->script->graph, name) != node;
         k++) {
        snprintf(name, sizeof name, "%s_%u", base, k);
    }
    if (graph_rename(binding->script->graph, node->id, name, &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    node->has_name = false;
    return 0;
}

/* ---- files ---- */

struct files_config {
    uint64_t split, max_record;
};

static int core_files(lua_State *L)
{
    static const struct sluice_option options[] = {
        { .name = "split",
          .doc = "Target size of an input split in bytes.",
          .def = "64MiB",
          .type = SLUICE_OPT_SIZE,
          .min = 65536,
          .max = 1099511627776.0,
          .offset = offsetof(struct files_config, split) },
        { .name = "max_record",
          .doc = "Longest record in bytes; longer ones are quarantined.",
          .def = "64MiB",
          .type = SLUICE_OPT_SIZE,
          .min = 1024,
          .max = 1073741824.0,
          .offset = offsetof(struct files_config, max_record) },
    };
    struct option_table table = { "files", options, 2, sizeof options[0],
                                  sizeof(struct files_config) };
    struct binding *binding = bound(L);
    struct value named = VALUE_INIT;
    struct option_args args = { 0 };
    struct options *parsed = NULL;
    struct sluice_error err = ERROR_INIT;
    struct node *node;
    lua_Integer n;
    sluice_status status;

    if (!binding->planning) {
        return 0;
    }
    node = node_at(L, 1);
    status = luavalue_read(L, 3, "s.files", &named, &err);
    if (named.kind == VALUE_MAP) {
        args.named = &named;
    }
    if (status == SLUICE_OK) {
        status = options_parse(&table, &args, NULL, &parsed, &err);
    }
    if (status == SLUICE_OK) {
        const struct files_config *config = options_config(parsed);
        node->split_bytes = config->split;
        node->max_record = config->max_record;
    }
    options_destroy(parsed);
    value_deinit(&named);
    n = (lua_Integer)lua_rawlen(L, 2);
    node->patterns = calloc((size_t)n + 1, sizeof *node->patterns);
    for (lua_Integer i = 1; status == SLUICE_OK && i <= n; i++) {
        lua_rawgeti(L, 2, i);
        node->patterns[i - 1] = str_printf("%s", lua_tostring(L, -1));
        lua_pop(L, 1);
        if (node->patterns[i - 1] == NULL) {
            status = error_nomem(&err, "the pipeline");
        } else {
            node->n_patterns++;
        }
    }
    return status == SLUICE_OK ? 0 : raise(L, &err);
}

/* ---- stages ---- */

static int core_find(lua_State *L)
{
    struct binding *binding = bound(L);
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
        return raise(L, &err);
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)entry);
    return 1;
}

static int core_load(lua_State *L)
{
    struct binding *binding = bound(L);
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
                          : registry_load(binding->script->options.registry, full, &plugin, &err);
    free(full);
    if (status != SLUICE_OK) {
        return raise(L, &err);
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

/* core.lua_stage(role, name, function, definition) */
static int core_lua_stage(lua_State *L)
{
    struct binding *binding = bound(L);
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

    /* registry[STAGES_KEY][k] = { definition, function } */
    lua_getfield(L, LUA_REGISTRYINDEX, STAGES_KEY);
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, 4);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, 3);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)binding->n_stages + 1);
    lua_pop(L, 1);
    if (!binding->planning) {
        if (binding->n_stages >= script->n_stages ||
            strcmp(script->stage_names[binding->n_stages], name) != 0) {
            error_set(&err, SLUICE_E_CONFIG,
                      "the script defines other stages in a worker than in the planner (found "
                      "'%s'); it must not depend on anything but its arguments",
                      name);
            return raise(L, &err);
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
        place_foreign(L, script, entry);
    }
    if (status != SLUICE_OK) {
        return raise(L, &err);
    }
    binding->n_stages++;
    lua_pushlightuserdata(L, (void *)(uintptr_t)entry);
    return 1;
}

/* ---- options and arguments ---- */

static sluice_status parse_declared(lua_State *L, const char *owner, int declared,
                                    const struct option_args *args, const char *base_dir,
                                    struct sluice_error *err)
{
    struct luaoptions *table_of = NULL;
    struct options *parsed = NULL;
    struct option_table table;
    sluice_status status = luaoptions_read(L, declared, owner, NULL, 0, false, &table_of, err);

    if (status == SLUICE_OK) {
        table = luaoptions_table(table_of);
        status = options_parse(&table, args, base_dir, &parsed, err);
    }
    if (status == SLUICE_OK) {
        luaoptions_push(L, table_of, options_config(parsed));
    }
    options_destroy(parsed);
    luaoptions_destroy(table_of);
    return status;
}

/* core.options(owner, declared, named, positional) -> table */
static int core_options(lua_State *L)
{
    struct binding *binding = bound(L);
    struct value named = VALUE_INIT;
    struct value positional = VALUE_INIT;
    struct sluice_error err = ERROR_INIT;
    const char *owner = luaL_checkstring(L, 1);
    struct option_args args = { 0 };
    sluice_status status = luavalue_read(L, 3, owner, &named, &err);

    if (status == SLUICE_OK) {
        status = luavalue_read(L, 4, owner, &positional, &err);
    }
    if (status == SLUICE_OK) {
        args.named = named.kind == VALUE_MAP ? &named : NULL;
        args.positional = positional.kind == VALUE_NIL ? NULL : &positional;
        status = parse_declared(L, owner, 2, &args, binding->script->base_dir, &err);
    }
    value_deinit(&named);
    value_deinit(&positional);
    return status == SLUICE_OK ? 1 : raise(L, &err);
}

static const char *declared_type(lua_State *L, int declared, const char *name)
{
    const char *type = "";

    lua_getfield(L, declared, name);
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 1);
        type = lua_isstring(L, -1) ? lua_tostring(L, -1) : "";
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return type;
}

static int by_arg_name(const void *a, const void *b)
{
    return strcmp(((const struct graph_arg *)a)->name, ((const struct graph_arg *)b)->name);
}

/* Records arguments with their final values, for `plan` and for running again. */
static sluice_status note_args(lua_State *L, struct script *script, int declared, int values,
                               struct sluice_error *err)
{
    struct graph *graph = script->graph;

    for (lua_pushnil(L); lua_next(L, declared) != 0; lua_pop(L, 1)) {
        struct graph_arg *more = realloc(graph->args, (graph->n_args + 1) * sizeof *more);
        struct graph_arg *arg;
        struct value value;
        struct buf text = BUF_INIT;
        if (more == NULL) {
            return error_nomem(err, "arguments");
        }
        graph->args = more;
        arg = &more[graph->n_args];
        memset(arg, 0, sizeof *arg);
        arg->name = str_printf("%s", lua_tostring(L, -2));
        arg->type = str_printf("%s", declared_type(L, declared, lua_tostring(L, -2)));
        lua_getfield(L, -1, "doc");
        arg->doc = str_printf("%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
        lua_pop(L, 1);
        lua_getfield(L, values, lua_tostring(L, -2));
        TRY(luavalue_read(L, -1, "argument", &value, err));
        lua_pop(L, 1);
        value_print_json(&value, &text);
        value_deinit(&value);
        arg->value = buf_take(&text);
        graph->n_args++;
        if (arg->name == NULL || arg->type == NULL || arg->value == NULL || arg->doc == NULL) {
            return error_nomem(err, "arguments");
        }
    }
    /* The order of a Lua table's keys differs from process to process. */
    qsort(graph->args, graph->n_args, sizeof *graph->args, by_arg_name);
    return SLUICE_OK;
}

/* core.args(declared) -> table. Values from the command line are text; relative paths there mean the working directory. */
static int core_args(lua_State *L)
{
    struct binding *binding = bound(L);
    struct script *script = binding->script;
    struct value named;
    struct sluice_error err = ERROR_INIT;
    struct option_args args = { .named = &named, .text = true };
    sluice_status status = SLUICE_OK;

    luaL_checktype(L, 1, LUA_TTABLE);
    value_map_init(&named);
    for (size_t i = 0; i < script->n_args && status == SLUICE_OK; i++) {
        const char *type = declared_type(L, 1, script->args[i].name);
        const char *text = script->args[i].value;
        bool relative = (strcmp(type, "glob") == 0 || strcmp(type, "path") == 0) &&
                        text[0] != '/' && text[0] != '\0' && strstr(text, "://") == NULL;
        bool list = text[0] == '@';
        char *full = relative ? str_printf("%s%s/%s", list ? "@" : "", script->cwd, text + list)
                              : str_printf("%s", text);
        struct value value;
        if (full == NULL || !value_string(&value, full, strlen(full)) ||
            !value_map_set(&named, script->args[i].name, value)) {
            status = error_nomem(&err, "arguments");
        }
        free(full);
    }
    if (status == SLUICE_OK) {
        status = parse_declared(L, "arguments", 1, &args, script->base_dir, &err);
    }
    value_deinit(&named);
    if (status == SLUICE_OK && binding->planning) {
        status = note_args(L, script, 1, lua_gettop(L), &err);
    }
    return status == SLUICE_OK ? 1 : raise(L, &err);
}

/* ---- the pipeline ---- */

struct pipeline_config {
    const char *max_bad;
    int64_t seed;
};

static sluice_status read_max_bad(struct graph *graph, const char *text, struct sluice_error *err)
{
    double number = 0;
    size_t length = strlen(text);
    size_t used = number_parse(text, length, &number);

    if (used > 0 && used + 1 == length && text[used] == '%' && number >= 0 && number <= 100) {
        graph->max_bad_share = number / 100;
        graph->max_bad_count = -1;
        return SLUICE_OK;
    }
    if (used == length && used > 0 && number >= 0 && number < 1e15) {
        if (strchr(text, '.') != NULL && number <= 1) {
            graph->max_bad_share = number;
            graph->max_bad_count = -1;
        } else {
            graph->max_bad_count = (int64_t)number;
        }
        return SLUICE_OK;
    }
    return error_set(
        err, SLUICE_E_CONFIG,
        "max_bad: found \"%s\", expected a share such as \"0.1%%\" or a count such as 10", text);
}

static sluice_status read_policies(lua_State *L, int index, struct graph *graph,
                                   struct sluice_error *err)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);

    graph->policies = calloc((size_t)n + 1, sizeof *graph->policies);
    if (graph->policies == NULL) {
        return error_nomem(err, "policies");
    }
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, index, i);
        lua_getfield(L, LUA_REGISTRYINDEX, POLICIES_KEY);
        if (!lua_isinteger(L, -2)) {
            return error_set(
                err, SLUICE_E_CONFIG,
                "policies: item %d is a %s, expected what s.policy {...} { options } gives", (int)i,
                luaL_typename(L, -2));
        }
        lua_rawgeti(L, -1, lua_tointeger(L, -2) + 1);
        lua_getfield(L, -1, "name");
        graph->policies[graph->n_policies].reference = (int32_t)lua_tointeger(L, -4);
        graph->policies[graph->n_policies].name = str_printf("%s", lua_tostring(L, -1));
        if (graph->policies[graph->n_policies++].name == NULL) {
            return error_nomem(err, "policies");
        }
        lua_pop(L, 4);
    }
    return SLUICE_OK;
}

/* core.pipeline(name, sinks, named) */
static int core_pipeline(lua_State *L)
{
    static const struct sluice_option options[] = {
        { .name = "max_bad",
          .doc = "Quarantined records that the run bears.",
          .def = "0.1%",
          .type = SLUICE_OPT_STRING,
          .offset = offsetof(struct pipeline_config, max_bad) },
        { .name = "seed",
          .doc = "Seed of everything random.",
          .def = "0",
          .type = SLUICE_OPT_INT,
          .offset = offsetof(struct pipeline_config, seed) },
    };
    struct option_table table = { "pipeline", options, 2, sizeof options[0],
                                  sizeof(struct pipeline_config) };
    struct binding *binding = bound(L);
    struct graph *graph = binding->script->graph;
    struct value named = VALUE_INIT;
    struct option_args args = { 0 };
    struct options *parsed = NULL;
    struct sluice_error err = ERROR_INIT;
    sluice_status status = SLUICE_OK;
    const char *name = luaL_checkstring(L, 1);

    if (!binding->planning) {
        return 0;
    }
    if (binding->returned) {
        error_set(&err, SLUICE_E_CONFIG,
                  "s.pipeline is called twice; a script returns one pipeline");
        return raise(L, &err);
    }
    binding->returned = true;
    lua_getfield(L, 3, "policies");
    if (lua_istable(L, -1)) {
        status = read_policies(L, lua_gettop(L), graph, &err);
    } else if (!lua_isnil(L, -1)) {
        status = error_set(&err, SLUICE_E_CONFIG, "policies: found a %s, expected a list",
                           luaL_typename(L, -1));
    }
    lua_pushnil(L);
    lua_setfield(L, 3, "policies");
    lua_getfield(L, 3, "max_bad");
    if (lua_isnumber(L, -1)) {
        lua_pushstring(L, lua_tostring(L, -1));
        lua_setfield(L, 3, "max_bad");
    }
    if (status == SLUICE_OK) {
        status = luavalue_read(L, 3, "s.pipeline", &named, &err);
    }
    args.named = named.kind == VALUE_MAP ? &named : NULL;
    if (status == SLUICE_OK) {
        status = options_parse(&table, &args, NULL, &parsed, &err);
    }
    if (status == SLUICE_OK) {
        const struct pipeline_config *config = options_config(parsed);
        graph->seed = (uint64_t)config->seed;
        status = read_max_bad(graph, config->max_bad, &err);
    }
    if (status == SLUICE_OK &&
        (name[0] == '\0' ||
         strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") !=
             strlen(name) ||
         name[0] == '.')) {
        status =
            error_set(&err, SLUICE_E_CONFIG,
                      "found the pipeline name '%s', expected letters, digits and _ - .", name);
    }
    if (status == SLUICE_OK) {
        graph->name = str_printf("%s", name);
        status = graph->name == NULL ? error_nomem(&err, "the pipeline") : SLUICE_OK;
    }
    options_destroy(parsed);
    value_deinit(&named);
    for (lua_Integer i = 1; status == SLUICE_OK && i <= (lua_Integer)lua_rawlen(L, 2); i++) {
        lua_rawgeti(L, 2, i);
        status = graph_sink(graph, (uint32_t)lua_tointeger(L, -1), &err);
        lua_pop(L, 1);
    }
    return status == SLUICE_OK ? 0 : raise(L, &err);
}

/* core.policy(name, judge, options) -> its number */
static int core_policy(lua_State *L)
{
    lua_Integer k;

    lua_getfield(L, LUA_REGISTRYINDEX, POLICIES_KEY);
    k = (lua_Integer)lua_rawlen(L, -1);
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "name");
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "judge");
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "options");
    lua_rawseti(L, -2, k + 1);
    lua_pushinteger(L, k);
    return 1;
}

/* core.module(name): runs a module of the standard library with the arguments given. */
static int core_module(lua_State *L)
{
    struct binding *binding = bound(L);
    struct sluice_error err = ERROR_INIT;
    int n = lua_gettop(L) - 1;

    if (script_chunk(binding->script, L, luaL_checkstring(L, 1), binding->planning, &err) !=
        SLUICE_OK) {
        return raise(L, &err);
    }
    lua_insert(L, 2);
    lua_call(L, n, 1);
    return 1;
}

static int require(lua_State *L)
{
    struct binding *binding = bound(L);
    const char *name = luaL_checkstring(L, 1);
    struct sluice_error err = ERROR_INIT;

    lua_getfield(L, LUA_REGISTRYINDEX, "sluice.loaded");
    lua_getfield(L, -1, name);
    if (!lua_isnil(L, -1)) {
        return 1;
    }
    lua_pop(L, 1);
    if (script_chunk(binding->script, L, strcmp(name, "sluice") == 0 ? "lib.sluice" : name,
                     binding->planning, &err) != SLUICE_OK) {
        return raise(L, &err);
    }
    if (strcmp(name, "sluice") == 0) {
        lua_getfield(L, LUA_REGISTRYINDEX, "sluice.core");
        lua_call(L, 1, 1);
    } else {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
    }
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, name);
    return 1;
}

void bindings_push(lua_State *L, struct binding *binding)
{
    static const luaL_Reg functions[] = {
        { "fail", core_fail },
        { "where", core_where },
        { "at", core_at },
        { "node", core_node },
        { "group", core_group },
        { "connect", core_connect },
        { "stage", core_stage },
        { "partitions", core_partitions },
        { "name", core_name },
        { "rename", core_rename },
        { "rename_default", core_rename_default },
        { "files", core_files },
        { "find", core_find },
        { "load", core_load },
        { "lua_stage", core_lua_stage },
        { "options", core_options },
        { "args", core_args },
        { "pipeline", core_pipeline },
        { "policy", core_policy },
        { "module", core_module },
        { NULL, NULL },
    };

    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, STAGES_KEY);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, POLICIES_KEY);
    lua_newtable(L);
    ffi_module_push(L, binding);
    lua_setfield(L, -2, "ffi");
    lua_setfield(L, LUA_REGISTRYINDEX, "sluice.loaded");
    lua_pushlightuserdata(L, binding);
    lua_pushcclosure(L, require, 1);
    lua_setglobal(L, "require");
    lua_createtable(L, 0, 24);
    lua_pushlightuserdata(L, binding);
    luaL_setfuncs(L, functions, 1);
    lua_getglobal(L, "math");
    lua_setfield(L, -2, "math");
    lua_setfield(L, LUA_REGISTRYINDEX, "sluice.core");
}
