/* Compares a prototype with what a library's debug information (DWARF, by libdw) says of the
 * function. Owns nothing; depends on ffi_prototype. Private to ffi_symbols.c. */
#ifndef SLUICE_LUA_FFI_DEBUG_H
#define SLUICE_LUA_FFI_DEBUG_H

#include <gelf.h>

#include "lua/native/ffi_prototype.h"

/* address: of the function in the file. SLUICE_E_CONFIG: another number of parameters, or other
 * types. *compared is false when there is no debug information of the function's types. */
sluice_status debug_compare(Elf *elf, const char *path, GElf_Addr address, const struct prototype *,
                            bool *compared, struct sluice_error *err) MUST_USE;

#endif
