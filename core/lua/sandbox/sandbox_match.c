/* string.find, match, gmatch and gsub as Lua 5.4 has them, over the matcher of sandbox_pattern.h.
 * See sandbox.h. */
#include <string.h>

#include "lua/sandbox/sandbox_pattern.h"
#include "text/text_measure.h"

#define MATCH_STEPS 10 /* of a match that is given or replaced */
#define SPECIALS "^$*+?.([%-"

/* ---- find and match ---- */

/* A position as Lua counts it: 1 and up, or from the end; 0-based result, may lie behind the
 * end. */
static size_t start_position(lua_Integer position, size_t size)
{
    if (position > 0) {
        return (size_t)position - 1;
    }
    if (position == 0 || position < -(lua_Integer)size) {
        return 0;
    }
    return size + (size_t)position;
}

static bool is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\0' && strchr(SPECIALS, p[i]) != NULL) {
            return false;
        }
    }
    return true;
}

static int find_or_match(lua_State *L, bool find)
{
    size_t ls, lp;
    const char *s = luaL_checklstring(L, 1, &ls);
    const char *p = luaL_checklstring(L, 2, &lp);
    size_t init = start_position(luaL_optinteger(L, 3, 1), ls);
    struct matcher m;
    const char *begin, *e;

    if (init > ls) {
        luaL_pushfail(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || is_plain(p, lp))) {
        sandbox_charge(L, (ls - init) / 64);
        size_t at = text_find(s, ls, init, p, lp);
        if (at == ls && (lp > 0 || init > ls)) {
            luaL_pushfail(L);
            return 1;
        }
        lua_pushinteger(L, (lua_Integer)at + 1);
        lua_pushinteger(L, (lua_Integer)(at + lp));
        return 2;
    }
    matcher_init(&m, L, s, ls, p, lp);
    begin = matcher_search(&m, s + init, p, &e);
    matcher_charge(&m);
    if (begin == NULL) {
        luaL_pushfail(L);
        return 1;
    }
    if (find) {
        lua_pushinteger(L, begin - s + 1);
        lua_pushinteger(L, e - s);
        return matcher_push_all(&m, NULL, NULL) + 2;
    }
    return matcher_push_all(&m, begin, e);
}

int sandbox_find(lua_State *L)
{
    return find_or_match(L, true);
}

int sandbox_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* ---- gmatch ---- */

struct gmatch {
    struct matcher m;
    const char *at, *pattern, *last; /* last: where the previous match ended */
};

static int gmatch_next(lua_State *L)
{
    struct gmatch *g = lua_touserdata(L, lua_upvalueindex(3));

    matcher_resume(&g->m, L);
    for (const char *s = g->at; s <= g->m.subject_end; s++) {
        const char *e;
        s = matcher_skip(&g->m, s, g->pattern);
        matcher_begin(&g->m);
        e = matcher_run(&g->m, s, g->pattern);
        if (e != NULL && e != g->last) {
            g->at = g->last = e;
            g->m.steps += MATCH_STEPS;
            matcher_charge(&g->m);
            return matcher_push_all(&g->m, s, e);
        }
    }
    matcher_charge(&g->m);
    g->at = g->m.subject_end + 1;
    return 0;
}

int sandbox_gmatch(lua_State *L)
{
    size_t ls, lp;
    const char *s = luaL_checklstring(L, 1, &ls);
    const char *p = luaL_checklstring(L, 2, &lp);
    size_t init = start_position(luaL_optinteger(L, 3, 1), ls);
    struct gmatch *g;

    lua_settop(L, 2);
    g = lua_newuserdatauv(L, sizeof *g, 0);
    matcher_init(&g->m, L, s, ls, p, lp);
    g->at = s + (init > ls ? ls + 1 : init);
    g->pattern = p;
    g->last = NULL;
    lua_pushcclosure(L, gmatch_next, 3);
    return 1;
}

/* ---- gsub ---- */

static void add_template(struct matcher *m, luaL_Buffer *out, const char *s, const char *e)
{
    lua_State *L = m->L;
    size_t n;
    const char *text = lua_tolstring(L, 3, &n);
    const char *mark;

    while ((mark = memchr(text, '%', n)) != NULL) {
        luaL_addlstring(out, text, (size_t)(mark - text));
        mark++;
        if (*mark == '%') {
            luaL_addchar(out, '%');
        } else if (*mark == '0') {
            luaL_addlstring(out, s, (size_t)(e - s));
        } else if (*mark >= '1' && *mark <= '9') {
            matcher_push(m, *mark - '1', s, e);
            luaL_tolstring(L, -1, NULL); /* a string or a position: no address can show */
            lua_remove(L, -2);
            luaL_addvalue(out);
        } else {
            luaL_error(L, "invalid use of '%%' in replacement string");
        }
        n -= (size_t)(mark + 1 - text);
        text = mark + 1;
    }
    luaL_addlstring(out, text, n);
}

/* Adds what replaces s .. e; true if it is something else than before. */
static bool add_replacement(struct matcher *m, luaL_Buffer *out, const char *s, const char *e,
                            int type)
{
    lua_State *L = m->L;
    int n;

    switch (type) {
    case LUA_TFUNCTION:
        lua_pushvalue(L, 3);
        n = matcher_push_all(m, s, e);
        lua_call(L, n, 1);
        break;
    case LUA_TTABLE:
        matcher_push(m, 0, s, e);
        lua_gettable(L, 3);
        break;
    default:
        add_template(m, out, s, e);
        return true;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, s, (size_t)(e - s));
        return false;
    }
    if (!lua_isstring(L, -1)) {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
    luaL_addvalue(out);
    return true;
}

int sandbox_gsub(lua_State *L)
{
    size_t ls, lp;
    const char *s = luaL_checklstring(L, 1, &ls);
    const char *p = luaL_checklstring(L, 2, &lp);
    int type = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)ls + 1);
    bool anchored = lp > 0 && *p == '^';
    lua_Integer n = 0;
    bool changed = false;
    const char *last = NULL;
    struct matcher m;
    luaL_Buffer out;

    luaL_argexpected(L,
                     type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                         type == LUA_TTABLE,
                     3, "string/function/table");
    lua_settop(L, 4);
    if (type == LUA_TNUMBER) {
        lua_tolstring(L, 3, NULL); /* now a string */
    }
    matcher_init(&m, L, s, ls, p, lp);
    p += anchored;
    luaL_buffinit(L, &out);
    while (n < most) {
        const char *e;
        matcher_begin(&m);
        e = matcher_run(&m, s, p);
        if (e != NULL && e != last) {
            n++;
            m.steps += MATCH_STEPS;
            matcher_charge(&m);
            changed = add_replacement(&m, &out, s, e, type) || changed;
            matcher_resume(&m, L);
            s = last = e;
        } else if (s < m.subject_end) {
            luaL_addchar(&out, *s++);
        } else {
            break;
        }
        if (anchored) {
            break;
        }
    }
    matcher_charge(&m);
    if (!changed) {
        luaL_pushresult(&out); /* releases the buffer */
        lua_pushvalue(L, 1);
    } else {
        luaL_addlstring(&out, s, (size_t)(m.subject_end - s));
        luaL_pushresult(&out);
    }
    lua_pushinteger(L, n);
    return 2;
}
