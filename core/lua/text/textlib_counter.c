/* s:counter(): how often each word of a text occurs. A script that counts in a table pays for a
 * string and a table entry a word; here a word is a span of the text. All memory is the script's.
 * See textlib.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/text/textlibInt.h"

#define COUNTER "counter"

struct counter { /* user value 1: the text; 2: the order, once somebody asked for it */
    const char *text;
    uint64_t total;
    struct text_tally tally;  /* of words, each once; its counts are those of the text */
    struct text_span words[]; /* distinct, in the order of their first occurrence */
};

static struct counter *self(lua_State *L)
{
    return luaL_checkudata(L, 1, COUNTER);
}

static uint32_t times(const struct counter *counter, uint32_t word)
{
    return counter->tally.entries[word].count;
}

static int by_word(const void *left, const void *right, void *ctx)
{
    const struct counter *counter = ctx;
    struct text_span a = counter->words[*(const uint32_t *)left];
    struct text_span b = counter->words[*(const uint32_t *)right];
    size_t na = a.end - a.begin;
    size_t nb = b.end - b.begin;
    int order = memcmp(counter->text + a.begin, counter->text + b.begin, na < nb ? na : nb);

    return order != 0 ? order : na < nb ? -1 : na > nb;
}

/* More often first, then by bytes. */
static int by_count(const void *left, const void *right, void *ctx)
{
    uint32_t a = times(ctx, *(const uint32_t *)left);
    uint32_t b = times(ctx, *(const uint32_t *)right);

    return a != b ? (a > b ? -1 : 1) : by_word(left, right, ctx);
}

/* Pushes the words of a counter in an order. */
static uint32_t *push_order(lua_State *L, const struct counter *counter,
                            int (*order)(const void *, const void *, void *))
{
    size_t n = counter->tally.count;
    uint32_t *words = lua_newuserdatauv(L, (n + 1) * sizeof *words, 0);

    sandbox_charge(L, 8 * n);
    for (uint32_t k = 0; k < n; k++) {
        words[k] = k;
    }
    qsort_r(words, n, sizeof *words, order, (void *)(uintptr_t)counter);
    return words;
}

/* Pushes the counter of n pieces of the string at index. */
static int push_counter(lua_State *L, int text, const struct text_span *pieces, size_t n)
{
    struct text_tally all;
    struct counter *counter;
    size_t distinct;

    text = lua_absindex(L, text);
    sandbox_charge(L, 4 * n);
    text_tally_init(&all, textlib_memory(L, text_tally_bytes(n)), n);
    text_tally_pieces(&all, lua_tostring(L, text), pieces, n, NULL);
    distinct = all.count;
    counter = lua_newuserdatauv(
        L, sizeof *counter + distinct * sizeof *counter->words + text_tally_bytes(distinct), 2);
    counter->text = lua_tostring(L, text);
    counter->total = n;
    for (size_t k = 0; k < distinct; k++) {
        counter->words[k] = pieces[all.entries[k].first];
    }
    text_tally_init(&counter->tally, counter->words + distinct, distinct);
    text_tally_pieces(&counter->tally, counter->text, counter->words, distinct, NULL);
    for (size_t k = 0; k < distinct; k++) {
        counter->tally.entries[k].count = all.entries[k].count;
    }
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, COUNTER);
    return 1;
}

int textlib_counter(lua_State *L)
{
    enum text_word_rule rule;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    return push_counter(L, 1, doc->words, doc->n_words);
}

int textlib_pieces_counter(lua_State *L)
{
    const struct pieces *pieces = textlib_pieces_self(L);

    lua_getiuservalue(L, 1, 1);
    return push_counter(L, -1, pieces->spans, pieces->n);
}

static void push_word(lua_State *L, const struct counter *counter, uint32_t word)
{
    struct text_span span = counter->words[word];

    lua_pushlstring(L, counter->text + span.begin, span.end - span.begin);
}

static int counter_total(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)self(L)->total);
    return 1;
}

static int counter_distinct(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)self(L)->tally.count);
    return 1;
}

static const struct text_tally_entry *find(lua_State *L, const struct counter *counter, int index)
{
    size_t size;
    const char *word = luaL_checklstring(L, index, &size);

    return text_tally_find(&counter->tally, counter->text, counter->words, word, size);
}

/* c:count(word), or the words of a list together: each counts once, however often it is listed. */
static int counter_count(lua_State *L)
{
    const struct counter *counter = self(L);
    size_t distinct = counter->tally.count;
    lua_Integer found = 0;
    const struct text_tally_entry *entry;
    uint8_t *counted;

    if (lua_type(L, 2) != LUA_TTABLE) {
        entry = find(L, counter, 2);
        lua_pushinteger(L, entry == NULL ? 0 : (lua_Integer)entry->count);
        return 1;
    }
    sandbox_charge(L, distinct / 8);
    counted = textlib_memory(L, distinct);
    memset(counted, 0, distinct);
    for (lua_Integer k = 1, n = luaL_len(L, 2); k <= n; k++) {
        lua_geti(L, 2, k);
        entry = find(L, counter, -1);
        lua_pop(L, 1);
        if (entry != NULL && !counted[entry - counter->tally.entries]) {
            counted[entry - counter->tally.entries] = 1;
            found += (lua_Integer)entry->count;
        }
    }
    lua_pushinteger(L, found);
    return 1;
}

/* c:top(n): array of { word, count }, most frequent first, ties by bytes. */
static int counter_top(lua_State *L)
{
    const struct counter *counter = self(L);
    lua_Integer most = luaL_checkinteger(L, 2);
    lua_Integer distinct = (lua_Integer)counter->tally.count;
    const uint32_t *order;

    luaL_argcheck(L, most >= 0, 2, "found a number below 0");
    order = push_order(L, counter, by_count);
    most = most < distinct ? most : distinct;
    lua_createtable(L, (int)most, 0);
    for (lua_Integer i = 0; i < most; i++) {
        lua_createtable(L, 2, 0);
        push_word(L, counter, order[i]);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)times(counter, order[i]));
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* Upvalues: the counter, the place, the order. */
static int counter_next(lua_State *L)
{
    const struct counter *counter = lua_touserdata(L, lua_upvalueindex(1));
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2));
    const uint32_t *order = lua_touserdata(L, lua_upvalueindex(3));

    if (at >= (lua_Integer)counter->tally.count) {
        return 0;
    }
    lua_pushinteger(L, at + 1);
    lua_replace(L, lua_upvalueindex(2));
    push_word(L, counter, order[at]);
    lua_pushinteger(L, (lua_Integer)times(counter, order[at]));
    return 2;
}

static int counter_pairs(lua_State *L)
{
    const struct counter *counter = self(L);

    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    if (lua_getiuservalue(L, 1, 2) == LUA_TNIL) {
        lua_pop(L, 1);
        push_order(L, counter, by_word);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, 2);
    }
    lua_pushcclosure(L, counter_next, 3);
    return 1;
}

void textlib_open_counter(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "total", counter_total },
        { "distinct", counter_distinct },
        { "count", counter_count },
        { "top", counter_top },
        { NULL, NULL },
    };

    luaL_newmetatable(L, COUNTER);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, counter_pairs);
    lua_setfield(L, -2, "__pairs");
    lua_pushcfunction(L, counter_distinct);
    lua_setfield(L, -2, "__len");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
