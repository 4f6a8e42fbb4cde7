/* The one way to standard output and standard error: no other code of the core writes there (lint
 * `banned`). Names of files, columns and stages, messages of plugins and scripts, and values of
 * records come from outside, and a terminal obeys what it is sent; so what is printed for people
 * has control characters as \u001b, and bytes that are no UTF-8 as \xff. Newlines and tabs stay.
 * Depends on utf8. Thread-safe: what one call prints is not mixed with that of others. */
#ifndef SLUICE_BASE_SAY_H
#define SLUICE_BASE_SAY_H

#include <stdio.h>

#include "base/error.h"

/* Prints for people on standard output. */
void say(const char *format, ...) PRINTF_LIKE(1, 2);
/* The same on another stream. */
void say_to(FILE *, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same of n bytes as they are. */
void say_text(FILE *, const char *text, size_t n);
/* Prints JSON text on standard output, for programs: control characters are escaped there too,
 * which is the same value. */
bool say_json(const char *text, size_t n);
bool say_json_line(const char *text); /* and a newline */
/* Prints the bytes of records on standard output: as they are, but on a terminal, which gets them
 * as text for people. */
bool say_data(const void *data, size_t n);
/* Moves the cursor of the terminal on standard error up so many lines, and clears from there. */
void say_up(int lines);

#endif
