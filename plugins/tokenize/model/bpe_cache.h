/* bpe_cache.h — what pieces became: a head that all threads share and never changes (the
 * vocabulary's own strings with what merging gives for them; in front of it one trained on a sample, see
 * bpe_trained.h), and one thread's own tail of the
 * pieces it met.
 *
 * Owns: `struct piece_entry`, `struct cache`. Depends on: nothing but libc.
 * A piece of up to PIECE_SHORT bytes is a 16-byte key and lives in 32-byte entries, two a line; one
 * of up to LONG_BYTES bytes, or with more than four ids, lives in entries of two lines. Tables begin
 * small and double while they fill, up to the bound; then a new entry takes an old one's place.
 * Promises: never more memory than the bound; forgetting changes no id. */
#ifndef TOKENIZE_BPE_CACHE_H
#define TOKENIZE_BPE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The longest piece that is one 16-byte key. */
#define PIECE_SHORT 15u
/* Ids of an entry of one key. */
#define PIECE_IDS 4u
#define CACHE_WAYS 4u /* entries of a set, of both kinds */
#define LONG_BYTES 60u
#define LONG_IDS 15u

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "struct piece_key packs bytes for little-endian machines"
#endif
struct piece_key {
    uint64_t low, high; /* the bytes, zero behind them; the length in the top byte */
};

/* ids[0] holds their number (1 to 4) in its top bits; 0 there: they are more and stand in a long
 * entry. An empty entry's key is 0. */
struct piece_entry {
    struct piece_key key;
    uint32_t ids[PIECE_IDS];
};
#define PIECE_COUNT_SHIFT 28u
#define PIECE_ID_MASK ((UINT32_C(1) << PIECE_COUNT_SHIFT) - 1)

/* A longer piece, or one of more ids. */
struct long_entry {
    uint8_t len, n, bytes[LONG_BYTES]; /* len 0: empty */
    uint16_t unused;
    uint32_t ids[LONG_IDS];
    uint32_t unused_end;
};

struct cache {
    struct piece_entry *entries; /* sets of CACHE_WAYS */
    unsigned shift;              /* hash >> shift: the set */
    size_t used, size;           /* entries */
    struct long_entry *longs;    /* sets of CACHE_WAYS */
    unsigned long_shift;
    size_t long_used, long_size;
    size_t most, long_most; /* entries that the bound allows */
};

/* Caller's memory. 0, or -1 without memory. */
int cache_init(struct cache *cache, size_t bound);
void cache_deinit(struct cache *cache);
size_t cache_bytes(const struct cache *cache);
size_t cache_bound_bytes(const struct cache *cache);

/* Remembers n ids (n <= PIECE_IDS, 0 for more; n <= LONG_IDS) of a piece. Pointers into the cache
 * end. */
void cache_put(struct cache *cache, struct piece_key key, const uint32_t *ids, size_t n);
void cache_put_long(struct cache *cache, const uint8_t *p, size_t len, const uint32_t *ids,
                    size_t n);

/* Memory in whole huge pages where that pays, aligned to a cache line, zeroed; free() ends it. NULL
 * without memory. */
void *cache_memory(size_t bytes);

static inline uint64_t mix64(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t piece_hash(struct piece_key key)
{
    return mix64(key.low ^ UINT64_C(0x9E3779B97F4A7C15), key.high ^ UINT64_C(0x42B2AE3D27D4EB4F));
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* Of 1 to LONG_BYTES bytes. */
static inline uint64_t long_hash(const uint8_t *p, size_t len)
{
    uint64_t h = len * UINT64_C(0x9E3779B97F4A7C15);
    if (len < 16) {
        uint64_t two[2] = { 0, 0 };
        memcpy(two, p, len);
        return mix64(two[0] ^ h, two[1] ^ UINT64_C(0xC2B2AE3D27D4EB4F)) *
               UINT64_C(0x9E3779B97F4A7C15);
    }
    h ^= mix64(word_at(p) ^ UINT64_C(0xA0761D6478BD642F), word_at(p + 8) ^ h);
    if (len > 32) {
        h ^= mix64(word_at(p + 16) ^ UINT64_C(0xE7037ED1A0B428DB), word_at(p + 24) ^ h);
        h ^= mix64(word_at(p + len - 32) ^ UINT64_C(0x8EBC6AF09C88C6E3), word_at(p + len - 24) ^ h);
    }
    return mix64(word_at(p + len - 16) ^ UINT64_C(0x589965CC75374CC3), word_at(p + len - 8) ^ h) *
           UINT64_C(0x9E3779B97F4A7C15);
}

static inline struct piece_entry *cache_set(const struct cache *cache, uint64_t hash)
{
    return &cache->entries[CACHE_WAYS * (size_t)(hash >> cache->shift)];
}

static inline struct long_entry *cache_long_set(const struct cache *cache, uint64_t hash)
{
    return &cache->longs[CACHE_WAYS * (size_t)(hash >> cache->long_shift)];
}

/* 1 or 0, without a branch. */
static inline unsigned piece_is(const struct piece_entry *entry, struct piece_key key)
{
#if defined(__SSE2__)
    const __m128i want = _mm_set_epi64x((long long)key.high, (long long)key.low);
    const __m128i have = _mm_load_si128((const __m128i *)(const void *)&entry->key);
    return ((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(have, want)) + 1) >> 16;
#else
    return ((entry->key.low ^ key.low) | (entry->key.high ^ key.high)) == 0;
#endif
}

/* The entry of a key, of a longer piece; NULL when it is not there. */
static inline const struct piece_entry *cache_find(const struct cache *cache, struct piece_key key,
                                                   uint64_t hash)
{
    const struct piece_entry *set = cache_set(cache, hash);
    for (unsigned k = 0; k < CACHE_WAYS; k++) {
        if (piece_is(&set[k], key)) {
            return &set[k];
        }
    }
    return NULL;
}

static inline const struct long_entry *cache_find_long(const struct cache *cache, const uint8_t *p,
                                                       size_t len)
{
    const struct long_entry *set = cache_long_set(cache, long_hash(p, len));
    for (unsigned k = 0; k < CACHE_WAYS; k++) {
        if (set[k].len == len && memcmp(set[k].bytes, p, len) == 0) {
            return &set[k];
        }
    }
    return NULL;
}

#endif
