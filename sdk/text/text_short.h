/* text_short.h — hash and count byte strings that are mostly shorter than 16, without a branch a
 * length.
 *
 * Private to sdk/text. Callers promise 16 readable bytes at p, whatever len is.
 */
#ifndef TEXT_SHORT_H
#define TEXT_SHORT_H

#include "text/text_decode.h"
#include "text/text_hash.h"
#include "text/text_scan.h"

#include <stdbool.h>
#include <string.h>

#define TEXT_SHORT 16

/* Masks for the first len bytes of two words of 64 bits. */
extern const uint64_t text_short_masks[TEXT_SHORT + 1][2];

/* Hash of the len bytes at p. */
static inline uint64_t text_short_hash(const unsigned char *p, size_t len)
{
    if (len > TEXT_SHORT) {
        return text_hash_bytes(p, len);
    }
    uint64_t low = text_load64(p) & text_short_masks[len][0];
    uint64_t high = text_load64(p + 8) & text_short_masks[len][1];
    return text_hash_mix(low ^ TEXT_HASH_A, high ^ (TEXT_HASH_B + len));
}

/* Whether the len bytes at p and q are equal; TEXT_SHORT bytes may be read at both. */
static inline bool text_short_same(const unsigned char *p, const unsigned char *q, size_t len)
{
    if (len > TEXT_SHORT) {
        return memcmp(p, q, len) == 0;
    }
    uint64_t low = (text_load64(p) ^ text_load64(q)) & text_short_masks[len][0];
    uint64_t high = (text_load64(p + 8) ^ text_load64(q + 8)) & text_short_masks[len][1];
    return (low | high) == 0;
}

/* text_scan_count of the len bytes at p. */
static inline size_t text_short_count(const unsigned char *p, size_t len)
{
    if (len > TEXT_SHORT) {
        return text_scan_count(p, len);
    }
    const uint64_t top = 0x8080808080808080u, ones = 0x0101010101010101u;
    uint64_t low = text_load64(p) & text_short_masks[len][0];
    uint64_t high = text_load64(p + 8) & text_short_masks[len][1];
    if (((low | high) & top) == 0) {
        return len;
    }
    low &= ~(low << 1) & top; /* continuation bytes: bit 7 set and bit 6 clear */
    high &= ~(high << 1) & top;
    return len - (size_t)((((low >> 7) + (high >> 7)) * ones) >> 56);
}

#endif
