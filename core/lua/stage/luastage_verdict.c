/* Verdicts: of stages that judge rows, and the bad rows of those that don't. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/stage/luastageInt.h"

/* ---- verdicts of a batch ---- */

void luaverdict_clear(struct luaworker *worker)
{
    for (size_t i = 0; i < worker->n_messages; i++) {
        free(worker->messages[i]);
    }
    worker->n_messages = 0;
}

sluice_status luaverdict_begin(struct luaworker *worker, int64_t n, struct sluice_error *err)
{
    luaverdict_clear(worker);
    worker->any_bad = false;
    if (n > worker->verdict_capacity) {
        struct sluice_verdict *verdicts = realloc(worker->verdicts, (size_t)n * sizeof *verdicts);
        if (verdicts == NULL) {
            return error_nomem(err, "verdicts");
        }
        worker->verdicts = verdicts;
        worker->verdict_capacity = n;
    }
    if (!luastage_judges(worker->instance->stage) && n > 0) {
        memset(worker->verdicts, 0, (size_t)n * sizeof *worker->verdicts);
    }
    return SLUICE_OK;
}

sluice_status luaverdict_bad(struct luaworker *worker, int64_t k, const char *reason,
                             const char *detail, struct sluice_error *err)
{
    char *text;

    if (worker->n_messages == worker->message_capacity) {
        size_t capacity = worker->message_capacity * 2 + 16;
        char **messages = realloc(worker->messages, capacity * sizeof *messages);
        if (messages == NULL) {
            return error_nomem(err, "verdicts");
        }
        worker->messages = messages;
        worker->message_capacity = capacity;
    }
    text = str_printf("%s: %s", reason, detail);
    if (text == NULL) {
        return error_nomem(err, "verdicts");
    }
    utf8_clean(text);
    worker->messages[worker->n_messages++] = text;
    worker->any_bad = true;
    worker->verdicts[k] = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                                   .dup_of = text,
                                                   .dup_of_length = (int32_t)strlen(text) };
    return SLUICE_OK;
}

sluice_status luaverdict_emit_bad(struct luaworker *worker, int64_t n)
{
    return worker->any_bad ? worker->emit->verdicts(worker->emit, worker->verdicts, n) : SLUICE_OK;
}

/* ---- one verdict ---- */

/* A reason and, behind it, value and limit. SLUICE_E_DATA: not what a verdict may be. */
static sluice_status read_reason(struct luaworker *worker, int index,
                                 struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    const char *word;
    uint32_t low = 0;
    uint32_t high = stage->n_reasons;

    if (lua_type(L, index) != LUA_TSTRING) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned a %s, expected nil (keep) or a reason such as "
                         "\"too_short\" (drop)",
                         luaL_typename(L, index));
    }
    word = lua_tostring(L, index);
    if (luacall_has_nul(L, index)) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned the reason \"%.80s\\0...\" with a NUL byte, "
                         "expected a word of [a-z0-9_]",
                         word);
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(stage->reasons[middle], word);
        if (order == 0) {
            verdict->reason = (int32_t)middle + 1;
            break;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (verdict->reason == 0) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned the reason \"%.80s\", which is not a literal in "
                         "it; list it in reasons = { ... }",
                         word);
    }
    for (int k = 1; k <= 2; k++) {
        if (!lua_isnil(L, index + k) && lua_type(L, index + k) != LUA_TNUMBER) {
            return error_set(
                err, SLUICE_E_DATA,
                "behind the reason the function returned a %s, expected a number (the %s)",
                luaL_typename(L, index + k), k == 1 ? "value" : "limit");
        }
    }
    verdict->value = lua_tonumber(L, index + 1);
    verdict->limit = lua_tonumber(L, index + 2);
    return SLUICE_OK;
}

static double bound_of(const struct luainstance *instance, const struct sluice_option *option)
{
    const char *at = (const char *)instance->config + option->offset;

    return option->type == SLUICE_OPT_INT ? (double)*(const int64_t *)(const void *)at
                                          : *(const double *)(const void *)at;
}

static sluice_status read_measure(struct luaworker *worker, int index,
                                  struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    double value = lua_tonumber(L, index);

    if (lua_type(L, index) != LUA_TNUMBER) {
        return error_set(err, SLUICE_E_DATA, "measure returned a %s, expected a number",
                         luaL_typename(L, index));
    }
    if (value != value) {
        return error_set(
            err, SLUICE_E_DATA,
            "measure returned nan, expected a number; what is a text without words worth?");
    }
    verdict->value = value;
    if (stage->has_below) {
        verdict->limit = bound_of(worker->instance, &stage->below);
        verdict->reason = value < verdict->limit;
    }
    if (stage->has_above && verdict->reason == 0) {
        verdict->limit = bound_of(worker->instance, &stage->above);
        verdict->reason = value > verdict->limit;
    }
    return SLUICE_OK;
}

sluice_status luaverdict_result(struct luaworker *worker, int index, struct sluice_verdict *verdict,
                                struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;

    memset(verdict, 0, sizeof *verdict);
    switch (stage->role) {
    case LUAROLE_FILTER:
        return lua_isnil(L, index) ? SLUICE_OK : read_reason(worker, index, verdict, err);
    case LUAROLE_HEURISTIC:
        return read_measure(worker, index, verdict, err);
    default:
        if (lua_istable(L, index)) {
            return luaout_add(worker, L, index, err);
        }
        if (!lua_isnil(L, index)) {
            return error_set(
                err, SLUICE_E_DATA,
                "the function returned a %s, expected a table of columns, or nil and a reason",
                luaL_typename(L, index));
        }
        if (lua_isnil(L, index + 1)) {
            return error_set(err, SLUICE_E_DATA,
                             "the function returned nil; expected a table of columns, or nil and a "
                             "reason to drop the row");
        }
        return read_reason(worker, index + 1, verdict, err);
    }
}

/* ---- process ---- */

static sluice_status judge_row(struct luaworker *worker, const struct ArrowArray *array,
                               int64_t row, int64_t k, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    struct sluice_verdict *verdict = &worker->verdicts[k];
    struct sluice_error *why = luacall_error(worker);
    const char *reason;
    sluice_status status;

    luarow_set(worker, array, row);
    if (stage->asks) {
        bool asked = false;
        luaask_row(worker, k);
        status = luacall(worker, &reason, why, err);
        TRY(status == SLUICE_E_RETRY ? luaask_asked(worker, &asked, err) : status);
        if (asked) { /* another pass will tell */
            luacall_end(worker);
            return SLUICE_OK;
        }
    } else {
        TRY(luacall(worker, &reason, why, err));
    }
    if (reason == NULL) {
        status = luaverdict_result(worker, luacall_base(worker), verdict, why);
        if (status == SLUICE_E_NOMEM) { /* the host's memory, not the script's */
            *err = *why;
            return status;
        }
        if (status != SLUICE_OK) {
            reason = "lua_error";
            luacall_place(worker, why);
        }
    }
    luacall_end(worker);
    if (reason != NULL) {
        TRY(luaverdict_bad(worker, k, reason, why->message, err));
    }
    if (stage->role == LUAROLE_ANNOTATE && verdict->reason != 0) {
        TRY(luaout_blank(worker, err));
    }
    return SLUICE_OK;
}

sluice_status luaverdict_pass(struct luaworker *worker, const struct sluice_batch *batch,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    bool builds = luastage_builds(worker->instance->stage);
    struct ArrowArray columns;

    TRY(luaverdict_begin(worker, batch->n, err));
    if (builds) {
        TRY(luaout_begin(worker, err));
    }
    TRY(luacall_rows(worker, batch, emit, judge_row, err));
    if (worker->asks != NULL && luaask_any(worker)) {
        luaout_clear(worker);
        return SLUICE_OK;
    }
    if (builds) {
        TRY(luaout_finish(worker, batch->n, &columns, err));
        TRY(emit->batch(emit, &columns));
    }
    return emit->verdicts(emit, worker->verdicts, batch->n);
}

sluice_status luaverdict_process(void *state, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;

    if (worker->asks != NULL) {
        TRY(luaask_batch(worker, batch->n, err));
    }
    return luaverdict_pass(worker, batch, emit, err);
}
