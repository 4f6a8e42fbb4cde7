/* charbpe_int.h — what charbpe.c and charbpe_long.c share.
 * Depends on: charbpe.h. */
#ifndef TOKENIZE_CHARBPE_INT_H
#define TOKENIZE_CHARBPE_INT_H

#include "model/charbpe.h"

/* Where the symbols of a piece are read; { p, p, p + n, 0 } at first. */
struct charbpe_reader {
    const uint8_t *begin, *p, *end;
    int unknown; /* an unknown token waits */
};

/* The most symbols of a character, and what waits for it. */
#define CHARBPE_READ_MOST 5u

/* The next symbols to out[0 .. gives), as long as there is room for CHARBPE_READ_MOST. The piece is
 * at its end when reader.p == reader.end and nothing waits. */
size_t charbpe_read(const struct charbpe *chars, struct charbpe_reader *reader, uint32_t *out,
                    size_t cap);

/* Merges symbols in place; where each that is left began to places[], unless NULL. Gives their
 * number. `scratch`: CHARBPE_SCRATCH(n) less 4 bytes a symbol. */
size_t charbpe_merge_symbols(const struct charbpe *chars, uint32_t *symbols, size_t n,
                             uint32_t *places, void *scratch);

/* SentencePiece: characters that are left become bytes or the unknown token. Any other: a copy.
 * *unknown is kept from one part of a piece to the next, 0 at first. */
size_t charbpe_resolve(const struct charbpe *chars, const uint32_t *symbols, size_t n, int *unknown,
                       uint32_t *out);

#endif
