/* Libraries beside the core's that a command loads when it needs them, so that the core goes
 * without: the tokenizer (absent where its own libraries are), the conformance kit. Depends on
 * base. */
#ifndef SLUICE_CMD_LIBRARY_H
#define SLUICE_CMD_LIBRARY_H

#include "base/error.h"

/* Loads the file called name from the folder of the program, or ../lib/sluice; it stays loaded.
 * SLUICE_E_CONFIG says where it was looked for, and why it may be missing. */
sluice_status library_load(const char *name, const char *why_missing, void **out,
                           struct sluice_error *err) MUST_USE;

/* Stores the address of a function of it in the function pointer at place. SLUICE_E_CONFIG: it
 * belongs to another version. */
sluice_status library_find(void *library, const char *symbol, void *place,
                           struct sluice_error *err) MUST_USE;

#endif
