/* A Lua 5.4 state in which equal inputs give equal results: no io, os, debug, load from bytes, %p,
 * __gc, __mode; pairs and next iterate in sorted key order (integers, floats, strings, booleans;
 * other keys are an error); math is deterministic (random is seeded by sandbox_seed, libm functions
 * come from core.math); string.find/match/gmatch/gsub and rep are limited in steps and size; memory
 * is capped by the allocator; what a call may take is a count (sandbox_bound.c); assigning a global
 * after sandbox_seal is an error with name and line. Text primitives are methods of strings
 * (textlib.h). Depends on sdk/text. */
#ifndef SLUICE_LUA_SANDBOX_H
#define SLUICE_LUA_SANDBOX_H

#include <lua.h>
#include <stdatomic.h>

#include "base/error.h"

/* Gives a state; memory bounds its heap (bytes). */
sluice_status sandbox_create(uint64_t memory, lua_State **out, struct sluice_error *) MUST_USE;
void sandbox_destroy(lua_State *);
/* From now on no global may be assigned. */
void sandbox_seal(lua_State *);
/* Of 2n values at the top, each value followed by its name (like "its upvalue 'words"), pops all
 * and freezes what is reachable from them and from the globals: a call that would write to it fails
 * for good (sandbox_blames_script). SLUICE_E_CONFIG: something can't be frozen. */
sluice_status sandbox_freeze(lua_State *, int n, struct sluice_error *) MUST_USE;
/* After a call that failed: is the script at fault and not the row? It would have changed what is
 * frozen, or its steps take so long that they are no bound. */
bool sandbox_blames_script(lua_State *);
/* After a call: the name of an upvalue that it has changed ("its upvalue 'n"), or NULL. Costs
 * nothing where none is ever assigned. The state lends the text. */
const char *sandbox_changed(lua_State *);
/* Seeds math.random. */
void sandbox_seed(lua_State *, uint64_t seed);
/* lua_pcall with a traceback reduced to "FILE:LINE: message". Memory exhaustion and step limits are
 * told apart by the code: SLUICE_E_CONFIG for errors of the script, SLUICE_E_NOMEM for the cap. The
 * message is in *err. */
sluice_status sandbox_call(lua_State *, int n_args, int n_results, struct sluice_error *) MUST_USE;
/* Bounds the next sandbox_call to so many steps (0 = none): VM instructions, and what is done in C
 * counted by its bytes and elements. Passing it is SLUICE_E_DATA "endless loop"; nothing in the
 * script can catch it. */
void sandbox_limit(lua_State *, uint64_t steps);
/* A flag that ends whatever runs, soon, with SLUICE_E_CANCELLED once it is not 0. Borrowed. */
void sandbox_heed(lua_State *, const _Atomic int *stop);

/* ---- rows: calls that leave nothing behind, within bounds of their own (sandbox_bound.c) ---- */

/* Steps and bytes of memory that a row may take, and more for each byte of its document that it
 * reads. */
#define SANDBOX_PRICES 2 /* raised when a step is counted otherwise; in the keys of stages */
#define SANDBOX_ROW_STEPS UINT64_C(10000000)
#define SANDBOX_BYTE_STEPS UINT64_C(512)
#define SANDBOX_MOST_STEPS UINT64_C(500000000)
#define SANDBOX_ROW_MEMORY (UINT64_C(16) << 20)
#define SANDBOX_BYTE_MEMORY UINT64_C(16)

/* Rows of this state may take so many steps instead of SANDBOX_ROW_STEPS. */
void sandbox_row_steps(lua_State *, uint64_t steps);
/* TRUSTED: at full speed; the clock proves that it stayed within its steps, or leaves a doubt.
 * COUNTED: each instruction is, at half the speed. ALONE: counted, in a state that was made for
 * this row. */
enum sandbox_rigour { ROW_TRUSTED, ROW_COUNTED, ROW_ALONE };
/* The next sandbox_call is a row's. */
void sandbox_row(lua_State *, enum sandbox_rigour);
/* All that rows will need is there: what they may hold is counted from here. Without it only the
 * cap holds. */
void sandbox_ready(lua_State *);
/* In a call: the row reads so many bytes of its document. */
void sandbox_reads(lua_State *, uint64_t bytes);
/* After a row: STEPS: to be made again, counted. MEMORY: to be made again, alone. Its results then
 * mean nothing. */
enum sandbox_doubt { DOUBT_NONE, DOUBT_STEPS, DOUBT_MEMORY };
enum sandbox_doubt sandbox_doubt(lua_State *);
/* After a row: would a trusted one have been proved by its time? */
bool sandbox_quick(lua_State *);
/* What was done since the last row is not the next one's time. */
void sandbox_clock(lua_State *);
/* Is the running row late, or is all to stop? Then sandbox_interrupt. Async-signal-safe. */
bool sandbox_late(lua_State *);

/* Where print goes; NULL = nowhere (the default). The line has no newline. */
typedef void (*sandbox_print_fn)(void *ctx, const char *line, size_t n);
void sandbox_print(lua_State *, sandbox_print_fn, void *ctx);
/* Makes a running state stop soon: async-signal-safe and callable from any thread; the running call
 * returns SLUICE_E_CANCELLED. */
void sandbox_interrupt(lua_State *);

#endif
