/* Freezing: after it nothing that a row can reach remembers anything of an earlier row.
 *
 * A table is frozen in place: what it holds moves into a shadow that no script ever gets hold of,
 * and the empty table gets a metatable that reads through to the shadow and refuses writes. So
 * whoever has the table has the frozen one, whichever way he came by it, and the interpreter itself
 * refuses the write: also to a member that exists, which __newindex alone would not see. rawset,
 * rawget, next and their like are ours and know of it. A metatable that is frozen would be empty
 * for the interpreter, so its shadow stands in its place. Upvalues can't be frozen: those that some
 * function within reach assigns (sandbox_slots.c) are compared after each call, bit by bit. What
 * has a state of its own that can be neither frozen nor compared (iterators in C, userdata) is
 * refused. See sandbox.h. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lua/native/ffi_module.h"
#include "lua/sandbox/sandboxInt.h"

/* Where the walk keeps things on its stack. */
#define AT_SEEN 1
#define AT_WORK 2  /* value, path, value, path, ... */
#define AT_SLOTS 3 /* see SLOT_FIELDS */
#define AT_ITEM 4
#define AT_PATH 5

#define SLOT_FIELDS 4 /* function, number of the upvalue, its value, path */
#define PATH_MOST 120

/* In the metatable of a frozen table: its shadow, and the metatable that the script gave it. */
static const char shadow_key = 0;
static const char given_key = 0;
/* In the registry: shadow -> frozen table; the upvalues that are compared. */
static const char owners_key = 0;
static const char slots_key = 0;

/* ---- frozen tables ---- */

bool sandbox_thaw(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) {
        return false;
    }
    if (lua_rawgetp(L, -1, &shadow_key) != LUA_TTABLE) {
        lua_pop(L, 2);
        return false;
    }
    lua_replace(L, index);
    lua_pop(L, 1);
    return true;
}

bool sandbox_is_frozen(lua_State *L, int index)
{
    bool yes;

    lua_pushvalue(L, index);
    yes = sandbox_thaw(L, -1);
    lua_pop(L, 1);
    return yes;
}

void sandbox_given_metatable(lua_State *L)
{
    if (lua_rawgetp(L, -1, &shadow_key) == LUA_TTABLE) { /* of a frozen table */
        lua_pop(L, 1);
        lua_rawgetp(L, -1, &given_key);
        lua_replace(L, -2);
        return;
    }
    lua_pop(L, 1);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &owners_key) == LUA_TTABLE) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, -2) == LUA_TTABLE) { /* a shadow in place of its table */
            lua_replace(L, -3);
            lua_pop(L, 1);
            return;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

int sandbox_refuse_call(lua_State *L)
{
    sandbox_place(L);
    lua_insert(L, -2);
    lua_concat(L, 2);
    return sandbox_end(L, FATAL_STATE);
}

/* what and, behind it, member: "its 'options" and "seen" are "its 'options.seen". */
static const char *dot(const char *what, const char *member)
{
    return member[0] == '\0' || what[strlen(what) - 1] == '\'' ? "" : ".";
}

/* Ends the call: it changes what outlives it. `what` is like "its upvalue 'seen"; member may be "".
 * Doesn't return. */
static int sandbox_refuse_state(lua_State *L, const char *what, const char *member)
{
    lua_pushfstring(L,
                    "the function changes %s%s%s', so results would depend on which worker gets "
                    "which rows; use a local inside the function, or run = \"ordered\"",
                    what, dot(what, member), member);
    return sandbox_refuse_call(L);
}

/* The member at index as text for a message, at most some bytes of it. */
static void member_text(lua_State *L, int index, char text[64])
{
    if (lua_type(L, index) == LUA_TSTRING) {
        snprintf(text, 64, "%.60s", lua_tostring(L, index));
    } else if (lua_isinteger(L, index)) {
        snprintf(text, 64, "%lld", (long long)lua_tointeger(L, index));
    } else {
        snprintf(text, 64, "[%s]", luaL_typename(L, index));
    }
}

/* __newindex; upvalue: the path of the table. */
static int refuse_write(lua_State *L)
{
    char member[64];

    member_text(L, 2, member);
    return sandbox_refuse_state(L, lua_tostring(L, lua_upvalueindex(1)), member);
}

int sandbox_refuse_frozen(lua_State *L, int index, int member)
{
    char text[64] = "";

    if (member != 0) {
        member_text(L, member, text);
    }
    lua_getmetatable(L, index);
    lua_pushliteral(L, "__newindex");
    lua_rawget(L, -2);
    return sandbox_refuse_state(
        L, lua_getupvalue(L, -1, 1) != NULL ? lua_tostring(L, -1) : "what outlives the row", text);
}

/* __len; upvalue: the shadow. */
static int shadow_length(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, lua_upvalueindex(1)));
    return 1;
}

/* __index of a shadow: the table's own, which is called with the table. Upvalues: the table, the
 * function. */
static int shadow_index(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    return 1;
}

/* ---- the walk ---- */

/* Moves the value at the top into the list of what is to be walked; its path is parent, and behind
 * it the key at index key (0 = none). */
static void later(lua_State *L, const char *parent, int key)
{
    lua_Integer n;
    char member[64];

    if (lua_type(L, -1) < LUA_TTABLE) { /* nil, booleans, light userdata, numbers, strings */
        lua_pop(L, 1);
        return;
    }
    n = (lua_Integer)lua_rawlen(L, AT_WORK);
    lua_rawseti(L, AT_WORK, n + 1);
    if (key != 0 && strlen(parent) < PATH_MOST) {
        member_text(L, key, member);
        lua_pushfstring(L, "%s%s%s", parent, dot(parent, member), member);
    } else {
        lua_pushstring(L, parent);
    }
    lua_rawseti(L, AT_WORK, n + 2);
}

/* Copies the metamethods of the table at from into the one at to. */
static void copy_metamethods(lua_State *L, int from, int to)
{
    for (lua_pushnil(L); lua_next(L, from) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && strncmp(lua_tostring(L, -2), "__", 2) == 0) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, to);
        }
    }
}

/* What the table lacks comes from where its own metatable says; the shadow (at shadow) has it from
 * there. */
static void shadow_falls_back(lua_State *L, int shadow, int meta)
{
    lua_pushliteral(L, "__index");
    if (lua_rawget(L, meta) == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (lua_isfunction(L, -1)) {
        lua_pushvalue(L, AT_ITEM);
        lua_insert(L, -2);
        lua_pushcclosure(L, shadow_index, 2);
    }
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, shadow);
}

/* The table at AT_ITEM. */
static void freeze_table(lua_State *L)
{
    const char *path = lua_tostring(L, AT_PATH);
    bool has_given = lua_getmetatable(L, AT_ITEM) != 0;
    int given, shadow, meta;

    if (!has_given || sandbox_is_guard(L, -1)) {
        lua_settop(L, AT_PATH);
        lua_pushnil(L);
        has_given = false;
    }
    given = lua_gettop(L);
    lua_newtable(L);
    shadow = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, AT_ITEM) != 0;) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, shadow);
        lua_pushvalue(L, -1);
        later(L, path, lua_gettop(L) - 2);
        lua_pushvalue(L, -2);
        later(L, path, 0);
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, AT_ITEM); /* clearing during a traversal is allowed */
    }
    lua_createtable(L, 0, 8);
    meta = lua_gettop(L);
    if (has_given) {
        lua_pushvalue(L, given);
        sandbox_given_metatable(L); /* the script's table where a shadow stands for it */
        lua_pushvalue(L, -1);
        lua_replace(L, given);
        lua_pushvalue(L, given);
        later(L, path, 0);
        sandbox_thaw(L, -1);
        copy_metamethods(L, lua_gettop(L), meta);
        shadow_falls_back(L, shadow, meta);
        lua_settop(L, meta);
        lua_pushvalue(L, given);
        lua_rawsetp(L, meta, &given_key);
    }
    lua_pushvalue(L, shadow);
    lua_rawsetp(L, meta, &shadow_key);
    lua_pushvalue(L, shadow);
    lua_setfield(L, meta, "__index");
    lua_pushvalue(L, AT_PATH);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, meta, "__newindex");
    if (lua_getfield(L, meta, "__len") == LUA_TNIL) {
        lua_pushvalue(L, shadow);
        lua_pushcclosure(L, shadow_length, 1);
        lua_setfield(L, meta, "__len");
    }
    lua_settop(L, meta);
    lua_setmetatable(L, AT_ITEM);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &owners_key);
    lua_pushvalue(L, shadow);
    lua_pushvalue(L, AT_ITEM);
    lua_rawset(L, -3);
}

/* Does the function in C at AT_ITEM keep nothing? Those of the sandbox, of `core` and of shared
 * libraries do not. */
static bool keeps_nothing(lua_State *L)
{
    bool serial;
    bool named;

    if (ffi_module_identity(L, AT_ITEM, &serial) != NULL) {
        return true;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "sandbox.names");
    lua_pushvalue(L, AT_ITEM);
    named = lua_rawget(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    for (int k = 1; !named && lua_getupvalue(L, AT_ITEM, k) != NULL; k++) {
        bool constant = lua_type(L, -1) < LUA_TTABLE;
        lua_pop(L, 1);
        if (!constant) {
            return false;
        }
    }
    return true;
}

/* Upvalue k of the function at AT_ITEM is assigned by a function within reach: it is compared after
 * each call. */
static void watch_slot(lua_State *L, int k, const char *path)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, AT_SLOTS);
    void *id = lua_upvalueid(L, AT_ITEM, k);

    if (lua_rawgetp(L, AT_SEEN, id) == LUA_TNIL) {
        lua_pushboolean(L, 1);
        lua_rawsetp(L, AT_SEEN, id);
        lua_pushvalue(L, AT_ITEM);
        lua_rawseti(L, AT_SLOTS, n + 1);
        lua_pushinteger(L, k);
        lua_rawseti(L, AT_SLOTS, n + 2);
        /* A list has no holes: nil is a light userdata of its own. */
        lua_getupvalue(L, AT_ITEM, k);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            lua_pushlightuserdata(L, (void *)(uintptr_t)&slots_key);
        }
        lua_rawseti(L, AT_SLOTS, n + 3);
        lua_pushstring(L, path);
        lua_rawseti(L, AT_SLOTS, n + 4);
    }
    lua_pop(L, 1);
}

static void walk_function(lua_State *L)
{
    bool assigned[SLOTS_MOST];
    const char *name;

    if (lua_iscfunction(L, AT_ITEM)) {
        if (!keeps_nothing(L)) {
            luaL_error(L,
                       "rows can reach %s', a function that keeps a state of its own (an iterator, "
                       "say), so results would depend on which worker gets which rows; make it "
                       "inside the function, or run = \"ordered\"",
                       lua_tostring(L, AT_PATH));
        }
        return;
    }
    sandbox_assigned_slots(L, AT_ITEM, assigned);
    for (int k = 1; (name = lua_getupvalue(L, AT_ITEM, k)) != NULL; k++) {
        const char *path = lua_pushfstring(L, "its upvalue '%s", name);
        if (k <= SLOTS_MOST && assigned[k - 1]) {
            watch_slot(L, k, path);
        }
        lua_pushvalue(L, -2);
        later(L, path, 0);
        lua_pop(L, 2);
    }
}

static void walk_item(lua_State *L)
{
    lua_pushvalue(L, AT_ITEM);
    if (lua_rawget(L, AT_SEEN) != LUA_TNIL) {
        return;
    }
    lua_pushvalue(L, AT_ITEM);
    lua_pushboolean(L, 1);
    lua_rawset(L, AT_SEEN);
    lua_settop(L, AT_PATH);
    switch (lua_type(L, AT_ITEM)) {
    case LUA_TTABLE:
        /* Libraries and the globals stand behind tables of their own already. */
        if (!sandbox_is_protected(L, AT_ITEM) && !sandbox_is_frozen(L, AT_ITEM)) {
            freeze_table(L);
        }
        break;
    case LUA_TFUNCTION:
        walk_function(L);
        break;
    default:
        luaL_error(L,
                   "rows can reach %s', a %s, which keeps a state of its own; use strings, "
                   "numbers, tables and functions, or run = \"ordered\"",
                   lua_tostring(L, AT_PATH), luaL_typename(L, AT_ITEM));
    }
}

/* The globals that the script made, which stand behind the global table. */
static void walk_globals(lua_State *L)
{
    lua_pushglobaltable(L);
    if (lua_getmetatable(L, -1)) {
        lua_getfield(L, -1, "__index");
        lua_replace(L, -3);
        lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, AT_ITEM) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, -1);
        later(L, "the global '", lua_gettop(L) - 2);
    }
    lua_settop(L, AT_SLOTS);
}

/* Arguments: value, path, value, path, ... */
static int freeze_all(lua_State *L)
{
    int n = lua_gettop(L);

    luaL_checkstack(L, 30, "freezing");
    for (int k = 0; k < 3; k++) {
        lua_newtable(L);
        lua_insert(L, 1);
    }
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &owners_key) != LUA_TTABLE) {
        lua_newtable(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &owners_key);
    }
    lua_pop(L, 1);
    for (int k = 0; k + 1 < n; k += 2) {
        lua_pushvalue(L, AT_ITEM + k);
        later(L, lua_tostring(L, AT_ITEM + k + 1), 0);
    }
    lua_settop(L, AT_SLOTS);
    walk_globals(L);
    for (lua_Integer k = 1; lua_rawgeti(L, AT_WORK, k) != LUA_TNIL; k += 2) {
        lua_rawgeti(L, AT_WORK, k + 1);
        walk_item(L);
        lua_settop(L, AT_SLOTS);
    }
    sandbox_of(L)->n_slots = (lua_Integer)lua_rawlen(L, AT_SLOTS) / SLOT_FIELDS;
    lua_pushvalue(L, AT_SLOTS);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &slots_key);
    return 0;
}

sluice_status sandbox_freeze(lua_State *L, int n, struct sluice_error *err)
{
    lua_pushcfunction(L, freeze_all);
    lua_insert(L, -2 * n - 1);
    return sandbox_call(L, 2 * n, 0, err);
}

/* ---- after a call ---- */

/* Are both one value to the bit? 1 and 1.0, or 0.0 and -0.0, would pass for one in a comparison and
 * could tell of a row. */
static bool same_value(lua_State *L, int a, int b)
{
    lua_Number x, y;

    if (lua_type(L, a) == LUA_TNUMBER && lua_type(L, b) == LUA_TNUMBER) {
        if (lua_isinteger(L, a) != lua_isinteger(L, b)) {
            return false;
        }
        if (!lua_isinteger(L, a)) {
            x = lua_tonumber(L, a);
            y = lua_tonumber(L, b);
            return memcmp(&x, &y, sizeof x) == 0;
        }
    }
    return lua_rawequal(L, a, b) != 0;
}

const char *sandbox_changed(lua_State *L)
{
    lua_Integer n = sandbox_of(L)->n_slots;
    const char *changed = NULL;
    int top = lua_gettop(L);

    if (n == 0 || !lua_checkstack(L, 8)) {
        return n == 0 ? NULL : "what it can't be asked for: the stack is full";
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &slots_key);
    for (lua_Integer k = 0; k < n && changed == NULL; k++) {
        lua_rawgeti(L, top + 1, SLOT_FIELDS * k + 1);
        lua_rawgeti(L, top + 1, SLOT_FIELDS * k + 2);
        lua_getupvalue(L, top + 2, (int)lua_tointeger(L, top + 3));
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            lua_pushlightuserdata(L, (void *)(uintptr_t)&slots_key);
        }
        lua_rawgeti(L, top + 1, SLOT_FIELDS * k + 3);
        if (!same_value(L, top + 4, top + 5)) {
            lua_rawgeti(L, top + 1, SLOT_FIELDS * k + 4);
            changed = lua_tostring(L, -1); /* the list holds it */
        }
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
    return changed;
}
