/* Which shared libraries a loaded file uses, and their versions as they tell them themselves: what
 * may shape a plugin's output while its own file stays the same. Owns nothing; trusts what the
 * dynamic linker has loaded. Depends on base.
 *
 * A version is what the library's own function says where one is known ("utf8proc 2.8.0"), else
 * that of its file name with the start of its build id ("simdjson 14.0.0+3e8dcc9cbff7"). Libraries
 * that libraries use count too. Those of the C and C++ run-time and of sanitizers do not, but for
 * libm, whose functions differ in their last bits: it counts as glibc. What is linked statically or
 * inlined is in the file itself, and so in its hash. */
#ifndef SLUICE_PLUGIN_LIBRARIES_H
#define SLUICE_PLUGIN_LIBRARIES_H

#include "base/error.h"

/* "glibc 2.36, utf8proc 2.8.0", sorted, "" when there are none: of the file that a handle of dlopen
 * is of, after what the file says about itself (told; NULL = nothing). Gives. */
sluice_status libraries_of(void *handle, const char *told, char **out,
                           struct sluice_error *err) MUST_USE;
/* The same of the file that this code is in; only those libraries whose files' names begin with one
 * of the NULL-terminated list (NULL = all). */
sluice_status libraries_here(const char *const *only, char **out,
                             struct sluice_error *err) MUST_USE;

#endif
