/* Lists of phrases: core.list makes one while the script is read, and finds it in a worker's state;
 * core.list_* search texts for it while rows run. A list is made once and shared by the states of
 * all workers. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandboxInt.h"
#include "lua/script/bindingsInt.h"
#include "text/text_list.h"
#include "text/text_phrases.h"

#define PRICE 20 /* of a search, beside a step for each PER tokens */
#define PER 4
#define SCRATCH_KEY "sluice.list_scratch"

/* ---- making one ---- */

struct strings {
    struct text_string *items;
    size_t n, room;
};

static sluice_status add_string(struct strings *strings, struct text_string item,
                                struct sluice_error *err)
{
    if (strings->n == strings->room) {
        size_t room = strings->room == 0 ? 256 : 2 * strings->room;
        struct text_string *more = realloc(strings->items, room * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "a list of phrases");
        }
        strings->items = more;
        strings->room = room;
    }
    strings->items[strings->n++] = item;
    return SLUICE_OK;
}

/* The lines of a text without white space around them; those that begin with comment (n bytes) are
 * none. */
static sluice_status read_lines(const char *text, size_t size, const char *comment, size_t n,
                                struct strings *strings, struct sluice_error *err)
{
    struct text_list list = { .data = text, .size = size };
    struct text_string entry;

    while (text_list_next(&list, NULL, &entry)) {
        bool skipped = n > 0 && entry.len >= n && memcmp(entry.data, comment, n) == 0;
        if (entry.len > 0 && !skipped) {
            TRY(add_string(strings, entry, err));
        }
    }
    return SLUICE_OK;
}

static struct script_list *find_list(const struct script *script, const char *spec)
{
    for (size_t i = 0; i < script->n_lists; i++) {
        if (strcmp(script->lists[i].spec, spec) == 0) {
            return &script->lists[i];
        }
    }
    return NULL;
}

static sluice_status make_list(struct script *script, const char *spec, const char *text, size_t n,
                               const char *comment, uint32_t flags, struct script_list **out,
                               struct sluice_error *err)
{
    struct script_list *lists =
        realloc(script->lists, (script->n_lists + 1) * sizeof *script->lists);
    struct strings strings = { NULL, 0, 0 };
    struct script_list *list;
    sluice_status status;

    if (lists == NULL) {
        return error_nomem(err, "a list of phrases");
    }
    script->lists = lists;
    list = &lists[script->n_lists];
    memset(list, 0, sizeof *list);
    status = read_lines(text, n, comment, strlen(comment), &strings, err);
    if (status == SLUICE_OK && strings.n == 0) {
        status = error_set(err, SLUICE_E_CONFIG, "the list has no phrase in it");
    }
    if (status == SLUICE_OK) {
        status =
            error_known(text_phrases_create(strings.items, strings.n, flags, &list->phrases, err));
    }
    free(strings.items);
    if (status == SLUICE_OK) {
        list->spec = str_copy(spec, strlen(spec));
        hash_hex(hash_bytes(text, n), list->hash);
        list->flags = flags;
        snprintf(list->comment, sizeof list->comment, "%s", comment);
        status = list->spec == NULL ? error_nomem(err, "a list of phrases") : SLUICE_OK;
        script->n_lists++;
    }
    *out = list;
    return status;
}

/* core.list(path or nil, text or nil, comment, words, fold) -> a name of what it is, phrases. Of
 * two with the same phrases and options the first stands for both. */
static int core_list(lua_State *L)
{
    struct binding *binding = bindings_of(L);
    struct script *script = binding->script;
    size_t n = 0;
    const char *path = luaL_optstring(L, 1, NULL);
    const char *text = luaL_optlstring(L, 2, NULL, &n);
    const char *comment = luaL_checkstring(L, 3);
    uint32_t flags = (lua_toboolean(L, 4) ? TEXT_PHRASES_WORDS : 0) |
                     (lua_toboolean(L, 5) ? TEXT_PHRASES_FOLD : 0);
    const struct loaded_file *file = NULL;
    struct script_list *list;
    struct sluice_error err = ERROR_INIT;
    const char *spec;
    char hash[33];

    if (path != NULL) {
        if (script_text(script, path, SCRIPT_LIST_BYTES, binding->planning, &file, &err) !=
            SLUICE_OK) {
            return bindings_raise(L, &err);
        }
        text = file->text;
        n = file->size;
        spec = lua_pushfstring(L, "file %d %s %s", (int)flags, comment, path);
    } else {
        luaL_argcheck(L, text != NULL, 2, "expected phrases");
        hash_hex(hash_bytes(text, n), hash);
        spec = lua_pushfstring(L, "text %d %s %s", (int)flags, comment, hash);
    }
    list = find_list(script, spec);
    if (list == NULL && binding->planning) {
        if (make_list(script, spec, text, n, comment, flags, &list, &err) != SLUICE_OK) {
            return bindings_raise(L, &err);
        }
    }
    if (list == NULL) {
        return luaL_error(L,
                          "a list is new in a worker; a script must make the same lists each time");
    }
    lua_pushfstring(L, "%s %d %s", list->hash, (int)list->flags, list->comment);
    lua_pushinteger(L, (lua_Integer)text_phrases_count(list->phrases));
    return 2;
}

/* ---- searching ---- */

static int scratch_gc(lua_State *L)
{
    text_buffer_deinit(lua_touserdata(L, 1));
    return 0;
}

/* Of the state: for one search at a time. */
static struct text_buffer *scratch_of(lua_State *L)
{
    struct text_buffer *scratch;

    if (lua_getfield(L, LUA_REGISTRYINDEX, SCRATCH_KEY) == LUA_TNIL) {
        lua_pop(L, 1);
        scratch = lua_newuserdatauv(L, sizeof *scratch, 0);
        text_buffer_init(scratch);
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, scratch_gc);
        lua_setfield(L, -2, "__gc");
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, SCRATCH_KEY);
    }
    scratch = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return scratch;
}

/* Begins a search for the list named at 1 in the text at 2. */
static void begin(lua_State *L, struct text_phrases_scan *scan)
{
    const struct script *script = bindings_own(L)->script;
    const char *name = luaL_checkstring(L, 1);
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    struct sluice_error err = ERROR_INIT;

    sandbox_charge(L, PRICE);
    sandbox_look(L);
    for (size_t i = 0; i < script->n_lists; i++) {
        const struct script_list *list = &script->lists[i];
        size_t hash = strlen(list->hash);
        char rest[40];
        snprintf(rest, sizeof rest, " %d %s", (int)list->flags, list->comment);
        if (strncmp(name, list->hash, hash) == 0 && strcmp(name + hash, rest) == 0) {
            if (text_phrases_begin(scan, list->phrases, text, n, scratch_of(L), &err) !=
                SLUICE_OK) {
                luaL_error(L, "%s", err.message);
            }
            return;
        }
    }
    luaL_error(L, "no such list");
}

static bool next(lua_State *L, struct text_phrases_scan *scan, struct text_span *match)
{
    uint64_t before = scan->steps;
    bool found = text_phrases_next(scan, match);

    sandbox_charge(L, (scan->steps - before) / PER);
    if (scan->steps > scan->limit) {
        luaL_error(L,
                   "a search for the phrases of a list takes more than %I steps on this text: both "
                   "repeat themselves for long",
                   (lua_Integer)scan->limit);
    }
    return found;
}

/* core.list_next(list, text, from) -> the match's first and last byte, and its text; or nil */
static int core_list_next(lua_State *L)
{
    struct text_phrases_scan scan;
    lua_Integer from = luaL_optinteger(L, 3, 1);
    struct text_span match;

    begin(L, &scan);
    luaL_argcheck(L, from >= 1, 3, "positions begin with 1");
    while (next(L, &scan, &match)) {
        if ((lua_Integer)match.begin + 1 >= from) {
            lua_pushinteger(L, (lua_Integer)match.begin + 1);
            lua_pushinteger(L, match.end);
            lua_pushlstring(L, lua_tostring(L, 2) + match.begin, match.end - match.begin);
            return 3;
        }
    }
    luaL_pushfail(L);
    return 1;
}

/* core.list_count(list, text) -> matches, and their bytes */
static int core_list_count(lua_State *L)
{
    struct text_phrases_scan scan;
    struct text_span match;
    lua_Integer n = 0;
    lua_Integer bytes = 0;

    begin(L, &scan);
    while (next(L, &scan, &match)) {
        n++;
        bytes += match.end - match.begin;
    }
    lua_pushinteger(L, n);
    lua_pushinteger(L, bytes);
    return 2;
}

/* core.list_all(list, text) -> what stands there, match by match */
static int core_list_all(lua_State *L)
{
    struct text_phrases_scan scan;
    const char *text = lua_tostring(L, 2);
    struct text_span match;

    begin(L, &scan);
    lua_newtable(L);
    for (lua_Integer n = 1; next(L, &scan, &match); n++) {
        lua_pushlstring(L, text + match.begin, match.end - match.begin);
        lua_rawseti(L, -2, n);
    }
    return 1;
}

/* core.list_replace(list, text, with) -> text, times */
static int core_list_replace(lua_State *L)
{
    struct text_phrases_scan scan;
    size_t n;
    size_t n_with;
    const char *text = lua_tolstring(L, 2, &n);
    const char *with = luaL_checklstring(L, 3, &n_with);
    struct text_span match;
    size_t done = 0;
    lua_Integer times = 0;
    luaL_Buffer out;

    begin(L, &scan);
    luaL_buffinit(L, &out);
    while (next(L, &scan, &match)) {
        luaL_addlstring(&out, text + done, match.begin - done);
        luaL_addlstring(&out, with, n_with);
        done = match.end;
        times++;
    }
    luaL_addlstring(&out, text + done, n - done);
    luaL_pushresult(&out);
    lua_pushinteger(L, times);
    return 2;
}

/* core.list_has(list, text) -> whether the text is one of its phrases */
static int core_list_has(lua_State *L)
{
    struct text_phrases_scan scan;

    begin(L, &scan);
    sandbox_charge(L, scan.len / 16);
    lua_pushboolean(L, text_phrases_has(&scan));
    return 1;
}

const luaL_Reg bindings_list[] = {
    { "list", core_list },
    { "list_next", core_list_next },
    { "list_count", core_list_count },
    { "list_all", core_list_all },
    { "list_replace", core_list_replace },
    { "list_has", core_list_has },
    { NULL, NULL },
};
