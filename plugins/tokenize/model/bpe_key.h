/* bpe_key.h — the key of a short piece, made of 16 bytes of text without a branch.
 *
 * Owns: `key_of_16`. Depends on: bpe_cache.h. Private to bpe_pieces.c and bpe_pass.c. */
#ifndef TOKENIZE_BPE_KEY_H
#define TOKENIZE_BPE_KEY_H

#include "model/bpe_cache.h"

/* By length: which of 16 bytes a key keeps, and what it adds, in two words each. A piece of more
 * than PIECE_SHORT bytes gets a key that no entry has. */
#define KEEP(n)                                                                        \
    {                                                                                  \
        (n) >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * (n)) % 64) - 1,                   \
            (n) <= 8 ? 0 : (UINT64_C(1) << (8 * (n)) % 64) - 1, 0, (uint64_t)(n) << 56 \
    }
static const uint64_t key_of_length[17][4] = { KEEP(0),
                                               KEEP(1),
                                               KEEP(2),
                                               KEEP(3),
                                               KEEP(4),
                                               KEEP(5),
                                               KEEP(6),
                                               KEEP(7),
                                               KEEP(8),
                                               KEEP(9),
                                               KEEP(10),
                                               KEEP(11),
                                               KEEP(12),
                                               KEEP(13),
                                               KEEP(14),
                                               KEEP(15),
                                               { 0, 0, 0, UINT64_C(0xFF) << 56 } };

/* The key of the piece of len bytes at p, of which 16 may be read. */
static inline struct piece_key key_of_16(const uint8_t *p, size_t len)
{
    const uint64_t *keep = key_of_length[len <= PIECE_SHORT ? len : PIECE_SHORT + 1];
    struct piece_key key;
    memcpy(&key, p, 16); /* the struct is the 16 bytes in order */
    key.low &= keep[0];
    key.high = (key.high & keep[1]) | keep[3];
    return key;
}

#endif
