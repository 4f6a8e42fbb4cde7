/* Which document of a cluster is the best one, as a number: the smaller, the better.
 *
 * Owns the order of survivors. Depends on nothing. Promises an order that does not depend on the
 * machine; a value that is missing comes last. */
#ifndef MINHASH_RANK_H
#define MINHASH_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MINHASH_RANK_LAST UINT64_MAX

/* The largest first; not a number comes last, and zeros are equal. */
uint64_t minhash_rank_float(double value);
uint64_t minhash_rank_signed(int64_t value);
uint64_t minhash_rank_unsigned(uint64_t value);

/* A date and time in text as microseconds since 1970-01-01 00:00 UTC: YYYY-MM-DD, then perhaps 'T'
 * or a space, hh:mm, :ss, a fraction, and 'Z' or an offset (+hh:mm, +hhmm); or YYYYMMDD, or
 * YYYYMMDDhhmmss. Years 0000 to 9999. False when it is none of these. */
bool minhash_date(const char *text, size_t n, int64_t *micros);

#endif
