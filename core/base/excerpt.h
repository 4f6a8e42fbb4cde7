/* Names, values and records of others on one line of a terminal. Depends on buf, utf8.
 * Thread-safe. */
#ifndef SLUICE_BASE_EXCERPT_H
#define SLUICE_BASE_EXCERPT_H

#include "base/buf.h"

/* Appends text on one line, at most `columns` wide (0 = all of it): control characters and bytes
 * that are no UTF-8 become escapes, "…" says that something was cut. */
void excerpt_put(struct buf *out, const char *text, size_t n, size_t columns);
/* Columns that printable UTF-8 text takes on a terminal. */
size_t excerpt_width(const char *text, size_t n);
/* Appends text as valid UTF-8: bytes that are none as \xHH, all else as it is. */
void excerpt_valid(struct buf *out, const char *text, size_t n);

#endif
