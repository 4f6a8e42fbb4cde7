/* bpe_merge_long.c — a long piece in chunks.
 *
 * One long piece without places to cut (random letters, base64) is the worst that merging meets:
 * each step waits for memory. So it is cut anyhow, into chunks that are merged at once
 * (bpe_merge_batch.c), and the tokens at the ends of chunks are made anew.
 *
 * Why that is exact: tokens are what a text merges to when, and only when, each two side by side
 * are what their bytes merge to (the argument that merge_backtrack rests on). In a chunk they are.
 * At an end, the last token before it and the first behind it are merged together, and what comes
 * of it must stand beside its neighbours; where it does not, more tokens are taken until it
 * does. */
#include <string.h>

#include "model/bpe_merge.h"

#define CHUNK MERGE_JOB_BYTES
#define GROUP 16u       /* chunks that are merged at once; 2 * GROUP <= MERGE_JOBS */
#define JOIN_BYTES 96u  /* the most bytes that are merged anew at one end */
#define LEAST_TOKENS 3u /* of a chunk whose ends can be joined at once */
#define LEAST_BYTES 8   /* different ones in a piece that is merged in chunks */

struct group {
    struct merge_job chunks[GROUP], ends[GROUP], checks[2 * GROUP];
    size_t at[GROUP + 1]; /* where chunks begin */
    size_t n;
    uint8_t joined[GROUP]; /* ends[c] stands between chunk c and c + 1 */
};

static size_t bytes_of(const struct merges *m, const uint32_t *tokens, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += m->len[tokens[i]];
    }
    return bytes;
}

static void merge_chunks(const struct merges *m, struct group *g, const uint8_t *p, size_t at,
                         size_t n)
{
    for (g->n = 0; g->n < GROUP && at < n; g->n++) {
        const size_t len = n - at < CHUNK ? n - at : CHUNK;
        g->at[g->n] = at;
        merge_job_begin(m, &g->chunks[g->n], p + at, len);
        at += len;
    }
    g->at[g->n] = at;
    merge_jobs_run(m, g->chunks, g->n);
}

/* Whether a job gave exactly the two tokens. */
static int gave(const struct merge_job *job, uint32_t a, uint32_t b)
{
    return job->n == 2 && job->symbols[0] == a && job->symbols[1] == b;
}

/* Merges the tokens at each end anew, and sees whether they stand beside their neighbours. Gives
 * the number of the ends of which that is so. */
static size_t merge_ends(const struct merges *m, struct group *g, const uint8_t *p)
{
    uint8_t tried[GROUP], pairs[GROUP];
    size_t n = 0, checks = 0, joined = 0;
    for (size_t c = 0; c + 1 < g->n; c++) {
        const struct merge_job *left = &g->chunks[c], *right = &g->chunks[c + 1];
        size_t before, behind;
        g->joined[c] = 0;
        if (left->n < LEAST_TOKENS || right->n < LEAST_TOKENS) {
            continue;
        }
        before = m->len[left->symbols[left->n - 1]];
        behind = m->len[right->symbols[0]];
        if (before + behind <= MERGE_JOB_BYTES) {
            merge_job_begin(m, &g->ends[n], p + g->at[c + 1] - before, before + behind);
            tried[n++] = (uint8_t)c;
        }
    }
    merge_jobs_run(m, g->ends, n);
    for (size_t k = 0; k < n; k++) {
        const struct merge_job *left = &g->chunks[tried[k]], *right = left + 1;
        const struct merge_job *end = &g->ends[k];
        const uint8_t *middle = p + g->at[tried[k] + 1];
        const size_t l0 = m->len[left->symbols[left->n - 2]],
                     l1 = m->len[left->symbols[left->n - 1]];
        const size_t r0 = m->len[right->symbols[0]], r1 = m->len[right->symbols[1]];
        const size_t first = m->len[end->symbols[0]], last = m->len[end->symbols[end->n - 1]];
        pairs[k] = l0 + first <= MERGE_JOB_BYTES && last + r1 <= MERGE_JOB_BYTES;
        if (pairs[k]) {
            merge_job_begin(m, &g->checks[checks], middle - l1 - l0, l0 + first);
            merge_job_begin(m, &g->checks[checks + 1], middle + r0 - last, last + r1);
            checks += 2;
        }
    }
    merge_jobs_run(m, g->checks, checks);
    checks = 0;
    for (size_t k = n, at = 0; at < k; at++) {
        const struct merge_job *left = &g->chunks[tried[at]], *right = left + 1;
        const struct merge_job *end = &g->ends[at];
        if (pairs[at]) {
            g->joined[tried[at]] =
                gave(&g->checks[checks], left->symbols[left->n - 2], end->symbols[0]) &&
                gave(&g->checks[checks + 1], end->symbols[end->n - 1], right->symbols[1]);
            joined += g->joined[tried[at]];
            checks += 2;
        }
    }
    for (size_t k = n; k > 0; k--) { /* ends[c] by chunk; tried rises, so nothing is overwritten */
        if (tried[k - 1] != k - 1) {
            g->ends[tried[k - 1]] = g->ends[k - 1];
        }
    }
    return joined;
}

/* Appends k tokens, which stand for the bytes from p + at on, to the `count` that end there; *used
 * gets how many of them were made anew. Gives the new count, 0 when too much would have to be. */
static size_t join(const struct merges *m, const uint8_t *p, size_t at, uint32_t *out, size_t count,
                   const uint32_t *tokens, size_t k, size_t *used, uint64_t *memo)
{
    uint32_t middle[JOIN_BYTES];
    uint8_t bits[JOIN_BYTES / 8 + 1];
    size_t x = 1, y = 1;
    *used = 0;
    if (count == 0 || merge_pair_stands(m, out[count - 1], tokens[0], memo)) {
        memcpy(out + count, tokens, k * sizeof(*tokens));
        return count + k;
    }
    for (;;) {
        const size_t before = bytes_of(m, out + count - x, x), behind = bytes_of(m, tokens, y);
        size_t n;
        if (before + behind > JOIN_BYTES) {
            return 0;
        }
        n = merge_backtrack(m, p + at - before, before + behind, middle, bits, memo);
        if (x < count && !merge_pair_stands(m, out[count - x - 1], middle[0], memo)) {
            x++;
        } else if (y < k && !merge_pair_stands(m, middle[n - 1], tokens[y], memo)) {
            y++;
        } else {
            memcpy(out + count - x, middle, n * sizeof(*middle));
            memcpy(out + count - x + n, tokens + y, (k - y) * sizeof(*tokens));
            *used = y;
            return count - x + n + k - y;
        }
    }
}

/* Few different bytes need few tokens, which are all at hand: runs of a character, DNA. */
static int is_varied(const uint8_t *p, size_t n)
{
    uint64_t seen[4] = { 0 };
    int bytes = 0;
    for (size_t i = 0; i < n && i < 256; i++) {
        seen[p[i] / 64] |= UINT64_C(1) << p[i] % 64;
    }
    for (size_t i = 0; i < 4; i++) {
        bytes += __builtin_popcountll(seen[i]);
    }
    return bytes >= LEAST_BYTES;
}

size_t merge_long(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out, uint64_t *memo)
{
    struct group g;
    size_t count = 0;
    if (!is_varied(p, n)) {
        return 0;
    }
    for (size_t at = 0; at < n; at = g.at[g.n]) {
        size_t skip = 0; /* tokens of the chunk that its left end has taken */
        merge_chunks(m, &g, p, at, n);
        if (4 * merge_ends(m, &g, p) + 1 < g.n) {
            return 0;
        }
        for (size_t c = 0; c < g.n; c++) {
            const struct merge_job *chunk = &g.chunks[c];
            int right = c + 1 < g.n && g.joined[c];
            if (skip) {
                memcpy(out + count, chunk->symbols + 1, (chunk->n - 1) * sizeof(*out));
                count += chunk->n - 1;
            } else {
                size_t used;
                count = join(m, p, g.at[c], out, count, chunk->symbols, chunk->n, &used, memo);
                if (count == 0) {
                    return 0;
                }
                right = right && used + 2 <= chunk->n; /* its neighbour is as it was */
            }
            skip = 0;
            if (right) { /* in place of the chunk's last token */
                count--;
                memcpy(out + count, g.ends[c].symbols, g.ends[c].n * sizeof(*out));
                count += g.ends[c].n;
                skip = 1;
            }
        }
    }
    return count;
}
