/* bpe_model.h — from a piece to ids under the models over characters. Private to bpe*.c.
 *
 * Owns: `struct model_scratch`. Depends on: bpe_int.h, charbpe.h, unigram.h, wordpiece.h.
 * Promises: the ids depend on the piece alone. */
#ifndef TOKENIZE_BPE_MODEL_H
#define TOKENIZE_BPE_MODEL_H

#include "model/bpe_int.h"
#include "model/unigram.h"

/* Of one thread; zeroed means empty. */
struct model_scratch {
    struct unigram_scratch unigram;
    uint64_t *words; /* of charbpe_merge */
    size_t n_words;
};
void model_scratch_deinit(struct model_scratch *scratch);

/* Encodes a piece of len > 0 bytes; ids to out[0 .. *n), which has room for len. SLUICE_E_NOMEM,
 * SLUICE_E_DATA (2 GiB or more; a character that a Unigram model without an unknown token
 * lacks). */
int32_t model_encode(const struct bpe *bpe, struct model_scratch *scratch, const uint8_t *p,
                     size_t len, uint32_t *out, size_t *n, struct sluice_error *err);

#endif
