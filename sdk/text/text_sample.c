/* text_sample.c — a hash as a number, PCG64. See text_sample.h. */
#include "text/text_sample.h"

#include "text/text_hash.h"

__extension__ typedef unsigned __int128 uint128;

double text_sample_id(const char *id, size_t len, uint64_t seed)
{
    return (double)(XXH3_64bits_withSeed(id, len, seed) >> 11) * 0x1p-53;
}

/* numpy/random/bit_generator.pyx: constants of SeedSequence. */
#define POOL 4

static uint32_t hash_mix(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix(uint32_t x, uint32_t y)
{
    uint32_t result = 0xca01f9ddu * x - 0x4973f715u * y;
    return result ^ result >> 16;
}

static void seed_words(uint64_t seed, uint64_t out[4])
{
    const uint32_t entropy[POOL] = { (uint32_t)seed, (uint32_t)(seed >> 32), 0, 0 };
    uint32_t pool[POOL];
    uint32_t constant = 0x43b0d7e5u;

    for (int i = 0; i < POOL; i++) {
        pool[i] = hash_mix(entropy[i], &constant, 0x931e8875u);
    }
    for (int from = 0; from < POOL; from++) {
        for (int to = 0; to < POOL; to++) {
            if (from != to) {
                pool[to] = mix(pool[to], hash_mix(pool[from], &constant, 0x931e8875u));
            }
        }
    }
    constant = 0x8b51f9ddu;
    for (int i = 0; i < 4; i++) {
        uint64_t low = hash_mix(pool[2 * i % POOL], &constant, 0x58f38dedu);
        out[i] = (uint64_t)hash_mix(pool[(2 * i + 1) % POOL], &constant, 0x58f38dedu) << 32 | low;
    }
}

static uint128 join(uint64_t high, uint64_t low)
{
    return (uint128)high << 64 | low;
}

static uint128 advance(uint128 state, uint128 step)
{
    return state * join(2549297995355413924u, 4865540595714422341u) + step;
}

void text_pcg64_init(struct text_pcg64 *rng, uint64_t seed)
{
    uint64_t words[4];

    seed_words(seed, words);
    uint128 step = join(words[2], words[3]) << 1 | 1;
    uint128 state = advance(advance(0, step) + join(words[0], words[1]), step);
    *rng = (struct text_pcg64){ (uint64_t)(state >> 64), (uint64_t)state, (uint64_t)(step >> 64),
                                (uint64_t)step };
}

uint64_t text_pcg64_next(struct text_pcg64 *rng)
{
    uint128 state =
        advance(join(rng->state_high, rng->state_low), join(rng->step_high, rng->step_low));
    uint64_t folded = (uint64_t)(state >> 64) ^ (uint64_t)state;
    uint32_t turn = (uint32_t)(state >> 122);

    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
    return folded >> turn | folded << ((64 - turn) & 63);
}

double text_pcg64_double(struct text_pcg64 *rng)
{
    return (double)(text_pcg64_next(rng) >> 11) * 0x1p-53;
}
