/* The examples of a stage in Lua, for `sluice test`: see luastage.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/luastageInt.h"
#include "lua/sandbox.h"
#include "lua/scriptInt.h"

static int missing_field(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);

    return luaL_error(L, "the example has no field '%s'; add %s = ... to it", name, name);
}

/* Pushes the row that the example at index stands for: its first item is the text, other members are fields. */
static void push_row(lua_State *L, int index, const char *over)
{
    int row;

    lua_newtable(L);
    row = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "keep";
        if (strcmp(key, "keep") != 0 && strcmp(key, "reason") != 0) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, row);
        }
    }
    lua_rawgeti(L, index, 1);
    if (!lua_isnil(L, -1)) {
        lua_pushvalue(L, -1);
        lua_setfield(L, row, "text");
        lua_setfield(L, row, over);
    }
    lua_settop(L, row);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, missing_field);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, row);
}

/* Judges the example at index and compares; message becomes "" or what is wrong. */
static void run_example(struct luaworker *worker, int index, struct luastage_examples *out,
                        struct buf *message)
{
    const struct luastage *stage = worker->instance->stage;
    struct sluice_verdict verdict = { .reason = 0 };
    struct sluice_error err = ERROR_INIT;
    lua_State *L = worker->L;
    const char *expected = NULL;
    bool keep;

    if (!lua_istable(L, index)) {
        buf_puts(message, "an example is { \"text\", keep = true } or { \"text\", keep = false }");
        return;
    }
    if (lua_getfield(L, index, "keep") != LUA_TBOOLEAN) {
        buf_puts(message, "the example does not say keep = true or keep = false");
        return;
    }
    keep = lua_toboolean(L, -1) != 0;
    if (lua_getfield(L, index, "reason") == LUA_TSTRING) {
        expected = lua_tostring(L, -1);
    }
    out->kept += keep;
    out->dropped += !keep;
    sandbox_seed(L, 0);
    lua_pushvalue(L, AT_FUNCTION);
    push_row(L, index, stage->over);
    lua_pushvalue(L, AT_OPTIONS);
    if (sandbox_call(L, 2, 4, &err) != SLUICE_OK ||
        luaworker_result(worker, lua_gettop(L) - 3, &verdict, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
    } else if (keep && verdict.reason != 0) {
        buf_printf(message, "is dropped (%s, value %g, limit %g), expected to be kept",
                   stage->reasons[verdict.reason - 1], verdict.value, verdict.limit);
    } else if (!keep && verdict.reason == 0) {
        buf_puts(message, "is kept");
        if (stage->role == LUAROLE_HEURISTIC) {
            buf_printf(message, " (value %g, limit %g)", verdict.value, verdict.limit);
        }
        buf_puts(message, ", expected to be dropped");
    } else if (!keep && expected != NULL &&
               strcmp(expected, stage->reasons[verdict.reason - 1]) != 0) {
        buf_printf(message, "is dropped for %s, expected %s", stage->reasons[verdict.reason - 1],
                   expected);
    }
}

static void run_all(struct luaworker *worker, void (*report)(void *, uint32_t, bool, const char *),
                    void *ctx, struct luastage_examples *out)
{
    lua_State *L = worker->L;
    int examples;
    lua_Integer n;

    script_push_stage(L, worker->instance->stage->k);
    lua_getfield(L, -2, "examples");
    examples = lua_gettop(L);
    n = lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
    for (lua_Integer i = 1; i <= n; i++) {
        struct buf message = BUF_INIT;
        lua_rawgeti(L, examples, i);
        run_example(worker, examples + 1, out, &message);
        out->failed += message.size > 0;
        report(ctx, (uint32_t)i, message.size == 0, buf_str(&message));
        buf_deinit(&message);
        lua_settop(L, examples);
    }
    lua_settop(L, examples - 3);
}

sluice_status
luastage_run_examples(struct script *script, uint32_t k,
                      void (*report)(void *ctx, uint32_t number, bool passed, const char *message),
                      void *ctx, struct luastage_examples *out, struct sluice_error *err)
{
    const struct luastage *stage = script->stages[k];
    struct luainstance instance = { .stage = stage, .row_index = -1, .text_field = -1 };
    struct option_table table = luaoptions_table(stage->options);
    struct option_args args = { 0 };
    struct options *options = NULL;
    void *worker = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    status = options_parse(&table, &args, script->base_dir, &options, err);
    if (status == SLUICE_OK) {
        instance.config = options_config(options);
        status = luaworker_open(&instance, &worker, err);
    }
    if (status == SLUICE_OK) {
        run_all(worker, report, ctx, out);
        luaworker_close(worker);
    }
    options_destroy(options);
    return status;
}

const char *luastage_role(const struct script *script, uint32_t k)
{
    static const char *const roles[] = { "filter", "annotate", "heuristic" };

    return roles[script->stages[k]->role];
}
