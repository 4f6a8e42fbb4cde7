/* Private to core/lua/sandbox_*.c: matching Lua 5.4's patterns with a bound on the steps of a call.
 * Backtracking is exponential in the worst case, and a hostile document must cost a row, not a run:
 * a search that takes too many steps raises an error, as do patterns that are malformed. Who
 * searches charges the steps to the state (matcher_charge). Depends on Lua's API. */
#ifndef SLUICE_LUA_SANDBOX_PATTERN_H
#define SLUICE_LUA_SANDBOX_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "lua/sandbox/sandboxInt.h"

#define MAX_CAPTURES 32

struct capture {
    const char *begin;
    ptrdiff_t size; /* or what it is: see sandbox_pattern.c */
};

/* A pattern and the subject that it is matched against, both borrowed. */
struct matcher {
    lua_State *L; /* that errors are raised in */
    const char *subject, *subject_end, *pattern_end;
    int depth, n;
    uint64_t steps, charged, most; /* taken so far; of them charged; at most */
    uint64_t end, look;            /* the same, or what the call has left; when to look next */
    struct capture captures[MAX_CAPTURES];
};

void matcher_init(struct matcher *, lua_State *, const char *s, size_t ls, const char *p,
                  size_t lp);
/* Before searching again after the script ran: in L, within what the call has left. */
void matcher_resume(struct matcher *, lua_State *L);
/* Charges the steps since the last time. */
void matcher_charge(struct matcher *);
/* Before each matcher_run: no captures. */
void matcher_begin(struct matcher *);
/* Matches what begins at p of the pattern against the subject at s; gives where the match ends, or
 * NULL. */
const char *matcher_run(struct matcher *, const char *s, const char *p);
/* The first place at or behind s where a match of the pattern p can begin, which is not anchored:
 * those in between are counted as if they had been tried. */
const char *matcher_skip(struct matcher *, const char *s, const char *p);
/* The first match of the pattern p, which may be anchored, at or behind s: its begin and *e. */
const char *matcher_search(struct matcher *, const char *s, const char *p, const char **e);

/* Captures as values, s .. e being the match: pushes the k-th, the whole match if k is 0 and there
 * are none. */
void matcher_push(struct matcher *, int k, const char *s, const char *e);
/* All captures, or the whole match (unless s is NULL) when there are none; gives how many it
 * pushed. */
int matcher_push_all(struct matcher *, const char *s, const char *e);

#endif
