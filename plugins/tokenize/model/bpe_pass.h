/* bpe_pass.h — a batch of pieces on its way to ids, and the steps that are written for each
 * instruction set.
 *
 * Owns: `struct pass`. Depends on: bpe_worker.h. Private to bpe_pass*.c. */
#ifndef TOKENIZE_BPE_PASS_H
#define TOKENIZE_BPE_PASS_H

#include "model/bpe_worker.h"

/* Pieces that go together, with room for all their ids: few are not remembered, and these wait for
 * memory together; more would not stay in a first-level cache from step to step (measured: 1024 is
 * 5 % slower on English). */
#define PASS 256u
#define STRIP \
    128u /* pieces whose memory is asked for at once: as much as a first-level cache holds */

struct pass {
    _Alignas(64) uint32_t ids[PASS][PIECE_IDS]; /* as an entry holds them, by piece */
    _Alignas(64) struct piece_key keys[PASS];   /* of pieces that are not remembered, */
    uint64_t hashes[PASS];
    uint16_t at[PASS]; /* and which these are */
    size_t n;
    uint16_t rest
        [PASS]; /* pieces that no entry of one key gives the ids of: encoded in order, at the end */
    size_t n_rest;
    struct merge_job jobs[MERGE_JOBS];
    uint16_t job_of[MERGE_JOBS]; /* the place among keys */
};

/* What needs no shared table. */
struct pass_steps {
    /* Fills a pass with n pieces and with what the cache remembers of them: at, keys and hashes get
     * those it does not, rest what is too long, or has too many ids, for an entry of one key. */
    void (*look)(struct pass *pass, const struct cache *cache, const uint8_t *text, size_t start,
                 const size_t *ends, size_t n, const uint8_t *end);
    /* Appends the ids of n entries, one after the other; PIECE_IDS places more are there. Gives the
     * place behind them. */
    size_t (*emit)(const uint32_t (*entries)[PIECE_IDS], size_t n, uint32_t *out, size_t at);
    /* merge_jobs_run */
    void (*merge)(const struct merges *m, struct merge_job *jobs, size_t n);
};

extern const struct pass_steps pass_steps_plain;
#if defined(__x86_64__)
extern const struct pass_steps pass_steps_avx2, pass_steps_avx512;
#endif

#endif
