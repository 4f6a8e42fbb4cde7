/* bpe_pass.c — from a batch of pieces to their ids.
 *
 * Pieces go in passes, each in steps over all of them, so that the memory a step looks at was asked
 * for by the one before: keys; the thread's own table of short pieces; of what is longer or was not
 * there, its other table; of what was met for the first time, the shared heads, then merging; and
 * the ids in order. What is common costs no branch that a processor could foretell wrongly. */
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "model/bpe_pass.h"

/* One of so many pieces must have had parts for the next pass to look at parts, which costs a
 * glance at each piece. */
#define PARTED 128u

/* ---- the last step ---- */

/* pass_steps.emit for 16-bit ids. */
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

/* Moves piece k among those still looked for to place m. */
static inline void keep(struct pass *pass, size_t k, size_t m)
{
    pass->keys[m] = pass->keys[k];
    pass->hashes[m] = pass->hashes[k];
    pass->at[m] = pass->at[k];
}

/* Asks for all the memory that those not found may need. */
static void fetch_missed(const struct pass *pass, const struct cache *cache,
                         const struct head_table *head, const struct merges *m)
{
    for (size_t k = 0; k < pass->n; k++) {
        const struct piece_key key = pass->keys[k];
        const char *set = cache_neighbour(&cache->mids, cache_mids(cache, pass->hashes[k]),
                                          CACHE_WAYS * sizeof(struct piece_entry));
        __builtin_prefetch(set);
        __builtin_prefetch(set + 64);
        __builtin_prefetch(head_set(head, pass->hashes[k]));
        __builtin_prefetch(m->short_keys + (pass->hashes[k] >> m->short_shift));
        if (key_is_short(key)) {
            __builtin_prefetch(cache_neighbour(&cache->shorts,
                                               cache_shorts(cache, key.low | key.high),
                                               CACHE_WAYS * sizeof(struct short_entry)));
        }
    }
}

/* What is remembered next door, where what found its set full may be. */
static void look_next_door(struct pass *pass, const struct cache *cache)
{
    const size_t n = pass->n;
    size_t missed = 0;
    for (size_t k = 0; k < n; k++) {
        const uint16_t i = pass->at[k];
        if (cache_find_next_door(cache, pass->keys[k], pass->hashes[k], pass->ids[i])) {
            pass->rest[pass->n_rest] = i;
            pass->n_rest += pass->ids[i][0] >> PIECE_COUNT_SHIFT == 0;
        } else {
            keep(pass, k, missed++);
        }
    }
    pass->n = missed;
}

/* What a shared head knows of those that were not remembered; they are from now on. */
static void look_in_head(struct bpe_worker *w, struct pass *pass, const struct head_table *table)
{
    const size_t n = pass->n;
    size_t missed = 0;
    for (size_t k = 0; k < n; k++) {
        __builtin_prefetch(head_set(table, pass->hashes[k]));
    }
    for (size_t k = 0; k < n; k++) {
        const struct piece_entry *found = head_find(table, pass->keys[k], pass->hashes[k]);
        if (found) {
            memcpy(pass->ids[pass->at[k]], found->ids, sizeof(found->ids));
            cache_put(&w->cache, found->key, found->ids);
        } else {
            keep(pass, k, missed++);
        }
    }
    w->head_hits += n - missed;
    pass->n = missed;
}

/* Merges what the jobs hold and remembers it. Pieces whose ids do not fit an entry go to the
 * rest. */
static void run_jobs(struct bpe_worker *w, struct pass *pass, const uint8_t *text, size_t start,
                     const size_t *ends, size_t n)
{
    const uint32_t *out_id = w->bpe->merges.out_id;
    w->steps->merge(&w->bpe->merges, pass->jobs, n);
    for (size_t j = 0; j < n; j++) {
        const struct merge_job *job = &pass->jobs[j];
        const size_t k = pass->job_of[j], i = pass->at[k], from = i ? ends[i - 1] : start;
        uint32_t ids[MERGE_SHORT];
        for (size_t m = 0; m < job->n; m++) {
            ids[m] = out_id[job->symbols[m]];
        }
        entry_ids(pass->ids[i], ids, job->n);
        cache_put(&w->cache, pass->keys[k], pass->ids[i]);
        if (job->n > PIECE_IDS) {
            cache_put_long(&w->cache, text + from, ends[i] - from, ids, job->n);
            pass->rest[pass->n_rest++] = (uint16_t)i;
        }
    }
}

/* Merges what no table knows. */
static void merge_missed(struct bpe_worker *w, struct pass *pass, const uint8_t *text, size_t start,
                         const size_t *ends)
{
    size_t jobs = 0;
    for (size_t k = 0; k < pass->n; k++) {
        const size_t i = pass->at[k], from = i ? ends[i - 1] : start;
        const uint32_t id = merges_find_short(&w->bpe->merges, pass->keys[k]);
        if (id != MERGE_NONE) {
            entry_ids(pass->ids[i], &id, 1);
            cache_put(&w->cache, pass->keys[k], pass->ids[i]);
        } else if (w->bpe->vocab.model != VOCAB_MODEL_BYTES) {
            pass->rest[pass->n_rest++] = (uint16_t)i;
        } else {
            pass->job_of[jobs] = (uint16_t)k;
            merge_job_begin(&w->bpe->merges, &pass->jobs[jobs++], text + from, ends[i] - from);
            if (jobs == MERGE_JOBS) {
                run_jobs(w, pass, text, start, ends, jobs);
                jobs = 0;
            }
        }
    }
    run_jobs(w, pass, text, start, ends, jobs);
}

/* The rest was found in several steps: puts it in order. */
static void sort_rest(struct pass *pass)
{
    uint64_t places[PASS / 64] = { 0 };
    size_t n = 0;
    for (size_t k = 0; k < pass->n_rest; k++) {
        places[pass->rest[k] / 64] |= UINT64_C(1) << pass->rest[k] % 64;
    }
    for (size_t k = 0; k < PASS / 64; k++) {
        for (uint64_t bits = places[k]; bits; bits &= bits - 1) {
            pass->rest[n++] = (uint16_t)(64 * k + (size_t)__builtin_ctzll(bits));
        }
    }
}

/* Asks for the memory of long pieces. */
static void fetch_longs(const struct pass *pass, const struct cache *cache, const uint8_t *text,
                        size_t start, const size_t *ends)
{
    for (size_t k = 0; k < pass->n_rest; k++) {
        const size_t i = pass->rest[k], from = i ? ends[i - 1] : start, len = ends[i] - from;
        if (len <= LONG_BYTES) {
            const char *set = (const char *)cache_longs(cache, long_hash(text + from, len));
            __builtin_prefetch(set);
            __builtin_prefetch(set + 64);
        }
    }
}

const struct pass_steps *pass_steps_of(enum pretoken_kind kind)
{
#if defined(__x86_64__)
    if (kind == KIND_AVX512 && kind <= pretoken_kind_best() && __builtin_cpu_supports("avx512dq")) {
        return &pass_steps_avx512;
    }
    if (kind >= KIND_AVX2 && KIND_AVX2 <= pretoken_kind_best()) {
        return &pass_steps_avx2;
    }
#endif
    (void)kind;
    return &pass_steps_plain;
}

static int32_t encode_pass(struct bpe_worker *w, struct pass *pass, const uint8_t *text,
                           size_t start, const size_t *ends, size_t n, const uint8_t *end,
                           struct sluice_error *err)
{
    size_t i = 0;
    w->steps->look(pass, &w->cache, text, start, ends, n, end);
    fetch_longs(pass, &w->cache, text, start, ends);
    w->pieces += n;
    if (pass->n > 0) {
        const struct trained_head *trained = &w->bpe->trained;
        const struct head_table head = { w->bpe->merges.head, w->bpe->merges.head_shift };
        fetch_missed(pass, &w->cache, trained->first.entries ? &trained->first : &head,
                     &w->bpe->merges);
        look_next_door(pass, &w->cache);
        w->tail_hits += n - pass->n - pass->n_rest;
        if (trained->first.entries) {
            look_in_head(w, pass, &trained->first);
            look_in_head(w, pass, &trained->rest);
        }
        look_in_head(w, pass, &head);
        merge_missed(w, pass, text, start, ends);
    } else {
        w->tail_hits += n - pass->n_rest;
    }
    sort_rest(pass);
    for (size_t k = 0; k <= pass->n_rest; k++) {
        const size_t to = k < pass->n_rest ? pass->rest[k] : n;
        const uint32_t(*entries)[PIECE_IDS] = (const uint32_t(*)[PIECE_IDS])(pass->ids + i);
        w->n = w->out ? w->steps->emit(entries, to - i, w->out, w->n)
                      : emit16(entries, to - i, w->out16, w->n);
        if (k < pass->n_rest) {
            const size_t from = to ? ends[to - 1] : start;
            const int32_t status = encode_rest(w, text + from, ends[to] - from, end, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        i = to + 1;
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

/* Pieces as they are, but for long ones of characters of three bytes: these in the parts that merge
 * apart, most of which are remembered. Fills cut with where each ends; gives their number, and how
 * many pieces were taken in *taken. *parted: how many of these were in parts. */
static size_t cut_pieces(const struct merges *m, const uint8_t *text, size_t start,
                         const size_t *ends, size_t n, size_t cut[PASS], size_t *taken,
                         size_t *parted)
{
    size_t count = 0, i;
    *parted = 0;
    for (i = 0; i < n && count < PASS; i++) {
        const size_t to = ends[i], most = to - start; /* parts */
        if (piece_has_parts(text + to, to - start) && most <= PASS) {
            if (most > PASS - count) {
                break;
            }
            ++*parted;
            count += merge_parts(m, text, start, to, cut + count);
            start = to;
        } else {
            cut[count++] = start = to;
        }
    }
    *taken = i;
    return count;
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
        size_t some = n < PASS ? n : PASS, count = some, cut[PASS], i;
        const size_t *to = ends;
        int32_t status;
        w->parted = 0;
        if (w->in_parts) {
            count = cut_pieces(&w->bpe->merges, text, start, ends, n, cut, &some, &w->parted);
            to = cut;
        }
        if (w->cap - w->n >= to[count - 1] - start + PIECE_IDS) {
            status = encode_pass(w, &pass, text, start, to, count, c->end, err);
            if (status != SLUICE_OK) {
                return status;
            }
            start = to[count - 1];
            w->in_parts = w->parted * PARTED >= some;
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
