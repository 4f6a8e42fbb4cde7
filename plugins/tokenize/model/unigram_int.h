/* unigram_int.h — private to unigram*.c: the vocabulary of a Unigram model. */
#ifndef TOKENIZE_UNIGRAM_INT_H
#define TOKENIZE_UNIGRAM_INT_H

#include "model/unigram.h"
#include "model/unigram_trie.h"

struct unigram_entry {
    double score;
    size_t at; /* in `bytes` */
    uint32_t len;
    uint8_t unused, reserved;
};

struct unigram {
    enum unigram_peer peer;
    struct unigram_trie trie;
    struct unigram_entry *entries; /* by id */
    char *bytes;
    uint32_t n, unk;
    size_t n_bytes;
    int byte_fallback;
    uint32_t byte_id[256]; /* UNIGRAM_NONE: no token <0xNN> */
    double unk_score;
};

#endif
