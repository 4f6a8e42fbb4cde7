/* Content hashes: XXH3-128 (xxHash 0.8), printed as 32 hexadecimal digits in canonical (big-endian)
 * order. */
#ifndef SLUICE_BASE_HASH_H
#define SLUICE_BASE_HASH_H

#include "base/error.h"

struct hash128 {
    uint64_t lo;
    uint64_t hi;
};

struct hasher; /* incremental */

struct hash128 hash_bytes(const void *data, size_t n);
bool hash_equal(struct hash128 a, struct hash128 b);
bool hash_is_zero(struct hash128 a);
void hash_hex(struct hash128, char out[33]);
bool hash_parse(const char *hex, struct hash128 *out); /* exactly 32 digits */

struct hasher *hasher_create(void); /* NULL = out of memory */
void hasher_destroy(struct hasher *);
void hasher_reset(struct hasher *);
void hasher_add(struct hasher *, const void *data, size_t n);
void hasher_add_string(struct hasher *,
                       const char *text); /* with its length, so that ("ab","c") != ("a","bc") */
void hasher_add_u64(struct hasher *, uint64_t value); /* little-endian */
void hasher_add_hash(struct hasher *, struct hash128);
struct hash128 hasher_digest(const struct hasher *);

#endif
