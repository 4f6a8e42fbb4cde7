/* What the parts of the sandbox share. See sandbox.h. */
#ifndef SLUICE_LUA_SANDBOXINT_H
#define SLUICE_LUA_SANDBOXINT_H

#include <lauxlib.h>
#include <lua.h>

#include "lua/sandbox.h"

/* Why a call must end whatever the script catches. */
enum sandbox_fatal { FATAL_NONE, FATAL_MEMORY, FATAL_INTERRUPT, FATAL_ENDLESS };

struct textlib;

struct sandbox {        /* one a state; freed with it */
    uint64_t used, cap; /* bytes of the Lua heap */
    size_t refused;     /* the size last asked for that the cap does not allow; 0 = given since */
    const void *refused_block;
    bool exhausted; /* also after a collection: this call gets nothing more */
    int depth;      /* sandbox_calls running; outside of them the cap is not enforced */
    enum sandbox_fatal fatal;
    volatile int interrupted;
    bool hooked;    /* a count hook is set for a limit */
    uint64_t limit; /* instructions of the next call; 0 = no limit */
    uint64_t steps; /* counted so far, work done in C included */
    uint64_t seed, random[4];
    bool seeded;      /* random is filled from seed */
    bool next_cached; /* registry holds the table and the keys of the last next() */
    lua_Integer next_at;
    struct textlib *text; /* analyses of the current texts */
    sandbox_print_fn print;
    void *print_ctx;
};

static inline struct sandbox *sandbox_of(lua_State *L)
{
    return *(struct sandbox **)lua_getextraspace(L);
}

/* Counts work done in C against the limit of a counted call: about `units` instructions' worth. Raises an error when it is passed. */
void sandbox_charge(lua_State *L, uint64_t units);

/* Each leaves nothing on the stack; called once, protected, while the state is made. */
void sandbox_open_base(lua_State *L);
void sandbox_open_table(lua_State *L);
void sandbox_open_math(lua_State *L);
void sandbox_open_string(lua_State *L); /* string and utf8; the metatable of strings */

/* Replaces the table at the top by an empty one through which it can be read but not written. */
void sandbox_protect(lua_State *L, const char *name);
/* Is the table at index one that scripts must not write to? */
bool sandbox_is_protected(lua_State *L, int index);
/* Its name ("math"), or NULL. */
const char *sandbox_protected_name(lua_State *L, int index);
/* Is the table at index the metatable that setmetatable gives to metatables? */
bool sandbox_is_guard(lua_State *L, int index);

/* tostring without addresses: pushes a string. */
const char *sandbox_tostring(lua_State *L, int index, size_t *n);

/* sandbox_match.c: find, match, gmatch, gsub. */
int sandbox_find(lua_State *L);
int sandbox_match(lua_State *L);
int sandbox_gmatch(lua_State *L);
int sandbox_gsub(lua_State *L);

/* sandbox_sort.c: pushes an array of the keys of the table at index, in order; returns how many. */
lua_Integer sandbox_keys(lua_State *L, int index);
/* Pushes the first key of the table at index, or the first behind the key at after (0 = none); nil at the end. */
void sandbox_key_after(lua_State *L, int index, int after);
int sandbox_table_sort(lua_State *L);

#endif
