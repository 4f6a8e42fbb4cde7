/* SHA-256 (FIPS 180-4) by nettle: what people compare and publish. Content keys inside are XXH3
 * (hash.h). */
#ifndef SLUICE_BASE_SHA256_H
#define SLUICE_BASE_SHA256_H

#include "base/hash.h"

#define SHA256_HEX 65u /* 64 lower-case hexadecimal digits and the NUL */

void sha256_bytes(const void *data, size_t n, char hex[SHA256_HEX]);
/* The file's bytes as they are on disk, and in the same reading what Sluice itself compares by
 * (hash.h); SLUICE_E_IO or SLUICE_E_CONFIG (not there) with the path. */
sluice_status sha256_file(const char *path, char hex[SHA256_HEX], struct hash128 *hash,
                          struct sluice_error *) MUST_USE;

#endif
