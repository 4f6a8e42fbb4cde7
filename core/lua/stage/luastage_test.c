/* The examples of a stage in Lua, for `sluice test`: see luastage.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/stage/luastageInt.h"
#include "lua/sandbox/sandbox.h"
#include "lua/script/scriptInt.h"

/* Judges the example at index, which says keep, and compares; message becomes "" or what is
 * wrong. */
static void run_verdict(struct luaworker *worker, int index, struct luastage_examples *out,
                        struct buf *message)
{
    const struct luastage *stage = worker->instance->stage;
    struct sluice_verdict verdict = { .reason = 0 };
    struct sluice_error err = ERROR_INIT;
    lua_State *L = worker->L;
    const char *expected = NULL;
    bool keep;

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
    luaexample_push_row(worker, index);
    lua_pushvalue(L, AT_OPTIONS);
    if (sandbox_call(L, luaexample_push_ask(worker, index) ? 3 : 2, 4, &err) != SLUICE_OK ||
        luaverdict_result(worker, lua_gettop(L) - 3, &verdict, &err) != SLUICE_OK) {
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

static void run_example(struct luaworker *worker, uint32_t number, struct luastage_examples *out,
                        struct buf *message)
{
    enum luarole role = worker->instance->stage->role;
    lua_State *L = worker->L;
    int index = luacall_base(worker);
    bool keep;

    if (!lua_istable(L, index)) {
        buf_puts(message, "is no table; an example is { \"text\", keep = true }, or what goes with "
                          "the stage's role");
        return;
    }
    keep = lua_getfield(L, index, "keep") != LUA_TNIL;
    lua_pop(L, 1);
    if (role == LUAROLE_FILTER || role == LUAROLE_HEURISTIC || (role == LUAROLE_ANNOTATE && keep)) {
        struct sluice_error err = ERROR_INIT;
        if (luastage_builds(worker->instance->stage) && luaout_begin(worker, &err) != SLUICE_OK) {
            buf_puts(message, err.message);
            return;
        }
        run_verdict(worker, index, out, message);
        luaout_clear(worker);
        return;
    }
    out->others++;
    luaexample_run(worker, number, message);
}

static void run_all(struct luaworker *worker, void (*report)(void *, uint32_t, bool, const char *),
                    void *ctx, struct luastage_examples *out)
{
    for (uint32_t number = 1; luaexample_push(worker, number); number++) {
        struct buf message = BUF_INIT;
        run_example(worker, number, out, &message);
        out->failed += message.size > 0;
        report(ctx, number, message.size == 0, buf_str(&message));
        buf_deinit(&message);
        lua_settop(worker->L, luacall_base(worker) - 1);
    }
    lua_settop(worker->L, luacall_base(worker) - 1);
}

sluice_status
luastage_run_examples(struct script *script, uint32_t k,
                      void (*report)(void *ctx, uint32_t number, bool passed, const char *message),
                      void *ctx, struct luastage_examples *out, struct sluice_error *err)
{
    const struct luastage *stage = script->stages[k];
    struct luainstance instance = { .stage = stage, .row_index = -1, .text_field = -1 };
    struct option_table table = luaoptions_table(stage->options);
    struct value named = VALUE_INIT;
    struct value path;
    struct option_args args = { .named = &named };
    struct options *options = NULL;
    void *worker = NULL;
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    value_map_init(&named);
    if (stage->role == LUAROLE_WRITER && /* nothing is written there */
        (!value_string(&path, "example", 7) || !value_map_set(&named, "path", path))) {
        status = error_nomem(err, "an example");
    }
    if (status == SLUICE_OK) {
        status = options_parse(&table, &args, script->base_dir, &options, err);
    }
    value_deinit(&named);
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

const char *luastage_bound(const struct script *script, uint32_t k, bool above)
{
    const struct luastage *stage = script->stages[k];

    if (stage->role != LUAROLE_HEURISTIC || !(above ? stage->has_above : stage->has_below)) {
        return NULL;
    }
    return above ? stage->above.name : stage->below.name;
}
