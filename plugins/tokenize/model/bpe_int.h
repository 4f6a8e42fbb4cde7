/* bpe_int.h — the inside of `struct bpe`, private to bpe*.c. */
#ifndef TOKENIZE_BPE_INT_H
#define TOKENIZE_BPE_INT_H

#include "model/bpe.h"
#include "model/bpe_added.h"
#include "model/bpe_merge.h"
#include "model/bpe_trained.h"
#include "normalize/bpe_nfc.h"
#include "model/charbpe.h"
#include "split/pretoken.h"
#include "vocab/vocab.h"

struct bpe {
    struct vocab vocab;
    struct pretoken pretoken;
    struct merges merges; /* of characters only the tables of whole pieces */
    struct charbpe chars; /* VOCAB_MODEL_CHARS */
    struct nfc nfc;       /* zeroed unless vocab.nfc */
    struct added added;
    enum bpe_specials specials;
    uint32_t size;    /* highest id + 1 */
    uint64_t hash[2]; /* XXH3-128 of the file, low half first */
    struct trained_head trained;
};

#endif
