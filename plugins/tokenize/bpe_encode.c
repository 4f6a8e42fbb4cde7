/* bpe_encode.c — the worker: from a text to ids.
 *
 * text -> added tokens cut out -> NFC -> added tokens cut out again -> pieces -> ids. A piece of up
 * to 15 bytes is a 16-byte key: looked up in the worker's own cache (two entries a cache line, with
 * up to four ids inside), then in the vocabulary's table, then merged; one of up to 60 bytes has a
 * cache of its own. The caches only remember what the tables and merges gave, so that they cannot
 * change an id. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpe.h"
#include "bpe_error.h"
#include "bpe_int.h"

#define CACHE_DEFAULT (8u << 20)
#define CACHE_LEAST (64u << 10)
#define NO_ID UINT32_MAX

struct cache_entry {
    struct piece_key key;
    uint32_t ids[4]; /* NO_ID behind the last */
};

#define LONG_BYTES 60u
#define LONG_IDS 15u

/* A piece of PIECE_SHORT + 1 to LONG_BYTES bytes, two cache lines. */
struct long_entry {
    uint8_t len, n, bytes[LONG_BYTES]; /* len 0: empty */
    uint16_t unused;
    uint32_t ids[LONG_IDS];
    uint32_t unused_end;
};

struct bpe_worker {
    const struct bpe *bpe;
    struct pretoken_worker *pretoken;
    struct cache_entry *cache;     /* half of the cache: sets of two, 64-byte aligned */
    struct long_entry *long_cache; /* the other half, one entry a place */
    unsigned cache_shift;          /* hash >> shift: the set */
    size_t long_mask;
    uint64_t *memo;   /* of merge_backtrack */
    uint8_t *scratch; /* of one long piece */
    size_t scratch_cap;
    struct nfc_buffer normalized, prefixed;
    uint32_t *out;
    size_t cap, n;
};

int32_t bpe_worker_create(const struct bpe *bpe, size_t cache_bytes, struct bpe_worker **out,
                          struct sluice_error *err)
{
    struct bpe_worker *w = calloc(1, sizeof(*w));
    size_t size = CACHE_LEAST;
    int32_t status;
    *out = NULL;
    if (!w) {
        return bpe_fail_memory(err, "a tokenizer's worker");
    }
    w->bpe = bpe;
    cache_bytes = cache_bytes ? cache_bytes : CACHE_DEFAULT;
    w->cache_shift = 64 - 9;
    while (size <= cache_bytes / 2 && w->cache_shift > 32) {
        size *= 2;
        w->cache_shift--;
    }
    w->cache = aligned_alloc(64, size);
    w->memo = calloc(MERGE_MEMO, sizeof(*w->memo));
    if (!w->cache || !w->memo) {
        bpe_worker_destroy(w);
        return bpe_fail_memory(err, "a tokenizer's cache");
    }
    memset(w->cache, 0, size);
    w->long_cache = (struct long_entry *)(void *)((char *)w->cache + size / 2);
    w->long_mask = size / 2 / sizeof(*w->long_cache) - 1;
    status = pretoken_worker_create(&bpe->pretoken, &w->pretoken, err);
    if (status != SLUICE_OK) {
        bpe_worker_destroy(w);
        return status;
    }
    *out = w;
    return SLUICE_OK;
}

void bpe_worker_destroy(struct bpe_worker *w)
{
    if (w) {
        pretoken_worker_destroy(w->pretoken);
        free(w->cache);
        free(w->memo);
        free(w->scratch);
        free(w->normalized.bytes);
        free(w->prefixed.bytes);
        free(w);
    }
}

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

/* A piece that is no token as a whole. */
static int32_t merge_piece(struct bpe_worker *w, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    const struct merges *m = &w->bpe->merges;
    uint32_t few[MERGE_SHORT], *ids = few;
    size_t n, i;
    if (len <= MERGE_SHORT) {
        n = merge_short(m, p, len, few);
    } else {
        int direct = w->cap - w->n >=
                     len; /* the ids of a piece are at most its bytes: build them in place */
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
    for (i = 0; i < n; i++) {
        w->out[w->n + i] = m->out_id[ids[i]];
    }
    w->n += n;
    return SLUICE_OK;
}

/* Encodes a piece of up to PIECE_SHORT bytes that the cache does not hold, and puts it there. */
static int32_t miss(struct bpe_worker *w, struct cache_entry *set, struct piece_key key,
                    const uint8_t *p, size_t len, struct sluice_error *err)
{
    uint32_t id = merges_find_short(&w->bpe->merges, key);
    size_t from = w->n, n, i;
    if (id != MERGE_NONE) {
        if (w->n == w->cap) {
            return fail_cap(w, err);
        }
        w->out[w->n++] = id;
    } else {
        int32_t status = merge_piece(w, p, len, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    n = w->n - from;
    if (n <= 4) {
        set[1] = set[0];
        set[0].key = key;
        for (i = 0; i < 4; i++) {
            set[0].ids[i] = i < n ? w->out[from + i] : NO_ID;
        }
    }
    return SLUICE_OK;
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

struct sink_context {
    struct bpe_worker *worker;
    const uint8_t *end; /* of the readable text */
};

/* Appends n ids. */
static int32_t put_ids(struct bpe_worker *w, const uint32_t *ids, size_t n,
                       struct sluice_error *err)
{
    if (w->cap - w->n < n) {
        return fail_cap(w, err);
    }
    memcpy(w->out + w->n, ids, n * sizeof(*ids));
    w->n += n;
    return SLUICE_OK;
}

/* A piece longer than PIECE_SHORT. */
static int32_t encode_long(struct bpe_worker *w, const uint8_t *p, size_t len,
                           struct sluice_error *err)
{
    struct long_entry *entry = NULL;
    size_t from = w->n;
    uint32_t id;
    int32_t status;
    if (len <= LONG_BYTES) {
        entry = &w->long_cache[(size_t)XXH3_64bits(p, len) & w->long_mask];
        if (entry->len == len && memcmp(entry->bytes, p, len) == 0) {
            return put_ids(w, entry->ids, entry->n, err);
        }
    }
    id = merges_find_long(&w->bpe->merges, &w->bpe->vocab, p, len);
    status = id == MERGE_NONE ? merge_piece(w, p, len, err) : put_ids(w, &id, 1, err);
    if (status == SLUICE_OK && entry && w->n - from <= LONG_IDS) {
        entry->len = (uint8_t)len;
        entry->n = (uint8_t)(w->n - from);
        memcpy(entry->bytes, p, len);
        memcpy(entry->ids, w->out + from, (w->n - from) * sizeof(entry->ids[0]));
    }
    return status;
}

/* A batch goes in two passes: keys first, with their sets on the way into the processor's cache,
 * then the ids. */
static int32_t encode_pieces(void *context, const uint8_t *text, size_t start, const size_t *ends,
                             size_t n, struct sluice_error *err)
{
    struct sink_context *c = context;
    struct bpe_worker *w = c->worker;
    struct piece_key keys[PRETOKEN_BATCH];
    struct cache_entry *sets[PRETOKEN_BATCH];
    size_t i, from = start;
    for (i = 0; i < n; i++) {
        size_t len = ends[i] - from;
        if (len <= PIECE_SHORT) {
            keys[i] = key_of(text + from, len, (size_t)(c->end - text) - from);
            sets[i] = &w->cache[2 * (size_t)(piece_hash(keys[i]) >> w->cache_shift)];
            __builtin_prefetch(sets[i]);
        }
        from = ends[i];
    }
    for (i = 0; i < n; i++) {
        const uint8_t *p = text + start;
        size_t len = ends[i] - start;
        const struct cache_entry *entry;
        int32_t status = SLUICE_OK;
        start = ends[i];
        if (len > PIECE_SHORT) {
            status = encode_long(w, p, len, err);
            if (status != SLUICE_OK) {
                return status;
            }
            continue;
        }
        entry = sets[i];
        if (entry->key.low != keys[i].low || entry->key.high != keys[i].high) {
            entry++;
            if (entry->key.low != keys[i].low || entry->key.high != keys[i].high) {
                status = miss(w, sets[i], keys[i], p, len, err);
                if (status != SLUICE_OK) {
                    return status;
                }
                continue;
            }
        }
        if (w->cap - w->n >= 4) {
            memcpy(w->out + w->n, entry->ids, sizeof(entry->ids));
            w->n +=
                1u + (entry->ids[1] != NO_ID) + (entry->ids[2] != NO_ID) + (entry->ids[3] != NO_ID);
        } else {
            size_t k;
            for (k = 1; k < 4 && entry->ids[k] != NO_ID; k++) {
            }
            status = put_ids(w, entry->ids, k, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
    }
    return SLUICE_OK;
}

/* A part of the text without added tokens, normalized. */
static int32_t encode_plain(struct bpe_worker *w, const uint8_t *text, size_t len,
                            struct sluice_error *err)
{
    struct sink_context context;
    if (len == 0) {
        return SLUICE_OK;
    }
    if (w->bpe->vocab.prefix_space && text[0] != ' ') {
        struct nfc_buffer *b = &w->prefixed;
        if (b->cap < len + 1) {
            uint8_t *grown = realloc(b->bytes, len + len / 2 + 64);
            if (!grown) {
                return bpe_fail_memory(err, "a text with a space in front");
            }
            b->bytes = grown;
            b->cap = len + len / 2 + 64;
        }
        b->bytes[0] = ' ';
        memcpy(b->bytes + 1, text, len);
        text = b->bytes;
        len++;
    }
    context.worker = w;
    context.end = text + len;
    return pretoken_run(w->pretoken, text, len, encode_pieces, &context, err);
}

/* Cuts the tokens of pass k out of a text and hands what is between on. */
static int32_t encode_part(struct bpe_worker *w, int k, const uint8_t *text, size_t len,
                           struct sluice_error *err)
{
    const struct bpe *bpe = w->bpe;
    const struct added_pass *pass = &bpe->added.pass[k];
    const int keep = bpe->specials == BPE_SPECIALS_ORDINARY;
    size_t from = 0, floor = 0;
    struct added_match match;
    int32_t status = SLUICE_OK;
    for (;;) {
        int found = pass->active && added_next(pass, &bpe->vocab, &bpe->pretoken.unicode, keep,
                                               text, len, &from, floor, &match);
        size_t end = found ? match.begin : len;
        if (floor < end) {
            const uint8_t *part = text + floor;
            size_t n = end - floor;
            if (k == 0 && bpe->vocab.nfc) {
                status = nfc_normalize(&bpe->nfc, part, n, &w->normalized, &part, &n, err);
            }
            if (status == SLUICE_OK) {
                status = k == 0 ? encode_part(w, 1, part, n, err) : encode_plain(w, part, n, err);
            }
            if (status != SLUICE_OK) {
                return status;
            }
        }
        if (!found) {
            return SLUICE_OK;
        }
        if (match.token->special && bpe->specials == BPE_SPECIALS_REFUSE) {
            return bpe_fail(err, SLUICE_E_DATA,
                            "the special token '%s' stands in the text at byte %zu of its part; "
                            "drop such documents, or set the "
                            "option for special tokens to encode it as text or as the token",
                            (const char *)bpe->vocab.bytes + match.token->at, match.begin);
        }
        status = put_ids(w, &match.token->id, 1, err);
        if (status != SLUICE_OK) {
            return status;
        }
        floor = match.end;
    }
}

int32_t bpe_encode(struct bpe_worker *w, const char *text, size_t len, uint32_t *out, size_t cap,
                   size_t *n, struct sluice_error *err)
{
    int32_t status;
    *n = 0;
    w->out = out;
    w->cap = cap;
    w->n = 0;
    if (len == 0) {
        return SLUICE_OK;
    }
    status = encode_part(w, 0, (const uint8_t *)text, len, err);
    if (status == SLUICE_OK) {
        *n = w->n;
    }
    return status;
}
