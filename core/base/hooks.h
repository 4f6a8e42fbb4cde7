/* Test hooks: what tests make fail, wait or stop, by the environment variables SLUICE_TEST_*. Only
 * files compiled with SLUICE_HOOKS look at them: those of the archives that unit tests link, and of
 * the program below build/test; in the program that people run they are not there. A file that
 * includes this one is compiled twice. */
#ifndef SLUICE_BASE_HOOKS_H
#define SLUICE_BASE_HOOKS_H

#include <stddef.h>

#ifdef SLUICE_HOOKS
#include <stdlib.h>
#define HOOKS_ON 1
#define hook_text(name) ((const char *)getenv(name))
#else
#define HOOKS_ON 0
#define hook_text(name) ((const char *)NULL)
#endif

#endif
