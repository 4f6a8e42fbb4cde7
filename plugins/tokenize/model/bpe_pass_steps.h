/* bpe_pass_steps.h — the steps of a pass that every piece goes through. Included once by each
 * bpe_pass_KIND.c, which has `find_short`, `find_mid` and `sort_far` for its instruction set. */
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "model/bpe_key.h"
#include "model/bpe_pass.h"

/* Some pieces of a pass on their way. */
struct strip {
    _Alignas(64) uint64_t shorts[STRIP + 8]; /* keys of short pieces, */
    uint64_t short_sets[STRIP + 8];          /* where their sets begin in the table, */
    uint8_t short_at[STRIP + 8];             /* and which pieces these are */
    size_t n_shorts;
    _Alignas(
        64) struct piece_key keys[STRIP]; /* of the others, and of short ones that were missed */
    uint64_t hashes[STRIP];
    uint8_t at[STRIP + 8];
    size_t n;
};

#define INLINE static inline __attribute__((always_inline))

/* Copies the ids of a key in its set as they stand in memory; zeros and gives 0 when it is not
 * there. */
INLINE int find_short(const struct short_entry *set, uint64_t key, uint32_t *ids);
/* The entry of a key in its set, or NULL; the other compares one after the other. */
INLINE const struct piece_entry *find_mid(const struct piece_entry *set, struct piece_key key);
INLINE const struct piece_entry *find_mid_by_each(const struct piece_entry *set,
                                                  struct piece_key key)
{
    const unsigned way =
        piece_is(set + 1, key) + 2 * piece_is(set + 2, key) + 3 * piece_is(set + 3, key);
    return piece_is(set + way, key) ? set + way : NULL;
}
/* Sorts the pieces i to `far`, of which the first begins at `from` and 16 bytes may be read of
 * each, by kind; for short ones, makes the keys. */
INLINE void sort_far(struct strip *strip, const struct cache *cache, const uint8_t *text,
                     size_t from, const size_t *ends, size_t far);

/* Where the set of a short key begins in the table, in bytes. */
INLINE uint64_t short_set(const struct cache *cache, uint64_t key)
{
    return short_hash(key) >> cache->shorts.shift << 6;
}

INLINE const struct short_entry *short_at(const struct cache *cache, uint64_t set)
{
    return (const struct short_entry *)(const void *)((const char *)cache->shorts.entries + set);
}

/* One piece. */
INLINE void sort_one(struct strip *strip, const struct cache *cache, size_t i, uint64_t key,
                     size_t is_short)
{
    strip->shorts[strip->n_shorts] = key;
    strip->short_sets[strip->n_shorts] = short_set(cache, key);
    strip->short_at[strip->n_shorts] = (uint8_t)i;
    strip->n_shorts += is_short;
    strip->at[strip->n] = (uint8_t)i;
    strip->n += is_short ^ 1u;
}

INLINE void sort_pieces(struct strip *strip, const struct cache *cache, const uint8_t *text,
                        size_t start, const size_t *ends, size_t n, const uint8_t *end)
{
    size_t far = n;
    while (far > 0 && (size_t)(end - text) - (far > 1 ? ends[far - 2] : start) < 16) {
        far--;
    }
    strip->n_shorts = 0;
    strip->n = 0;
    sort_far(strip, cache, text, start, ends, far);
    for (size_t i = far; i < n; i++) {
        const size_t from = i ? ends[i - 1] : start, len = ends[i] - from;
        const struct piece_key key = key_of(text + from, len, (size_t)(end - text) - from);
        sort_one(strip, cache, i, key.low | key.high, len <= SHORT_BYTES);
    }
}

INLINE void fetch_shorts(struct strip *strip, const struct cache *cache)
{
    uint64_t *sets = strip->short_sets;
    memset(sets + strip->n_shorts, 0, 4 * sizeof(*sets)); /* the last four may be fewer */
    for (size_t k = 0; k < strip->n_shorts; k += 4) {
        __builtin_prefetch(short_at(cache, sets[k]));
        __builtin_prefetch(short_at(cache, sets[k + 1]));
        __builtin_prefetch(short_at(cache, sets[k + 2]));
        __builtin_prefetch(short_at(cache, sets[k + 3]));
    }
}

INLINE void fetch_mids(const struct cache *cache, uint64_t hash)
{
    const char *set = (const char *)cache_mids(cache, hash);
    __builtin_prefetch(set);
    __builtin_prefetch(set + 64);
}

/* Keys of those that are not short; the long ones to the rest. `base`: the strip's first piece in
 * the pass. */
INLINE void make_keys(struct strip *strip, struct pass *pass, size_t base,
                      const struct cache *cache, const uint8_t *text, size_t start,
                      const size_t *ends, const uint8_t *end)
{
    size_t kept = 0;
    for (size_t k = 0; k < strip->n; k++) {
        const uint8_t i = strip->at[k];
        const size_t from = i ? ends[i - 1] : start, len = ends[i] - from;
        if (len > PIECE_SHORT) {
            pass->rest[pass->n_rest++] = (uint16_t)(base + i);
        } else {
            const struct piece_key key =
                (size_t)(end - text) - from >= 16
                    ? key_of_16(text + from, len)
                    : key_of(text + from, len, (size_t)(end - text) - from);
            const uint64_t hash = piece_hash(key);
            fetch_mids(cache, hash);
            strip->keys[kept] = key;
            strip->hashes[kept] = hash;
            strip->at[kept++] = i;
        }
    }
    strip->n = kept;
}

/* What is remembered of the short pieces; those that are not go to the others. */
INLINE void look_for_shorts(struct strip *strip, uint32_t (*ids)[PIECE_IDS],
                            const struct cache *cache)
{
    for (size_t k = 0, n = strip->n_shorts; k < n; k++) {
        const uint64_t key = strip->shorts[k];
        const uint8_t i = strip->short_at[k];
        if (__builtin_expect(!find_short(short_at(cache, strip->short_sets[k]), key, ids[i]), 0)) {
            const struct piece_key whole = { key & ((UINT64_C(1) << 56) - 1), key & UINT64_C(0xFF)
                                                                                        << 56 };
            const uint64_t hash = piece_hash(whole);
            fetch_mids(cache, hash);
            strip->keys[strip->n] = whole;
            strip->hashes[strip->n] = hash;
            strip->at[strip->n++] = i;
        }
    }
}

/* What is remembered of the others; what is not waits in the pass. */
INLINE void look_for_mids(struct strip *strip, struct pass *pass, size_t base,
                          const struct cache *cache)
{
    for (size_t k = 0, n = strip->n; k < n; k++) {
        const struct piece_entry *found =
            find_mid(cache_mids(cache, strip->hashes[k]), strip->keys[k]);
        const size_t i = base + strip->at[k];
        if (__builtin_expect(found != NULL, 1)) {
            memcpy(pass->ids[i], found->ids, sizeof(found->ids));
            if (__builtin_expect(found->ids[0] >> PIECE_COUNT_SHIFT == 0, 0)) {
                pass->rest[pass->n_rest++] = (uint16_t)i;
            }
        } else {
            pass->keys[pass->n] = strip->keys[k];
            pass->hashes[pass->n] = strip->hashes[k];
            pass->at[pass->n++] = (uint16_t)i;
        }
    }
}

static void look(struct pass *pass, const struct cache *cache, const uint8_t *text, size_t start,
                 const size_t *ends, size_t n, const uint8_t *end)
{
    struct strip strip;
    pass->n = 0;
    pass->n_rest = 0;
    for (size_t base = 0; base < n; base += STRIP) {
        const size_t some = n - base < STRIP ? n - base : STRIP;
        const size_t from = base ? ends[base - 1] : start;
        sort_pieces(&strip, cache, text, from, ends + base, some, end);
        fetch_shorts(&strip, cache);
        make_keys(&strip, pass, base, cache, text, from, ends + base, end);
        look_for_shorts(&strip, pass->ids + base, cache);
        look_for_mids(&strip, pass, base, cache);
    }
}

static size_t emit(const uint32_t (*entries)[PIECE_IDS], size_t n, uint32_t *out, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t *from = entries[i];
        uint32_t *to = out + at;
        at += from[0] >> PIECE_COUNT_SHIFT;
#if defined(__SSE2__)
        _mm_storeu_si128((__m128i *)(void *)to,
                         _mm_and_si128(_mm_load_si128((const __m128i *)(const void *)from),
                                       _mm_set_epi32(-1, -1, -1, (int)PIECE_ID_MASK)));
#else
        memcpy(to, from, sizeof(entries[i]));
        to[0] &= PIECE_ID_MASK;
#endif
    }
    return at;
}
