/* The Mersenne Twister MT19937 (Matsumoto, Nishimura 1998) with numpy's conventions. Owns no state
 * of its own; see mt19937.h. */
#include "mt19937.h"

#include <assert.h>

#define MT_SHIFT 397u

void mt19937_init(struct mt19937 *twister, uint32_t seed)
{
    for (uint32_t i = 0; i < MT19937_WORDS; i++) {
        twister->word[i] = seed;
        seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1u;
    }
    twister->next = MT19937_WORDS;
}

static void mt19937_refill(struct mt19937 *twister)
{
    uint32_t *word = twister->word;
    for (uint32_t i = 0; i < MT19937_WORDS; i++) {
        uint32_t y = (word[i] & 0x80000000u) | (word[(i + 1u) % MT19937_WORDS] & 0x7fffffffu);
        word[i] =
            word[(i + MT_SHIFT) % MT19937_WORDS] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
    }
    twister->next = 0;
}

uint32_t mt19937_next32(struct mt19937 *twister)
{
    if (twister->next >= MT19937_WORDS) {
        mt19937_refill(twister);
    }
    uint32_t y = twister->word[twister->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    y ^= y >> 18;
    return y;
}

/* The next 64 bits: the first 32-bit output is the high half. */
static uint64_t mt19937_next64(struct mt19937 *twister)
{
    uint64_t high = mt19937_next32(twister);
    return (high << 32) | mt19937_next32(twister);
}

uint64_t mt19937_range(struct mt19937 *twister, uint64_t low, uint64_t high)
{
    assert(low < high && high - low > ((uint64_t)1 << 32));
    uint64_t last = high - 1u - low;
    uint64_t mask = last;
    for (uint32_t shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    uint64_t draw = mt19937_next64(twister) & mask;
    while (draw > last) {
        draw = mt19937_next64(twister) & mask;
    }
    return low + draw;
}
