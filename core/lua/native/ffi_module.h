/* The module `ffi` of scripts: functions of shared libraries as Lua functions.
 *
 *   local ffi = require "ffi"
 *   local score = ffi.def { lib = "./libppl.so", "double score(const char *, size_t)" }
 *   -- several prototypes give several functions
 *
 * A library is loaded where script_options.foreign allows it, in the state of a worker, and nowhere
 * else: in the planner a definition is parsed and the library's content hashed. Functions that a
 * stage reaches make it run in a child process (bindings_stage.c); the content of the library is
 * part of the stage's hash (funchash.c). Depends on script and ffi_foreign. */
#ifndef SLUICE_LUA_FFI_MODULE_H
#define SLUICE_LUA_FFI_MODULE_H

#include "lua/script/scriptInt.h"

struct ffi_module; /* what a script defined; owned by the script */

struct ffi_module *ffi_module_create(void); /* NULL = out of memory */
void ffi_module_destroy(struct ffi_module *);
const char *ffi_module_library(const struct ffi_module *,
                               uint32_t k); /* its path; NULL past the end */

/* Pushes the module's table; the binding must outlive the state. */
void ffi_module_push(lua_State *, struct binding *);
/* What tells the C function at index from others: its prototype and the content of its library;
 * NULL = not one of ffi.def. *serial: it is not thread_safe. */
const char *ffi_module_identity(lua_State *, int index, bool *serial);

/* Does the function or table at index reach a function of ffi.def? *serial becomes true for one
 * that is not thread_safe. (funchash.c) */
bool ffi_module_reached(struct script *, lua_State *, int index, bool *serial);

#endif
