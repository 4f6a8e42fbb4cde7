/* Examples of stages that don't only judge: what they give, measure or write is compared with what
 * the example says. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandboxInt.h"
#include "lua/stage/luastageInt.h"
#include "lua/luavalue.h"
#include "lua/sandbox/sandbox.h"
#include "lua/script/script.h"
#include "plugin/value.h"

/* ---- the row ---- */

static int missing_field(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);

    return luaL_error(L, "the example has no field '%s'; add %s = ... to it", name, name);
}

static bool is_verdict(const char *key)
{
    static const char *const words[] = {
        "keep", "reason", "gives", "measures", "writes", "answers"
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], key) == 0) {
            return true;
        }
    }
    return false;
}

void luaexample_push_row(struct luaworker *worker, int index)
{
    lua_State *L = worker->L;
    int row;

    lua_newtable(L);
    row = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && !is_verdict(lua_tostring(L, -2))) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, row);
        }
    }
    lua_rawgeti(L, index, 1);
    if (!lua_isnil(L, -1)) {
        lua_pushvalue(L, -1);
        lua_setfield(L, row, "text");
        lua_setfield(L, row, worker->instance->stage->over);
    }
    lua_settop(L, row);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, missing_field);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, row);
}

/* ---- values ---- */

static void print_value(lua_State *L, int index, struct buf *out)
{
    struct value value;

    if (luavalue_read(L, index, "a value", &value, NULL) == SLUICE_OK) {
        value_print_json(&value, out);
        value_deinit(&value);
    } else {
        buf_puts(out, luaL_typename(L, index));
    }
}

/* Compares the value that was given, at found, with the one at expected. */
static bool same(lua_State *L, enum cell cell, int found, int expected)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    bool equal;

    if (lua_type(L, found) == LUA_TNUMBER || lua_type(L, found) == lua_type(L, expected)) {
        if (!lua_istable(L, found)) {
            return lua_rawequal(L, found, expected) != 0;
        }
    }
    if (cell == CELL_JSON && lua_type(L, found) == LUA_TSTRING) { /* the text of what is expected */
        buf_puts(&a, lua_tostring(L, found));
    } else {
        print_value(L, found, &a);
    }
    print_value(L, expected, &b);
    equal = !a.failed && !b.failed && strcmp(buf_str(&a), buf_str(&b)) == 0;
    buf_deinit(&a);
    buf_deinit(&b);
    return equal;
}

/* ---- rows ---- */

/* Compares row `at` of columns with the table at the top. */
static void compare_row(struct luaworker *worker, const struct ArrowArray *columns, int64_t at,
                        struct buf *message)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    int expected = lua_gettop(L);

    if (!lua_istable(L, expected)) {
        buf_puts(message, "says gives = ... with something else than rows: { { text = \"...\" } }");
        return;
    }
    for (lua_pushnil(L); message->size == 0 && lua_next(L, expected) != 0;
         lua_settop(L, expected + 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        uint32_t k = 0;
        while (k < stage->n_adds && strcmp(stage->adds[k].name, name) != 0) {
            k++;
        }
        if (k == stage->n_adds) {
            buf_printf(message, "names the column '%s', which the stage does not give", name);
            break;
        }
        luarow_push_value(L, stage->adds[k].cell, columns->children[k], at);
        if (!same(L, stage->adds[k].cell.cell, expected + 3, expected + 2)) {
            if (columns->length > 1) {
                buf_printf(message, "row %lld: ", (long long)at + 1);
            }
            buf_printf(message, "column '%s' is ", name);
            print_value(L, expected + 3, message);
            buf_puts(message, ", expected ");
            print_value(L, expected + 2, message);
        }
    }
    lua_settop(L, expected);
}

/* Compares what is in the builders with member gives of the example: a row, or a list of rows; none
 * = no row. */
static void compare_rows(struct luaworker *worker, int index, struct buf *message)
{
    lua_State *L = worker->L;
    int64_t n = worker->given;
    int64_t n_expected = 0;
    struct ArrowArray columns;
    struct sluice_error err = ERROR_INIT;
    bool list;

    lua_getfield(L, index, "gives");
    list = lua_istable(L, -1) && (lua_rawlen(L, -1) > 0 || worker->instance->stage->whole ||
                                  worker->instance->stage->role == LUAROLE_TRANSFORM);
    if (!lua_isnil(L, -1)) {
        n_expected = list ? (int64_t)lua_rawlen(L, -1) : 1;
    }
    if (n != n_expected) {
        buf_printf(message, "gives %lld row%s, expected %lld", (long long)n, n == 1 ? "" : "s",
                   (long long)n_expected);
    } else if (luaout_finish(worker, n, &columns, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
    } else {
        for (int64_t at = 0; at < n && message->size == 0; at++) {
            if (list) {
                lua_rawgeti(L, -1, at + 1);
            } else {
                lua_pushvalue(L, -1);
            }
            compare_row(worker, &columns, at, message);
            lua_pop(L, 1);
        }
        columns.release(&columns);
    }
    lua_pop(L, 1);
}

/* ---- answers ---- */

/* ask{...} in an example: the next of its `answers`. A table is the JSON of an answer, a text its
 * body, a number the status of a refusal. Upvalues: the answers, how many were given. */
static int next_answer(lua_State *L)
{
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2)) + 1;
    int type = LUA_TNIL;

    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_istable(L, lua_upvalueindex(1))) {
        type = lua_rawgeti(L, lua_upvalueindex(1), at);
    }
    if (type == LUA_TNIL) {
        return luaL_error(L,
                          "the example has no answer number %d; add it: answers = { { score = "
                          "0.5 } }, where a table is JSON, a text a body, a number a refusal",
                          (int)at);
    }
    lua_pushinteger(L, at);
    lua_replace(L, lua_upvalueindex(2));
    lua_createtable(L, 0, 5);
    lua_insert(L, -2);
    lua_pushinteger(L, type == LUA_TNUMBER ? lua_tointeger(L, -1) : 200);
    lua_setfield(L, -3, "status");
    lua_pushboolean(L, type == LUA_TNUMBER);
    lua_setfield(L, -3, "refused");
    lua_pushstring(L, type == LUA_TTABLE ? "application/json" : "text/plain");
    lua_setfield(L, -3, "type");
    lua_pushstring(L, "");
    lua_setfield(L, -3, "body");
    if (type == LUA_TNUMBER) {
        lua_pop(L, 1);
    } else {
        lua_setfield(L, -2, type == LUA_TTABLE ? "json" : "body");
    }
    return 1;
}

bool luaexample_push_ask(struct luaworker *worker, int index)
{
    lua_State *L = worker->L;

    if (!worker->instance->stage->asks) {
        return false;
    }
    lua_getfield(L, index, "answers");
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_answer, 2);
    return true;
}

/* ---- calls ---- */

/* Calls the function on the row of the example; false: it failed. Results lie at the top: four. */
static bool call_row(struct luaworker *worker, int index, struct buf *message)
{
    struct sluice_error err = ERROR_INIT;
    lua_State *L = worker->L;
    int n = 2;

    sandbox_seed(L, 0);
    sandbox_limit(L, ASIDE_BUDGET);
    worker->active = true;
    lua_pushvalue(L, AT_FUNCTION);
    luaexample_push_row(worker, index);
    lua_pushvalue(L, AT_OPTIONS);
    if (worker->instance->stage->role == LUAROLE_TRANSFORM) {
        lua_pushvalue(L, AT_GIVE);
        n = 3;
    } else if (luaexample_push_ask(worker, index)) {
        n = 3;
    }
    if (sandbox_call(L, n, 4, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
    }
    worker->active = false;
    return message->size == 0;
}

static void run_rows(struct luaworker *worker, int index, struct buf *message)
{
    struct sluice_error err = ERROR_INIT;
    struct sluice_verdict verdict = { .reason = 0 };
    lua_State *L = worker->L;
    sluice_status status = luaout_begin(worker, &err);

    luaout_start(worker);
    if (status == SLUICE_OK && call_row(worker, index, message)) {
        status = worker->instance->stage->role == LUAROLE_TRANSFORM
                     ? luagive_result(worker, lua_gettop(L) - 3, &err)
                     : luaverdict_result(worker, lua_gettop(L) - 3, &verdict, &err);
    }
    if (status != SLUICE_OK) {
        buf_puts(message, err.message);
    } else if (message->size == 0) {
        compare_rows(worker, index, message);
    }
    luaout_clear(worker);
}

/* Compares the bad records with member bad: a reason, or a list of them; none = no bad record. */
static void compare_bad(struct luaworker *worker, int index, struct buf *message)
{
    lua_State *L = worker->L;
    size_t n = 0;

    lua_getfield(L, index, "bad");
    if (lua_istable(L, -1)) {
        n = (size_t)lua_rawlen(L, -1);
    } else {
        n = !lua_isnil(L, -1);
    }
    for (size_t i = 0; i < worker->n_bad && message->size == 0; i++) {
        const struct luabad *bad = &worker->bad[i];
        if (lua_istable(L, -1)) {
            lua_rawgeti(L, -1, (lua_Integer)i + 1);
        } else {
            lua_pushvalue(L, -1);
        }
        if (i >= n || lua_type(L, -1) != LUA_TSTRING ||
            strcmp(lua_tostring(L, -1), bad->reason) != 0) {
            buf_printf(message, "is bad: %s%s%s%s%s", bad->reason,
                       bad->detail[0] == '\0' ? "" : " (", bad->detail,
                       bad->detail[0] == '\0' ? "" : ")",
                       i >= n ? "" : ", expected another reason");
        }
        lua_pop(L, 1);
    }
    if (message->size == 0 && worker->n_bad < n) {
        buf_printf(message, "has %zu bad record%s, expected %zu", worker->n_bad,
                   worker->n_bad == 1 ? "" : "s", n);
    }
    lua_pop(L, 1);
}

static void run_reader(struct luaworker *worker, uint32_t number, struct buf *message)
{
    struct sluice_error err = ERROR_INIT;
    struct luarecord *record = &worker->record;
    lua_State *L = worker->L;
    int base = luacall_base(worker);
    const char *text;
    char *line;
    char *file;
    bool skipped = false;
    bool skips;

    memset(record, 0, sizeof *record);
    if (lua_rawgeti(L, base, 1) != LUA_TSTRING) {
        buf_puts(message, "its first item must be the text that is read");
        return;
    }
    text = lua_tolstring(L, -1, &record->n);
    lua_getfield(L, base, "file");
    line = str_copy(text, record->n);
    file = str_printf("%s", lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "example");
    lua_getfield(L, base, "offset");
    record->offset = (uint64_t)lua_tointeger(L, -1);
    lua_getfield(L, base, "skips");
    skips = lua_toboolean(L, -1) != 0;
    lua_settop(
        L, base - 1); /* a call begins with nothing behind the names, perhaps in a fresh state */
    record->text = line;
    record->uri = file;
    if (line == NULL || file == NULL) {
        buf_puts(message, "out of memory");
    } else if (luaout_begin(worker, &err) != SLUICE_OK ||
               luaread_record(worker, &skipped, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
        lua_settop(worker->L, base - 1);
    }
    luaexample_push(worker, number);
    if (message->size == 0) {
        compare_bad(worker, base, message);
    }
    if (message->size == 0 && skipped != skips) {
        buf_puts(message, skips ? "is not skipped" : "is skipped, as no record");
    }
    if (message->size == 0) {
        compare_rows(worker, base, message);
    }
    memset(record, 0, sizeof *record);
    free(line);
    free(file);
    luaread_forget(worker, 0);
    luaout_clear(worker);
}

/* ---- gates ---- */

/* Compares the sum at the top, called name, with what was measured. */
static void compare_sum(struct luaworker *worker, const char *name, struct buf *message)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    lua_Integer expected = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : lua_tointeger(L, -1);
    uint32_t k = 0;

    while (k < stage->n_sums && strcmp(stage->sums[k], name) != 0) {
        k++;
    }
    if (stage->n_sums > 0 && k == stage->n_sums) {
        buf_printf(message, "names the sum '%s', which the stage has not", name);
    } else if (worker->row_sums[k] != expected) {
        buf_printf(message, "measures %s%s%lld, expected %lld", name, name[0] == '\0' ? "" : " = ",
                   (long long)worker->row_sums[k], (long long)expected);
    }
}

static void run_measure(struct luaworker *worker, int index, struct buf *message)
{
    struct sluice_error err = ERROR_INIT;
    lua_State *L = worker->L;

    if (!call_row(worker, index, message)) {
        return;
    }
    if (luagate_result(worker, lua_gettop(L) - 3, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
        return;
    }
    lua_settop(L, index);
    lua_getfield(L, index, "measures");
    if (!lua_istable(L, -1)) {
        compare_sum(worker, worker->instance->stage->n_sums > 0 ? "?" : "", message);
        return;
    }
    for (lua_pushnil(L); message->size == 0 && lua_next(L, index + 1) != 0; lua_pop(L, 1)) {
        compare_sum(worker, lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?", message);
    }
}

static void set_sum(struct luaworker *worker, const char *name, struct buf *message)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    uint32_t k = 0;

    while (k < stage->n_sums && strcmp(stage->sums[k], name) != 0) {
        k++;
    }
    if (!lua_isinteger(L, -1)) {
        buf_printf(message, "says sums = ... with a value of '%s' that is no integer", name);
    } else if (strcmp(name, "rows") == 0) {
        worker->rows = (uint64_t)lua_tointeger(L, -1);
    } else if (stage->n_sums > 0 ? k < stage->n_sums : strcmp(name, "sum") == 0) {
        worker->sums[k] = lua_tointeger(L, -1);
    } else {
        buf_printf(message, "names the sum '%s', which the stage has not", name);
    }
}

static void run_judge(struct luaworker *worker, int index, struct buf *message)
{
    static const char *const outcomes[] = { "pass", "warn", "halt" };
    struct sluice_verdict_io io = { .size = sizeof io };
    struct sluice_error err = ERROR_INIT;
    uint32_t n = worker->instance->stage->n_sums > 0 ? worker->instance->stage->n_sums : 1;
    lua_State *L = worker->L;
    const char *expected;

    memset(worker->sums, 0, n * sizeof *worker->sums);
    worker->rows = 0;
    lua_getfield(L, index, "sums");
    for (lua_pushnil(L);
         lua_istable(L, index + 1) && message->size == 0 && lua_next(L, index + 1) != 0;
         lua_pop(L, 1)) {
        set_sum(worker, lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?", message);
    }
    if (message->size > 0) {
        return;
    }
    lua_settop(L, index);
    lua_getfield(L, index, "judges");
    expected = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (luagate_judge(worker, &io, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
    } else if (strcmp(outcomes[io.outcome], expected) != 0) {
        buf_printf(message, "judges \"%s\"%s%.300s, expected \"%s\"", outcomes[io.outcome],
                   io.outcome == SLUICE_GATE_PASS ? "" : ": ", io.message, expected);
    }
    memset(worker->sums, 0, n * sizeof *worker->sums);
    worker->rows = 0;
}

/* ---- writers ---- */

static void run_writer(struct luaworker *worker, int index, struct buf *message)
{
    struct sluice_error err = ERROR_INIT;
    lua_State *L = worker->L;
    int found;

    if (!call_row(worker, index, message)) {
        return;
    }
    found = lua_gettop(L) - 3;
    if (luawrite_result(worker, found, &err) != SLUICE_OK) {
        buf_puts(message, err.message);
        return;
    }
    lua_getfield(L, index, "writes");
    if (!lua_rawequal(L, found, -1)) {
        buf_puts(message, "writes ");
        print_value(L, found, message);
        buf_puts(message, ", expected ");
        print_value(L, -1, message);
    }
}

/* ---- all ---- */

#define MOST_NESTED 20

/* The table at the top is replaced by a copy that can be read by raw access: what the stage's
 * function reaches as well is frozen. */
static void copy_thawed(lua_State *L, int depth)
{
    int from = lua_gettop(L);

    sandbox_thaw(L, from);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, from) != 0;) {
        if (lua_istable(L, -1) && depth < MOST_NESTED && lua_checkstack(L, 10)) {
            copy_thawed(L, depth + 1);
        }
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, from + 1);
    }
    lua_replace(L, from);
}

bool luaexample_push(struct luaworker *worker, uint32_t number)
{
    lua_State *L = worker->L;
    int type;

    script_push_stage(L, worker->instance->stage->k);
    lua_pop(L, 1);
    lua_getfield(L, -1, "examples");
    type = lua_istable(L, -1) ? lua_geti(L, -1, (lua_Integer)number) : (lua_pushnil(L), LUA_TNIL);
    lua_replace(L, -3);
    lua_pop(L, 1);
    if (type == LUA_TTABLE) {
        copy_thawed(L, 0);
    }
    return type != LUA_TNIL;
}

/* Does the example at index say what the stage is expected to do? */
static bool says(lua_State *L, int index, const char *member)
{
    bool found = lua_getfield(L, index, member) != LUA_TNIL;

    lua_pop(L, 1);
    return found;
}

void luaexample_run(struct luaworker *worker, uint32_t number, struct buf *message)
{
    lua_State *L = worker->L;
    int index = luacall_base(worker);

    switch (worker->instance->stage->role) {
    case LUAROLE_TRANSFORM:
    case LUAROLE_ANNOTATE:
        if (!says(L, index, "gives")) {
            buf_puts(message, "does not say gives = { ... }");
            return;
        }
        run_rows(worker, index, message);
        return;
    case LUAROLE_READER:
        if (!says(L, index, "gives") && !says(L, index, "bad") && !says(L, index, "skips")) {
            buf_puts(message, "says neither gives = { ... }, bad = \"reason\" nor skips = true");
            return;
        }
        run_reader(worker, number, message);
        return;
    case LUAROLE_GATE:
        if (says(L, index, "measures")) {
            run_measure(worker, index, message);
        } else if (says(L, index, "judges")) {
            run_judge(worker, index, message);
        } else {
            buf_puts(message, "says neither measures = ... nor sums = { ... }, judges = \"pass\"");
        }
        return;
    case LUAROLE_WRITER:
        if (!says(L, index, "writes")) {
            buf_puts(message, "does not say writes = \"...\"");
            return;
        }
        run_writer(worker, index, message);
        return;
    case LUAROLE_FILTER:
    case LUAROLE_HEURISTIC:
        return;
    }
}
