/* Orders: the keys of tables (integers, floats, strings by bytes, booleans) and table.sort, which
 * is stable here and so gives the same result whatever the comparison thinks of equals. See
 * sandbox.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandboxInt.h"

/* ---- keys ---- */

enum key_rank { RANK_INTEGER, RANK_FLOAT, RANK_STRING, RANK_BOOLEAN };

struct key {
    enum key_rank rank;
    uint64_t order; /* orders most keys of a rank: the first eight bytes of a string, an integer */
    union {
        lua_Integer integer; /* booleans too */
        lua_Number number;
        struct {
            const char *data; /* the table holds the string */
            size_t size;
        } string;
    } as;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left;
    const struct key *b = right;
    size_t n;
    int order;

    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->order != b->order) {
        return a->order < b->order ? -1 : 1;
    }
    switch (a->rank) {
    case RANK_FLOAT:
        return a->as.number < b->as.number ? -1 : a->as.number > b->as.number;
    case RANK_STRING:
        n = a->as.string.size < b->as.string.size ? a->as.string.size : b->as.string.size;
        order = memcmp(a->as.string.data, b->as.string.data, n);
        return order != 0                              ? order
               : a->as.string.size < b->as.string.size ? -1
                                                       : a->as.string.size > b->as.string.size;
    default:
        return a->as.integer < b->as.integer ? -1 : a->as.integer > b->as.integer;
    }
}

/* The key at index, as lua_next gave it (a string's bytes stay where they are). */
static struct key read_key(lua_State *L, int index)
{
    struct key key = { .rank = RANK_INTEGER };

    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) {
            key.as.integer = lua_tointeger(L, index);
            key.order = (uint64_t)key.as.integer ^ UINT64_C(1) << 63;
        } else {
            key.rank = RANK_FLOAT;
            key.as.number = lua_tonumber(L, index);
        }
        break;
    case LUA_TSTRING:
        key.rank = RANK_STRING;
        key.as.string.data = lua_tolstring(L, index, &key.as.string.size);
        for (size_t i = 0; i < 8; i++) {
            key.order = key.order << 8 |
                        (i < key.as.string.size ? (unsigned char)key.as.string.data[i] : 0);
        }
        break;
    case LUA_TBOOLEAN:
        key.rank = RANK_BOOLEAN;
        key.as.integer = lua_toboolean(L, index);
        break;
    default:
        luaL_error(L, "a table with a %s as key has no order; use strings or numbers as keys",
                   luaL_typename(L, index));
    }
    return key;
}

static void push_key(lua_State *L, const struct key *key)
{
    switch (key->rank) {
    case RANK_INTEGER:
        lua_pushinteger(L, key->as.integer);
        break;
    case RANK_FLOAT:
        lua_pushnumber(L, key->as.number);
        break;
    case RANK_STRING:
        lua_pushlstring(L, key->as.string.data, key->as.string.size);
        break;
    case RANK_BOOLEAN:
        lua_pushboolean(L, key->as.integer != 0);
        break;
    }
}

/* Of reading, sorting and giving n keys. */
static uint64_t sort_steps(uint64_t n)
{
    uint64_t steps = 16;

    for (uint64_t k = n; k > 1; k /= 2) {
        steps += 2;
    }
    return n * steps;
}

lua_Integer sandbox_keys(lua_State *L, int index)
{
    size_t n = 0;
    size_t at = 0;
    struct key *keys;

    index = lua_absindex(L, index);
    luaL_checkstack(L, 8, "keys");
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        n++;
    }
    sandbox_charge(L, sort_steps(n));
    keys = lua_newuserdatauv(L, (n + 1) * sizeof *keys, 0);
    for (lua_pushnil(L); lua_next(L, index) != 0 && at < n; lua_pop(L, 1)) {
        keys[at++] = read_key(L, -2);
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    lua_createtable(L, n < 1 << 26 ? (int)n : 0, 0);
    for (size_t i = 0; i < n; i++) {
        push_key(L, &keys[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_remove(L, -2);
    return (lua_Integer)n;
}

void sandbox_key_after(lua_State *L, int index, int after)
{
    struct key floor = { .rank = RANK_INTEGER };
    struct key best = { .rank = RANK_INTEGER };
    bool found = false;
    uint64_t n = 0;

    if (after != 0) {
        floor = read_key(L, after);
    }
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        struct key key = read_key(L, -2);
        n++;
        if ((after == 0 || compare_keys(&key, &floor) > 0) &&
            (!found || compare_keys(&key, &best) < 0)) {
            best = key;
            found = true;
        }
    }
    sandbox_charge(L, n);
    if (found) {
        push_key(L, &best);
    } else {
        lua_pushnil(L);
    }
}

/* ---- table.sort ---- */

/* The stack while sorting: 1 table, 2 comparison or nil, 3 array of the elements, 4 memory for
 * places. */
static bool before(lua_State *L, uint32_t a, uint32_t b)
{
    bool yes;

    sandbox_charge(L, 1);
    if (lua_isnil(L, 2)) {
        lua_rawgeti(L, 3, (lua_Integer)a + 1);
        lua_rawgeti(L, 3, (lua_Integer)b + 1);
        yes = lua_compare(L, -2, -1, LUA_OPLT) != 0;
        lua_pop(L, 2);
        return yes;
    }
    lua_pushvalue(L, 2);
    lua_rawgeti(L, 3, (lua_Integer)a + 1);
    lua_rawgeti(L, 3, (lua_Integer)b + 1);
    lua_call(L, 2, 1);
    yes = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return yes;
}

/* Merges runs from the bottom up; the result is in the array returned. */
static const uint32_t *merge_sort(lua_State *L, uint32_t *from, uint32_t *to, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t middle = begin + width < n ? begin + width : n;
            size_t end = begin + 2 * width < n ? begin + 2 * width : n;
            size_t a = begin;
            size_t b = middle;
            for (size_t k = begin; k < end; k++) {
                /* The right one goes first only if it is less: equals keep their order. */
                bool right = a >= middle || (b < end && before(L, from[b], from[a]));
                to[k] = right ? from[b++] : from[a++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* All strings or all numbers without a comparison: sorted without calling Lua. */
static bool sort_plain(lua_State *L, size_t n)
{
    struct key *keys = lua_newuserdatauv(L, n * sizeof *keys, 0);
    int type = LUA_TNONE;

    for (size_t i = 0; i < n; i++) {
        int found = lua_rawgeti(L, 3, (lua_Integer)i + 1);
        type = i == 0 ? found : type;
        if (found != type || (type != LUA_TNUMBER && type != LUA_TSTRING)) {
            lua_pop(L, 2);
            return false;
        }
        keys[i] = read_key(L, -1);
        if (type == LUA_TNUMBER && (keys[i].rank != RANK_INTEGER || lua_isinteger(L, -1) == 0)) {
            lua_pop(L,
                    2); /* floats: NaN has no order; the general way does what it does everywhere */
            return false;
        }
        lua_pop(L, 1);
    }
    sandbox_charge(L, sort_steps(n));
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++) {
        push_key(L, &keys[i]);
        lua_seti(L, 1, (lua_Integer)i + 1);
    }
    return true;
}

int sandbox_table_sort(lua_State *L)
{
    lua_Integer n = luaL_len(L, 1);
    const uint32_t *sorted;
    uint32_t *places;

    if (n < 2) {
        return 0;
    }
    luaL_argcheck(L, n < 1 << 26, 1, "array too big");
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TFUNCTION);
    }
    lua_settop(L, 2);
    sandbox_charge(L, 2 * (uint64_t)n);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, 1, i);
        lua_rawseti(L, 3, i);
    }
    if (lua_isnil(L, 2) && sort_plain(L, (size_t)n)) {
        return 0;
    }
    places = lua_newuserdatauv(L, 2 * (size_t)n * sizeof *places, 0);
    for (lua_Integer i = 0; i < n; i++) {
        places[i] = (uint32_t)i;
    }
    sorted = merge_sort(L, places, places + n, (size_t)n);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 3, (lua_Integer)sorted[i] + 1);
        lua_seti(L, 1, i + 1);
    }
    return 0;
}
