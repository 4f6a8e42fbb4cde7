/* How even the partitions of a dataset are (a writer's note `partition`), for the report. Depends
 * on store/snapshot. */
#ifndef SLUICE_RUN_SKEW_H
#define SLUICE_RUN_SKEW_H

#include "store/snapshot.h"

/* {"n", "median", "most", "largest": [{"folder", "rows", "bytes"}…]}, bytes as stored: the largest
 * partitions first, five at most; NULL where the shards lie in no folders, or memory is out. New
 * reference. */
json_t *skew_json(const struct snapshot *);

#endif
