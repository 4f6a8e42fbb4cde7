/* What the parts of the sandbox share. See sandbox.h. */
#ifndef SLUICE_LUA_SANDBOXINT_H
#define SLUICE_LUA_SANDBOXINT_H

#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>

#include "lua/sandbox/sandbox.h"

/* Why a call must end whatever the script catches. */
enum sandbox_fatal {
    FATAL_NONE,
    FATAL_MEMORY,
    FATAL_INTERRUPT,
    FATAL_ENDLESS,
    FATAL_STATE, /* it would change what outlives it */
    FATAL_SLOW   /* its steps take a time that no steps should */
};

#define SANDBOX_MOST_RESULTS 65536u /* that one call in C may give */
#define SLOTS_MOST 255              /* upvalues of a function: a limit of Lua's */

struct textlib;

#define WORDS_SIZE 1000 /* of a message */

struct sandbox { /* one a state; freed with it */
    lua_State *L;
    int depth; /* sandbox_calls running; outside of them nothing is enforced */
    /* ---- sandbox_bound.c ---- */
    uint64_t used, cap; /* bytes of the Lua heap */
    uint64_t base;     /* used by the state without a row (sandbox_ready); 0 = only the cap holds */
    uint64_t bound;    /* of used, in this call */
    uint64_t row_room; /* what messages call it; 0 = the cap */
    size_t refused;    /* the size last asked for that there was no room for */
    const void *refused_block;
    bool pinched;              /* it was refused, and not yet asked for again after a collection */
    unsigned refusals, futile; /* of the call; those soon after another */
    uint64_t made, made_then;  /* bytes asked for by the call; when it was last refused */
    bool exhausted;            /* also after a collection: this call gets nothing more */
    enum sandbox_fatal fatal;
    char words[WORDS_SIZE]; /* the message of what is fatal */
    volatile int interrupted;
    const _Atomic int *stop;
    bool hooked;         /* instructions are counted */
    uint64_t row_steps;  /* of a row that reads nothing */
    uint64_t next_limit; /* steps of the next call; 0 = no limit */
    uint64_t limit;      /* of this one */
    uint64_t steps;      /* counted so far, work done in C included */
    bool row, quick;     /* the call is one of a row; its time would have proved it */
    enum sandbox_rigour rigour;
    enum sandbox_doubt doubt;
    uint64_t began, own_began; /* a counted row, in ns; the thread's own time then */
    uint64_t read;             /* bytes of the document */
    volatile uint64_t since;   /* when the row began, in ns; 0 = not known */
    volatile uint64_t own_since,
        before; /* the thread's own time since its text was read, 0 = not known; what went before */
    /* ---- the libraries ---- */
    uint64_t seed, random[4];
    bool seeded;      /* random is filled from seed */
    bool next_cached; /* registry holds the table and the keys of the last next() */
    lua_Integer next_at;
    lua_Integer n_slots;  /* upvalues that are compared after each call */
    struct textlib *text; /* analyses of the current texts */
    sandbox_print_fn print;
    void *print_ctx;
};

static inline struct sandbox *sandbox_of(lua_State *L)
{
    return *(struct sandbox **)lua_getextraspace(L);
}

/* ---- sandbox_bound.c ---- */

void *sandbox_allocate(void *box, void *block, size_t old_size, size_t new_size);
void sandbox_bounds_begin(lua_State *L, struct sandbox *);
void sandbox_bounds_end(lua_State *L, struct sandbox *);
void sandbox_exceed(lua_State *L);
/* Counts work done in C against the limit of the call, before it is done: about `units`
 * instructions' worth. Raises an error when it is passed. */
static inline void sandbox_charge(lua_State *L, uint64_t units)
{
    struct sandbox *box = sandbox_of(L);

    box->steps += units;
    if (box->steps > box->limit) {
        sandbox_exceed(L);
    }
}
/* In what runs for long in C, now and then: raises an error when the call is late or all is to
 * stop. */
void sandbox_look(lua_State *L);
/* What is left of the limit. */
static inline uint64_t sandbox_left(lua_State *L)
{
    const struct sandbox *box = sandbox_of(L);
    return box->steps < box->limit ? box->limit - box->steps : 0;
}
/* Ends the call for good with the message at the top, which has its place. Doesn't return. */
int sandbox_end(lua_State *L, enum sandbox_fatal cause);
/* Raises again what has ended the call. Doesn't return. */
int sandbox_end_again(lua_State *L);
/* Has the call ended, status being what lua_pcall gave? Then nothing may catch it. */
bool sandbox_ended(lua_State *L, int status);
/* Pushes "FILE:LINE: " of the innermost function in Lua. */
void sandbox_place(lua_State *L);

/* Each leaves nothing on the stack; called once, protected, while the state is made. */
void sandbox_open_base(lua_State *L);
void sandbox_open_table(lua_State *L);
void sandbox_open_math(lua_State *L);
void sandbox_open_string(lua_State *L); /* string and utf8; the metatable of strings */

/* ---- sandbox_protect.c ---- */

/* Replaces the table at the top by an empty one through which it can be read but not written. */
void sandbox_protect(lua_State *L, const char *name);
/* Marks the metatable at the top as that of a table which must not be written to. */
void sandbox_mark_protected(lua_State *L, const char *name);
/* Is the table at index one that scripts must not write to? */
bool sandbox_is_protected(lua_State *L, int index);
/* Its name ("math"), or NULL. */
const char *sandbox_protected_name(lua_State *L, int index);
/* Is the table at index the metatable that setmetatable gives to metatables? In the registry it has
 * the address of the key. */
bool sandbox_is_guard(lua_State *L, int index);
extern const char sandbox_guard_key;

/* ---- sandbox_freeze.c, sandbox_slots.c ---- */

/* Is the table at index frozen? (false: anything else) */
bool sandbox_is_frozen(lua_State *L, int index);
/* A frozen table at index is replaced by what it holds, to be read by raw access and never given to
 * a script. */
bool sandbox_thaw(lua_State *L, int index);
/* The metatable at the top is replaced by the one that the script set, which may be nil. */
void sandbox_given_metatable(lua_State *L);
/* The same for the frozen table at index, and the key at index member (0 = none). */
int sandbox_refuse_frozen(lua_State *L, int index, int member);
/* The same with the message at the top. */
int sandbox_refuse_call(lua_State *L);
/* Which upvalues of the Lua function at index are assigned in it, or in functions within it. */
void sandbox_assigned_slots(lua_State *L, int index, bool assigned[SLOTS_MOST]);

/* tostring without addresses: pushes a string. */
const char *sandbox_tostring(lua_State *L, int index, size_t *n);

/* sandbox_match.c: find, match, gmatch, gsub. */
int sandbox_find(lua_State *L);
int sandbox_match(lua_State *L);
int sandbox_gmatch(lua_State *L);
int sandbox_gsub(lua_State *L);

/* sandbox_sort.c: pushes an array of the keys of the table at index, in order; returns how many. */
lua_Integer sandbox_keys(lua_State *L, int index);
/* Pushes the first key of the table at index, or the first behind the key at after (0 = none); nil
 * at the end. */
void sandbox_key_after(lua_State *L, int index, int after);
int sandbox_table_sort(lua_State *L);

#endif
