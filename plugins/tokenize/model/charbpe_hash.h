/* charbpe_hash.h — what charbpe.c and charbpe_build.c share. Private to them. */
#ifndef TOKENIZE_CHARBPE_HASH_H
#define TOKENIZE_CHARBPE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "model/charbpe.h"

/* Of a pair of symbols: a place by its low bits, filters by its high ones. */
static inline uint64_t charbpe_hash(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15);
    return (h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

/* Whether the text may be cut in front of text[at], 0 < at < len; the character before it begins at
 * `from`. */
int charbpe_is_cut(const struct charbpe *chars, const uint8_t *text, size_t len, size_t from,
                   size_t at);

#endif
