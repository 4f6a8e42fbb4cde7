/* bpe_pieces.c — from pieces to ids.
 *
 * A batch goes in three passes, so that the memory it will look at is on its way: keys and hashes of
 * all pieces; the shared head, and for what it does not hold the thread's own tail; then the ids in
 * order. What neither holds is merged and remembered. The caches only remember what the tables and
 * merges gave, so that they cannot change an id. */
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "bpe_error.h"
#include "bpe_worker.h"

static int32_t fail_cap(const struct bpe_worker *w, struct sluice_error *err)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "the ids do not fit the %zu places of the output array; bpe_encode_bound() "
                    "says how many a text needs",
                    w->cap);
}

static int32_t need_scratch(struct bpe_worker *w, size_t bytes, struct sluice_error *err)
{
    if (bytes > w->scratch_cap) {
        size_t cap = bytes + bytes / 2;
        free(w->scratch);
        w->scratch_cap = 0;
        w->scratch = malloc(cap);
        if (!w->scratch) {
            return bpe_fail_memory(err, "a long piece of text");
        }
        w->scratch_cap = cap;
    }
    return SLUICE_OK;
}

static int has_high(const uint8_t *p, size_t len)
{
    uint8_t all = 0;
    for (size_t i = 0; i < len; i++) {
        all |= p[i];
    }
    return all >= 0x80;
}

/* A piece that is no token as a whole. */
static int32_t merge_piece(struct bpe_worker *w, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    const struct merges *m = &w->bpe->merges;
    uint32_t few[MERGE_CHARS], *ids = few;
    size_t n = 0, i;
    if (len <= 4 * MERGE_CHARS && has_high(p, len)) {
        n = merge_chars(m, p, len, few);
    }
    if (n > 0) {
        /* done */
    } else if (len <= MERGE_SHORT) {
        n = merge_short(m, p, len, few);
    } else {
        /* the ids of a piece are at most its bytes: build them in place */
        int direct = w->out && w->cap - w->n >= len;
        int ordered = merge_is_ordered(m, p, len);
        size_t work = ordered ? len / 8 + 8 : MERGE_HEAP_BYTES(len);
        int32_t status;
        if (len >= UINT32_MAX / 8) {
            return bpe_fail(err, SLUICE_E_DATA,
                            "a piece of %zu bytes; at most %u can be merged: cut the document", len,
                            UINT32_MAX / 8 - 1);
        }
        work = (work + 7) & ~(size_t)7;
        status = need_scratch(w, work + (direct ? 0 : len * sizeof(*ids)), err);
        if (status != SLUICE_OK) {
            return status;
        }
        ids = direct ? w->out + w->n : (uint32_t *)(void *)(w->scratch + work);
        n = ordered ? merge_backtrack(m, p, len, ids, w->scratch, w->memo)
                    : merge_heap(m, p, len, ids, w->scratch);
    }
    if (n > w->cap - w->n) {
        return fail_cap(w, err);
    }
    for (i = 0; w->out && i < n; i++) {
        w->out[w->n + i] = m->out_id[ids[i]];
    }
    for (i = 0; w->out16 && i < n; i++) {
        w->out16[w->n + i] = (uint16_t)m->out_id[ids[i]];
    }
    w->n += n;
    return SLUICE_OK;
}

int32_t bpe_put_ids(struct bpe_worker *w, const uint32_t *ids, size_t n, struct sluice_error *err)
{
    if (w->cap - w->n < n) {
        return fail_cap(w, err);
    }
    if (w->out) {
        memcpy(w->out + w->n, ids, n * sizeof(*ids));
    }
    for (size_t i = 0; w->out16 && i < n; i++) {
        w->out16[w->n + i] = (uint16_t)ids[i];
    }
    w->n += n;
    return SLUICE_OK;
}

/* The n ids from `from` on. */
static void ids_back(const struct bpe_worker *w, size_t from, size_t n, uint32_t *ids)
{
    for (size_t i = 0; i < n; i++) {
        ids[i] = w->out ? w->out[from + i] : w->out16[from + i];
    }
}

/* A piece that neither head nor tail holds under a key, or one longer than PIECE_SHORT. */
static int32_t encode_rare(struct bpe_worker *w, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    const struct long_entry *entry = NULL;
    const size_t from = w->n;
    uint32_t ids[LONG_IDS], id;
    int32_t status;
    size_t n;
    if (len <= LONG_BYTES) {
        entry = cache_find_long(&w->cache, p, len);
        if (entry) {
            w->tail_hits++;
            return bpe_put_ids(w, entry->ids, entry->n, err);
        }
    }
    id = len > PIECE_SHORT ? merges_find_long(&w->bpe->merges, &w->bpe->vocab, p, len) : MERGE_NONE;
    status = id == MERGE_NONE ? merge_piece(w, p, len, err) : bpe_put_ids(w, &id, 1, err);
    n = w->n - from;
    if (status == SLUICE_OK && len <= LONG_BYTES && n <= LONG_IDS &&
        (len > PIECE_SHORT || n > PIECE_IDS)) {
        ids_back(w, from, n, ids);
        cache_put_long(&w->cache, p, len, ids, n);
    }
    return status;
}

static int32_t miss(struct bpe_worker *w, struct piece_key key, const uint8_t *p, size_t len,
                    struct sluice_error *err)
{
    const size_t from = w->n;
    uint32_t ids[PIECE_IDS], id = merges_find_short(&w->bpe->merges, key);
    int32_t status = id == MERGE_NONE ? encode_rare(w, p, len, err) : bpe_put_ids(w, &id, 1, err);
    if (status == SLUICE_OK && w->n - from <= PIECE_IDS) {
        ids_back(w, from, w->n - from, ids);
        cache_put(&w->cache, key, ids, w->n - from);
    }
    return status;
}

static const uint64_t low_bytes[9] = { 0,
                                       UINT64_C(0xFF),
                                       UINT64_C(0xFFFF),
                                       UINT64_C(0xFFFFFF),
                                       UINT64_C(0xFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFFFFFFFF) };

/* The key of len <= PIECE_SHORT bytes at p; `readable` bytes may be read. */
static inline struct piece_key key_of(const uint8_t *p, size_t len, size_t readable)
{
    struct piece_key key = { 0, 0 };
    if (readable >= 16) {
        memcpy(&key, p, 16);
        key.low &= low_bytes[len < 8 ? len : 8];
        key.high &= low_bytes[len < 8 ? 0 : len - 8];
    } else {
        memcpy(&key, p, len); /* the struct is the 16 bytes in order */
    }
    key.high |= (uint64_t)len << 56;
    return key;
}

/* Appends an entry's ids; PIECE_IDS places are there. */
static inline size_t emit(const uint32_t *from, uint32_t *out, uint16_t *out16, size_t n)
{
#if defined(__SSE2__)
    const __m128i mask = _mm_set_epi32(-1, -1, -1, (int)PIECE_ID_MASK);
    __m128i ids = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)from), mask);
    if (out) {
        _mm_storeu_si128((__m128i *)(void *)(out + n), ids);
    } else { /* the low halves of four: SSE2 packs with sign, so bring them to the front by shuffles */
        ids = _mm_shufflelo_epi16(ids, _MM_SHUFFLE(3, 3, 2, 0));
        ids = _mm_shufflehi_epi16(ids, _MM_SHUFFLE(3, 3, 2, 0));
        ids = _mm_shuffle_epi32(ids, _MM_SHUFFLE(3, 3, 2, 0));
        _mm_storel_epi64((__m128i *)(void *)(out16 + n), ids);
    }
#else
    for (size_t i = 0; i < PIECE_IDS; i++) {
        uint32_t id = i ? from[i] : from[0] & PIECE_ID_MASK;
        if (out) {
            out[n + i] = id;
        } else {
            out16[n + i] = (uint16_t)id;
        }
    }
#endif
    return n + (from[0] >> PIECE_COUNT_SHIFT);
}

static int32_t put_entry(struct bpe_worker *w, const struct piece_entry *entry,
                         struct sluice_error *err)
{
    uint32_t ids[PIECE_IDS];
    memcpy(ids, entry->ids, sizeof(ids));
    ids[0] &= PIECE_ID_MASK;
    return bpe_put_ids(w, ids, entry->ids[0] >> PIECE_COUNT_SHIFT, err);
}

/* One piece, without a pass before it. */
static int32_t encode_one(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                          struct sluice_error *err)
{
    const struct piece_entry *set;
    struct piece_key key;
    uint64_t hash;
    w->pieces++;
    if (len > PIECE_SHORT) {
        return encode_rare(w, p, len, err);
    }
    key = key_of(p, len, (size_t)(end - p));
    hash = piece_hash(key);
    set = &w->bpe->merges.head[2 * (size_t)(hash >> w->bpe->merges.head_shift)];
    if (piece_is(set, key) || piece_is(set + 1, key)) {
        w->head_hits++;
        return put_entry(w, set + !piece_is(set, key), err);
    }
    set = cache_find(&w->cache, key, hash);
    if (set) {
        w->tail_hits++;
        return put_entry(w, set, err);
    }
    return miss(w, key, p, len, err);
}

/* The passes over up to PASS pieces with room for all their ids. */
#define PASS 128u

struct pass {
    struct piece_key keys[PASS];
    uint64_t hashes[PASS];
    uint32_t ids[PASS][PIECE_IDS]; /* of those that were found */
    uint8_t missed[PASS];          /* places of those that were not, so far */
};

static inline struct piece_entry *recent_set(const struct bpe_worker *w, uint64_t hash)
{
    return &w->recent[2 * (size_t)((hash >> 12) & (RECENT_SETS - 1))];
}

/* Keeps what was found elsewhere close at hand. */
static inline void put_recent(const struct bpe_worker *w, uint64_t hash,
                              const struct piece_entry *entry)
{
    struct piece_entry *set = recent_set(w, hash);
    set[1] = set[0];
    set[0] = *entry;
}

/* Keys, hashes, and what the recent pieces give. Gives the number of the others. */
static size_t look_near(const struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                        size_t start, const size_t *ends, size_t n, const uint8_t *end)
{
    size_t missed = 0, from = start;
    for (size_t i = 0; i < n; i++) {
        const size_t len = ends[i] - from;
        struct piece_key key = { 1, 0 }; /* no entry has this key */
        uint64_t hash = 0;
        if (len <= PIECE_SHORT) {
            key = key_of(text + from, len, (size_t)(end - text) - from);
            hash = piece_hash(key);
            __builtin_prefetch(recent_set(w, hash));
        } else if (len <= LONG_BYTES) {
            hash = long_hash(text + from, len);
            __builtin_prefetch(cache_long_set(&w->cache, hash));
            __builtin_prefetch((const char *)cache_long_set(&w->cache, hash) + 64);
        }
        pass->keys[i] = key;
        pass->hashes[i] = hash;
        from = ends[i];
    }
    for (size_t i = 0; i < n; i++) {
        const struct piece_key key = pass->keys[i];
        const struct piece_entry *set = recent_set(w, pass->hashes[i]);
        const int first = piece_is(set, key), second = piece_is(set + 1, key);
        memcpy(pass->ids[i], set[second].ids, sizeof(pass->ids[i]));
        pass->missed[missed] = (uint8_t)i;
        missed += (size_t) !(first | second);
    }
    return missed;
}

/* What the head gives of the first `n` of the missed. Gives the number of those it does not hold. */
static size_t look_in_head(const struct bpe_worker *w, struct pass *pass, size_t n)
{
    const struct piece_entry *head = w->bpe->merges.head;
    const unsigned shift = w->bpe->merges.head_shift;
    size_t missed = 0;
    for (size_t k = 0; k < n; k++) {
        __builtin_prefetch(&head[2 * (size_t)(pass->hashes[pass->missed[k]] >> shift)]);
    }
    for (size_t k = 0; k < n; k++) {
        const size_t i = pass->missed[k];
        const struct piece_entry *set = &head[2 * (size_t)(pass->hashes[i] >> shift)];
        const struct piece_key key = pass->keys[i];
        set += !piece_is(set, key);
        if (piece_is(set, key)) {
            memcpy(pass->ids[i], set->ids, sizeof(pass->ids[i]));
            put_recent(w, pass->hashes[i], set);
        } else {
            pass->missed[missed++] = (uint8_t)i;
            __builtin_prefetch(cache_set(&w->cache, pass->hashes[i]));
        }
    }
    return missed;
}

static int32_t encode_pass(struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                           size_t start, const size_t *ends, size_t n, const uint8_t *end,
                           struct sluice_error *err)
{
    size_t i, k, missed = look_near(w, pass, text, start, ends, n, end);
    w->pieces += n;
    missed = look_in_head(w, pass, missed);
    w->head_hits += n - missed;
    for (i = 0, k = 0; k <= missed; k++) {
        const size_t to = k < missed ? pass->missed[k] : n;
        const struct piece_entry *set;
        size_t at = w->n, from;
        int32_t status;
        for (; i < to; i++) {
            at = emit(pass->ids[i], w->out, w->out16, at);
        }
        w->n = at;
        if (k == missed) {
            break;
        }
        from = i ? ends[i - 1] : start;
        i++;
        if (ends[to] - from > PIECE_SHORT) {
            status = encode_rare(w, text + from, ends[to] - from, err);
        } else {
            set = cache_find(&w->cache, pass->keys[to], pass->hashes[to]);
            if (set) {
                w->tail_hits++;
                w->n = emit(set->ids, w->out, w->out16, at);
                put_recent(w, pass->hashes[to], set);
                continue;
            }
            status = miss(w, pass->keys[to], text + from, ends[to] - from, err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

int32_t encode_pieces(void *context, const uint8_t *text, size_t start, const size_t *ends,
                      size_t n, struct sluice_error *err)
{
    struct pieces_context *c = context;
    struct bpe_worker *w = c->worker;
    struct pass pass;
    while (n > 0) {
        size_t some = n < PASS ? n : PASS, i;
        int32_t status;
        if (w->cap - w->n >= ends[some - 1] - start + PIECE_IDS) {
            status = encode_pass(w, &pass, text, start, ends, some, c->end, err);
            if (status != SLUICE_OK) {
                return status;
            }
            start = ends[some - 1];
        } else {
            for (i = 0; i < some; i++) {
                if (w->may_stop && w->n > 0 && w->cap - w->n < ends[i] - start) {
                    w->stopped_at = start;
                    return BPE_STOPPED;
                }
                status = encode_one(w, text + start, ends[i] - start, c->end, err);
                if (status != SLUICE_OK) {
                    return status;
                }
                start = ends[i];
            }
        }
        ends += some;
        n -= some;
    }
    return SLUICE_OK;
}
