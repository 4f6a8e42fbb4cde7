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

static const struct {
    const char *name;
    uint32_t size;
} cells[] = {
    [CELL_BOOL] = { "bool", 0 },       [CELL_INT8] = { "int8", 1 },
    [CELL_INT16] = { "int16", 2 },     [CELL_INT32] = { "int32", 4 },
    [CELL_INT64] = { "int64", 8 },     [CELL_UINT8] = { "uint8", 1 },
    [CELL_UINT16] = { "uint16", 2 },   [CELL_UINT32] = { "uint32", 4 },
    [CELL_UINT64] = { "uint64", 8 },   [CELL_FLOAT32] = { "float32", 4 },
    [CELL_FLOAT64] = { "float64", 8 }, [CELL_TEXT] = { "utf8", 0 },
    [CELL_BINARY] = { "binary", 0 },   [CELL_JSON] = { "json", 0 },
};

static bool is_text(enum cell cell)
{
    return cell >= CELL_TEXT;
}

static sluice_status out_of_memory(struct sluice_error *err)
{
    return error_nomem(err, "the columns of a stage in Lua");
}

/* Sets bit k of a bit map that holds k bits. */
static bool add_bit(struct sluice_bytes *bits, int64_t k, bool value)
{
    uint8_t zero = 0;

    if ((k & 7) == 0 && !sluice_bytes_add(bits, &zero, 1)) {
        return false;
    }
    if (value) {
        bits->data[k >> 3] = (char)((uint8_t)bits->data[k >> 3] | 1u << (k & 7));
    }
    return true;
}

static bool add_offset(struct sluice_bytes *offsets, uint64_t at)
{
    int32_t offset = (int32_t)at;

    return sluice_bytes_add(offsets, &offset, sizeof offset);
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
                                 struct sluice_bytes *values, struct sluice_error *err)
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

    /* Every bit pattern is a uint64: hashes come out of doc that way. */
    if (!whole(L, index, &value) ||
        (cell != CELL_UINT64 &&
         (value > most[cell] || value < (cell <= CELL_INT64 ? least[cell] : 0)))) {
        return wrong(L, index, column, err);
    }
    /* Little-endian machines: the low bytes come first. */
    return sluice_bytes_add(values, &value, cells[cell].size) ? SLUICE_OK : out_of_memory(err);
}

static sluice_status add_float(lua_State *L, int index, const struct luacolumn *column,
                               struct sluice_bytes *values, struct sluice_error *err)
{
    double value = lua_tonumber(L, index);
    float small = (float)value;
    bool ok;

    if (lua_type(L, index) != LUA_TNUMBER) {
        return wrong(L, index, column, err);
    }
    if (value != value) { /* one NaN: its sign and payload differ between processors */
        value = (double)NAN;
        small = NAN;
    }
    ok = column->cell.cell == CELL_FLOAT32 ? sluice_bytes_add(values, &small, sizeof small)
                                           : sluice_bytes_add(values, &value, sizeof value);
    return ok ? SLUICE_OK : out_of_memory(err);
}

/* JSON: a string holds it already; anything else becomes it. */
static sluice_status add_json(lua_State *L, int index, const struct luacolumn *column,
                              struct sluice_bytes *values, struct sluice_error *err)
{
    struct value value;
    struct buf text = BUF_INIT;
    size_t n;
    const char *given;
    bool ok;

    if (lua_type(L, index) == LUA_TSTRING) {
        given = lua_tolstring(L, index, &n);
        if (value_parse_json(given, n, &value, err) != SLUICE_OK) {
            return error_set(err, SLUICE_E_DATA, "column '%s': found a string that is not JSON",
                             column->name);
        }
        value_deinit(&value);
        return sluice_bytes_add(values, given, n) ? SLUICE_OK : out_of_memory(err);
    }
    if (luavalue_read(L, index, column->name, &value, err) != SLUICE_OK) {
        return err != NULL && err->code == SLUICE_E_NOMEM ? SLUICE_E_NOMEM : SLUICE_E_DATA;
    }
    value_print_json(&value, &text);
    value_deinit(&value);
    ok = buf_status(&text, err) == SLUICE_OK && sluice_bytes_add(values, text.data, text.size);
    buf_deinit(&text);
    return ok ? SLUICE_OK : out_of_memory(err);
}

static sluice_status add_text(lua_State *L, int index, const struct luacolumn *column,
                              struct sluice_bytes *values, struct sluice_error *err)
{
    size_t n;
    const char *text;

    if (column->cell.cell == CELL_JSON) {
        return add_json(L, index, column, values, err);
    }
    if (lua_type(L, index) != LUA_TSTRING) {
        return wrong(L, index, column, err);
    }
    text = lua_tolstring(L, index, &n);
    if (column->cell.cell == CELL_TEXT && !utf8_valid(text, n)) {
        return error_set(err, SLUICE_E_DATA, "column '%s': found a string that is not UTF-8",
                         column->name);
    }
    return sluice_bytes_add(values, text, n) ? SLUICE_OK : out_of_memory(err);
}

/* Appends one cell; at is its number. */
static sluice_status add_cell(lua_State *L, int index, const struct luacolumn *column,
                              struct column_builder *builder, int64_t at, struct sluice_error *err)
{
    enum cell cell = column->cell.cell;

    if (cell == CELL_BOOL) {
        if (lua_type(L, index) != LUA_TBOOLEAN) {
            return wrong(L, index, column, err);
        }
        return add_bit(&builder->values, at, lua_toboolean(L, index) != 0) ? SLUICE_OK
                                                                           : out_of_memory(err);
    }
    if (is_text(cell)) {
        TRY(add_text(L, index, column, &builder->values, err));
        if (builder->values.size > INT32_MAX) {
            return error_set(err, SLUICE_E_DATA,
                             "column '%s': the texts of a batch take more than 2 GiB",
                             column->name);
        }
        return add_offset(column->cell.list ? &builder->inner : &builder->offsets,
                          builder->values.size)
                   ? SLUICE_OK
                   : out_of_memory(err);
    }
    return cell == CELL_FLOAT32 || cell == CELL_FLOAT64
               ? add_float(L, index, column, &builder->values, err)
               : add_integer(L, index, column, &builder->values, err);
}

/* ---- rows ---- */

static bool row_ends(const struct luacolumn *column, struct column_builder *builder, bool valid)
{
    builder->nulls += !valid;
    if (column->cell.nullable && !add_bit(&builder->validity, builder->rows, valid)) {
        return false;
    }
    builder->rows++;
    return !column->cell.list || add_offset(&builder->offsets, (uint64_t)builder->items);
}

static sluice_status stand_in(const struct luacolumn *column, struct column_builder *builder,
                              struct sluice_error *err)
{
    static const char zeros[8] = { 0 };
    enum cell cell = column->cell.cell;
    bool ok = true;

    if (!column->cell.list) {
        if (cell == CELL_BOOL) {
            ok = add_bit(&builder->values, builder->rows, false);
        } else if (is_text(cell)) {
            ok = (column->cell.nullable || cell != CELL_JSON ||
                  sluice_bytes_add(&builder->values, "null", 4)) &&
                 add_offset(&builder->offsets, builder->values.size);
        } else {
            ok = sluice_bytes_add(&builder->values, zeros, cells[cell].size);
        }
    }
    return ok && row_ends(column, builder, !column->cell.nullable) ? SLUICE_OK : out_of_memory(err);
}

/* ---- rows that turn out bad are taken back ---- */

static void cut_bits(struct sluice_bytes *bits, int64_t n)
{
    bits->size = (uint64_t)(n + 7) / 8;
    if ((n & 7) != 0) { /* bits behind the end are 0 again */
        bits->data[n >> 3] = (char)((uint8_t)bits->data[n >> 3] & ((1u << (n & 7)) - 1));
    }
}

static void take_back(struct column_builder *builder, const struct luacolumn *column,
                      const struct column_builder *mark)
{
    builder->rows = mark->rows;
    builder->items = mark->items;
    builder->nulls = mark->nulls;
    builder->offsets.size = mark->offsets.size;
    builder->inner.size = mark->inner.size;
    if (column->cell.cell == CELL_BOOL) {
        cut_bits(&builder->values, column->cell.list ? mark->items : mark->rows);
    } else {
        builder->values.size = mark->values.size;
    }
    if (column->cell.nullable) {
        cut_bits(&builder->validity, mark->rows);
    }
}

static sluice_status add_value(lua_State *L, int index, const struct luacolumn *column,
                               struct column_builder *builder, struct sluice_error *err)
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
        TRY(add_cell(L, index, column, builder, builder->rows, err));
        return row_ends(column, builder, true) ? SLUICE_OK : out_of_memory(err);
    }
    if (!lua_istable(L, index)) {
        return wrong(L, index, column, err);
    }
    sandbox_thaw(L, index);
    n = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= n; i++) {
        sluice_status status;
        if (builder->items >= INT32_MAX) {
            return error_set(err, SLUICE_E_DATA, "column '%s': too many items in a batch",
                             column->name);
        }
        lua_rawgeti(L, index, i);
        status = add_cell(L, lua_gettop(L), column, builder, builder->items, err);
        lua_pop(L, 1);
        TRY(status);
        builder->items++;
    }
    return row_ends(column, builder, true) ? SLUICE_OK : out_of_memory(err);
}

sluice_status luaout_blank(struct luaworker *worker, struct sluice_error *err)
{
    for (uint32_t k = 0; k < worker->instance->stage->n_adds; k++) {
        TRY(stand_in(&worker->instance->stage->adds[k], &worker->builders[k], err));
    }
    return SLUICE_OK;
}

sluice_status luaout_add(struct luaworker *worker, lua_State *L, int index,
                         struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;

    sandbox_thaw(L, index);
    for (uint32_t k = 0; k < stage->n_adds; k++) {
        sluice_status status;
        worker->marks[k] = worker->builders[k];
        lua_pushstring(L, stage->adds[k].name);
        lua_rawget(L, index);
        status = add_value(L, lua_gettop(L), &stage->adds[k], &worker->builders[k], err);
        lua_pop(L, 1);
        if (status != SLUICE_OK) {
            for (uint32_t i = 0; i <= k; i++) {
                take_back(&worker->builders[i], &stage->adds[i], &worker->marks[i]);
            }
            return status;
        }
    }
    worker->given++;
    return SLUICE_OK;
}

sluice_status luaout_place(struct luaworker *worker, const uint64_t *numbers,
                           struct sluice_error *err)
{
    for (uint32_t k = 0; k < worker->instance->stage->n_places; k++) {
        if (!sluice_bytes_add(&worker->places[k], &numbers[k], sizeof numbers[k])) {
            return out_of_memory(err);
        }
    }
    return SLUICE_OK;
}

/* ---- calls that turn out bad are taken back ---- */

void luaout_start(struct luaworker *worker)
{
    for (uint32_t k = 0; k < worker->instance->stage->n_adds; k++) {
        worker->starts[k] = worker->builders[k];
    }
    worker->given_start = worker->given;
}

void luaout_rewind(struct luaworker *worker)
{
    const struct luastage *stage = worker->instance->stage;

    for (uint32_t k = 0; k < stage->n_adds; k++) {
        take_back(&worker->builders[k], &stage->adds[k], &worker->starts[k]);
    }
    worker->given = worker->given_start;
    for (uint32_t k = 0; k < stage->n_places; k++) {
        worker->places[k].size = (uint64_t)worker->given * sizeof(uint64_t);
    }
}

static uint64_t size_of(const struct column_builder *builders, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        sum += builders[k].values.size + builders[k].offsets.size + builders[k].inner.size;
    }
    return sum;
}

uint64_t luaout_bytes(const struct luaworker *worker)
{
    return size_of(worker->builders, worker->instance->stage->n_adds);
}

uint64_t luaout_call_bytes(const struct luaworker *worker)
{
    return luaout_bytes(worker) - size_of(worker->starts, worker->instance->stage->n_adds);
}

/* ---- batches ---- */

sluice_status luaout_begin(struct luaworker *worker, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;

    if (worker->builders == NULL) {
        worker->builders = calloc(stage->n_adds + 1, sizeof *worker->builders);
        worker->marks = calloc(stage->n_adds + 1, sizeof *worker->marks);
        worker->starts = calloc(stage->n_adds + 1, sizeof *worker->starts);
        if (worker->builders == NULL || worker->marks == NULL || worker->starts == NULL) {
            return out_of_memory(err);
        }
    }
    luaout_clear(worker);
    for (uint32_t k = 0; k < stage->n_adds; k++) {
        struct column_builder *builder = &worker->builders[k];
        bool text = is_text(stage->adds[k].cell.cell);
        if (((text || stage->adds[k].cell.list) && !add_offset(&builder->offsets, 0)) ||
            (text && stage->adds[k].cell.list && !add_offset(&builder->inner, 0))) {
            return out_of_memory(err);
        }
    }
    return SLUICE_OK;
}

void luaout_clear(struct luaworker *worker)
{
    for (uint32_t k = 0; worker->builders != NULL && k < worker->instance->stage->n_adds; k++) {
        struct column_builder *builder = &worker->builders[k];
        sluice_bytes_free(&builder->values);
        sluice_bytes_free(&builder->offsets);
        sluice_bytes_free(&builder->validity);
        sluice_bytes_free(&builder->inner);
        memset(builder, 0, sizeof *builder);
    }
    sluice_bytes_free(&worker->places[0]);
    sluice_bytes_free(&worker->places[1]);
    worker->given = worker->given_start = 0;
}

static sluice_status make_column(struct column_builder *builder, const struct luacolumn *column,
                                 int64_t n, struct ArrowArray *out)
{
    struct sluice_bytes *validity = builder->nulls > 0 ? &builder->validity : NULL;
    struct ArrowArray *child;
    sluice_status status;

    if (!column->cell.list) {
        return is_text(column->cell.cell)
                   ? sluice_make_text(out, n, &builder->offsets, &builder->values, validity,
                                      builder->nulls)
                   : sluice_make_fixed(out, n, &builder->values, validity, builder->nulls);
    }
    child = calloc(1, sizeof *child);
    if (child == NULL) {
        return SLUICE_E_NOMEM;
    }
    status =
        is_text(column->cell.cell)
            ? sluice_make_text(child, builder->items, &builder->inner, &builder->values, NULL, 0)
            : sluice_make_fixed(child, builder->items, &builder->values, NULL, 0);
    if (status != SLUICE_OK) {
        free(child);
        return status;
    }
    status = sluice_make(out, n, builder->nulls, 2, validity, &builder->offsets, NULL);
    if (status != SLUICE_OK) {
        child->release(child);
        free(child);
        return status;
    }
    out->n_children = 1;
    out->children[0] = child;
    return SLUICE_OK;
}

sluice_status luaout_finish(struct luaworker *worker, int64_t n, struct ArrowArray *out,
                            struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    uint32_t n_columns = stage->n_adds + stage->n_places;
    struct ArrowArray *columns = calloc(n_columns + 1u, sizeof *columns);
    sluice_status status = SLUICE_OK;
    uint32_t made = 0;

    if (columns == NULL) {
        return out_of_memory(err);
    }
    while (made < n_columns && status == SLUICE_OK) {
        status = made < stage->n_adds
                     ? make_column(&worker->builders[made], &stage->adds[made], n, &columns[made])
                     : sluice_make_fixed(&columns[made], n, &worker->places[made - stage->n_adds],
                                         NULL, 0);
        made += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(out, n, (int64_t)n_columns, columns);
        made = 0; /* they were moved, also on failure */
    }
    for (uint32_t k = 0; k < made; k++) {
        columns[k].release(&columns[k]);
    }
    free(columns);
    luaout_clear(worker);
    return status == SLUICE_OK ? SLUICE_OK : out_of_memory(err);
}
