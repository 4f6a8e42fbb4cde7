/* bpe_int.h — the inside of `struct bpe`, private to bpe*.c. */
#ifndef TOKENIZE_BPE_INT_H
#define TOKENIZE_BPE_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "model/bpe.h"
#include "model/bpe_added.h"
#include "model/bpe_index.h"
#include "model/bpe_merge.h"
#include "model/bpe_trained.h"
#include "normalize/bpe_nfc.h"
#include "model/charbpe.h"
#include "split/pretoken.h"
#include "vocab/vocab.h"

struct bpe {
    struct vocab vocab;
    struct pretoken pretoken;
    /* merges is made with the first worker: who only asks about the vocabulary waits for none of
     * it. `index` is there until then, of VOCAB_MODEL_BYTES. */
    pthread_mutex_t building;
    atomic_bool built;
    struct token_index index;
    struct merges merges; /* of characters only the tables of whole pieces */
    struct charbpe chars; /* VOCAB_MODEL_CHARS */
    struct nfc nfc;       /* zeroed unless vocab.nfc */
    struct added added;
    enum bpe_specials specials;
    uint32_t size;    /* highest id + 1 */
    uint64_t hash[2]; /* XXH3-128 of the file, low half first */
    struct trained_head trained;
};

/* Makes the tables of merges unless they are there; for any number of threads at once.
 * SLUICE_E_NOMEM. */
int32_t bpe_build(const struct bpe *bpe, struct sluice_error *err);

#endif
