/* A Lua 5.4 state in which equal inputs give equal results: no io, os, debug, load from bytes, %p, __gc, __mode; pairs and next iterate in
 * sorted key order (integers, floats, strings, booleans; other keys are an error); math is deterministic (random is seeded by
 * sandbox_seed, libm functions come from core.math); string.find/match/gmatch/gsub and rep are limited in steps and size; memory is
 * capped by the allocator; assigning a global after sandbox_seal is an error with name and line. Text primitives are methods of strings
 * (textlib.h). Depends on sdk/text. */
#ifndef SLUICE_LUA_SANDBOX_H
#define SLUICE_LUA_SANDBOX_H

#include <lua.h>

#include "base/error.h"

/* Gives a state; memory bounds its heap (bytes). */
sluice_status sandbox_create(uint64_t memory, lua_State **out, struct sluice_error *) MUST_USE;
void sandbox_destroy(lua_State *);
/* From now on no global may be assigned. */
void sandbox_seal(lua_State *);
/* Seeds math.random. */
void sandbox_seed(lua_State *, uint64_t seed);
/* lua_pcall with a traceback reduced to "FILE:LINE: message". Memory exhaustion and step limits are told apart by the code:
 * SLUICE_E_CONFIG for errors of the script, SLUICE_E_NOMEM for the cap. The message is in *err. */
sluice_status sandbox_call(lua_State *, int n_args, int n_results, struct sluice_error *) MUST_USE;
/* Runs at most `instructions` VM instructions of the next sandbox_call (0 = no limit): the counted re-run of a row that a watchdog found
 * late. Exceeding it is SLUICE_E_DATA "endless loop". */
void sandbox_limit(lua_State *, uint64_t instructions);
/* Where print goes; NULL = nowhere (the default). The line has no newline. */
typedef void (*sandbox_print_fn)(void *ctx, const char *line, size_t n);
void sandbox_print(lua_State *, sandbox_print_fn, void *ctx);
/* Makes a running state stop soon: async-signal-safe and callable from any thread; the running call returns SLUICE_E_CANCELLED. */
void sandbox_interrupt(lua_State *);

#endif
