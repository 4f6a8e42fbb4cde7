/* Token ids back to bytes, for people who look at token rows, with the engine that made them.
 * Depends on cmd/tokenize/tokenizer.h, base, store. */
#ifndef SLUICE_CMD_DETOKEN_H
#define SLUICE_CMD_DETOKEN_H

#include "base/hash.h"

struct detoken;

/* SLUICE_E_CONFIG: the file is no tokenizer, or there is no engine in this build. Gives. */
sluice_status detoken_open(const char *path, struct detoken **out, struct sluice_error *) MUST_USE;
void detoken_close(struct detoken *); /* NULL is fine */
/* Bytes of a token (no UTF-8 by themselves where a token ends inside a character); NULL = no token
 * has this id. Borrowed. */
const char *detoken_bytes(const struct detoken *, uint32_t id, size_t *n);
/* XXH3-128 of the file. */
struct hash128 detoken_hash(const struct detoken *);

#endif
