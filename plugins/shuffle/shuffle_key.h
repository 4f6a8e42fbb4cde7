/* Keyed pseudo-random numbers of rows: a pure function of a purpose, a seed and the bytes of an id.
 * Depends on xxhash.
 *
 * XXH3 with a seed that is itself a hash of purpose and seed: what one purpose draws tells nothing
 * of what another draws with the same seed, so that documents that a mixture keeps are not the
 * first ones of a shuffle. */
#ifndef SHUFFLE_KEY_H
#define SHUFFLE_KEY_H

#include <stddef.h>
#include <stdint.h>

enum shuffle_purpose { SHUFFLE_ORDER = 1, SHUFFLE_DRAW = 2, SHUFFLE_HOLDOUT = 3, SHUFFLE_NAME = 4 };

/* The seed of a purpose. */
uint64_t shuffle_seed(enum shuffle_purpose, int64_t seed);
/* 64 random bits of an id. */
uint64_t shuffle_hash(const void *id, size_t n, uint64_t seed);
/* 128 of them, most significant byte first: as bytes they sort as numbers do. */
void shuffle_key(const void *id, size_t n, uint64_t seed, uint8_t key[16]);
/* A number of [0, 1) from its upper 53 bits. */
double shuffle_fraction(uint64_t hash);
/* A word's bytes, most significant first, and back. */
void shuffle_put(uint64_t word, uint8_t bytes[8]);
uint64_t shuffle_get(const uint8_t bytes[8]);

#endif
