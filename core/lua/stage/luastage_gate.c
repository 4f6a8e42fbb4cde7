/* Gates in Lua: measure gives integers for each row, which are added up; judge sees the sums at the
 * barrier. Sums of integers are the same in whatever order the rows come and however they are cut
 * into tasks; what only judge sees has no part in the task's key, so another threshold judges again
 * and runs nothing. See luastageInt.h. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lua/sandbox/sandboxInt.h"
#include "lua/stage/luastageInt.h"
#include "lua/script/script.h"

static uint32_t n_sums(const struct luastage *stage)
{
    return stage->n_sums > 0 ? stage->n_sums : 1;
}

sluice_status luagate_open(struct luaworker *worker, struct sluice_error *err)
{
    uint32_t n = n_sums(worker->instance->stage);

    worker->sums = calloc(n, sizeof *worker->sums);
    worker->row_sums = calloc(n, sizeof *worker->row_sums);
    return worker->sums == NULL || worker->row_sums == NULL ? error_nomem(err, "a gate")
                                                            : SLUICE_OK;
}

/* ---- measuring ---- */

/* The integer at the top; true and false are 1 and 0. */
static sluice_status read_integer(lua_State *L, const char *name, int64_t *out,
                                  struct sluice_error *err)
{
    int whole = 0;

    if (lua_isboolean(L, -1)) {
        *out = lua_toboolean(L, -1);
        return SLUICE_OK;
    }
    *out = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &whole) : 0;
    if (whole) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_DATA,
                     "measure returned a %s%s%s, expected an integer: sums must not depend on the "
                     "order of rows, so a share is scaled first: math.floor(x * 1000)",
                     lua_type(L, -1) == LUA_TNUMBER ? "fraction" : luaL_typename(L, -1),
                     name[0] == '\0' ? "" : " for ", name);
}

static uint32_t find_sum(const struct luastage *stage, const char *name)
{
    uint32_t k = 0;

    while (k < stage->n_sums && strcmp(stage->sums[k], name) != 0) {
        k++;
    }
    return k;
}

static sluice_status read_sums(lua_State *L, int index, const struct luastage *stage, int64_t *sums,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (!lua_istable(L, index)) {
        return error_set(err, SLUICE_E_DATA,
                         "measure returned a %s, expected a table with the sums that the stage "
                         "names: { %s = 1 }",
                         luaL_typename(L, index), stage->sums[0]);
    }
    sandbox_thaw(L, index);
    for (lua_pushnil(L); status == SLUICE_OK && lua_next(L, index) != 0; lua_pop(L, 1)) {
        const char *name =
            lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
        uint32_t k = find_sum(stage, name);
        if (k == stage->n_sums) {
            const char *near = error_suggest(name, (const char *const *)stage->sums, stage->n_sums);
            return error_set(err, SLUICE_E_DATA,
                             "measure returned the sum '%.80s', which sums = { ... } does not "
                             "name%s%s%s",
                             name, near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                             near == NULL ? "" : "'?");
        }
        status = read_integer(L, name, &sums[k], err);
    }
    return status;
}

sluice_status luagate_result(struct luaworker *worker, int index, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    int64_t sum;

    memset(worker->row_sums, 0, n_sums(stage) * sizeof *worker->row_sums);
    if (stage->n_sums > 0) {
        TRY(read_sums(L, index, stage, worker->row_sums, err));
    } else {
        lua_settop(L, index);
        TRY(read_integer(L, "", &worker->row_sums[0], err));
    }
    for (uint32_t k = 0; k < n_sums(stage); k++) {
        if (__builtin_add_overflow(worker->sums[k], worker->row_sums[k], &sum)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "the sum%s%s of the gate '%s' does not fit into 64 bits; measure less",
                             stage->n_sums > 0 ? " " : "", stage->n_sums > 0 ? stage->sums[k] : "",
                             stage->name);
        }
    }
    return SLUICE_OK;
}

static sluice_status measure_row(struct luaworker *worker, const struct ArrowArray *array,
                                 int64_t row, int64_t k, struct sluice_error *err)
{
    struct sluice_error *why = luacall_error(worker);
    const char *reason;

    luarow_set(worker, array, row);
    TRY(luacall(worker, &reason, why, err));
    if (reason == NULL) {
        sluice_status status = luagate_result(worker, luacall_base(worker), why);
        if (status == SLUICE_E_CONFIG) {
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
        return luaverdict_bad(worker, k, reason, why->message, err);
    }
    for (uint32_t i = 0; i < n_sums(worker->instance->stage); i++) {
        worker->sums[i] += worker->row_sums[i];
    }
    worker->rows++;
    return SLUICE_OK;
}

sluice_status luagate_process(void *state, const struct sluice_batch *batch,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;

    TRY(luaverdict_begin(worker, batch->n, err));
    TRY(luacall_rows(worker, batch, emit, measure_row, err));
    return luaverdict_emit_bad(worker, batch->n);
}

/* ---- state: rows, then the sums, little-endian ---- */

static sluice_status put(struct sluice_io *io, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    return io->write(io, bytes, sizeof bytes);
}

static sluice_status add(struct sluice_io *io, int64_t *sum, struct sluice_error *err)
{
    unsigned char bytes[8];
    uint64_t value = 0;

    TRY(io->read(io, bytes, sizeof bytes));
    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return __builtin_add_overflow(*sum, (int64_t)value, sum)
               ? error_set(err, SLUICE_E_CONFIG, "the sums of a gate do not fit into 64 bits")
               : SLUICE_OK;
}

sluice_status luagate_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct luaworker *worker = state;
    sluice_status status = put(io, worker->rows);

    for (uint32_t k = 0; status == SLUICE_OK && k < n_sums(worker->instance->stage); k++) {
        status = put(io, (uint64_t)worker->sums[k]);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : error_set(err, status, "the sums of the gate '%s' can't be saved",
                                           worker->instance->stage->name);
}

sluice_status luagate_merge(void *state, struct sluice_io *io, uint64_t version,
                            struct sluice_error *err)
{
    struct luaworker *worker = state;
    int64_t rows = (int64_t)worker->rows;

    (void)version;
    TRY(add(io, &rows, err));
    worker->rows = (uint64_t)rows;
    for (uint32_t k = 0; k < n_sums(worker->instance->stage); k++) {
        TRY(add(io, &worker->sums[k], err));
    }
    return SLUICE_OK;
}

sluice_status luagate_load(void *state, struct sluice_io *io, uint64_t version,
                           struct sluice_error *err)
{
    struct luaworker *worker = state;

    worker->rows = 0;
    memset(worker->sums, 0, n_sums(worker->instance->stage) * sizeof *worker->sums);
    return luagate_merge(state, io, version, err);
}

/* ---- judging ---- */

static int unknown_sum(lua_State *L)
{
    return luaL_error(L, "judge sees no sum '%s'; it sees rows and those that the stage names",
                      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2));
}

static void push_sums(struct luaworker *worker)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;

    lua_createtable(L, 0, (int)n_sums(stage) + 1);
    for (uint32_t k = 0; k < n_sums(stage); k++) {
        lua_pushinteger(L, worker->sums[k]);
        lua_setfield(L, -2, stage->n_sums > 0 ? stage->sums[k] : "sum");
    }
    lua_pushinteger(L, (lua_Integer)worker->rows);
    lua_setfield(L, -2, "rows");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, unknown_sum);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

/* count(node): rows that left it, or nil where that is not known. */
static int count_node(lua_State *L)
{
    struct sluice_verdict_io *io = lua_touserdata(L, lua_upvalueindex(1));
    const char *node = luaL_checkstring(L, 1);
    int64_t n = io->count == NULL ? -1 : io->count(io, node);

    if (n < 0) {
        lua_pushnil(L);
    } else {
        lua_pushinteger(L, n);
    }
    return 1;
}

static sluice_status read_outcome(struct luaworker *worker, int index, struct sluice_verdict_io *io,
                                  struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    const char *word = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";

    io->outcome = SLUICE_GATE_PASS;
    if (lua_isnil(L, index)) {
        return SLUICE_OK;
    }
    io->outcome = strcmp(word, "halt") == 0   ? SLUICE_GATE_HALT
                  : strcmp(word, "warn") == 0 ? SLUICE_GATE_WARN
                                              : SLUICE_GATE_PASS;
    if (io->outcome == SLUICE_GATE_PASS || lua_type(L, index + 1) != LUA_TSTRING) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: judge of the gate '%s' returned %s%.40s%s and a %s, expected nil, or "
                         "\"halt\" or \"warn\" and a message",
                         stage->where, stage->name, word[0] == '\0' ? "a " : "\"",
                         word[0] == '\0' ? luaL_typename(L, index) : word,
                         word[0] == '\0' ? "" : "\"", luaL_typename(L, index + 1));
    }
    snprintf(io->message, sizeof io->message, "%s", lua_tostring(L, index + 1));
    utf8_clean(io->message);
    return SLUICE_OK;
}

sluice_status luagate_judge(void *state, struct sluice_verdict_io *io, struct sluice_error *err)
{
    struct luaworker *worker = state;
    const struct luainstance *instance = worker->instance;
    lua_State *L = worker->L;
    int top = lua_gettop(L);
    sluice_status status;

    script_push_stage(L, instance->stage->k);
    lua_pop(L, 1);
    lua_getfield(L, -1, "judge");
    push_sums(worker);
    luaoptions_push(L, instance->stage->options, instance->config);
    lua_pushlightuserdata(L, io);
    lua_pushcclosure(L, count_node, 1);
    status = luacall_aside(worker, "judge", 3, 2, err);
    if (status == SLUICE_OK) {
        status = read_outcome(worker, lua_gettop(L) - 1, io, err);
    }
    lua_settop(L, top);
    return status;
}
