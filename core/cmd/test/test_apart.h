/* Work done in a child process that gives up its rights first, for scripts whose functions come
 * from foreign libraries. Depends on the guards of core/isolate. */
#ifndef SLUICE_CMD_TEST_APART_H
#define SLUICE_CMD_TEST_APART_H

#include "base/error.h"

/* Calls work(ctx) in a child of this process, which must have one thread, and copies the n bytes at
 * ctx back from there: numbers that the child counts; pointers among them are to stay what they
 * were. Standard output is flushed before and after. SLUICE_E_INTERNAL: the child died; the message
 * says how, and nothing was copied. */
sluice_status test_apart(void (*work)(void *ctx), void *ctx, size_t n,
                         struct sluice_error *err) MUST_USE;

#endif
