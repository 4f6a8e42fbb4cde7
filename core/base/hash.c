/* Content hashes: see hash.h. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h> /* the same hashes, by the widest vectors that the processor has */
#endif

struct hasher {
    XXH3_state_t *state;
};

struct hash128 hash_bytes(const void *data, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(data, n);
    struct hash128 result = { h.low64, h.high64 };
    return result;
}

bool hash_equal(struct hash128 a, struct hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

bool hash_is_zero(struct hash128 a)
{
    return a.lo == 0 && a.hi == 0;
}

void hash_hex(struct hash128 hash, char out[33])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        out[i] = digits[(hash.hi >> (60 - 4 * i)) & 15];
        out[16 + i] = digits[(hash.lo >> (60 - 4 * i)) & 15];
    }
    out[32] = '\0';
}

bool hash_parse(const char *hex, struct hash128 *out)
{
    uint64_t parts[2] = { 0, 0 };

    for (int i = 0; i < 32; i++) {
        char c = hex[i];
        uint64_t digit;
        if (c >= '0' && c <= '9') {
            digit = (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (uint64_t)(c - 'a') + 10;
        } else {
            return false;
        }
        parts[i / 16] = parts[i / 16] << 4 | digit;
    }
    if (hex[32] != '\0') {
        return false;
    }
    out->hi = parts[0];
    out->lo = parts[1];
    return true;
}

struct hasher *hasher_create(void)
{
    struct hasher *hasher = malloc(sizeof *hasher);

    if (hasher == NULL) {
        return NULL;
    }
    hasher->state = XXH3_createState();
    if (hasher->state == NULL) {
        free(hasher);
        return NULL;
    }
    hasher_reset(hasher);
    return hasher;
}

void hasher_destroy(struct hasher *hasher)
{
    if (hasher != NULL) {
        XXH3_freeState(hasher->state);
        free(hasher);
    }
}

void hasher_reset(struct hasher *hasher)
{
    XXH3_128bits_reset(hasher->state);
}

void hasher_add(struct hasher *hasher, const void *data, size_t n)
{
    if (n > 0) {
        XXH3_128bits_update(hasher->state, data, n);
    }
}

void hasher_add_string(struct hasher *hasher, const char *text)
{
    size_t n = strlen(text);

    hasher_add_u64(hasher, n);
    hasher_add(hasher, text, n);
}

void hasher_add_u64(struct hasher *hasher, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    hasher_add(hasher, bytes, sizeof bytes);
}

void hasher_add_hash(struct hasher *hasher, struct hash128 hash)
{
    hasher_add_u64(hasher, hash.lo);
    hasher_add_u64(hasher, hash.hi);
}

struct hash128 hasher_digest(const struct hasher *hasher)
{
    XXH128_hash_t h = XXH3_128bits_digest(hasher->state);
    struct hash128 result = { h.low64, h.high64 };
    return result;
}
