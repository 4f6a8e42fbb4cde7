/* The Mersenne Twister as numpy's legacy RandomState uses it.
 *
 * Owns: the 624-word state and the draws that MinHash parameters are made of. Depends on nothing.
 * Promises the bits of numpy.random.RandomState(seed).randint(low, high, dtype=uint64): Knuth
 * seeding of one 32-bit number, 64-bit draws whose first 32-bit output is the high half, masked
 * rejection (numpy/random/src/mt19937, src/legacy, src/distributions). */
#ifndef MT19937_H
#define MT19937_H

#include <stdint.h>

#define MT19937_WORDS 624

struct mt19937 {
    uint32_t word[MT19937_WORDS];
    uint32_t next; /* index of the next word to temper; MT19937_WORDS = refill first */
};

/* Seeds caller-owned memory like RandomState(seed). Nothing to free. */
void mt19937_init(struct mt19937 *twister, uint32_t seed);

/* The next 32-bit output. */
uint32_t mt19937_next32(struct mt19937 *twister);

/* A number in [low, high) like RandomState.randint(low, high, dtype=uint64); low < high, and high -
 * low > 2^32 (numpy draws smaller ranges from 32-bit outputs, which nobody here needs). */
uint64_t mt19937_range(struct mt19937 *twister, uint64_t low, uint64_t high);

#endif
