/* bpe_added.h — finds special and added tokens in a text, as tokenizers' AddedVocabulary does.
 *
 * Owns: the tries of their contents. Depends on: bpe_trie.h, vocab.h.
 * tokenizers searches twice, leftmost-longest: the tokens with normalized=false in the raw text,
 * those with normalized=true in the normalized text between. A match that is dropped (a special
 * token kept as text, single_word inside a word) still takes its bytes: nothing is found inside it.
 * */
#ifndef TOKENIZE_BPE_ADDED_H
#define TOKENIZE_BPE_ADDED_H

#include <stddef.h>
#include <stdint.h>

#include "model/bpe_trie.h"
#include "vocab/vocab.h"

struct added_pass {
    struct trie trie;   /* contents to index in vocab.added */
    uint8_t first[256]; /* 1 for a byte that some content begins with */
    int only_first;     /* the one such byte, or -1 */
    int visible;        /* a space of the text stands for U+2581, which is no white space */
    int active;         /* 0: no match could change anything */
};

struct added {
    struct added_pass pass[2]; /* [0] raw, [1] normalized */
};

/* A match: text[begin .. end), lstrip and rstrip applied. */
struct added_match {
    size_t begin, end;
    const struct vocab_added *token;
};

/* `keep_special` 1: special tokens are text (BPE_SPECIALS_ORDINARY). `normalized` maps a content
 * into normalized form for the second pass, or is NULL: takes (context, bytes, len) and gives 0
 * with *out borrowed until the next call. */
typedef int32_t added_normalize(void *context, const uint8_t *text, size_t len, const uint8_t **out,
                                size_t *out_len, struct sluice_error *err);
int32_t added_init(struct added *added, const struct vocab *vocab, int keep_special,
                   added_normalize *normalize, void *context, struct sluice_error *err);
void added_deinit(struct added *added);

/* Gives 1 and the next match of a pass at or behind *from, 0 when there is none. *from moves behind
 * what was searched; `floor` is where the text after the last match begins (lstrip goes no further
 * back). */
int added_next(const struct added_pass *pass, const struct vocab *vocab,
               const struct unicode_table *unicode, int keep_special, const uint8_t *text,
               size_t len, size_t *from, size_t floor, struct added_match *match);

#endif
