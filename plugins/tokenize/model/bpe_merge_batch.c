/* bpe_merge_batch.c — the table of pairs, and merging many short pieces at once.
 *
 * A merge asks for two pairs, each somewhere in megabytes of memory; one piece alone would wait for
 * each answer. So a batch goes round: each piece takes one step, asks for the memory of its next
 * one, and is left alone until all others had their turn. Depends on: bpe_merge.h. */
#include "model/bpe_merge.h"

#include <string.h>

/* ---- pairs ---- */

int merge_pairs_init(struct merges *m, size_t n)
{
    size_t buckets = 2;
    m->pair_shift = 63;
    while (buckets * PAIR_BUCKET < 2 * n) {
        buckets *= 2;
        m->pair_shift--;
    }
    m->pairs = cache_memory(buckets * PAIR_BUCKET * sizeof(*m->pairs));
    if (!m->pairs) {
        return -1;
    }
    m->pair_mask = buckets - 1;
    m->bytes += buckets * PAIR_BUCKET * sizeof(*m->pairs);
    return 0;
}

void merge_pairs_put(struct merges *m, uint32_t a, uint32_t b, uint32_t merged)
{
    size_t at = (size_t)(pair_bucket(m, a, b) - m->pairs);
    while (m->pairs[at] != 0) {
        at = (at + 1) & (m->pair_mask * PAIR_BUCKET + PAIR_BUCKET - 1);
    }
    m->pairs[at] = pair_key(a, b) << 21 | merged;
}

/* ---- batches ---- */

static inline void fetch(const struct merges *m, uint32_t a, uint32_t b)
{
    __builtin_prefetch(pair_bucket(m, a, b));
}

void merge_job_begin(const struct merges *m, struct merge_job *job, const uint8_t *p, size_t len)
{
    uint8_t high = 0;
    for (size_t i = 0; i < len; i++) {
        high |= p[i];
    }
    if (high >= 0x80) {
        job->n = (uint32_t)merge_chars_begin(m, p, len, job->symbols);
        if (job->n > 0) {
            for (size_t i = 0; i + 1 < job->n; i++) {
                fetch(m, job->symbols[i], job->symbols[i + 1]);
            }
            job->at = MERGE_ALL_ASKED;
            return;
        }
    }
    for (size_t i = 0; i < len; i++) {
        job->symbols[i] = p[i];
    }
    for (size_t i = 0; i + 1 < len; i++) {
        job->ranks[i] = m->byte_pair[(size_t)p[i] << 8 | p[i + 1]];
    }
    job->n = (uint32_t)len;
    job->at = MERGE_NOTHING_ASKED;
}

/* What the last step asked for. */
static inline void take_answers(const struct merges *m, struct merge_job *job)
{
    const uint32_t at = job->at;
    if (at == MERGE_NOTHING_ASKED) {
        return;
    }
    if (at == MERGE_ALL_ASKED) {
        for (size_t i = 0; i + 1 < job->n; i++) {
            job->ranks[i] = merge_pair(m, job->symbols[i], job->symbols[i + 1]);
        }
        return;
    }
    if (at + 1 < job->n) {
        job->ranks[at] = merge_pair(m, job->symbols[at], job->symbols[at + 1]);
    }
    if (at > 0) {
        job->ranks[at - 1] = merge_pair(m, job->symbols[at - 1], job->symbols[at]);
    }
}

/* One merge: the lowest rank, of equal ones the leftmost. 0 when there is none left. */
static inline int step(const struct merges *m, struct merge_job *job)
{
    const size_t n = job->n;
    uint32_t least = MERGE_NONE;
    size_t best = 0;
    take_answers(m, job);
    for (size_t i = 0; i + 1 < n; i++) {
        best = job->ranks[i] < least ? i : best;
        least = job->ranks[i] < least ? job->ranks[i] : least;
    }
    if (least == MERGE_NONE) {
        return 0;
    }
    job->symbols[best] = least;
    job->n--;
    for (size_t i = best + 1; i < job->n; i++) {
        job->symbols[i] = job->symbols[i + 1];
        job->ranks[i - 1] = job->ranks[i];
    }
    if (best + 1 < job->n) {
        fetch(m, least, job->symbols[best + 1]);
    }
    if (best > 0) {
        fetch(m, job->symbols[best - 1], least);
    }
    job->at = (uint32_t)best;
    return job->n > 1;
}

void merge_jobs_run(const struct merges *m, struct merge_job *jobs, size_t n)
{
    uint8_t active[MERGE_JOBS]; /* places of those that go on */
    size_t left = n;
    for (size_t i = 0; i < n; i++) {
        active[i] = (uint8_t)i;
    }
    while (left > 0) {
        size_t kept = 0;
        for (size_t k = 0; k < left; k++) {
            const uint8_t i = active[k];
            active[kept] = i;
            kept += (size_t)step(m, &jobs[i]);
        }
        left = kept;
    }
}
