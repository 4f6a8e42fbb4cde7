/* The union-find of datatrove's stage 3, whose roots depend on the order of its edges.
 *
 * Owns its nodes, in memory. Depends on sluice.h. Promises: fed with the edges in the order of
 * datatrove's sorted .dups files, its roots are the documents that datatrove keeps: union by size,
 * of equal sizes the first argument's root stays (pipeline/dedup/minhash.py, MinhashDedupCluster).
 * That order can't be kept in pieces, so all documents with duplicates are held in memory. */
#ifndef PEER_FOREST_H
#define PEER_FOREST_H

#include <stdint.h>

#include "forest.h"

/* Bytes that a node costs at most, for sizing `memory`: grown tables are copied. */
#define PEER_FOREST_NODE_BYTES 64

struct peer_forest;

/* Gives *out, to be freed with peer_forest_destroy. */
int32_t peer_forest_create(uint64_t memory, struct peer_forest **out, struct sluice_error *err);
void peer_forest_destroy(struct peer_forest *forest);

/* Adds the edge one - other. SLUICE_E_NOMEM above `memory`. */
int32_t peer_forest_add(struct peer_forest *forest, uint64_t one, uint64_t other,
                        struct sluice_error *err);

/* Gives (node, root) of every node that is no root, in no particular order. */
int32_t peer_forest_finish(struct peer_forest *forest, forest_result *result, void *user,
                           struct sluice_error *err);

/* Saved states, before peer_forest_finish; load takes an empty forest. SLUICE_E_DATA: damaged. */
int32_t peer_forest_save(struct peer_forest *forest, struct sluice_io *io);
int32_t peer_forest_load(struct peer_forest *forest, struct sluice_io *io,
                         struct sluice_error *err);

#endif
