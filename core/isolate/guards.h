/* The rights that a child process gives up before it loads a plugin: no sockets, no processes,
 * no signals to others, no files written outside its scratch folder, no more memory than it was
 * granted. Depends on libseccomp and on the kernel's Landlock. */
#ifndef SLUICE_ISOLATE_GUARDS_H
#define SLUICE_ISOLATE_GUARDS_H

#include "base/error.h"

struct guards_grant {
    const char *scratch; /* may be written to; NULL = nothing may */
    uint64_t memory;     /* bytes beyond what the process has now */
    bool network, gpu;
};

/* In the child, while it has one thread. For good. A guard that this kernel lacks is left out
 * (guards_describe tells); one that it has and refuses is an error. */
sluice_status guards_apply(const struct guards_grant *, struct sluice_error *err) MUST_USE;

/* The limit of memory alone, and no dumps. */
sluice_status guards_limit_memory(uint64_t memory, struct sluice_error *err) MUST_USE;

/* What this kernel offers, in words. Returns text. */
const char *guards_describe(char *text, size_t n);

#endif
