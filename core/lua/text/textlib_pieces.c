/* s:pieces(how): a text cut into words, lines or whatever stands between separators, and what is
 * asked of all pieces at once. A script that asks piece by piece pays for a string and a call each;
 * here a piece is a span of the text. All memory that outlives a call is the script's. Depends on
 * text_pieces.h and text_tally.h. See textlib.h. */
#include <lauxlib.h>
#include <string.h>

#include "lua/text/textlibInt.h"

#define PIECES "pieces"
#define NEEDLES_MOST 4096

struct pieces *textlib_pieces_self(lua_State *L)
{
    return luaL_checkudata(L, 1, PIECES);
}

/* Pushes n pieces of the string at index, copied from spans; NULL: the caller fills them in. */
static struct pieces *push_pieces(lua_State *L, int text, const struct text_span *spans, size_t n)
{
    struct pieces *pieces;

    text = lua_absindex(L, text);
    sandbox_charge(L, n / 8 + 8);
    pieces = lua_newuserdatauv(L, sizeof *pieces + n * sizeof *spans, 1);
    pieces->text = lua_tostring(L, text);
    pieces->n = n;
    if (n > 0 && spans != NULL) {
        memcpy(pieces->spans, spans, n * sizeof *spans);
    }
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, PIECES);
    return pieces;
}

/* ---- how a text is cut ---- */

struct how {
    const char *by; /* a rule's name, or NULL */
    const char *at; /* a separator, or NULL */
    size_t at_len;
    const struct text_set *between, *strip_set; /* or NULL */
    bool strip;
    enum text_pieces_drop drop;
};

/* The field of the table at 2, pushed; false and nothing pushed when there is none. */
static bool field(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    if (lua_rawget(L, 2) != LUA_TNIL) {
        return true;
    }
    lua_pop(L, 1);
    return false;
}

/* Refuses a table at 2 with other fields. Of several the first by name is told of: the order of a
 * table is not the same everywhere. */
static void check_fields(lua_State *L)
{
    static const char *const known[] = { "by", "at", "between", "strip", "drop" };
    const char *unknown = NULL;

    lua_pushnil(L);
    while (lua_next(L, 2) != 0) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[a number]";
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(name, known[k]) != 0) {
            k++;
        }
        if (k == sizeof known / sizeof known[0] && (unknown == NULL || strcmp(name, unknown) < 0)) {
            unknown = name; /* the table holds it */
        }
        lua_pop(L, 1);
    }
    if (unknown != NULL) {
        luaL_error(L, "unknown field '%s' of pieces; expected by, at or between, strip and drop",
                   unknown);
    }
}

/* Reads the rule's name or the table at 2, which holds the values for the caller. */
static struct how read_how(lua_State *L)
{
    static const char *const drops[] = { "empty", "blank", NULL };
    struct how how = { 0 };

    if (lua_type(L, 2) == LUA_TSTRING) {
        how.by = lua_tostring(L, 2);
        return how;
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    sandbox_thaw(L, 2);
    check_fields(L);
    if (field(L, "by")) {
        how.by = luaL_checkstring(L, -1);
    }
    if (field(L, "at")) {
        how.at = luaL_checklstring(L, -1, &how.at_len);
        luaL_argcheck(L, how.at_len > 0, 2, "an empty separator cuts nowhere");
    }
    if (field(L, "between")) {
        how.between = textlib_set(L, -1);
    }
    if (field(L, "strip")) {
        how.strip = lua_isboolean(L, -1) && lua_toboolean(L, -1);
        how.strip_set = lua_isboolean(L, -1) ? NULL : textlib_set(L, -1);
    }
    if (field(L, "drop")) {
        how.drop = (enum text_pieces_drop)(TEXT_DROP_EMPTY + luaL_checkoption(L, -1, NULL, drops));
    }
    if ((how.by != NULL) + (how.at != NULL) + (how.between != NULL) != 1) {
        luaL_error(L,
                   "pieces are cut `by` a rule, `at` a separator or `between` characters of a set; "
                   "expected one of them, found %d",
                   (how.by != NULL) + (how.at != NULL) + (how.between != NULL));
    }
    return how;
}

/* Cuts the text at 1 into the state's spans. */
static struct text_spans *cut(lua_State *L, const struct how *how)
{
    struct textlib *lib = textlib_of(L);
    struct analysis *slot = textlib_analysis(L);
    struct text_spans *spans = &lib->spans;
    struct sluice_error *err = textlib_error(L);
    sluice_status status;

    sandbox_charge(L, slot->len / 8);
    spans->count = 0;
    if (how->at != NULL) {
        status = text_split_at(slot->text, slot->len, how->at, how->at_len, spans, err);
    } else if (how->between != NULL) {
        status = text_split_between(slot->text, slot->len, how->between, spans, err);
    } else if (strcmp(how->by, "lines") == 0) {
        status = text_splitlines(slot->text, slot->len, spans, err);
    } else if (strcmp(how->by, "sentences") == 0) {
        status = text_sentences(slot->text, slot->len, spans, err);
    } else {
        const struct text_doc *doc = textlib_words_by(L, how->by);
        status = text_spans_reserve(spans, doc->n_words, err);
        if (status == SLUICE_OK && doc->n_words > 0) {
            memcpy(spans->data, doc->words, doc->n_words * sizeof *spans->data);
            spans->count = doc->n_words;
        }
    }
    textlib_check(L, status, err);
    if (how->strip || how->strip_set != NULL || how->drop != TEXT_DROP_NONE) {
        text_pieces_strip(slot->text, spans, how->strip, how->strip_set, how->drop);
    }
    return spans;
}

int textlib_pieces(lua_State *L)
{
    struct how how = read_how(L);
    struct text_spans *spans = cut(L, &how);

    push_pieces(L, 1, spans->data, spans->count);
    return 1;
}

/* ---- some of them ---- */

/* The strings of the list at 2, or the one string there. */
static struct text_string *read_needles(lua_State *L, size_t *n)
{
    struct text_string *needles;

    if (lua_type(L, 2) == LUA_TSTRING) {
        needles = lua_newuserdatauv(L, sizeof *needles, 0);
        needles->data = lua_tolstring(L, 2, &needles->len);
        *n = 1;
        return needles;
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    *n = (size_t)luaL_len(L, 2);
    luaL_argcheck(L, *n <= NEEDLES_MOST, 2, "at most 4096 strings");
    needles = lua_newuserdatauv(L, (*n + 1) * sizeof *needles, 0);
    for (size_t k = 0; k < *n; k++) {
        if (lua_geti(L, 2, (lua_Integer)k + 1) != LUA_TSTRING) {
            luaL_argerror(L, 2, "expected a string or a list of strings");
        }
        needles[k].data = lua_tolstring(L, -1, &needles[k].len); /* the list holds it */
        lua_pop(L, 1);
    }
    return needles;
}

static int having(lua_State *L, enum text_pieces_where where)
{
    const struct pieces *self = textlib_pieces_self(L);
    size_t n;
    const struct text_string *needles = read_needles(L, &n);
    struct text_span *found =
        textlib_memory(L, self->n * sizeof *found); /* nothing below uses it for something else */

    sandbox_charge(L, self->n * (n + 1));
    n = text_pieces_having(self->text, self->spans, self->n, needles, n, where, found);
    lua_getiuservalue(L, 1, 1);
    push_pieces(L, -1, found, n);
    return 1;
}

static int pieces_starting(lua_State *L)
{
    return having(L, TEXT_AT_BEGIN);
}
static int pieces_ending(lua_State *L)
{
    return having(L, TEXT_AT_END);
}
static int pieces_containing(lua_State *L)
{
    return having(L, TEXT_ANYWHERE);
}

/* Memory of `extra` bytes, a multiple of 8, and a tally behind it for at most `most`. */
static void *tally_begin(lua_State *L, struct text_tally *tally, size_t extra, size_t most)
{
    char *memory = textlib_memory(L, extra + text_tally_bytes(most));

    sandbox_charge(L, 4 * most);
    text_tally_init(tally, memory + extra, most);
    return memory;
}

static int pieces_distinct(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);
    struct text_tally tally;
    struct pieces *out;

    tally_begin(L, &tally, 0, self->n);
    text_tally_pieces(&tally, self->text, self->spans, self->n, NULL);
    lua_getiuservalue(L, 1, 1);
    out = push_pieces(L, -1, NULL, tally.count);
    for (size_t k = 0; k < tally.count; k++) {
        out->spans[k] = self->spans[tally.entries[k].first];
    }
    return 1;
}

/* ---- numbers ---- */

static int pieces_chars(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);

    sandbox_charge(L, self->n);
    lua_pushinteger(L, (lua_Integer)text_pieces_chars(self->text, self->spans, self->n));
    return 1;
}

static int pieces_longest(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);

    sandbox_charge(L, self->n);
    lua_pushinteger(L, (lua_Integer)text_pieces_longest(self->text, self->spans, self->n));
    return 1;
}

static int pieces_count(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)textlib_pieces_self(L)->n);
    return 1;
}

/* p[i]: a piece as a string, nil past the end; p.name: a method. Upvalue: the methods. */
static int pieces_index(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);
    lua_Integer i;

    if (lua_isinteger(L, 2)) {
        i = lua_tointeger(L, 2);
        if (i < 1 || (uint64_t)i > self->n) {
            lua_pushnil(L);
        } else {
            struct text_span span = self->spans[i - 1];
            lua_pushlstring(L, self->text + span.begin, span.end - span.begin);
        }
        return 1;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
        return luaL_error(L,
                          "pieces have no method '%s'; expected starting, ending, containing, "
                          "distinct, chars, longest, counter, ngrams, top_ngram or "
                          "dup_ngram_chars",
                          luaL_tolstring(L, 2, NULL));
    }
    return 1;
}

/* ---- n-grams ---- */

static size_t ngram_size(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 2);

    luaL_argcheck(L, n >= 1 && n <= 1000, 2, "n-grams have 1 to 1000 pieces");
    return (size_t)n;
}

/* Counts the n-grams of the pieces; again as in text_tally_runs. */
static void count_ngrams(lua_State *L, const struct pieces *self, size_t n, uint8_t **again,
                         struct text_tally *tally)
{
    size_t room = (self->n * (sizeof(uint32_t) + 1) + 7) / 8 * 8;
    uint32_t *ids = tally_begin(L, tally, room, self->n);
    uint8_t *marks = (uint8_t *)(ids + self->n);

    text_tally_pieces(tally, self->text, self->spans, self->n, ids);
    text_tally_init(tally, (char *)ids + room, self->n);
    text_tally_runs(tally, ids, self->n, n, marks);
    if (again != NULL) {
        *again = marks;
    }
}

/* Array of { times =, ngrams = }: that many n-grams occur that often; the most frequent first. */
static int push_times(lua_State *L, struct text_tally *tally)
{
    uint32_t most;
    const uint32_t *times = text_tally_times(tally, &most);
    lua_Integer at = 0;

    lua_newtable(L);
    for (uint32_t k = most; k > 0; k--) {
        if (times[k] > 0) {
            lua_createtable(L, 0, 2);
            lua_pushinteger(L, (lua_Integer)k);
            lua_setfield(L, -2, "times");
            lua_pushinteger(L, (lua_Integer)times[k]);
            lua_setfield(L, -2, "ngrams");
            lua_rawseti(L, -2, ++at);
        }
    }
    return 1;
}

int textlib_char_ngrams(lua_State *L)
{
    struct analysis *slot = textlib_analysis(L);
    size_t n = ngram_size(L);
    size_t count = text_tally_characters(slot->text, slot->len, NULL);
    size_t room = (count * sizeof(uint32_t) + 7) / 8 * 8;
    struct text_tally tally;
    uint32_t *items = tally_begin(L, &tally, room, count);

    text_tally_characters(slot->text, slot->len, items);
    text_tally_runs(&tally, items, count, n, NULL);
    return push_times(L, &tally);
}

static int pieces_ngrams(lua_State *L)
{
    struct text_tally tally;

    count_ngrams(L, textlib_pieces_self(L), ngram_size(L), NULL, &tally);
    return push_times(L, &tally);
}

static int pieces_top_ngram(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);
    size_t n = ngram_size(L);
    struct text_tally tally;
    const struct text_tally_entry *best;
    luaL_Buffer out;

    count_ngrams(L, self, n, NULL, &tally);
    if (tally.count == 0) {
        luaL_pushfail(L);
        return 1;
    }
    best = &tally.entries[0];
    for (size_t k = 1; k < tally.count; k++) {
        best = tally.entries[k].count > best->count ? &tally.entries[k] : best;
    }
    struct text_tally_entry found = *best;
    luaL_buffinit(L, &out);
    for (size_t k = found.first; k < found.first + n; k++) {
        if (k > found.first) {
            luaL_addchar(&out, ' ');
        }
        luaL_addlstring(&out, self->text + self->spans[k].begin,
                        self->spans[k].end - self->spans[k].begin);
    }
    luaL_pushresult(&out);
    lua_pushinteger(L, (lua_Integer)found.count);
    return 2;
}

static int pieces_dup_ngram_chars(lua_State *L)
{
    const struct pieces *self = textlib_pieces_self(L);
    size_t n = ngram_size(L);
    struct text_tally tally;
    uint8_t *again;
    uint64_t chars = 0;
    size_t covered = 0; /* the end of the last n-gram that counts */

    count_ngrams(L, self, n, &again, &tally);
    for (size_t i = 0; i + n <= self->n; i++) {
        if (again[i]) {
            size_t begin = covered > i ? covered : i;
            chars += text_pieces_chars(self->text, self->spans + begin, i + n - begin);
            chars += i + n - begin - (begin == i); /* a space in front of each, but the first */
            covered = i + n;
        }
    }
    lua_pushinteger(L, (lua_Integer)chars);
    return 1;
}

/* ---- the class ---- */

void textlib_open_pieces(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "starting", pieces_starting },
        { "ending", pieces_ending },
        { "containing", pieces_containing },
        { "distinct", pieces_distinct },
        { "chars", pieces_chars },
        { "longest", pieces_longest },
        { "counter", textlib_pieces_counter },
        { "ngrams", pieces_ngrams },
        { "top_ngram", pieces_top_ngram },
        { "dup_ngram_chars", pieces_dup_ngram_chars },
        { NULL, NULL },
    };

    luaL_newmetatable(L, PIECES);
    luaL_newlib(L, methods);
    lua_pushcclosure(L, pieces_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, pieces_count);
    lua_setfield(L, -2, "__len");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
