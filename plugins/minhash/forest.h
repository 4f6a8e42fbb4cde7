/* Connected components of documents under duplicate edges, in bounded memory.
 *
 * Owns: nodes (64-bit document positions, split << 40 | row), their union-find forest, and the
 * scratch file it falls back to. Depends on sluice.h and forest_sort. Promises: the result is a
 * function of the set of edges; neither their order, nor the memory limit, nor whether the scratch
 * file was needed changes it. The survivor of a component is its smallest position, so the earliest
 * document of the input is kept (datatrove keeps its union-find's root, which depends on the task
 * count).
 *
 * In memory it is union by smallest position with path halving (Tarjan, van Leeuwen 1984). Above
 * the limit the nodes are written out as edges to their roots, the memory starts afresh, and at the
 * end alternating large-star and small-star passes over sorted edges bring every node to its
 * survivor (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii: Connected Components in MapReduce
 * and Beyond, SoCC 2014). */
#ifndef FOREST_H
#define FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct forest_options {
    uint64_t memory;         /* bytes this forest may hold; at least FOREST_MEMORY_LEAST */
    const char *scratch_dir; /* borrowed until forest_destroy; NULL = never spill, report
                                SLUICE_E_NOMEM instead */
};

#define FOREST_MEMORY_LEAST ((uint64_t)256 << 10)

/* Bytes that a node costs at most, for sizing `memory`. */
#define FOREST_NODE_BYTES 32

struct forest;

/* Takes one pair (position, survivor), survivor < position; pairs come in ascending order of
 * position. A status other than SLUICE_OK ends forest_finish with it. */
typedef int32_t forest_result(void *user, uint64_t position, uint64_t survivor,
                              struct sluice_error *err);

struct forest_stats {
    uint64_t edges;      /* added, loops and repeats included */
    uint64_t duplicates; /* pairs given: documents that do not survive */
    uint64_t spilled;    /* edges written to scratch when memory ran out; 0 = all in memory */
    uint64_t rounds;     /* star passes */
};

/* Gives *out, to be freed with forest_destroy. SLUICE_E_CONFIG if memory is too small,
 * SLUICE_E_NOMEM. */
int32_t forest_create(const struct forest_options *options, struct forest **out,
                      struct sluice_error *err);

/* Frees all and removes what is left in scratch (files are unlinked when made, so a kill leaves
 * none). NULL is fine. */
void forest_destroy(struct forest *forest);

/* Adds the edge one - other. SLUICE_E_NOMEM says that memory is used up and no scratch_dir was
 * given, or that the machine refused memory below the limit; SLUICE_E_IO names the scratch folder
 * and what is wrong (disk full). After an error only forest_destroy is allowed. */
int32_t forest_add(struct forest *forest, uint64_t one, uint64_t other, struct sluice_error *err);

/* Gives all pairs to result, once; no edge may be added afterwards. */
int32_t forest_finish(struct forest *forest, forest_result *result, void *user,
                      struct sluice_error *err);

/* Saved states, before forest_finish: edges that make the same components, and their return into an
 * empty forest (SLUICE_E_DATA: damaged). */
int32_t forest_save(const struct forest *forest, struct sluice_io *io, struct sluice_error *err);
int32_t forest_load(struct forest *forest, struct sluice_io *io, struct sluice_error *err);

/* What happened so far. */
struct forest_stats forest_stats(const struct forest *forest);

#endif
