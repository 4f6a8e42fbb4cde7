/* Looks into a shared library without loading it: is the function there, and is it the one that the
 * prototype says? Reads symbols with libelf and debug information with libdw. Owns nothing; depends
 * on ffi_prototype and on the checks of plugin files.
 *
 * Those libraries are made for files of honest compilers: call it where the library would be
 * loaded, in a child process. */
#ifndef SLUICE_LUA_FFI_SYMBOLS_H
#define SLUICE_LUA_FFI_SYMBOLS_H

#include "lua/native/ffi_prototype.h"

/* Is there a regular file that not everybody may write to? Reads nothing of it, so any process may
 * ask. SLUICE_E_CONFIG names the path that was looked at. */
sluice_status symbols_place(const char *path, struct sluice_error *err) MUST_USE;

/* SLUICE_E_CONFIG: no shared library for this machine, no such function (with the nearest name),
 * data instead of a function, or by its debug information a function of another type. *compared
 * tells whether there was debug information to compare with. */
sluice_status symbols_check(const char *path, const struct prototype *, bool *compared,
                            struct sluice_error *err) MUST_USE;

#endif
