/* Keyed pseudo-random numbers of rows: see shuffle_key.h. */
#include "shuffle_key.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void shuffle_put(uint64_t word, uint8_t bytes[8])
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(word >> (56 - 8 * i));
    }
}

uint64_t shuffle_get(const uint8_t bytes[8])
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++) {
        word = word << 8 | bytes[i];
    }
    return word;
}

uint64_t shuffle_seed(enum shuffle_purpose purpose, int64_t seed)
{
    uint8_t bytes[16];

    shuffle_put((uint64_t)purpose, bytes);
    shuffle_put((uint64_t)seed, bytes + 8);
    return XXH3_64bits(bytes, sizeof bytes);
}

uint64_t shuffle_hash(const void *id, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(id, n, seed);
}

void shuffle_key(const void *id, size_t n, uint64_t seed, uint8_t key[16])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(id, n, seed));
    memcpy(key, canonical.digest, 16);
}

double shuffle_fraction(uint64_t hash)
{
    return (double)(hash >> 11) / 9007199254740992.0;
}
