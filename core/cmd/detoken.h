/* Token ids back to bytes, for people who look at token rows: reads a `.tiktoken` file ("base64 rank" lines) or the vocabulary of a
 * byte-level tokenizer.json. Knows nothing of merges or patterns. Depends on base, store, jansson. */
#ifndef SLUICE_CMD_DETOKEN_H
#define SLUICE_CMD_DETOKEN_H

#include "base/hash.h"

struct detoken;

/* SLUICE_E_CONFIG: the file is neither kind. Gives. */
sluice_status detoken_open(const char *path, struct detoken **out, struct sluice_error *) MUST_USE;
void detoken_close(struct detoken *); /* NULL is fine */
/* Bytes of a token (no UTF-8 by themselves where a token ends inside a character); NULL = no token has this id. Borrowed. */
const char *detoken_bytes(const struct detoken *, uint32_t id, size_t *n);
/* XXH3-128 of the file. */
struct hash128 detoken_hash(const struct detoken *);

#endif
