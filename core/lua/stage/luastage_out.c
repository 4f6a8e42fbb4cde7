/* Columns from what annotators return, and transforms and readers give. See luastageInt.h. */
#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "lua/sandbox/sandboxInt.h"
#include "lua/stage/luastageInt.h"
#include "lua/luavalue.h"

static sluice_status out_of_memory(struct sluice_error *err)
{
    return error_nomem(err, "the columns of a stage in Lua");
}

/* An append that did not succeed. */
static sluice_status no_room(const struct luacolumn *column, const struct builder *builder,
                             struct sluice_error *err)
{
    return builder_full(builder)
               ? error_set(err, SLUICE_E_DATA,
                           "column '%s': the values of a batch take more than 2 GiB", column->name)
               : out_of_memory(err);
}

/* ---- one value ---- */

static sluice_status wrong(lua_State *L, int index, const struct luacolumn *column,
                           struct sluice_error *err)
{
    if (lua_type(L, index) == LUA_TNUMBER && column->cell.cell >= CELL_INT8 &&
        column->cell.cell <= CELL_UINT64) {
        return error_set(err, SLUICE_E_DATA, "column '%s': found %s, expected %s", column->name,
                         lua_isinteger(L, index) ? "an integer out of range" : "a float",
                         column->type);
    }
    return error_set(err, SLUICE_E_DATA, "column '%s': found a %s, expected %s", column->name,
                     luaL_typename(L, index), column->type);
}

/* The integer at index; floats count when they are whole. */
static bool whole(lua_State *L, int index, int64_t *out)
{
    lua_Number number;

    if (lua_type(L, index) != LUA_TNUMBER) {
        return false;
    }
    if (lua_isinteger(L, index)) {
        *out = lua_tointeger(L, index);
        return true;
    }
    number = lua_tonumber(L, index);
    return number >= -0x1p63 && number < 0x1p63 && trunc(number) == number &&
           ((*out = (int64_t)number), true);
}

static sluice_status add_integer(lua_State *L, int index, const struct luacolumn *column,
                                 struct builder *builder, struct sluice_error *err)
{
    static const int64_t least[] = { [CELL_INT8] = INT8_MIN,
                                     [CELL_INT16] = INT16_MIN,
                                     [CELL_INT32] = INT32_MIN,
                                     [CELL_INT64] = INT64_MIN };
    static const int64_t most[] = {
        [CELL_INT8] = INT8_MAX,    [CELL_INT16] = INT16_MAX, [CELL_INT32] = INT32_MAX,
        [CELL_INT64] = INT64_MAX,  [CELL_UINT8] = UINT8_MAX, [CELL_UINT16] = UINT16_MAX,
        [CELL_UINT32] = UINT32_MAX
    };
    enum cell cell = column->cell.cell;
    int64_t value;
    bool ok;

    /* Every bit pattern is a uint64: hashes come out of doc that way. */
    if (!whole(L, index, &value) ||
        (cell != CELL_UINT64 &&
         (value > most[cell] || value < (cell <= CELL_INT64 ? least[cell] : 0)))) {
        return wrong(L, index, column, err);
    }
    ok = cell <= CELL_INT64 ? builder_int(builder, value) : builder_uint(builder, (uint64_t)value);
    return ok ? SLUICE_OK : no_room(column, builder, err);
}

static sluice_status add_float(lua_State *L, int index, const struct luacolumn *column,
                               struct builder *builder, struct sluice_error *err)
{
    double value = lua_tonumber(L, index);

    if (lua_type(L, index) != LUA_TNUMBER) {
        return wrong(L, index, column, err);
    }
    if (value != value) { /* one NaN: its sign and payload differ between processors */
        value = (double)NAN;
    }
    return builder_float(builder, value) ? SLUICE_OK : no_room(column, builder, err);
}

/* JSON: a string holds it already; anything else becomes it. */
static sluice_status add_json(lua_State *L, int index, const struct luacolumn *column,
                              struct builder *builder, struct sluice_error *err)
{
    struct value value;
    struct buf text = BUF_INIT;
    size_t n;
    const char *given;
    sluice_status status;

    if (lua_type(L, index) == LUA_TSTRING) {
        given = lua_tolstring(L, index, &n);
        if (value_parse_json(given, n, &value, err) != SLUICE_OK) {
            return error_set(err, SLUICE_E_DATA, "column '%s': found a string that is not JSON",
                             column->name);
        }
        value_deinit(&value);
        return builder_bytes_add(builder, given, n) ? SLUICE_OK : no_room(column, builder, err);
    }
    if (luavalue_read(L, index, column->name, &value, err) != SLUICE_OK) {
        return err != NULL && err->code == SLUICE_E_NOMEM ? SLUICE_E_NOMEM : SLUICE_E_DATA;
    }
    value_print_json(&value, &text);
    value_deinit(&value);
    status = buf_status(&text, err);
    if (status == SLUICE_OK && !builder_bytes_add(builder, text.data, text.size)) {
        status = no_room(column, builder, err);
    }
    buf_deinit(&text);
    return status;
}

/* SLUICE_E_DATA, and the reason is known: between the functions here only. */
#define NOT_UTF8 ((sluice_status)96)

static sluice_status add_text(lua_State *L, int index, const struct luacolumn *column,
                              struct builder *builder, struct sluice_error *err)
{
    size_t n;
    const char *text;

    if (lua_type(L, index) != LUA_TSTRING) {
        return wrong(L, index, column, err);
    }
    text = lua_tolstring(L, index, &n);
    if (column->cell.cell == CELL_TEXT && !utf8_valid(text, n)) {
        (void)error_set(err, SLUICE_E_DATA, "column '%s': found a string that is not UTF-8",
                        column->name);
        return NOT_UTF8;
    }
    return builder_bytes_add(builder, text, n) ? SLUICE_OK : no_room(column, builder, err);
}

/* Appends a value that is not nil: to a column, or to the items of one of lists. */
static sluice_status add_cell(lua_State *L, int index, const struct luacolumn *column,
                              struct builder *builder, struct sluice_error *err)
{
    switch (column->cell.cell) {
    case CELL_BOOL:
        if (lua_type(L, index) != LUA_TBOOLEAN) {
            return wrong(L, index, column, err);
        }
        return builder_bool(builder, lua_toboolean(L, index) != 0) ? SLUICE_OK
                                                                   : no_room(column, builder, err);
    case CELL_JSON:
        return add_json(L, index, column, builder, err);
    case CELL_TEXT:
    case CELL_BINARY:
        return add_text(L, index, column, builder, err);
    case CELL_FLOAT32:
    case CELL_FLOAT64:
        return add_float(L, index, column, builder, err);
    default:
        return add_integer(L, index, column, builder, err);
    }
}

/* ---- rows ---- */

/* What stands where there is no value: null, or the nothing of a type that knows no null. */
static sluice_status stand_in(const struct luacolumn *column, struct builder *builder,
                              struct sluice_error *err)
{
    enum cell cell = column->cell.cell;
    bool ok = column->cell.nullable  ? builder_null(builder)
              : column->cell.list    ? builder_close(builder)
              : cell == CELL_BOOL    ? builder_bool(builder, false)
              : cell == CELL_JSON    ? builder_bytes_add(builder, "null", 4)
              : cell >= CELL_TEXT    ? builder_bytes_add(builder, "", 0)
              : cell >= CELL_FLOAT32 ? builder_float(builder, 0)
              : cell >= CELL_UINT8   ? builder_uint(builder, 0)
                                     : builder_int(builder, 0);

    return ok ? SLUICE_OK : no_room(column, builder, err);
}

static sluice_status add_value(lua_State *L, int index, const struct luacolumn *column,
                               struct builder *builder, struct sluice_error *err)
{
    lua_Integer n;

    if (lua_isnil(L, index)) {
        if (!column->cell.nullable) {
            return error_set(err, SLUICE_E_DATA,
                             "column '%s' is missing in what the function returned; a type that "
                             "ends in ? allows that",
                             column->name);
        }
        return stand_in(column, builder, err);
    }
    if (!column->cell.list) {
        return add_cell(L, index, column, builder, err);
    }
    if (!lua_istable(L, index)) {
        return wrong(L, index, column, err);
    }
    sandbox_thaw(L, index);
    n = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= n; i++) {
        sluice_status status;
        lua_rawgeti(L, index, i);
        status = add_cell(L, lua_gettop(L), column, builder_child(builder, 0), err);
        lua_pop(L, 1);
        TRY(status);
    }
    return builder_close(builder) ? SLUICE_OK : no_room(column, builder, err);
}

static uint32_t n_columns(const struct luaworker *worker)
{
    return worker->instance->stage->n_adds + worker->instance->stage->n_places;
}

/* Rows that turn out bad are taken back. */
static void take_back(struct luaworker *worker, int64_t rows)
{
    for (uint32_t k = 0; k < n_columns(worker); k++) {
        if (builder_length(worker->builders[k]) >= rows) {
            builder_truncate(worker->builders[k], rows);
        }
    }
}

sluice_status luaout_blank(struct luaworker *worker, struct sluice_error *err)
{
    for (uint32_t k = 0; k < worker->instance->stage->n_adds; k++) {
        TRY(stand_in(&worker->instance->stage->adds[k], worker->builders[k], err));
    }
    return SLUICE_OK;
}

sluice_status luaout_add(struct luaworker *worker, lua_State *L, int index,
                         struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    int64_t before = builder_length(worker->builders[0]);

    sandbox_thaw(L, index);
    for (uint32_t k = 0; k < stage->n_adds; k++) {
        sluice_status status;
        lua_pushstring(L, stage->adds[k].name);
        lua_rawget(L, index);
        status = add_value(L, lua_gettop(L), &stage->adds[k], worker->builders[k], err);
        lua_pop(L, 1);
        if (status != SLUICE_OK) {
            take_back(worker, before);
            worker->not_utf8 = status == NOT_UTF8;
            return status == NOT_UTF8 ? SLUICE_E_DATA : status;
        }
    }
    worker->given++;
    return SLUICE_OK;
}

sluice_status luaout_place(struct luaworker *worker, const uint64_t *numbers,
                           struct sluice_error *err)
{
    for (uint32_t k = 0; k < worker->instance->stage->n_places; k++) {
        if (!builder_uint(worker->builders[worker->instance->stage->n_adds + k], numbers[k])) {
            return out_of_memory(err);
        }
    }
    return SLUICE_OK;
}

uint64_t luaout_bytes(const struct luaworker *worker)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < worker->instance->stage->n_adds; k++) {
        sum += builder_bytes(worker->builders[k]);
    }
    return sum;
}

uint64_t luaout_call_bytes(const struct luaworker *worker)
{
    return luaout_bytes(worker) - worker->bytes_start;
}

/* ---- calls that turn out bad are taken back ---- */

void luaout_start(struct luaworker *worker)
{
    if (worker->builders != NULL) {
        worker->rows_start = builder_length(worker->builders[0]);
        worker->bytes_start = luaout_bytes(worker);
        worker->given_start = worker->given;
    }
    worker->not_utf8 = false;
}

void luaout_rewind(struct luaworker *worker)
{
    if (worker->builders != NULL) {
        take_back(worker, worker->rows_start);
        worker->given = worker->given_start;
    }
}

/* ---- batches ---- */

static sluice_status make_builder(struct luaworker *worker, uint32_t k, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    struct type *type;
    sluice_status status;

    TRY(type_parse(k < stage->n_adds ? stage->adds[k].type : "uint64", &type, err));
    status = builder_create(type, &worker->builders[k], err);
    type_destroy(type);
    return status;
}

sluice_status luaout_begin(struct luaworker *worker, struct sluice_error *err)
{
    if (worker->builders == NULL) {
        worker->builders = calloc(n_columns(worker) + 1, sizeof(struct builder *));
        if (worker->builders == NULL) {
            return out_of_memory(err);
        }
        for (uint32_t k = 0; k < n_columns(worker); k++) {
            sluice_status status = make_builder(worker, k, err);
            if (status != SLUICE_OK) {
                luaout_close(worker);
                return status;
            }
        }
    }
    luaout_clear(worker);
    return SLUICE_OK;
}

void luaout_clear(struct luaworker *worker)
{
    for (uint32_t k = 0; worker->builders != NULL && k < n_columns(worker); k++) {
        builder_release(worker->builders[k]);
    }
    worker->given = worker->given_start = 0;
}

void luaout_close(struct luaworker *worker)
{
    for (uint32_t k = 0; worker->builders != NULL && k < n_columns(worker); k++) {
        builder_destroy(worker->builders[k]);
    }
    free(worker->builders);
    worker->builders = NULL;
}

sluice_status luaout_finish(struct luaworker *worker, int64_t n, struct ArrowArray *out,
                            struct sluice_error *err)
{
    uint32_t all = n_columns(worker);
    struct ArrowArray *columns = calloc(all + 1u, sizeof *columns);
    sluice_status status = columns == NULL ? out_of_memory(err) : SLUICE_OK;
    uint32_t made = 0;

    while (status == SLUICE_OK && made < all) {
        status = builder_finish(worker->builders[made], &columns[made], err);
        made += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = array_struct(out, n, all, columns, err);
        made = 0; /* they were moved, also on failure */
    }
    for (uint32_t k = 0; k < made; k++) {
        columns[k].release(&columns[k]);
    }
    free(columns);
    luaout_clear(worker);
    return status;
}
