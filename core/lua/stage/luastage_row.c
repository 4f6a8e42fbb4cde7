/* `doc`, the row as a script sees it: one object a worker, whose fields are fetched when first
 * asked for and kept until the next row. See luastageInt.h. */
#include <lauxlib.h>
#include <string.h>

#include "lua/sandbox/sandbox.h"
#include "lua/stage/luastageInt.h"

/* ---- types ---- */

static const struct {
    const char *name;
    enum cell cell;
} cell_names[] = {
    { "bool", CELL_BOOL },       { "int8", CELL_INT8 },       { "int16", CELL_INT16 },
    { "int32", CELL_INT32 },     { "int64", CELL_INT64 },     { "uint8", CELL_UINT8 },
    { "uint16", CELL_UINT16 },   { "uint32", CELL_UINT32 },   { "uint64", CELL_UINT64 },
    { "float32", CELL_FLOAT32 }, { "float64", CELL_FLOAT64 }, { "utf8", CELL_TEXT },
    { "binary", CELL_BINARY },   { "json", CELL_JSON },
};

bool cell_type_parse(const char *text, struct cell_type *out)
{
    size_t n = strlen(text);

    *out = (struct cell_type){ .list = false };
    if (n > 0 && text[n - 1] == '?') {
        out->nullable = true;
        n--;
    }
    if (n == 5 && memcmp(text, "spans", 5) == 0) {
        out->list = true;
        out->cell = CELL_UINT64;
        return true;
    }
    if (n > 6 && memcmp(text, "list<", 5) == 0 && text[n - 1] == '>') {
        out->list = true;
        text += 5;
        n -= 6;
        n -= n > 0 && text[n - 1] == '?'; /* null items are read as nil, and never made */
    }
    for (size_t i = 0; i < sizeof cell_names / sizeof cell_names[0]; i++) {
        if (strlen(cell_names[i].name) == n && memcmp(cell_names[i].name, text, n) == 0) {
            out->cell = cell_names[i].cell;
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

static void push_cell(lua_State *L, enum cell cell, const struct ArrowArray *array, int64_t row)
{
    const void *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    const char *text;
    size_t n;

    if (sluice_is_null(array, row)) {
        lua_pushnil(L);
        return;
    }
    switch (cell) {
    case CELL_BOOL:
        lua_pushboolean(L, ((const uint8_t *)values)[row >> 3] >> (row & 7) & 1);
        break;
    case CELL_INT8:
        lua_pushinteger(L, ((const int8_t *)values)[row]);
        break;
    case CELL_INT16:
        lua_pushinteger(L, ((const int16_t *)values)[row]);
        break;
    case CELL_INT32:
        lua_pushinteger(L, ((const int32_t *)values)[row]);
        break;
    case CELL_INT64:
        lua_pushinteger(L, ((const int64_t *)values)[row]);
        break;
    case CELL_UINT8:
        lua_pushinteger(L, ((const uint8_t *)values)[row]);
        break;
    case CELL_UINT16:
        lua_pushinteger(L, ((const uint16_t *)values)[row]);
        break;
    case CELL_UINT32:
        lua_pushinteger(L, ((const uint32_t *)values)[row]);
        break;
    case CELL_UINT64: /* above 2^63 - 1 it is negative: the bits are what hashes need */
        lua_pushinteger(L, (lua_Integer)((const uint64_t *)values)[row]);
        break;
    case CELL_FLOAT32:
        lua_pushnumber(L, (double)((const float *)values)[row]);
        break;
    case CELL_FLOAT64:
        lua_pushnumber(L, ((const double *)values)[row]);
        break;
    case CELL_TEXT:
    case CELL_BINARY:
    case CELL_JSON:
        text = sluice_text(array, row, &n);
        lua_pushlstring(L, text, n);
        break;
    }
}

void luarow_push_value(lua_State *L, struct cell_type type, const struct ArrowArray *array,
                       int64_t row)
{
    const int32_t *offsets;

    if (!type.list || sluice_is_null(array, row)) {
        push_cell(L, type.cell, array, row);
        return;
    }
    offsets = array->buffers[1];
    lua_createtable(L, offsets[row + 1] - offsets[row], 0);
    for (int32_t i = offsets[row]; i < offsets[row + 1]; i++) {
        push_cell(L, type.cell, array->children[0], i);
        lua_rawseti(L, -2, i - offsets[row] + 1);
    }
}

/* ---- the object ---- */

static int unknown_field(lua_State *L, const struct luaworker *worker, const char *name)
{
    const struct luainstance *instance = worker->instance;
    const char *known[64];
    const char *near;
    size_t n = 0;

    for (uint32_t i = 0; i < instance->n_fields && n < 64; i++) {
        known[n++] = instance->fields[i].name;
    }
    near = error_suggest(name, known, n);
    if (near != NULL) {
        return luaL_error(L,
                          "unknown field '%s' of the row, did you mean '%s'? Fields that the "
                          "function does not name are listed in needs = { ... }",
                          name, near);
    }
    return luaL_error(L,
                      "the field '%s' of the row was not asked for; list it in needs = { \"%s\" }",
                      name, name);
}

/* A field of the row's: its bytes count towards what the row may take. */
static void push_field(lua_State *L, struct cell_type type, const struct ArrowArray *array,
                       int64_t row)
{
    uint64_t bytes = 0;
    size_t n;

    if (type.list && !sluice_is_null(array, row)) {
        const int32_t *offsets = array->buffers[1];
        bytes = 8 * (uint64_t)(offsets[row + 1] - offsets[row]);
    } else if (type.cell >= CELL_TEXT && !sluice_is_null(array, row)) {
        sluice_text(array, row, &n);
        bytes = n;
    }
    sandbox_reads(L, bytes);
    luarow_push_value(L, type, array, row);
}

/* __index behind the cache; upvalue: the worker. Arguments: the cache, the name. */
static int load_field(lua_State *L)
{
    struct luaworker *worker = lua_touserdata(L, lua_upvalueindex(1));
    const struct luainstance *instance = worker->instance;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    uint32_t k = 0;

    if (name == NULL) {
        return luaL_error(L, "a row has named fields, found [%s]", luaL_typename(L, 2));
    }
    while (k < instance->n_fields && worker->names[k] != name) {
        k++;
    }
    if (k == instance->n_fields) { /* long names are not shared */
        for (k = 0; k < instance->n_fields && strcmp(worker->names[k], name) != 0; k++) {
        }
    }
    if (k == instance->n_fields) {
        return unknown_field(L, worker, name);
    }
    if (!worker->active) {
        return luaL_error(L, "the row is read after its function returned");
    }
    if (instance->fields[k].index < 0) {
        lua_pushnil(L);
        return 1;
    }
    push_field(L, instance->fields[k].type, worker->array->children[instance->fields[k].index],
               worker->row);
    if (!lua_isnil(L, -1)) {
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_rawset(L, 1);
        worker->loaded[k] = true;
        worker->n_loaded++;
    }
    return 1;
}

static int refuse_write(lua_State *L)
{
    return luaL_error(L, "a row can't be changed (field '%s'); s.annotate returns new columns",
                      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2));
}

static int refuse_pairs(lua_State *L)
{
    return luaL_error(L, "the fields of a row can't be listed; name them: doc.text");
}

void luarow_push(struct luaworker *worker)
{
    lua_State *L = worker->L;
    int doc, cache;

    lua_newuserdatauv(L, 1, 0);
    doc = lua_gettop(L);
    lua_newtable(L);
    cache = lua_gettop(L);
    lua_createtable(L, 0, 1); /* of the cache */
    lua_pushlightuserdata(L, worker);
    lua_pushcclosure(L, load_field, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, cache);
    lua_createtable(L, 0, 5); /* of doc */
    lua_pushvalue(L, cache);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_write);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, refuse_pairs);
    lua_setfield(L, -2, "__pairs");
    lua_pushliteral(L, "row");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, doc);
}

void luarow_set(struct luaworker *worker, const struct ArrowArray *array, int64_t row)
{
    worker->array = array;
    worker->row = row;
    worker->active = true;
}

void luarow_clear(struct luaworker *worker)
{
    lua_State *L = worker->L;

    worker->active = false;
    for (uint32_t k = 0; worker->n_loaded > 0 && k < worker->instance->n_fields; k++) {
        if (worker->loaded[k]) {
            lua_pushvalue(L, AT_NAMES + (int)k);
            lua_pushnil(L);
            lua_rawset(L, AT_CACHE);
            worker->loaded[k] = false;
        }
    }
    worker->n_loaded = 0;
}
