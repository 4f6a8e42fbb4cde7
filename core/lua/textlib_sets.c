/* Sets of characters, as text methods take them. See textlib.h.
 *
 * A set is written like the inside of a pattern's brackets: characters, and ranges `a-z`; a `-` at either end stands for itself. */
#include <lauxlib.h>
#include <string.h>

#include "lua/textlibInt.h"

#define RANGES_MOST 1024 /* of a set */
#define SETS_MOST 64     /* kept */

struct set {
    bool ascii[128];
    size_t n;
    uint32_t ranges[RANGES_MOST][2]; /* outside ASCII, ascending */
};

/* Adds [first, last], keeping the order; a set is written in order, or nearly. */
static void set_add(lua_State *L, struct set *set, uint32_t first, uint32_t last)
{
    size_t at;

    for (uint32_t cp = first; cp <= last && cp < 128; cp++) {
        set->ascii[cp] = true;
    }
    if (last < 128) {
        return;
    }
    if (set->n == RANGES_MOST) {
        luaL_error(L, "a set of characters has more than %d ranges; write neighbours as one range",
                   RANGES_MOST);
    }
    at = set->n++;
    for (; at > 0 && set->ranges[at - 1][0] > first; at--) {
        memcpy(set->ranges[at], set->ranges[at - 1], sizeof set->ranges[at]);
    }
    set->ranges[at][0] = first < 128 ? 128 : first;
    set->ranges[at][1] = last;
}

static void set_parse(lua_State *L, int index, struct set *set)
{
    size_t len;
    const char *text = luaL_checklstring(L, index, &len);

    for (size_t at = 0; at < len;) {
        uint32_t first;
        uint32_t last;
        at += text_utf8_decode(text, len, at, &first);
        last = first;
        if (at + 1 < len && text[at] == '-') {
            at++;
            at += text_utf8_decode(text, len, at, &last);
            if (last < first) {
                luaL_argerror(L, index, "a range of characters ends before it begins");
            }
        }
        set_add(L, set, first, last);
    }
}

/* The set written in the string at index. The registry keeps what was parsed, some sets at a time. */
static const struct set *set_at(lua_State *L, int index)
{
    static const char key = 0; /* its address */
    struct set *set;

    luaL_checkstring(L, index);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    }
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    set = lua_touserdata(L, -1);
    if (set == NULL) {
        lua_Integer count;
        lua_pop(L, 1);
        lua_rawgeti(L, -1, 0);
        count = lua_tointeger(L, -1);
        lua_pop(L, 1);
        if (count >= SETS_MOST) {
            lua_pop(L, 1);
            lua_newtable(L);
            lua_pushvalue(L, -1);
            lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
            count = 0;
        }
        set = lua_newuserdatauv(L, sizeof *set, 0);
        memset(set, 0, sizeof *set);
        set_parse(L, index, set);
        lua_pushvalue(L, index);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
        lua_pushinteger(L, count + 1);
        lua_rawseti(L, -3, 0);
    }
    lua_pop(L, 2); /* the table holds the set, at least until the next is made */
    return set;
}

/* Whether a character outside ASCII is in the set: in the last range that begins at or before it, or one before (ranges may overlap). */
static bool set_has(const struct set *set, uint32_t cp)
{
    size_t low = 0;
    size_t high = set->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle][0] <= cp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low > 0) {
        low--;
        if (cp <= set->ranges[low][1]) {
            return true;
        }
    }
    return false;
}

static bool has(const struct set *set, uint32_t cp)
{
    return cp < 128 ? set->ascii[cp] : set->n > 0 && set_has(set, cp);
}

int textlib_count_in(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    const struct set *set = set_at(L, 2);
    lua_Integer count = 0;

    for (size_t at = 0; at < len;) {
        uint32_t cp = (unsigned char)text[at];
        at += cp < 128 ? 1 : text_utf8_decode(text, len, at, &cp);
        count += has(set, cp);
    }
    lua_pushinteger(L, count);
    return 1;
}

int textlib_strip_in(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    const struct set *set = set_at(L, 2);
    size_t begin = 0;
    size_t end = len;

    while (begin < len) {
        uint32_t cp;
        size_t n = text_utf8_decode(text, len, begin, &cp);
        if (!has(set, cp)) {
            break;
        }
        begin += n;
    }
    while (end > begin) {
        uint32_t cp;
        size_t before = text_utf8_prev(text, end, &cp);
        if (!has(set, cp)) {
            break;
        }
        end = before;
    }
    lua_pushlstring(L, text + begin, end - begin);
    return 1;
}
