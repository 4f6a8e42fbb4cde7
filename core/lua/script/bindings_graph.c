/* The functions of `core` that make nodes of the graph, name, group and connect them, and give them
 * what they run: files or a stage with its options. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/script/bindingsInt.h"
#include "lua/luavalue.h"
#include "lua/native/native.h"

static struct node *node_at(lua_State *L, int index)
{
    struct binding *binding = bindings_of(L);
    lua_Integer id = luaL_checkinteger(L, index);

    luaL_argcheck(L, id >= 0 && (uint64_t)id < binding->script->graph->n_nodes, index,
                  "no such node");
    return binding->script->graph->nodes[id];
}

static int core_node(lua_State *L)
{
    static const char *const kinds[] = { "files",   "stage",      "union", "dropped",
                                         "dataset", "checkpoint", NULL };
    struct binding *binding = bindings_of(L);
    int kind = luaL_checkoption(L, 1, NULL, kinds);
    struct sluice_error err = ERROR_INIT;
    struct node *node;

    if (!binding->planning) {
        lua_pushinteger(L, binding->n_nodes++);
        return 1;
    }
    if (graph_add(binding->script->graph, (enum node_kind)kind, luaL_checkstring(L, 2),
                  luaL_checkstring(L, 3), &node, &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    lua_pushinteger(L, node->id);
    return 1;
}

static int core_group(lua_State *L)
{
    if (bindings_of(L)->planning) {
        node_at(L, 1)->group = (uint32_t)luaL_checkinteger(L, 2);
    }
    return 0;
}

static int core_connect(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct sluice_error err = ERROR_INIT;

    if (binding->planning && graph_connect(binding->script->graph, node_at(L, 1),
                                           (uint32_t)luaL_checkinteger(L, 2), &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    return 0;
}

static int core_stage(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct sluice_error err = ERROR_INIT;
    struct node *node;

    if (!binding->planning) {
        return 0;
    }
    node = node_at(L, 1);
    node->entry = lua_touserdata(L, 2);
    if (luavalue_read(L, 3, node->name, &node->named, &err) != SLUICE_OK ||
        luavalue_read(L, 4, node->name, &node->positional, &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    if (node->named.kind == VALUE_LIST) { /* {} */
        value_deinit(&node->named);
    }
    if (bindings_take_isolation(node, &err) != SLUICE_OK ||
        bindings_take_asking(binding->script->graph, node, &err) != SLUICE_OK ||
        bindings_take_class(binding->script->graph, node, &err) != SLUICE_OK ||
        bindings_take_mode(node, &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    if (node->entry->serial || native_is_serial(node->entry, &node->named)) {
        node->isolation.threads = 1;
    }
    return 0;
}

static int core_partitions(lua_State *L)
{
    if (bindings_of(L)->planning) {
        lua_Integer n = luaL_checkinteger(L, 2);
        if (n < 1 || n > 65536) {
            struct sluice_error err = ERROR_INIT;
            error_set(&err, SLUICE_E_CONFIG, "found %d partitions, expected 1 to 65536", (int)n);
            return bindings_raise(L, &err);
        }
        node_at(L, 1)->partitions = (uint32_t)n;
    }
    return 0;
}

static int core_fill(lua_State *L)
{
    if (bindings_of(L)->planning) {
        node_at(L, 1)->fill = true;
    }
    return 0;
}

static int core_name(lua_State *L)
{
    lua_pushstring(L, bindings_of(L)->planning ? node_at(L, 1)->name : "node");
    return 1;
}

static int core_rename(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct sluice_error err = ERROR_INIT;

    if (binding->planning && graph_rename(binding->script->graph, node_at(L, 1)->id,
                                          luaL_checkstring(L, 2), &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    return 0;
}

/* A composite's last node is called after the composite, unless it has a name. */
static int core_rename_default(lua_State *L)
{
    struct binding *binding = bindings_of(L);
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
        return bindings_raise(L, &err);
    }
    node->has_name = false;
    return 0;
}

/* ---- files ---- */

struct files_config {
    uint64_t split, max_record;
    struct sluice_list since;
    int32_t changed;
};

static void take_since(struct graph *graph, struct node *node, const struct files_config *config)
{
    node->since = ARENA_ARRAY(&graph->arena, const char *, config->since.n);
    for (uint64_t i = 0; node->since != NULL && i < config->since.n; i++) {
        node->since[node->n_since++] = arena_printf(&graph->arena, "%s", config->since.items[i]);
    }
    node->since_new = config->changed == 1;
}

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
        { .name = "since",
          .doc = "Datasets, PATH or PATH@N: files whose rows all of them have are left out.",
          .def = "",
          .type = SLUICE_OPT_LIST,
          .offset = offsetof(struct files_config, since) },
        { .name = "changed",
          .doc = "What becomes of a file that changed under its name since: it ends the run, or is "
                 "taken for a new one.",
          .def = "fail",
          .choices = "fail|new",
          .type = SLUICE_OPT_ENUM,
          .offset = offsetof(struct files_config, changed) },
    };
    struct option_table table = { .owner = "files",
                                  .options = options,
                                  .n = sizeof options / sizeof options[0],
                                  .stride = sizeof options[0],
                                  .config_size = sizeof(struct files_config) };
    struct binding *binding = bindings_of(L);
    struct value named = VALUE_INIT;
    struct option_args args = { 0 };
    struct options *parsed = NULL;
    struct sluice_error err = ERROR_INIT;
    struct graph *graph;
    struct node *node;
    lua_Integer n;
    sluice_status status;

    if (!binding->planning) {
        return 0;
    }
    graph = binding->script->graph;
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
        take_since(graph, node, config);
    }
    options_destroy(parsed);
    value_deinit(&named);
    n = (lua_Integer)lua_rawlen(L, 2);
    node->patterns = ARENA_ARRAY(&graph->arena, char *, (size_t)n);
    for (lua_Integer i = 1; node->patterns != NULL && i <= n; i++) {
        lua_rawgeti(L, 2, i);
        node->patterns[node->n_patterns++] = arena_printf(&graph->arena, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    if (status == SLUICE_OK) {
        status = arena_status(&graph->arena, &err, "the pipeline's graph");
    }
    return status == SLUICE_OK ? 0 : bindings_raise(L, &err);
}

const luaL_Reg bindings_graph[] = {
    { "node", core_node },
    { "group", core_group },
    { "connect", core_connect },
    { "stage", core_stage },
    { "partitions", core_partitions },
    { "fill", core_fill },
    { "name", core_name },
    { "rename", core_rename },
    { "rename_default", core_rename_default },
    { "files", core_files },
    { NULL, NULL },
};
