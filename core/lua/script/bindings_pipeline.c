/* The functions of `core` that end a script: the pipeline with its sinks, seed and limits, and the
 * policies that judge its documents. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/script/bindingsInt.h"
#include "lua/luavalue.h"

struct pipeline_config {
    const char *max_bad;
    int64_t seed;
    int32_t spill; /* enum graph_spill */
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

    graph->policies = ARENA_ARRAY(&graph->arena, struct graph_policy, (size_t)n);
    TRY(arena_status(&graph->arena, err, "policies"));
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
        graph->policies[graph->n_policies++].name =
            arena_printf(&graph->arena, "%s", lua_tostring(L, -1));
        lua_pop(L, 4);
    }
    return arena_status(&graph->arena, err, "policies");
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
        { .name = "spill",
          .doc = "What is kept of rows that a later phase takes up again: their positions, and "
                 "their bytes are read from the input a second "
                 "time, or the rows. auto: positions where reading again is known to cost less.",
          .def = "auto",
          .choices = "auto|rows|positions",
          .type = SLUICE_OPT_ENUM,
          .offset = offsetof(struct pipeline_config, spill) },
    };
    struct option_table table = { .owner = "pipeline",
                                  .options = options,
                                  .n = sizeof options / sizeof options[0],
                                  .stride = sizeof options[0],
                                  .config_size = sizeof(struct pipeline_config) };
    struct binding *binding = bindings_of(L);
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
        return bindings_raise(L, &err);
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
        graph->spill = (enum graph_spill)config->spill;
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
        graph->name = arena_printf(&graph->arena, "%s", name);
        status = arena_status(&graph->arena, &err, "the pipeline");
    }
    options_destroy(parsed);
    value_deinit(&named);
    for (lua_Integer i = 1; status == SLUICE_OK && i <= (lua_Integer)lua_rawlen(L, 2); i++) {
        lua_rawgeti(L, 2, i);
        status = graph_sink(graph, (uint32_t)lua_tointeger(L, -1), &err);
        lua_pop(L, 1);
    }
    return status == SLUICE_OK ? 0 : bindings_raise(L, &err);
}

/* core.policy(name, functions, options) -> its number */
static int core_policy(lua_State *L)
{
    lua_Integer k;

    lua_getfield(L, LUA_REGISTRYINDEX, POLICIES_KEY);
    k = (lua_Integer)lua_rawlen(L, -1);
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "name");
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "functions");
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "options");
    lua_rawseti(L, -2, k + 1);
    lua_pushinteger(L, k);
    return 1;
}

const luaL_Reg bindings_pipeline[] = {
    { "pipeline", core_pipeline },
    { "policy", core_policy },
    { NULL, NULL },
};
