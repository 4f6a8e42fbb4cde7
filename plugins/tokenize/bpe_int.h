/* bpe_int.h — the inside of `struct bpe`, private to bpe*.c. */
#ifndef TOKENIZE_BPE_INT_H
#define TOKENIZE_BPE_INT_H

#include "bpe.h"
#include "bpe_added.h"
#include "bpe_merge.h"
#include "bpe_nfc.h"
#include "charbpe.h"
#include "pretoken.h"
#include "vocab.h"

struct bpe {
    struct vocab vocab;
    struct pretoken pretoken;
    struct merges merges; /* of characters only the tables of whole pieces */
    struct charbpe chars; /* VOCAB_MODEL_CHARS */
    struct nfc nfc;       /* touch is NULL unless vocab.nfc */
    struct added added;
    enum bpe_specials specials;
    uint32_t size; /* highest id + 1 */
};

#endif
