/* Where an example stands in a script. Depends on libc only. */
#ifndef SLUICE_CMD_TEST_PLACE_H
#define SLUICE_CMD_TEST_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* The line of example `number` (from 1) of the stage called name in a Lua text: it looks for {
 * "name" and, behind it, examples = { ... } as scripts write them. 0 = the text does not have it in
 * that form. */
uint32_t test_example_line(const char *text, size_t n, const char *name, uint32_t number);

#endif
