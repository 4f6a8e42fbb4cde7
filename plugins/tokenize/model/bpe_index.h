/* bpe_index.h — the tokens of a vocabulary by their bytes, while its tables are built.
 *
 * Owns: `struct token_index`. Depends on: vocab.h, libxxhash. Immutable once made. */
#ifndef TOKENIZE_BPE_INDEX_H
#define TOKENIZE_BPE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "vocab/vocab.h"

/* Tokens up to so many bytes are compared without a look at the vocabulary. */
#define TOKEN_SHORT 8u

/* A place of the open-addressing table. */
struct token_slot {
    uint64_t key; /* the bytes of a short token, zeros behind them; the hash of a longer one */
    uint32_t len;
    uint32_t id; /* VOCAB_NONE when empty */
};

struct token_index {
    struct token_slot *slots; /* a power of two */
    /* A bit for each eighth of a place: tells of most bytes that are no token, from the cache. */
    uint64_t *some;
    size_t mask;
    unsigned shift; /* of a key's hash: the place */
};

/* Every byte string of the vocabulary. SLUICE_E_CONFIG when two tokens have the same bytes,
 * SLUICE_E_NOMEM. Caller's memory; deinit even after an error. */
int32_t token_index_init(struct token_index *index, const struct vocab *vocab,
                         struct sluice_error *err);
void token_index_deinit(struct token_index *index);

/* The token with these bytes, or VOCAB_NONE. TOKEN_SHORT bytes at p are read in any case. */
uint32_t token_index_find(const struct token_index *index, const struct vocab *vocab,
                          const uint8_t *p, size_t len);

#endif
