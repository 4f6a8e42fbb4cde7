/* A state on its way to a file and back: numbers and bytes in checked blocks, for what a task saves
 * in the middle of its work. Writing appends to a pending file, which gets its name when it is
 * whole; reading trusts nothing: whatever was cut, changed or made for something else is
 * SLUICE_E_DATA, before a byte of the block at fault is given.
 *
 * Both sides remember their first failure, so that callers ask once behind many calls: what is put
 * after it goes nowhere, what is got is 0. Depends on pending and store. One thread. */
#ifndef SLUICE_STORE_SAVED_H
#define SLUICE_STORE_SAVED_H

#include "base/buf.h"
#include "base/hash.h"

#define SAVED_FORMAT 2u /* of the blocks and all that is put into them; raise when it changes */

/* ---- writing ---- */

struct saved;

/* of: what the state is of; who reads it must say the same. cancelled (or NULL) != 0 ends it with
 * SLUICE_E_CANCELLED. dir must exist where folders are things. Gives. */
sluice_status saved_begin(const char *dir, struct hash128 of, const _Atomic int *cancelled,
                          struct saved **out, struct sluice_error *) MUST_USE;
void saved_put(struct saved *, uint64_t value);
void saved_put_bytes(struct saved *, const void *data, size_t n); /* with their number */
void saved_put_raw(struct saved *, const void *data, size_t n);   /* without: some of them */
sluice_status saved_status(const struct saved *, struct sluice_error *) MUST_USE;
/* Ends it, and gives the file its name in dir, in place of what has it: durable, whole or not at
 * all. Takes the state, on failure too. */
sluice_status saved_publish(struct saved *, const char *name, uint64_t *bytes,
                            struct sluice_error *) MUST_USE;
void saved_abort(struct saved *); /* NULL is fine */

/* ---- reading ---- */

struct restored;

/* found false: there is no such file. SLUICE_E_DATA: it is none, of another format, or of something
 * else. Gives. */
sluice_status restored_open(const char *path, struct hash128 of, struct restored **out, bool *found,
                            struct sluice_error *) MUST_USE;
/* A number of at most `most`; 0 after a failure. */
uint64_t restored_get(struct restored *, uint64_t most);
/* Replaces *out by the next bytes, at most `most`. */
void restored_get_bytes(struct restored *, uint64_t most, struct buf *out);
/* Gives the n next bytes, that were put raw, to take, some at a time. */
typedef sluice_status restored_fn(void *ctx, const void *data, size_t n, struct sluice_error *);
sluice_status restored_pieces(struct restored *, uint64_t n, restored_fn *take, void *ctx,
                              struct sluice_error *) MUST_USE;
/* What was got makes no sense to the caller. */
void restored_refuse(struct restored *, const char *what);
bool restored_ok(const struct restored *);
sluice_status restored_status(const struct restored *, struct sluice_error *) MUST_USE;
/* The same, and nothing may be left. */
sluice_status restored_end(struct restored *, struct sluice_error *) MUST_USE;
void restored_close(struct restored *); /* NULL is fine */

#endif
