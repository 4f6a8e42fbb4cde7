/* Sets of numbers that may not fit into memory: shingles of the documents of one cluster.
 *
 * Owns a buffer and, when it is full, a nameless scratch file. Depends on sluice.h. One thread. */
#ifndef MINHASH_SETS_H
#define MINHASH_SETS_H

#include <sluice_arrays.h>
#include <stdbool.h>

struct minhash_sets;

struct minhash_set {
    uint64_t at; /* number in the store */
    uint64_t n;
};

/* memory: bytes of sets held before they go to dir (borrowed until destroy). Gives. */
sluice_status minhash_sets_create(uint64_t memory, const char *dir, struct minhash_sets **out,
                                  struct sluice_error *err);
void minhash_sets_destroy(struct minhash_sets *sets); /* NULL is fine */

/* Copies n numbers. SLUICE_E_IO names the folder. */
sluice_status minhash_sets_add(struct minhash_sets *sets, const uint64_t *numbers, uint64_t n,
                               struct minhash_set *out, struct sluice_error *err);
/* The numbers of a set, borrowed until the next call. */
sluice_status minhash_sets_get(struct minhash_sets *sets, const struct minhash_set *set,
                               const uint64_t **numbers, struct sluice_error *err);
/* Saved states: all sets, and back into an empty store, where they have the same numbers.
 * SLUICE_E_DATA: damaged. */
sluice_status minhash_sets_save(struct minhash_sets *sets, struct sluice_io *io,
                                struct sluice_error *err);
sluice_status minhash_sets_load(struct minhash_sets *sets, struct sluice_io *io,
                                struct sluice_error *err);
/* Whether all of the set is in the store. */
bool minhash_sets_has(const struct minhash_sets *sets, const struct minhash_set *set);
/* Forgets all sets. */
sluice_status minhash_sets_clear(struct minhash_sets *sets, struct sluice_error *err);

#endif
