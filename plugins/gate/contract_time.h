/* Times as texts and numbers. Works on its arguments alone; knows no clock. */
#ifndef CONTRACT_TIME_H
#define CONTRACT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Microseconds since 1970 of "2026-03-01", "2026-03-01T10:00:00.5Z" or "... 10:00+01:00" (no zone:
 * UTC). false: it is none, or before the year 1 or after 9999. */
bool contract_time_read(const char *text, size_t n, int64_t *micros);
/* "2026-03-01T10:00:00Z" */
void contract_time_print(int64_t micros, char out[40]);

#endif
