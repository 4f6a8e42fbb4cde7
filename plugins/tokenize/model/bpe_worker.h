/* bpe_worker.h — the inside of `struct bpe_worker`, private to bpe_encode.c (texts), bpe_pass.c
 * (batches of pieces) and bpe_pieces.c (a piece). */
#ifndef TOKENIZE_BPE_WORKER_H
#define TOKENIZE_BPE_WORKER_H

#include "model/bpe_cache.h"
#include "model/bpe_int.h"
#include "model/bpe_text.h"
#include "split/pretoken_mask.h"

struct pass_steps; /* bpe_pass.h */

struct bpe_worker {
    const struct bpe *bpe;
    struct pretoken_worker *pretoken;
    struct cache cache;
    const struct pass_steps *steps; /* what this processor does best */
    uint64_t *memo;                 /* of merge_backtrack */
    uint8_t *scratch;               /* of one long piece */
    size_t scratch_cap;
    struct nfc_buffer prefixed;
    struct text_scratch of_text;
    /* The output of the call. */
    uint32_t *out;   /* or */
    uint16_t *out16; /* when every id fits */
    size_t cap, n;
    uint64_t *offsets;   /* where each id's bytes begin in the text; NULL: not asked for */
    const uint8_t *text; /* the call's whole text, for offsets */
    uintptr_t base;      /* text_place: what address is byte 0 of it, */
    uint64_t least;      /* and the lowest place there is */
    int may_stop;        /* stop between pieces when the output is full: */
    size_t stopped_at;   /* there, SIZE_MAX while not */
    struct piece_counts *counting;         /* while a head is trained; NULL else */
    size_t parted;                         /* pieces of this pass that were encoded in parts; */
    int in_parts;                          /* they were many: the next pass has parts for pieces */
    uint64_t pieces, head_hits, tail_hits; /* since it was created */
};

/* The status with which a sink ends a run that is not an error; never leaves bpe_encode.c. */
#define BPE_STOPPED (-1000)

/* A pretoken_sink over a worker whose pieces end at most at context->end. */
struct pieces_context {
    struct bpe_worker *worker;
    const uint8_t *end; /* of the readable text */
};

int32_t encode_pieces(void *context, const uint8_t *text, size_t start, const size_t *ends,
                      size_t n, struct sluice_error *err);

/* Whether a piece, which ends at `to`, may have parts that merge apart: a long one whose last
 * character has three bytes or more. */
static inline int piece_has_parts(const uint8_t *to, size_t len)
{
    return len > PIECE_SHORT && to[-3] >= 0xE0;
}

/* The key of a piece of which `readable` bytes may be read. */
struct piece_key key_of(const uint8_t *p, size_t len, size_t readable);

/* Appends the ids of one piece that ends at most at `end`; encode_rest: of one that has no entry of
 * one key with its ids. */
int32_t encode_one(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                   struct sluice_error *err);
int32_t encode_rest(struct bpe_worker *w, const uint8_t *p, size_t len, const uint8_t *end,
                    struct sluice_error *err);

/* Those of this processor for a kind of instruction set; of a lesser kind where it has not that
 * one. */
const struct pass_steps *pass_steps_of(enum pretoken_kind kind);

/* Makes `scratch` hold at least so many bytes, whose contents are lost. SLUICE_E_NOMEM. */
int32_t bpe_need_scratch(struct bpe_worker *worker, size_t bytes, struct sluice_error *err);

/* Appends ids. SLUICE_E_CONFIG when they do not fit. */
int32_t bpe_put_ids(struct bpe_worker *worker, const uint32_t *ids, size_t n,
                    struct sluice_error *err);

#endif
