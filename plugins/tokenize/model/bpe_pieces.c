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
#include "model/bpe_text.h"
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

/* By length: which of 16 bytes a key keeps, and what it adds, in two words each. A piece of more than
 * PIECE_SHORT bytes gets a key that no entry has. */
#define KEEP(n)                                                                        \
    {                                                                                  \
        (n) >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * (n)) % 64) - 1,                   \
            (n) <= 8 ? 0 : (UINT64_C(1) << (8 * (n)) % 64) - 1, 0, (uint64_t)(n) << 56 \
    }
static const uint64_t key_of_length[17][4] = { KEEP(0),
                                               KEEP(1),
                                               KEEP(2),
                                               KEEP(3),
                                               KEEP(4),
                                               KEEP(5),
                                               KEEP(6),
                                               KEEP(7),
                                               KEEP(8),
                                               KEEP(9),
                                               KEEP(10),
                                               KEEP(11),
                                               KEEP(12),
                                               KEEP(13),
                                               KEEP(14),
                                               KEEP(15),
                                               { 0, 0, 0, UINT64_C(0xFF) << 56 } };

/* The key of the piece of len bytes at p, of which 16 may be read. */
static inline struct piece_key key_of_16(const uint8_t *p, size_t len)
{
    const uint64_t *keep = key_of_length[len <= PIECE_SHORT ? len : PIECE_SHORT + 1];
    struct piece_key key;
    memcpy(&key, p, 16); /* the struct is the 16 bytes in order */
    key.low &= keep[0];
    key.high = (key.high & keep[1]) | keep[3];
    return key;
}

/* The same where `readable` bytes may be read. */
static struct piece_key key_of(const uint8_t *p, size_t len, size_t readable)
{
    uint8_t bytes[16] = { 0 };
    if (readable >= 16) {
        return key_of_16(p, len);
    }
    memcpy(bytes, p, len <= readable ? len : readable);
    return key_of_16(bytes, len);
}

/* A piece that neither head nor tail holds under a key, or one longer than PIECE_SHORT. `whole` 0: a
 * part of a piece, which is not looked up as a token. */
static int32_t encode_whole(struct bpe_worker *w, const uint8_t *p, size_t len, int whole,
                            struct sluice_error *err)
{
    const struct long_entry *entry = NULL;
    const size_t from = w->n;
    uint32_t ids[LONG_IDS], id = MERGE_NONE;
    int32_t status;
    size_t n;
    if (len <= LONG_BYTES && whole) {
        entry = cache_find_long(&w->cache, p, len);
        if (entry) {
            w->tail_hits++;
            return bpe_put_ids(w, entry->ids, entry->n, err);
        }
    }
    if (len > PIECE_SHORT && whole) {
        id = merges_find_long(&w->bpe->merges, &w->bpe->vocab, p, len);
    }
    status = id == MERGE_NONE ? merge_piece(w, p, len, err) : bpe_put_ids(w, &id, 1, err);
    n = w->n - from;
    if (status == SLUICE_OK && whole && len <= LONG_BYTES && n <= LONG_IDS &&
        (len > PIECE_SHORT || n > PIECE_IDS)) {
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
    return len > PIECE_SHORT && p[len - 3] >= 0xE0 && w->bpe->merges.joined
               ? encode_parts(w, p, len, err)
               : encode_whole(w, p, len, 1, err);
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

/* Appends the ids of n entries, one after the other; PIECE_IDS places more are there. Gives the place
 * behind them. */
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

/* The same to 16-bit ids. */
static size_t emit16(const uint32_t (*entries)[PIECE_IDS], size_t n, uint16_t *out, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t *from = entries[i];
        uint16_t *to = out + at;
        at += from[0] >> PIECE_COUNT_SHIFT;
#if defined(__SSE2__) /* the low halves to the front: packing would clamp them */
        __m128i ids = _mm_load_si128((const __m128i *)(const void *)from);
        ids = _mm_shufflelo_epi16(ids, _MM_SHUFFLE(3, 3, 2, 0));
        ids = _mm_shufflehi_epi16(ids, _MM_SHUFFLE(3, 3, 2, 0));
        _mm_storel_epi64((__m128i *)(void *)to, _mm_shuffle_epi32(ids, _MM_SHUFFLE(3, 3, 2, 0)));
#else
        for (size_t k = 0; k < PIECE_IDS; k++) {
            to[k] = (uint16_t)from[k];
        }
#endif
    }
    return at;
}

static int32_t put_entry(struct bpe_worker *w, const struct piece_entry *entry,
                         struct sluice_error *err)
{
    uint32_t ids[PIECE_IDS];
    memcpy(ids, entry->ids, sizeof(ids));
    ids[0] &= PIECE_ID_MASK;
    return bpe_put_ids(w, ids, entry->ids[0] >> PIECE_COUNT_SHIFT, err);
}

static int32_t encode_short(struct bpe_worker *w, struct piece_key key, const uint8_t *p,
                            size_t len, struct sluice_error *err)
{
    const uint64_t hash = piece_hash(key);
    const struct head_table head = { w->bpe->merges.head, w->bpe->merges.head_shift };
    const struct trained_head *trained = &w->bpe->trained;
    const struct piece_entry *set = NULL;
    if (trained->first.entries) {
        set = head_find(&trained->first, key, hash);
        set = set ? set : head_find(&trained->rest, key, hash);
    }
    set = set ? set : head_find(&head, key, hash);
    if (set) {
        w->head_hits++;
        return put_entry(w, set, err);
    }
    set = cache_find(&w->cache, key, hash);
    if (set && set->ids[0] >> PIECE_COUNT_SHIFT) {
        w->tail_hits++;
        return put_entry(w, set, err);
    }
    return miss(w, key, p, len, err);
}

/* One piece, without a pass before it. */
static int32_t encode_one(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                          struct sluice_error *err)
{
    w->pieces++;
    return len > PIECE_SHORT ? encode_rare(w, p, len, err)
                             : encode_short(w, key_of(p, len, (size_t)(end - p)), p, len, err);
}

/* ---- a pass: up to PASS pieces with room for all their ids ---- */

#define PASS 128u

struct pass {
    _Alignas(64) uint32_t ids[PASS][PIECE_IDS]; /* as an entry holds them */
    _Alignas(64) struct piece_key keys[PASS];
    uint64_t hashes[PASS];
    uint8_t missed[PASS]; /* places of those without ids, so far */
    struct merge_job jobs[MERGE_JOBS];
    uint8_t job_of[MERGE_JOBS];
};

/* Keys and hashes; asks for the memory of the table they are looked for in first. */
static void make_keys(struct pass *pass, const struct head_table *table, const uint8_t *text,
                      size_t start, const size_t *ends, size_t n, const uint8_t *end)
{
    size_t from = start, i = 0, far = n;
    while (far > 0 && (size_t)(end - text) - (far > 1 ? ends[far - 2] : start) < 16) {
        far--;
    }
    for (; i < far; i++) {
        const struct piece_key key = key_of_16(text + from, ends[i] - from);
        const uint64_t hash = piece_hash(key);
        __builtin_prefetch(head_set(table, hash));
        pass->keys[i] = key;
        pass->hashes[i] = hash;
        from = ends[i];
    }
    for (; i < n; i++) {
        pass->keys[i] = key_of(text + from, ends[i] - from, (size_t)(end - text) - from);
        pass->hashes[i] = piece_hash(pass->keys[i]);
        from = ends[i];
    }
}

/* What a table gives for all pieces; notes the others, and gives their number. */
static size_t look_for_all(struct pass *pass, const struct head_table *table, size_t n)
{
    size_t missed = 0;
    for (size_t i = 0; i < n; i++) {
        const struct piece_key key = pass->keys[i];
        const struct piece_entry *set = head_set(table, pass->hashes[i]);
        const unsigned second = piece_is(set + 1, key);
        memcpy(pass->ids[i], set[second].ids, sizeof(pass->ids[i]));
        pass->missed[missed] = (uint8_t)i;
        missed += (piece_is(set, key) | second) ^ 1u;
    }
    return missed;
}

/* The same for those that were missed. */
static size_t look_for_missed(struct pass *pass, const struct head_table *table, size_t n)
{
    size_t missed = 0;
    for (size_t k = 0; k < n; k++) {
        __builtin_prefetch(head_set(table, pass->hashes[pass->missed[k]]));
    }
    for (size_t k = 0; k < n; k++) {
        const uint8_t i = pass->missed[k];
        const struct piece_key key = pass->keys[i];
        const struct piece_entry *set = head_set(table, pass->hashes[i]);
        const unsigned second = piece_is(set + 1, key);
        memcpy(pass->ids[i], set[second].ids, sizeof(pass->ids[i]));
        pass->missed[missed] = i;
        missed += (piece_is(set, key) | second) ^ 1u;
    }
    return missed;
}

/* Keys, and what the heads give. Gives the number of the others. */
static size_t look_in_head(const struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                           size_t start, const size_t *ends, size_t n, const uint8_t *end)
{
    const struct head_table head = { w->bpe->merges.head, w->bpe->merges.head_shift };
    const struct trained_head *trained = &w->bpe->trained;
    size_t missed;
    if (!trained->first.entries) {
        make_keys(pass, &head, text, start, ends, n, end);
        return look_for_all(pass, &head, n);
    }
    make_keys(pass, &trained->first, text, start, ends, n, end);
    missed = look_for_all(pass, &trained->first, n);
    missed = look_for_missed(pass, &trained->rest, missed);
    return look_for_missed(pass, &head, missed);
}

/* Merges what the jobs hold and remembers it. Places whose ids do not fit go to pass->missed, behind
 * `rest`; gives the new number of these. */
static size_t run_jobs(struct bpe_worker *w, struct pass *pass, const uint8_t *text, size_t start,
                       const size_t *ends, size_t n, size_t rest)
{
    const uint32_t *out_id = w->bpe->merges.out_id;
    merge_jobs_run(&w->bpe->merges, pass->jobs, n);
    for (size_t k = 0; k < n; k++) {
        const struct merge_job *job = &pass->jobs[k];
        const size_t i = pass->job_of[k], from = i ? ends[i - 1] : start;
        uint32_t ids[MERGE_SHORT];
        for (size_t j = 0; j < job->n; j++) {
            ids[j] = out_id[job->symbols[j]];
        }
        if (job->n <= PIECE_IDS) {
            memcpy(pass->ids[i], ids, sizeof(pass->ids[i]));
            pass->ids[i][0] |= job->n << PIECE_COUNT_SHIFT;
            cache_put(&w->cache, pass->keys[i], ids, job->n);
        } else {
            cache_put(&w->cache, pass->keys[i], ids, 0);
            cache_put_long(&w->cache, text + from, ends[i] - from, ids, job->n);
            pass->missed[rest++] = (uint8_t)i;
        }
    }
    return rest;
}

/* What the tail gives for the first n of the missed, and merging for what it does not hold. Gives
 * the number of those that are not one entry's; they stand in rising order. */
static size_t look_in_tail(struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                           size_t start, const size_t *ends, size_t n)
{
    size_t rest = 0, jobs = 0, places[PASS / 64] = { 0 };
    for (size_t k = 0; k < n; k++) {
        const size_t i = pass->missed[k], from = i ? ends[i - 1] : start, len = ends[i] - from;
        if (len <= PIECE_SHORT) {
            const char *set = (const char *)cache_set(&w->cache, pass->hashes[i]);
            __builtin_prefetch(set);
            __builtin_prefetch(set + 64);
        } else if (len <= LONG_BYTES) {
            const char *set = (const char *)cache_long_set(&w->cache, long_hash(text + from, len));
            __builtin_prefetch(set);
            __builtin_prefetch(set + 64);
        }
    }
    for (size_t k = 0; k < n; k++) {
        const size_t i = pass->missed[k], from = i ? ends[i - 1] : start, len = ends[i] - from;
        const struct piece_entry *entry;
        uint32_t id;
        if (len > PIECE_SHORT) {
            pass->missed[rest++] = (uint8_t)i;
            continue;
        }
        entry = cache_find(&w->cache, pass->keys[i], pass->hashes[i]);
        if (entry) {
            memcpy(pass->ids[i], entry->ids, sizeof(pass->ids[i]));
            if (entry->ids[0] >> PIECE_COUNT_SHIFT == 0) {
                pass->missed[rest++] = (uint8_t)i;
            } else {
                w->tail_hits++;
            }
            continue;
        }
        id = merges_find_short(&w->bpe->merges, pass->keys[i]);
        if (id != MERGE_NONE) {
            pass->ids[i][0] = id | UINT32_C(1) << PIECE_COUNT_SHIFT;
            cache_put(&w->cache, pass->keys[i], &id, 1);
            continue;
        }
        if (w->bpe->vocab.model != VOCAB_MODEL_BYTES) {
            pass->missed[rest++] = (uint8_t)i;
            continue;
        }
        pass->job_of[jobs] = (uint8_t)i;
        merge_job_begin(&w->bpe->merges, &pass->jobs[jobs++], text + from, len);
        if (jobs == MERGE_JOBS) {
            rest = run_jobs(w, pass, text, start, ends, jobs, rest);
            jobs = 0;
        }
    }
    rest = run_jobs(w, pass, text, start, ends, jobs, rest);
    for (size_t k = 0; k < rest; k++) { /* jobs are done later than what stands behind them */
        places[pass->missed[k] / 64] |= (size_t)1 << pass->missed[k] % 64;
    }
    rest = 0;
    for (size_t k = 0; k < PASS / 64; k++) {
        for (size_t bits = places[k]; bits; bits &= bits - 1) {
            pass->missed[rest++] = (uint8_t)(64 * k + (size_t)__builtin_ctzll(bits));
        }
    }
    return rest;
}

static int32_t encode_pass(struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                           size_t start, const size_t *ends, size_t n, const uint8_t *end,
                           struct sluice_error *err)
{
    size_t i, k, missed = look_in_head(w, pass, text, start, ends, n, end);
    w->pieces += n;
    w->head_hits += n - missed;
    if (missed > 0) {
        missed = look_in_tail(w, pass, text, start, ends, missed);
    }
    for (i = 0, k = 0; k <= missed; k++) {
        const size_t to = k < missed ? pass->missed[k] : n;
        size_t from;
        int32_t status;
        const uint32_t(*entries)[PIECE_IDS] = (const uint32_t(*)[PIECE_IDS])(pass->ids + i);
        w->n =
            w->out ? emit(entries, to - i, w->out, w->n) : emit16(entries, to - i, w->out16, w->n);
        i = to;
        if (k == missed) {
            break;
        }
        from = i ? ends[i - 1] : start;
        status = ends[i] - from > PIECE_SHORT
                     ? encode_rare(w, text + from, ends[i] - from, err)
                     : miss(w, pass->keys[i], text + from, ends[i] - from, err);
        if (status != SLUICE_OK) {
            return status;
        }
        i++;
    }
    return SLUICE_OK;
}

static void count_pieces(const struct bpe_worker *w, const uint8_t *text, size_t start,
                         const size_t *ends, size_t n, const uint8_t *end)
{
    for (size_t i = 0; i < n; i++) {
        if (ends[i] - start <= PIECE_SHORT) {
            const uint8_t *p = text + start;
            piece_count(w->counting, key_of(p, ends[i] - start, (size_t)(end - p)));
        }
        start = ends[i];
    }
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

int32_t encode_pieces(void *context, const uint8_t *text, size_t start, const size_t *ends,
                      size_t n, struct sluice_error *err)
{
    struct pieces_context *c = context;
    struct bpe_worker *w = c->worker;
    struct pass pass;
    if (w->counting) {
        count_pieces(w, text, start, ends, n, c->end);
    }
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
