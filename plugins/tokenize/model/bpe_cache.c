/* bpe_cache.c — see the header. */
#include "model/bpe_cache.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SHORT_FIRST 4096u /* entries: 128 KiB */
#define LONG_FIRST 256u   /* entries: 32 KiB */
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

/* Bits of a table of n entries in sets of `set`. */
static unsigned shift_of(size_t n, size_t set)
{
    unsigned shift = 64;
    for (n /= set; n > 1; n /= 2) {
        shift--;
    }
    return shift;
}

static size_t power_below(size_t n, size_t least)
{
    size_t power = least;
    while (power * 2 <= n) {
        power *= 2;
    }
    return power;
}

int cache_init(struct cache *cache, size_t bound)
{
    memset(cache, 0, sizeof(*cache));
    /* While a table doubles, the old one is there too: half again of the new. */
    cache->most = power_below(bound / 2 / sizeof(struct piece_entry), 1024);
    cache->long_most = power_below(bound / 4 / sizeof(struct long_entry), 64);
    cache->size = cache->most < SHORT_FIRST ? cache->most : SHORT_FIRST;
    cache->long_size = cache->long_most < LONG_FIRST ? cache->long_most : LONG_FIRST;
    cache->shift = shift_of(cache->size, CACHE_WAYS);
    cache->long_shift = shift_of(cache->long_size, CACHE_WAYS);
    cache->entries = cache_memory(cache->size * sizeof(*cache->entries));
    cache->longs = cache_memory(cache->long_size * sizeof(*cache->longs));
    if (!cache->entries || !cache->longs) {
        cache_deinit(cache);
        return -1;
    }
    return 0;
}

void cache_deinit(struct cache *cache)
{
    free(cache->entries);
    free(cache->longs);
    memset(cache, 0, sizeof(*cache));
}

size_t cache_bytes(const struct cache *cache)
{
    return cache->size * sizeof(*cache->entries) + cache->long_size * sizeof(*cache->longs);
}

size_t cache_bound_bytes(const struct cache *cache)
{
    size_t shorts = cache->most * sizeof(*cache->entries);
    size_t longs = cache->long_most * sizeof(*cache->longs);
    return shorts + longs + (shorts > longs ? shorts : longs) / 2;
}

/* Puts an entry first in its set; gives 1 when the set had room. */
static int place(struct cache *cache, const struct piece_entry *entry)
{
    struct piece_entry *set = cache_set(cache, piece_hash(entry->key));
    int room = set[CACHE_WAYS - 1].key.high == 0;
    memmove(set + 1, set, (CACHE_WAYS - 1) * sizeof(*set));
    set[0] = *entry;
    return room;
}

static int place_long(struct cache *cache, const struct long_entry *entry)
{
    struct long_entry *set = cache_long_set(cache, long_hash(entry->bytes, entry->len));
    int room = set[CACHE_WAYS - 1].len == 0;
    memmove(set + 1, set, (CACHE_WAYS - 1) * sizeof(*set));
    set[0] = *entry;
    return room;
}

static void grow(struct cache *cache)
{
    struct piece_entry *old = cache->entries;
    struct piece_entry *entries = cache_memory(2 * cache->size * sizeof(*entries));
    size_t i, n = cache->size;
    if (!entries) {
        cache->most = n; /* as large as memory allows */
        return;
    }
    cache->entries = entries;
    cache->size = 2 * n;
    cache->shift--;
    cache->used = 0;
    for (i = n; i > 0; i--) { /* the first of a set last, so that it is first again */
        if (old[i - 1].key.high != 0) {
            cache->used += (size_t)place(cache, &old[i - 1]);
        }
    }
    free(old);
}

void cache_put(struct cache *cache, struct piece_key key, const uint32_t *ids, size_t n)
{
    struct piece_entry entry = { .key = key };
    const struct piece_entry *set = cache_set(cache, piece_hash(key));
    if (piece_is(set, key) || piece_is(set + 1, key) || piece_is(set + 2, key) ||
        piece_is(set + 3, key)) {
        return; /* met twice in one pass */
    }
    if (cache->size < cache->most &&
        (cache->used * 2 > cache->size ||
         (set[CACHE_WAYS - 1].key.high != 0 && cache->used * 4 > cache->size))) {
        grow(cache);
    }
    memcpy(entry.ids, ids, n * sizeof(*ids));
    entry.ids[0] |= (uint32_t)n << PIECE_COUNT_SHIFT;
    cache->used += (size_t)place(cache, &entry);
}

static void grow_long(struct cache *cache)
{
    struct long_entry *old = cache->longs;
    struct long_entry *longs = cache_memory(2 * cache->long_size * sizeof(*longs));
    size_t i, n = cache->long_size;
    if (!longs) {
        cache->long_most = n;
        return;
    }
    cache->longs = longs;
    cache->long_size = 2 * n;
    cache->long_shift--;
    cache->long_used = 0;
    for (i = n; i > 0; i--) {
        if (old[i - 1].len != 0) {
            cache->long_used += (size_t)place_long(cache, &old[i - 1]);
        }
    }
    free(old);
}

void cache_put_long(struct cache *cache, const uint8_t *p, size_t len, const uint32_t *ids,
                    size_t n)
{
    struct long_entry entry = { .len = (uint8_t)len, .n = (uint8_t)n };
    if (cache->long_used * 2 > cache->long_size && cache->long_size < cache->long_most) {
        grow_long(cache);
    }
    memcpy(entry.bytes, p, len);
    memcpy(entry.ids, ids, n * sizeof(*ids));
    cache->long_used += (size_t)place_long(cache, &entry);
}
