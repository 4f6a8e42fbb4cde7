/* text_hash.h — hashing and table slots of this folder's set operations.
 *
 * Private to sdk/text. Hashes only find candidates: every user compares bytes, so no result depends
 * on them. Tables are open-addressing arrays of slots: the hash's upper half and an index + 1; 0 is
 * empty. Their memory is the caller's.
 */
#ifndef TEXT_HASH_H
#define TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#define TEXT_HASH_A 0x9E3779B97F4A7C15u
#define TEXT_HASH_B 0xD6E8FEB86659FD93u

/* Folds the 128-bit product: mixes two words of 64 bits into one. */
static inline uint64_t text_hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t text_hash_bytes(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

/* The smallest power of two that holds n entries at most half full; at least 64. */
static inline size_t text_hash_slots(size_t n)
{
    size_t slots = 64;
    while (slots < 2 * n) {
        slots *= 2;
    }
    return slots;
}

static inline uint64_t text_hash_slot(uint64_t hash, uint32_t index)
{
    return (hash & 0xFFFFFFFF00000000u) | (index + 1);
}

static inline uint32_t text_hash_index(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* Whether a slot that is taken may hold this hash. */
static inline int text_hash_same(uint64_t slot, uint64_t hash)
{
    return (slot ^ hash) >> 32 == 0;
}

#endif
