/* pack_held - documents of tokens that wait to be packed together. Depends on pack_rows.h. */
#ifndef PACK_HELD_H
#define PACK_HELD_H

#include "pack_rows.h"

/* Zeroed memory holds none. */
struct pack_held {
    struct sluice_bytes tokens;      /* uint32_t, of all documents in order */
    struct sluice_bytes mask;        /* the same, a byte a token, where there is a loss mask */
    struct sluice_bytes lengths;     /* uint32_t a document */
    struct sluice_bytes begins;      /* uint64_t a document: pack_source's */
    struct sluice_bytes origins;     /* uint64_t, of all documents in order */
    struct sluice_bytes origin_ends; /* uint64_t a document */
};

/* Copies a document of n tokens; mask NULL: it has none. 0 = out of memory. */
int pack_held_add(struct pack_held *, const uint32_t *tokens, const uint8_t *mask, size_t n,
                  const struct pack_source *);
/* What the k-th document is of, borrowed. */
struct pack_source pack_held_source(const struct pack_held *, size_t k);
void pack_held_deinit(struct pack_held *);

#endif
