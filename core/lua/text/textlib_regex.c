/* Methods of strings that take a regular expression, in the syntax of PCRE2, each compiled once a
 * state. See textlib.h.
 *
 * Only PCRE2's interpreter runs: how many steps a match takes is the same for it on every machine,
 * and its limit decides what a row becomes; compiled to machine code it would count other ones. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <lauxlib.h>
#include <string.h>

#include "lua/text/textlibInt.h"

#define REGEX_BYTES 65536        /* of an expression */
#define MATCH_LIMIT 1000000u     /* steps of one match */
#define HEAP_LIMIT (16u * 1024u) /* KiB that it may remember places in */
#define GROUPS_MOST 32
#define PRICE 20 /* of a match, beside a step for each PER bytes */
#define PER 16

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint32_t n_groups;
};

/* A search for one match after the other. */
struct search {
    const struct regex *regex;
    const char *source, *text;
    size_t n, from;
    uint32_t how;
    const size_t *spans; /* of the match: its begin and end, then those of its groups */
};

static int regex_gc(lua_State *L)
{
    struct regex *regex = lua_touserdata(L, 1);

    pcre2_code_free(regex->code);
    pcre2_match_data_free(regex->data);
    pcre2_match_context_free(regex->context);
    *regex = (struct regex){ NULL, NULL, NULL, 0 };
    return 0;
}

/* Compiles an expression; the userdata stays on the stack. */
static void compile(lua_State *L, const char *source, size_t n)
{
    struct regex *regex = lua_newuserdatauv(L, sizeof *regex, 0);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    PCRE2_UCHAR reason[200];
    PCRE2_SIZE at = 0;
    int code = 0;

    *regex = (struct regex){ NULL, NULL, NULL, 0 };
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, regex_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    regex->code = pcre2_compile((PCRE2_SPTR)source, n, options, &code, &at, NULL);
    if (regex->code == NULL) {
        (void)pcre2_get_error_message(code, reason, sizeof reason);
        luaL_error(L, "the regular expression '%s' is none: %s at its byte %d", source,
                   (const char *)reason, (int)at + 1);
    }
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &regex->n_groups);
    if (regex->n_groups > GROUPS_MOST) {
        luaL_error(L,
                   "a regular expression has %d groups, at most %d are possible; (?:...) is none",
                   (int)regex->n_groups, GROUPS_MOST);
    }
    regex->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    regex->context = pcre2_match_context_create(NULL);
    if (regex->data == NULL || regex->context == NULL) {
        luaL_error(L, "not enough memory");
    }
    (void)pcre2_set_match_limit(regex->context, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(regex->context, HEAP_LIMIT);
}

/* The expression at index; the state keeps it for this call. */
static const struct regex *regex_at(lua_State *L, int index)
{
    static const char key = 0; /* its address */
    size_t n;

    (void)luaL_checklstring(L, index, &n);
    luaL_argcheck(L, n <= REGEX_BYTES, index, "a regular expression of more than 64 KiB");
    return textlib_kept(L, &key, index, compile);
}

/* ---- matches ---- */

/* A search in the string at 1 for the expression at 2. */
static struct search search_of(lua_State *L)
{
    struct search search = { .from = 0 };

    search.text = luaL_checklstring(L, 1, &search.n);
    search.regex = regex_at(L, 2);
    search.source = lua_tostring(L, 2);
    return search;
}

/* The next match; false: there are no more. */
static bool search_next(lua_State *L, struct search *search)
{
    const struct regex *regex = search->regex;
    int found;

    sandbox_charge(L, PRICE);
    sandbox_look(L);
    found = pcre2_match(regex->code, (PCRE2_SPTR)search->text, search->n, search->from, search->how,
                        regex->data, regex->context);
    if (found == PCRE2_ERROR_NOMATCH) {
        sandbox_charge(L, (search->n - search->from) / PER);
        return false;
    }
    if (found == PCRE2_ERROR_NOMEMORY) {
        luaL_error(L, "not enough memory");
    }
    if (found < 0) {
        luaL_error(L,
                   "the regular expression '%s' takes more than %d steps on this text; possessive "
                   "quantifiers (a++) and atomic groups (?>...) do not go back",
                   search->source, (int)MATCH_LIMIT);
    }
    search->spans = pcre2_get_ovector_pointer(regex->data);
    if (search->spans[0] > search->spans[1]) { /* \K in a lookahead */
        luaL_error(L, "the regular expression '%s' ends a match before it begins", search->source);
    }
    sandbox_charge(L, (search->spans[1] - search->from) / PER);
    search->how = search->spans[0] == search->spans[1] ? PCRE2_NOTEMPTY_ATSTART : 0;
    search->from = search->spans[1];
    return true;
}

/* Pushes group k of the match; false stands for one that took no part. */
static void push_group(lua_State *L, const struct search *search, uint32_t k)
{
    size_t begin = search->spans[2 * k];

    if (begin == PCRE2_UNSET) {
        lua_pushboolean(L, false);
    } else {
        lua_pushlstring(L, search->text + begin, search->spans[2 * k + 1] - begin);
    }
}

int textlib_matches(lua_State *L)
{
    struct search search = search_of(L);

    lua_pushboolean(L, search_next(L, &search));
    return 1;
}

int textlib_match_count(lua_State *L)
{
    struct search search = search_of(L);
    lua_Integer n = 0;

    while (search_next(L, &search)) {
        n++;
    }
    lua_pushinteger(L, n);
    return 1;
}

int textlib_match_first(lua_State *L)
{
    struct search search = search_of(L);
    lua_Integer from = luaL_optinteger(L, 3, 1);

    luaL_argcheck(L, from >= 1, 3, "positions begin with 1");
    if ((uint64_t)from - 1 > search.n) {
        luaL_pushfail(L);
        return 1;
    }
    search.from = (size_t)from - 1;
    if (!search_next(L, &search)) {
        luaL_pushfail(L);
        return 1;
    }
    luaL_checkstack(L, GROUPS_MOST + 2, "groups");
    lua_pushinteger(L, (lua_Integer)search.spans[0] + 1);
    lua_pushinteger(L, (lua_Integer)search.spans[1]);
    for (uint32_t k = 1; k <= search.regex->n_groups; k++) {
        push_group(L, &search, k);
    }
    return (int)search.regex->n_groups + 2;
}

int textlib_all_matches(lua_State *L)
{
    struct search search = search_of(L);
    uint32_t group = search.regex->n_groups > 0 ? 1 : 0;

    lua_newtable(L);
    for (lua_Integer n = 1; search_next(L, &search); n++) {
        push_group(L, &search, group);
        lua_rawseti(L, -2, n);
    }
    return 1;
}

/* Adds what stands for a match: `with`, in which $0 is the match, $1 its first group, $$ a
 * dollar. */
static void add_replaced(lua_State *L, luaL_Buffer *out, const struct search *search,
                         const char *with, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *dollar = memchr(with + i, '$', n - i);
        size_t plain = dollar == NULL ? n - i : (size_t)(dollar - (with + i));
        uint32_t k;
        luaL_addlstring(out, with + i, plain);
        i += plain + 1;
        if (dollar == NULL) {
            return;
        }
        if (i < n && with[i] == '$') {
            luaL_addchar(out, '$');
            continue;
        }
        k = i < n && with[i] >= '0' && with[i] <= '9' ? (uint32_t)(with[i] - '0') : UINT32_MAX;
        if (k > search->regex->n_groups) {
            luaL_error(L,
                       "the replacement '%s': found a $, expected $0, $1 … for a group of the "
                       "expression, or $$",
                       with);
        }
        if (search->spans[2 * k] != PCRE2_UNSET) {
            luaL_addlstring(out, search->text + search->spans[2 * k],
                            search->spans[2 * k + 1] - search->spans[2 * k]);
        }
    }
}

int textlib_replace_matches(lua_State *L)
{
    struct search search = search_of(L);
    size_t n;
    const char *with = luaL_checklstring(L, 3, &n);
    size_t done = 0;
    lua_Integer times = 0;
    luaL_Buffer out;

    luaL_buffinit(L, &out);
    while (search_next(L, &search)) {
        luaL_addlstring(&out, search.text + done, search.spans[0] - done);
        sandbox_charge(L, n / PER);
        add_replaced(L, &out, &search, with, n);
        done = search.spans[1];
        times++;
    }
    luaL_addlstring(&out, search.text + done, search.n - done);
    luaL_pushresult(&out);
    lua_pushinteger(L, times);
    return 2;
}
