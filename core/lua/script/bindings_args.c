/* The functions of `core` that check values against declared options: those of stages and modules
 * written in Lua, and the arguments of the script, which the graph records. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/script/bindingsInt.h"
#include "lua/stage/luaoptions.h"
#include "lua/luavalue.h"

static sluice_status parse_declared(lua_State *L, const char *owner, enum luaoptions_of of,
                                    int declared, const struct option_args *args,
                                    const char *base_dir, struct sluice_error *err)
{
    struct luaoptions *table_of = NULL;
    struct options *parsed = NULL;
    struct option_table table;
    sluice_status status = luaoptions_read(L, declared, owner, NULL, 0, of, &table_of, err);

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
    struct binding *binding = bindings_of(L);
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
        status = parse_declared(L, owner, LUAOPTIONS_COMPOSITE, 2, &args, binding->script->base_dir,
                                &err);
    }
    value_deinit(&named);
    value_deinit(&positional);
    return status == SLUICE_OK ? 1 : bindings_raise(L, &err);
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
        struct arena *arena = &graph->arena;
        struct graph_arg *more =
            arena_more(arena, graph->args, graph->n_args, &graph->arg_room, sizeof *graph->args);
        struct graph_arg *arg;
        struct value value;
        struct buf text = BUF_INIT;
        TRY(arena_status(arena, err, "arguments"));
        graph->args = more;
        arg = &more[graph->n_args++];
        memset(arg, 0, sizeof *arg);
        arg->name = arena_printf(arena, "%s", lua_tostring(L, -2));
        arg->type = arena_printf(arena, "%s", declared_type(L, declared, lua_tostring(L, -2)));
        lua_getfield(L, -1, "doc");
        arg->doc = arena_printf(arena, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
        lua_pop(L, 1);
        lua_getfield(L, values, lua_tostring(L, -2));
        TRY(luavalue_read(L, -1, "argument", &value, err));
        lua_pop(L, 1);
        value_print_json(&value, &text);
        value_deinit(&value);
        arg->value = arena_copy(arena, text.data, text.size);
        arena->failed = arena->failed || text.failed;
        buf_deinit(&text);
        TRY(arena_status(arena, err, "arguments"));
    }
    /* The order of a Lua table's keys differs from process to process. */
    qsort(graph->args, graph->n_args, sizeof *graph->args, by_arg_name);
    return SLUICE_OK;
}

/* Tells who asked what the script declares: also what is required and was not given. */
static sluice_status tell_args(lua_State *L, const struct script_options *options, int declared,
                               struct sluice_error *err)
{
    struct luaoptions *table_of = NULL;
    sluice_status status =
        luaoptions_read(L, declared, "arguments", NULL, 0, LUAOPTIONS_PLAIN, &table_of, err);

    if (status == SLUICE_OK) {
        struct option_table table = luaoptions_table(table_of);
        struct sluice_option option;
        for (uint64_t k = 0; option_at(&table, k, &option); k++) {
            options->declared(options->declared_ctx, declared_type(L, declared, option.name),
                              &option);
        }
    }
    luaoptions_destroy(table_of);
    return status;
}

/* core.args(declared) -> table. Values from the command line are text; relative paths there mean
 * the working directory. */
static int core_args(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct script *script = binding->script;
    struct value named;
    struct sluice_error err = ERROR_INIT;
    struct option_args args = { .named = &named, .text = true };
    sluice_status status = SLUICE_OK;

    luaL_checktype(L, 1, LUA_TTABLE);
    value_map_init(&named);
    if (binding->planning && script->options.declared != NULL) {
        status = tell_args(L, &script->options, 1, &err);
    }
    for (size_t i = 0; i < script->n_args && status == SLUICE_OK; i++) {
        const char *type = declared_type(L, 1, script->args[i].name);
        const char *text = script->args[i].value;
        bool list = text[0] == '@' && strcmp(type, "glob") == 0; /* a file with names */
        bool relative = (strcmp(type, "glob") == 0 || strcmp(type, "path") == 0) &&
                        text[list] != '/' && text[list] != '\0' && strstr(text, "://") == NULL;
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
        status = parse_declared(L, "arguments", LUAOPTIONS_PLAIN, 1, &args, script->base_dir, &err);
    }
    value_deinit(&named);
    if (status == SLUICE_OK && binding->planning) {
        status = note_args(L, script, 1, lua_gettop(L), &err);
    }
    return status == SLUICE_OK ? 1 : bindings_raise(L, &err);
}

/* core.read(path) -> the text of a file; core.json(text) -> its value, or nil and what is wrong. */
static int core_read(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    const struct loaded_file *file = NULL;
    struct sluice_error err = ERROR_INIT;

    if (script_text(binding->script, luaL_checkstring(L, 1), SCRIPT_BYTES, binding->planning, &file,
                    &err) != SLUICE_OK) {
        return bindings_raise(L, &err);
    }
    lua_pushlstring(L, file->text, file->size);
    return 1;
}

static int core_json(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct value value = VALUE_INIT;
    struct sluice_error err = ERROR_INIT;

    if (value_parse_json(text, n, &value, &err) != SLUICE_OK) {
        lua_pushnil(L);
        lua_pushstring(L, err.message);
        return 2;
    }
    luavalue_push(L, &value);
    value_deinit(&value);
    return 1;
}

const luaL_Reg bindings_args[] = {
    { "read", core_read }, { "json", core_json }, { "options", core_options },
    { "args", core_args }, { NULL, NULL },
};
