/* bpe_cache.h — what pieces became, as one thread remembers it.
 *
 * Owns: `struct piece_key`, `struct cache`. Depends on: nothing but libc. Four tables in sets of
 * CACHE_WAYS: pieces of up to SHORT_BYTES bytes with up to SHORT_IDS ids, four to a cache line, so
 * that what a language says again and again stays in the processor's second-level cache; of up to
 * PIECE_SHORT bytes and PIECE_IDS ids, two to a line; longer ones, or of more ids, of two lines
 * each; and of eight lines. What is in the vocabulary's shared tables (see bpe_head.h,
 * bpe_trained.h) is remembered here too once it was met: those are megabytes, of which a text needs
 * little. Tables begin small and double while they fill, up to the bound; a full set lends room
 * from its neighbour; then a new entry takes an old one's place. Promises: never more memory than
 * the bound; forgetting changes no id. */
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
/* The longest piece that is one 8-byte key, and its ids. */
#define SHORT_BYTES 7u
#define SHORT_IDS 2u
#define CACHE_WAYS 4u /* entries of a set, of each kind */
#define LONG_BYTES 60u
#define LONG_IDS 15u
#define WIDE_BYTES 254u
#define WIDE_IDS 64u

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

/* A short piece. */
struct short_entry {
    uint64_t key;            /* both words of its piece_key in one; 0: empty */
    uint32_t ids[SHORT_IDS]; /* as in piece_entry */
};

/* A piece longer still: rules of dashes, encoded bytes. */
struct wide_entry {
    uint8_t len, n, bytes[WIDE_BYTES]; /* len 0: empty */
    uint32_t ids[WIDE_IDS];
};

struct cache_table {
    void *entries;     /* sets of CACHE_WAYS */
    unsigned shift;    /* hash >> shift: the set */
    size_t used, size; /* entries */
    size_t most;       /* that the bound allows */
    size_t turn;       /* whose place the next one takes when there is no room */
};

struct cache {
    struct cache_table shorts, mids, longs, wides; /* of NAME_entry; mids: of piece_entry */
};

/* Caller's memory. 0, or -1 without memory. */
int cache_init(struct cache *cache, size_t bound);
void cache_deinit(struct cache *cache);
size_t cache_bytes(const struct cache *cache);
size_t cache_bound_bytes(const struct cache *cache);

/* An entry's ids: n of them, or the mark for more than PIECE_IDS. */
static inline void entry_ids(uint32_t entry[PIECE_IDS], const uint32_t *ids, size_t n)
{
    memset(entry, 0, PIECE_IDS * sizeof(*entry));
    if (n <= PIECE_IDS) {
        memcpy(entry, ids, n * sizeof(*ids));
        entry[0] |= (uint32_t)n << PIECE_COUNT_SHIFT;
    }
}

/* Remembers an entry's ids. */
void cache_put(struct cache *cache, struct piece_key key, const uint32_t entry[PIECE_IDS]);

/* Whether a piece may be remembered by its bytes, and remembers it. Pointers into the cache end. */
static inline int cache_takes(size_t len, size_t n)
{
    return len <= WIDE_BYTES && n <= WIDE_IDS;
}
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

static inline int key_is_short(struct piece_key key)
{
    return key.high >> 56 <= SHORT_BYTES;
}

#define SHORT_FACTOR UINT64_C(0x9E3779B97F4A7C15)
static inline uint64_t short_hash(uint64_t key)
{
    return key * SHORT_FACTOR;
}

static inline struct short_entry *cache_shorts(const struct cache *cache, uint64_t key)
{
    return (struct short_entry *)cache->shorts.entries +
           CACHE_WAYS * (size_t)(short_hash(key) >> cache->shorts.shift);
}

static inline struct piece_entry *cache_mids(const struct cache *cache, uint64_t hash)
{
    return (struct piece_entry *)cache->mids.entries +
           CACHE_WAYS * (size_t)(hash >> cache->mids.shift);
}

static inline struct long_entry *cache_longs(const struct cache *cache, uint64_t hash)
{
    return (struct long_entry *)cache->longs.entries +
           CACHE_WAYS * (size_t)(hash >> cache->longs.shift);
}

/* The set that lends `set` its room. */
static inline void *cache_neighbour(const struct cache_table *table, const void *set,
                                    size_t set_bytes)
{
    return (char *)table->entries +
           ((size_t)((const char *)set - (const char *)table->entries) ^ set_bytes);
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

/* What is remembered of a key: 1 and the entry's ids, those behind the count undefined; 0 when
 * nothing is. */
int cache_find(const struct cache *cache, struct piece_key key, uint64_t hash,
               uint32_t ids[PIECE_IDS]);
/* The same where it is not in its own sets. */
int cache_find_next_door(const struct cache *cache, struct piece_key key, uint64_t hash,
                         uint32_t ids[PIECE_IDS]);
/* The ids of a piece that was remembered by its bytes, and their number; NULL when it was not. */
const uint32_t *cache_find_long(const struct cache *cache, const uint8_t *p, size_t len, size_t *n);

#endif
