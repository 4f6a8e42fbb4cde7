/* SHA-256 (FIPS 180-4) by nettle: what people compare and publish. Content keys inside are XXH3
 * (hash.h). */
#ifndef SLUICE_BASE_SHA256_H
#define SLUICE_BASE_SHA256_H

#include "base/hash.h"

#define SHA256_HEX 65u /* 64 lower-case hexadecimal digits and the NUL */

void sha256_bytes(const void *data, size_t n, char hex[SHA256_HEX]);

/* The same of bytes that come in pieces. NULL = out of memory; destroying NULL is fine. */
struct sha256;
struct sha256 *sha256_create(void);
void sha256_destroy(struct sha256 *);
void sha256_add(struct sha256 *, const void *data, size_t n);
void sha256_end(struct sha256 *, char hex[SHA256_HEX]); /* the last call but destroying it */

#endif
