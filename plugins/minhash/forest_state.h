/* Pairs of numbers in saved states: any number of them, in chunks, so that none need be counted
 * first or held at once. Depends on sluice.h. */
#ifndef FOREST_STATE_H
#define FOREST_STATE_H

#include "forest_sort.h"

#define FOREST_CHUNK 512u

/* { .io = … } is empty. */
struct forest_pairs_out {
    struct sluice_io *io;
    struct forest_pair pairs[FOREST_CHUNK];
    uint64_t n;
};

/* Takes a pair. */
typedef int32_t forest_pair_fn(void *user, struct forest_pair pair, struct sluice_error *err);

/* A forest_pair_fn over struct forest_pairs_out. */
int32_t forest_pairs_put(void *out, struct forest_pair pair, struct sluice_error *err);
int32_t forest_pairs_end(struct forest_pairs_out *out);

/* Gives all pairs up to the end to take. SLUICE_E_DATA: they are cut. */
int32_t forest_pairs_get(struct sluice_io *io, forest_pair_fn *take, void *user,
                         struct sluice_error *err);

/* Gives the pairs that were not read yet to take, in no particular order, some of them repeatedly;
 * changes nothing. */
int32_t forest_sort_rest(const struct forest_sort *sort, forest_pair_fn *take, void *user,
                         struct sluice_error *err);
/* A forest_pair_fn over struct forest_sort: pushes. */
int32_t forest_sort_take(void *sort, struct forest_pair pair, struct sluice_error *err);

#endif
