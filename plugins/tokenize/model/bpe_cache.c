/* bpe_cache.c — see the header. */
#include "model/bpe_cache.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <xxhash.h>

#define SHORTS_FIRST 4096u /* entries: 64 KiB */
#define MIDS_FIRST 2048u   /* entries: 64 KiB */
#define LONGS_FIRST 256u   /* entries: 32 KiB */
#define WIDES_FIRST 64u    /* entries: 32 KiB */
#define HUGE_PAGE ((size_t)2 << 20)

void *cache_memory(size_t bytes)
{
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    size_t size = (bytes + align - 1) / align * align;
    void *memory = aligned_alloc(align, size);
    if (memory && align == HUGE_PAGE) {
        (void)madvise(memory, size, MADV_HUGEPAGE); /* before the first touch; only a wish */
    }
    return memory ? memset(memory, 0, bytes) : NULL;
}

/* ---- what the four kinds of entries differ in ---- */

struct kind {
    size_t bytes;
    uint64_t (*hash)(const void *entry);
    int (*is_empty)(const void *entry);
};

static uint64_t hash_of_short(const void *entry)
{
    return short_hash(((const struct short_entry *)entry)->key);
}

static int short_is_empty(const void *entry)
{
    return ((const struct short_entry *)entry)->key == 0;
}

static uint64_t hash_of_mid(const void *entry)
{
    return piece_hash(((const struct piece_entry *)entry)->key);
}

static int mid_is_empty(const void *entry)
{
    return ((const struct piece_entry *)entry)->key.high == 0;
}

static uint64_t hash_of_long(const void *entry)
{
    return long_hash(((const struct long_entry *)entry)->bytes,
                     ((const struct long_entry *)entry)->len);
}

static uint64_t hash_of_wide(const void *entry)
{
    return XXH3_64bits(((const struct wide_entry *)entry)->bytes,
                       ((const struct wide_entry *)entry)->len);
}

/* Long and wide entries begin with a length, a number of ids and the bytes. */
static int bytes_are_empty(const void *entry)
{
    return *(const uint8_t *)entry == 0;
}

static const struct kind shorts = { sizeof(struct short_entry), hash_of_short, short_is_empty };
static const struct kind mids = { sizeof(struct piece_entry), hash_of_mid, mid_is_empty };
static const struct kind longs = { sizeof(struct long_entry), hash_of_long, bytes_are_empty };
static const struct kind wides = { sizeof(struct wide_entry), hash_of_wide, bytes_are_empty };

/* ---- a table ---- */

/* Four sets at the least: each has a neighbour. */
static int table_init(struct cache_table *table, const struct kind *kind, size_t bound,
                      size_t first)
{
    table->most = 4 * CACHE_WAYS;
    while (table->most * 2 <= bound / kind->bytes) {
        table->most *= 2;
    }
    table->size = table->most < first ? table->most : first;
    table->shift = 64;
    for (size_t sets = table->size / CACHE_WAYS; sets > 1; sets /= 2) {
        table->shift--;
    }
    table->entries = cache_memory(table->size * kind->bytes);
    return table->entries ? 0 : -1;
}

/* Puts an entry into its set, or next door, or in the place of one of its set, each in turn. Gives
 * 1 when it is one more. */
static size_t place(struct cache_table *table, const struct kind *kind, const void *entry)
{
    const size_t n = kind->bytes;
    const size_t set = CACHE_WAYS * n * (size_t)(kind->hash(entry) >> table->shift);
    for (size_t s = 0; s < 2; s++) {
        char *at = (char *)table->entries + (s == 0 ? set : set ^ CACHE_WAYS * n);
        for (size_t k = 0; k < CACHE_WAYS; k++) {
            if (kind->is_empty(at + k * n)) {
                memcpy(at + k * n, entry, n);
                return 1;
            }
        }
    }
    memcpy((char *)table->entries + set + table->turn++ % CACHE_WAYS * n, entry, n);
    return 0;
}

static void grow(struct cache_table *table, const struct kind *kind)
{
    char *old = table->entries;
    const size_t n = table->size;
    void *entries = cache_memory(2 * n * kind->bytes);
    if (!entries) {
        table->most = n; /* as large as memory allows */
        return;
    }
    table->entries = entries;
    table->size = 2 * n;
    table->shift--;
    table->used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!kind->is_empty(old + i * kind->bytes)) {
            table->used += place(table, kind, old + i * kind->bytes);
        }
    }
    free(old);
}

static void put(struct cache_table *table, const struct kind *kind, const void *entry)
{
    if (table->size < table->most && table->used * 2 > table->size) {
        grow(table, kind);
    }
    table->used += place(table, kind, entry);
}

/* ---- the cache ---- */

int cache_init(struct cache *cache, size_t bound)
{
    memset(cache, 0, sizeof(*cache));
    /* While a table doubles, the old one is there too: a quarter is for that. */
    if (table_init(&cache->shorts, &shorts, bound / 16, SHORTS_FIRST) != 0 ||
        table_init(&cache->mids, &mids, bound / 4, MIDS_FIRST) != 0 ||
        table_init(&cache->longs, &longs, bound / 4, LONGS_FIRST) != 0 ||
        table_init(&cache->wides, &wides, bound / 16, WIDES_FIRST) != 0) {
        cache_deinit(cache);
        return -1;
    }
    return 0;
}

void cache_deinit(struct cache *cache)
{
    free(cache->shorts.entries);
    free(cache->mids.entries);
    free(cache->longs.entries);
    free(cache->wides.entries);
    memset(cache, 0, sizeof(*cache));
}

size_t cache_bytes(const struct cache *cache)
{
    return cache->shorts.size * shorts.bytes + cache->mids.size * mids.bytes +
           cache->longs.size * longs.bytes + cache->wides.size * wides.bytes;
}

size_t cache_bound_bytes(const struct cache *cache)
{
    const size_t each[] = { cache->shorts.most * shorts.bytes, cache->mids.most * mids.bytes,
                            cache->longs.most * longs.bytes, cache->wides.most * wides.bytes };
    size_t all = 0, largest = 0;
    for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++) {
        all += each[k];
        largest = each[k] > largest ? each[k] : largest;
    }
    return all + largest / 2;
}

/* The way of a short key in a set, or CACHE_WAYS. */
static size_t short_way(const struct short_entry *set, uint64_t key)
{
    size_t k = 0;
    while (k < CACHE_WAYS && set[k].key != key) {
        k++;
    }
    return k;
}

static size_t mid_way(const struct piece_entry *set, struct piece_key key)
{
    size_t k = 0;
    while (k < CACHE_WAYS && !piece_is(&set[k], key)) {
        k++;
    }
    return k;
}

int cache_find(const struct cache *cache, struct piece_key key, uint64_t hash,
               uint32_t ids[PIECE_IDS])
{
    const struct piece_entry *set = cache_mids(cache, hash);
    size_t way;
    if (key_is_short(key)) {
        struct short_entry *home = cache_shorts(cache, key.low | key.high);
        way = short_way(home, key.low | key.high);
        if (way < CACHE_WAYS) {
            memcpy(ids, home[way].ids, sizeof(home[way].ids));
            return 1;
        }
    }
    way = mid_way(set, key);
    if (way < CACHE_WAYS) {
        memcpy(ids, set[way].ids, sizeof(set[way].ids));
    }
    return way < CACHE_WAYS || cache_find_next_door(cache, key, hash, ids);
}

int cache_find_next_door(const struct cache *cache, struct piece_key key, uint64_t hash,
                         uint32_t ids[PIECE_IDS])
{
    struct piece_entry *set =
        cache_neighbour(&cache->mids, cache_mids(cache, hash), CACHE_WAYS * sizeof(*set));
    size_t way;
    if (key_is_short(key)) {
        struct short_entry *home = cache_shorts(cache, key.low | key.high);
        struct short_entry *door =
            cache_neighbour(&cache->shorts, home, CACHE_WAYS * sizeof(*home));
        way = short_way(door, key.low | key.high);
        if (way < CACHE_WAYS) { /* what is asked for comes home, in exchange for what came last */
            const struct short_entry found = door[way];
            memcpy(ids, found.ids, sizeof(found.ids));
            door[way] = home[CACHE_WAYS - 1];
            home[CACHE_WAYS - 1] = found;
            return 1;
        }
    }
    way = mid_way(set, key);
    if (way < CACHE_WAYS) {
        memcpy(ids, set[way].ids, sizeof(set[way].ids));
    }
    return way < CACHE_WAYS;
}

void cache_put(struct cache *cache, struct piece_key key, const uint32_t entry[PIECE_IDS])
{
    const size_t n = entry[0] >> PIECE_COUNT_SHIFT;
    if (key_is_short(key) && n > 0 && n <= SHORT_IDS) {
        const struct short_entry found = { key.low | key.high, { entry[0], entry[1] } };
        if (short_way(cache_shorts(cache, found.key), found.key) ==
            CACHE_WAYS) { /* not twice in one pass */
            put(&cache->shorts, &shorts, &found);
        }
    } else {
        struct piece_entry found = { .key = key };
        if (mid_way(cache_mids(cache, piece_hash(key)), key) == CACHE_WAYS) {
            memcpy(found.ids, entry, sizeof(found.ids));
            put(&cache->mids, &mids, &found);
        }
    }
}

/* The long or wide entry with these bytes in its set or next door, or NULL. */
static const void *find_bytes_in(const struct cache_table *table, const struct kind *kind,
                                 uint64_t hash, const uint8_t *p, size_t len)
{
    const size_t n = kind->bytes, set = CACHE_WAYS * n * (size_t)(hash >> table->shift);
    for (size_t s = 0; s < 2; s++) {
        const uint8_t *at = (const uint8_t *)table->entries + (s == 0 ? set : set ^ CACHE_WAYS * n);
        for (size_t k = 0; k < CACHE_WAYS; k++) {
            if (at[k * n] == len && memcmp(at + k * n + 2, p, len) == 0) {
                return at + k * n;
            }
        }
    }
    return NULL;
}

const uint32_t *cache_find_long(const struct cache *cache, const uint8_t *p, size_t len, size_t *n)
{
    const struct long_entry *one =
        len <= LONG_BYTES ? find_bytes_in(&cache->longs, &longs, long_hash(p, len), p, len) : NULL;
    const struct wide_entry *wide =
        !one && cache->wides.used > 0
            ? find_bytes_in(&cache->wides, &wides, XXH3_64bits(p, len), p, len)
            : NULL;
    if (one) {
        *n = one->n;
        return one->ids;
    }
    if (wide) {
        *n = wide->n;
        return wide->ids;
    }
    return NULL;
}

void cache_put_long(struct cache *cache, const uint8_t *p, size_t len, const uint32_t *ids,
                    size_t n)
{
    if (len <= LONG_BYTES && n <= LONG_IDS) {
        struct long_entry entry = { .len = (uint8_t)len, .n = (uint8_t)n };
        memcpy(entry.bytes, p, len);
        memcpy(entry.ids, ids, n * sizeof(*ids));
        put(&cache->longs, &longs, &entry);
    } else {
        struct wide_entry entry = { .len = (uint8_t)len, .n = (uint8_t)n };
        memcpy(entry.bytes, p, len);
        memcpy(entry.ids, ids, n * sizeof(*ids));
        put(&cache->wides, &wides, &entry);
    }
}
