/* s:counter(): how often each word of a text occurs. A script that counts in a table pays for a string and a table entry a word; here a
 * word is a span of the text. All memory is the script's. See textlib.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "lua/textlibInt.h"

#define COUNTER "counter"

struct entry {
    uint32_t begin, end, count;
};

struct counter { /* user value 1: the text */
    const char *text;
    uint64_t total;
    uint32_t n;             /* distinct words */
    struct entry entries[]; /* in the order of their bytes */
};

static struct counter *self(lua_State *L)
{
    return luaL_checkudata(L, 1, COUNTER);
}

static int compare_words(const char *a, size_t na, const char *b, size_t nb)
{
    int order = memcmp(a, b, na < nb ? na : nb);

    return order != 0 ? order : na < nb ? -1 : na > nb;
}

static int by_word(const void *left, const void *right, void *ctx)
{
    const struct entry *a = left;
    const struct entry *b = right;
    const char *text = ctx;

    return compare_words(text + a->begin, a->end - a->begin, text + b->begin, b->end - b->begin);
}

/* More often first, then by bytes; entries are in that order already, so their places decide. */
static int by_count(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left;
    const struct entry *b = *(const struct entry *const *)right;

    return a->count != b->count ? (a->count > b->count ? -1 : 1) : a < b ? -1 : a > b;
}

/* Counts words into entries through a table of places + 1; returns how many are distinct. */
static uint32_t count_words(const struct text_doc *doc, struct entry *entries, uint32_t *table,
                            size_t mask)
{
    uint32_t n = 0;

    for (size_t i = 0; i < doc->n_words; i++) {
        struct text_span word = doc->words[i];
        size_t size = word.end - word.begin;
        size_t at = (size_t)hash_bytes(doc->text + word.begin, size).lo & mask;
        for (;; at = (at + 1) & mask) {
            struct entry *entry;
            if (table[at] == 0) {
                entries[n] = (struct entry){ word.begin, word.end, 1 };
                table[at] = ++n;
                break;
            }
            entry = &entries[table[at] - 1];
            if (entry->end - entry->begin == size &&
                memcmp(doc->text + entry->begin, doc->text + word.begin, size) == 0) {
                entry->count++;
                break;
            }
        }
    }
    return n;
}

int textlib_counter(lua_State *L)
{
    enum text_word_rule rule;
    const struct text_doc *doc = textlib_words(L, 2, &rule);
    size_t slots = 64;
    uint32_t *table;
    struct entry *entries;
    struct counter *counter;
    uint32_t n;

    sandbox_charge(L, 4 * doc->n_words);
    while (slots < 2 * doc->n_words) {
        slots *= 2;
    }
    table = lua_newuserdatauv(L, slots * sizeof *table, 0);
    memset(table, 0, slots * sizeof *table);
    entries = lua_newuserdatauv(L, (doc->n_words + 1) * sizeof *entries, 0);
    n = count_words(doc, entries, table, slots - 1);
    qsort_r(entries, n, sizeof *entries, by_word, (void *)(uintptr_t)doc->text);
    counter = lua_newuserdatauv(L, sizeof *counter + n * sizeof *entries, 1);
    counter->text = doc->text;
    counter->total = doc->n_words;
    counter->n = n;
    memcpy(counter->entries, entries, n * sizeof *entries);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, COUNTER);
    return 1;
}

static void push_word(lua_State *L, const struct counter *counter, const struct entry *entry)
{
    lua_pushlstring(L, counter->text + entry->begin, entry->end - entry->begin);
}

static int counter_total(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)self(L)->total);
    return 1;
}

static int counter_distinct(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)self(L)->n);
    return 1;
}

static int counter_count(lua_State *L)
{
    const struct counter *counter = self(L);
    size_t size;
    const char *word = luaL_checklstring(L, 2, &size);
    uint32_t low = 0;
    uint32_t high = counter->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct entry *entry = &counter->entries[middle];
        int order =
            compare_words(counter->text + entry->begin, entry->end - entry->begin, word, size);
        if (order == 0) {
            lua_pushinteger(L, (lua_Integer)entry->count);
            return 1;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    lua_pushinteger(L, 0);
    return 1;
}

/* c:top(n): array of { word, count }, most frequent first, ties by bytes. */
static int counter_top(lua_State *L)
{
    const struct counter *counter = self(L);
    lua_Integer most = luaL_checkinteger(L, 2);
    const struct entry **order = lua_newuserdatauv(L, ((size_t)counter->n + 1) * sizeof *order, 0);

    luaL_argcheck(L, most >= 0, 2, "found a number below 0");
    sandbox_charge(L, 8 * (uint64_t)counter->n);
    for (uint32_t i = 0; i < counter->n; i++) {
        order[i] = &counter->entries[i];
    }
    qsort(order, counter->n, sizeof *order, by_count);
    most = most < (lua_Integer)counter->n ? most : (lua_Integer)counter->n;
    lua_createtable(L, (int)most, 0);
    for (lua_Integer i = 0; i < most; i++) {
        lua_createtable(L, 2, 0);
        push_word(L, counter, order[i]);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)order[i]->count);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* Upvalues: the counter, the place. */
static int counter_next(lua_State *L)
{
    const struct counter *counter = lua_touserdata(L, lua_upvalueindex(1));
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2));

    if (at >= (lua_Integer)counter->n) {
        return 0;
    }
    lua_pushinteger(L, at + 1);
    lua_replace(L, lua_upvalueindex(2));
    push_word(L, counter, &counter->entries[at]);
    lua_pushinteger(L, (lua_Integer)counter->entries[at].count);
    return 2;
}

static int counter_pairs(lua_State *L)
{
    self(L);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, counter_next, 2);
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
