/* text_seen.h — where a hash was seen first: a set that may be wrong to the safe side only.
 *
 * Private to sdk/text. Of a hash 16 bits are kept, in buckets of 8 that one vector instruction
 * compares, so that the set is small enough for the cache. Promises: what was added is found again;
 * what was not is found seldom (another hash of the same 16 bits, or a full bucket). Memory is the
 * caller's, and zeroed by text_seen_init. The portable comparison is the truth; the tests compare.
 */
#ifndef TEXT_SEEN_H
#define TEXT_SEEN_H

#include "text/text_hash.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define TEXT_SEEN_LANES 8
#define TEXT_SEEN_FULL UINT32_MAX /* the bucket is full: perhaps seen */

struct text_seen_bucket {
    uint16_t marks[TEXT_SEEN_LANES]; /* 0: free; taken from the first on */
};

struct text_seen {
    struct text_seen_bucket *buckets;
    uint32_t *places; /* [buckets x 8] given with the marks */
    size_t mask;
};

/* Buckets for about n hashes, a power of two. Memory: 48 bytes each. */
static inline size_t text_seen_buckets(size_t n)
{
    size_t buckets = 8;
    while (2 * buckets < n) {
        buckets *= 2;
    }
    return buckets;
}

#define TEXT_SEEN_BYTES (sizeof(struct text_seen_bucket) + TEXT_SEEN_LANES * sizeof(uint32_t))

/* An empty set in memory of `buckets` x TEXT_SEEN_BYTES, aligned to 16. */
static inline void text_seen_init(struct text_seen *seen, void *memory, size_t buckets)
{
    seen->buckets = memory;
    seen->places = (uint32_t *)(void *)(seen->buckets + buckets);
    seen->mask = buckets - 1;
    memset(seen->buckets, 0, buckets * sizeof *seen->buckets);
}

/* Bit i of *same: lane i holds the mark; bit i of *taken: it holds any. */
static inline void text_seen_compare_portable(const struct text_seen_bucket *bucket, uint16_t mark,
                                              unsigned *same, unsigned *taken)
{
    *same = 0;
    *taken = 0;
    for (unsigned i = 0; i < TEXT_SEEN_LANES; i++) {
        *same |= (unsigned)(bucket->marks[i] == mark) << i;
        *taken |= (unsigned)(bucket->marks[i] != 0) << i;
    }
}

static inline void text_seen_compare(const struct text_seen_bucket *bucket, uint16_t mark,
                                     unsigned *same, unsigned *taken)
{
#if defined(__SSE2__)
    const __m128i lanes = _mm_load_si128((const __m128i *)(const void *)bucket);
    const __m128i equal = _mm_cmpeq_epi16(lanes, _mm_set1_epi16((short)mark));
    const __m128i empty = _mm_cmpeq_epi16(lanes, _mm_setzero_si128());
    /* Bytes, so that one instruction gives both masks. */
    unsigned both = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(equal, empty));
    *same = both & 0xFF;
    *taken = ~both >> 8 & 0xFF;
#else
    text_seen_compare_portable(bucket, mark, same, taken);
#endif
}

/* Asks for the memory that the hash will want. */
static inline void text_seen_prefetch(const struct text_seen *seen, uint64_t hash)
{
    size_t at = hash & seen->mask;
    __builtin_prefetch(&seen->buckets[at]);
    __builtin_prefetch(&seen->places[at * TEXT_SEEN_LANES]);
}

/* Adds a hash with its place. Gives the place that it (or one that looks the same) was added with
 * first, which is the one given when the hash is new, or TEXT_SEEN_FULL when it could not be added.
 * Whether it is new nobody foretells: only a full bucket is a branch. place < TEXT_SEEN_FULL. */
static inline uint32_t text_seen_add(struct text_seen *seen, uint64_t hash, uint32_t place)
{
    size_t at = hash & seen->mask;
    struct text_seen_bucket *bucket = &seen->buckets[at];
    uint16_t mark = (uint16_t)(hash >> 48);
    unsigned same, taken;
    mark = (uint16_t)(mark + (mark == 0));
    text_seen_compare(bucket, mark, &same, &taken);
    unsigned choice = same | ((~taken & 0xFF) & (0u - (same == 0)));
    if (choice == 0) {
        return TEXT_SEEN_FULL;
    }
    unsigned lane = (unsigned)__builtin_ctz(choice);
    uint32_t *first = &seen->places[at * TEXT_SEEN_LANES + lane];
    uint32_t old = 0u - (same != 0); /* all bits: the place there stays */
    bucket->marks[lane] = mark;
    return *first = (*first & old) | (place & ~old);
}

#endif
