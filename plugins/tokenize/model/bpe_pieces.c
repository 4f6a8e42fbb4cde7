/* bpe_pieces.c — from one piece to its ids.
 *
 * What neither the thread's own cache nor a shared head holds is merged and remembered. The caches
 * only remember what the tables and merges gave, so that they cannot change an id. */
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "bpe_error.h"
#include "model/bpe_text.h"
#include "model/bpe_key.h"
#include "model/bpe_worker.h"
#include "split/pretoken_unicode.h"

static int32_t fail_cap(const struct bpe_worker *w, struct sluice_error *err)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "the ids do not fit the %zu places of the output array; bpe_encode_bound() "
                    "says how many a text needs",
                    w->cap);
}

int32_t bpe_need_scratch(struct bpe_worker *w, size_t bytes, struct sluice_error *err)
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
    if (w->bpe->vocab.model != VOCAB_MODEL_BYTES) {
        return text_encode_piece(w, p, len, err);
    }
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
        status = bpe_need_scratch(w, work + (direct ? 0 : len * sizeof(*ids)), err);
        if (status != SLUICE_OK) {
            return status;
        }
        ids = direct ? w->out + w->n : (uint32_t *)(void *)(w->scratch + work);
        n = ordered && len > MERGE_LONG ? merge_long(m, p, len, ids, w->memo) : 0;
        if (n == 0) {
            n = ordered ? merge_backtrack(m, p, len, ids, w->scratch, w->memo)
                        : merge_heap(m, p, len, ids, w->scratch);
        }
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

struct piece_key key_of(const uint8_t *p, size_t len, size_t readable)
{
    uint8_t bytes[16] = { 0 };
    if (readable >= 16) {
        return key_of_16(p, len);
    }
    memcpy(bytes, p, len <= readable ? len : readable);
    return key_of_16(bytes, len);
}

/* A piece that neither head nor tail holds under a key, or one longer than PIECE_SHORT. `whole` 0:
 * a part of a piece, which is not looked up as a token. */
static int32_t encode_whole(struct bpe_worker *w, const uint8_t *p, size_t len, int whole,
                            struct sluice_error *err)
{
    const size_t from = w->n;
    uint32_t id = MERGE_NONE;
    int32_t status;
    size_t n;
    if (len <= WIDE_BYTES && whole) {
        const uint32_t *ids = cache_find_long(&w->cache, p, len, &n);
        if (ids) {
            w->tail_hits++;
            return bpe_put_ids(w, ids, n, err);
        }
    }
    if (len > PIECE_SHORT && whole) {
        id = merges_find_long(&w->bpe->merges, &w->bpe->vocab, p, len);
    }
    status = id == MERGE_NONE ? merge_piece(w, p, len, err) : bpe_put_ids(w, &id, 1, err);
    n = w->n - from;
    if (status == SLUICE_OK && whole && cache_takes(len, n) &&
        (len > PIECE_SHORT || n > PIECE_IDS)) {
        uint32_t ids[WIDE_IDS];
        ids_back(w, from, n, ids);
        cache_put_long(&w->cache, p, len, ids, n);
    }
    return status;
}

static int32_t encode_short(struct bpe_worker *w, struct piece_key key, const uint8_t *p,
                            size_t len, struct sluice_error *err);

/* A long piece whose last character has three bytes or more, in the parts that merge apart. */
static int32_t encode_parts(struct bpe_worker *w, const uint8_t *p, size_t len,
                            struct sluice_error *err)
{
    const struct merges *m = &w->bpe->merges;
    const uint8_t *end = p + len;
    const uint64_t head_hits = w->head_hits, tail_hits = w->tail_hits; /* of pieces, not of parts */
    int32_t status = SLUICE_OK;
    size_t part = merge_part(m, p, end);
    if (part == len) {
        return encode_whole(w, p, len, 1, err);
    }
    w->parted += !m->unreached; /* else a part is not what it is as a piece */
    if (m->unreached &&
        len <= m->long_most) { /* the piece may be a token that merging does not give */
        uint32_t id = merges_find_long(m, &w->bpe->vocab, p, len);
        if (id != MERGE_NONE) {
            return bpe_put_ids(w, &id, 1, err);
        }
    }
    for (;;) {
        uint32_t cp;
        if (part == 3 && utf8_decode(p, end, &cp) == 3) {
            const struct merged_char *c = &m->chars[cp];
            uint32_t ids[3];
            for (uint32_t i = 0; i < c->n; i++) {
                ids[i] = m->out_id[c->symbols[i]];
            }
            status = bpe_put_ids(w, ids, c->n, err);
        } else if (m->unreached) {
            status = encode_whole(w, p, part, 0, err);
        } else if (part <= PIECE_SHORT) {
            const struct piece_key key = key_of(p, part, (size_t)(end - p));
            if (w->counting) {
                piece_count(w->counting, key);
            }
            status = encode_short(w, key, p, part, err);
        } else {
            status = encode_whole(w, p, part, 1, err);
        }
        p += part;
        if (p == end || status != SLUICE_OK) {
            w->head_hits = head_hits;
            w->tail_hits = tail_hits;
            return status;
        }
        part = merge_part(m, p, end);
    }
}

static int32_t encode_rare(struct bpe_worker *w, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    return piece_has_parts(p + len, len) && w->bpe->merges.joined ? encode_parts(w, p, len, err)
                                                                  : encode_whole(w, p, len, 1, err);
}

static int32_t encode_missed(struct bpe_worker *w, struct piece_key key, const uint8_t *p,
                             size_t len, struct sluice_error *err)
{
    const size_t from = w->n;
    uint32_t ids[PIECE_IDS], entry[PIECE_IDS], id = merges_find_short(&w->bpe->merges, key);
    int32_t status = id == MERGE_NONE ? encode_rare(w, p, len, err) : bpe_put_ids(w, &id, 1, err);
    if (status == SLUICE_OK && w->n - from <= PIECE_IDS) {
        ids_back(w, from, w->n - from, ids);
        entry_ids(entry, ids, w->n - from);
        cache_put(&w->cache, key, entry);
    }
    return status;
}

/* What an entry of one key says. */
static int32_t put_entry(struct bpe_worker *w, const uint32_t *entry, struct sluice_error *err)
{
    uint32_t ids[PIECE_IDS];
    memcpy(ids, entry, sizeof(ids));
    ids[0] &= PIECE_ID_MASK;
    return bpe_put_ids(w, ids, entry[0] >> PIECE_COUNT_SHIFT, err);
}

static int32_t encode_short(struct bpe_worker *w, struct piece_key key, const uint8_t *p,
                            size_t len, struct sluice_error *err)
{
    const uint64_t hash = piece_hash(key);
    const struct head_table head = { w->bpe->merges.head, w->bpe->merges.head_shift };
    const struct trained_head *trained = &w->bpe->trained;
    const struct piece_entry *found = NULL;
    uint32_t ids[PIECE_IDS] = { 0 };
    if (cache_find(&w->cache, key, hash, ids)) {
        if (ids[0] >> PIECE_COUNT_SHIFT) {
            w->tail_hits++;
            return put_entry(w, ids, err);
        }
        return encode_missed(w, key, p, len, err);
    }
    if (trained->first.entries) {
        found = head_find(&trained->first, key, hash);
        found = found ? found : head_find(&trained->rest, key, hash);
    }
    found = found ? found : head_find(&head, key, hash);
    if (found) {
        w->head_hits++;
        cache_put(&w->cache, key, found->ids);
        return put_entry(w, found->ids, err);
    }
    return encode_missed(w, key, p, len, err);
}

int32_t encode_rest(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                    struct sluice_error *err)
{
    return len > PIECE_SHORT ? encode_rare(w, p, len, err)
                             : encode_missed(w, key_of(p, len, (size_t)(end - p)), p, len, err);
}

/* One piece, without a pass before it. */
int32_t encode_one(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                   struct sluice_error *err)
{
    w->pieces++;
    return len > PIECE_SHORT ? encode_rare(w, p, len, err)
                             : encode_short(w, key_of(p, len, (size_t)(end - p)), p, len, err);
}

int32_t bpe_encode_key(struct bpe_worker *w, struct piece_key key, uint32_t *ids, size_t *n,
                       struct sluice_error *err)
{
    uint8_t bytes[16];
    int32_t status;
    memcpy(bytes, &key, sizeof(bytes));
    w->out = ids;
    w->out16 = NULL;
    w->offsets = NULL;
    w->may_stop = 0;
    w->cap = PIECE_SHORT;
    w->n = 0;
    status = encode_short(w, key, bytes, (size_t)(key.high >> 56), err);
    *n = status == SLUICE_OK ? w->n : 0;
    return status;
}
