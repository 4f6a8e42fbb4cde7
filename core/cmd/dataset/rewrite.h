/* Files of Parquet and Arrow written again, by their reader and their writer: several as one, or
 * one without some of its rows. What the manifest says of the writer's options holds; all else is
 * as the rows say, so the same rows give the same bytes. It is a pipeline of one task
 * (`files | reader | writer`) with a run directory of its own, which is gone at the end. Depends on
 * session, look/rowsof. */
#ifndef SLUICE_CMD_REWRITE_H
#define SLUICE_CMD_REWRITE_H

#include "store/compact.h"
#include "store/removal.h"

/* Whether files of this stored name are written again so. */
bool rewrite_takes(const char *file);

/* See removal_copy_fn, compact_join_fn. */
sluice_status rewrite_without(const char *dataset_dir, const struct snapshot *,
                              const struct snapshot_shard *, const struct removal_shard *gone,
                              struct pending *, struct sluice_error *) MUST_USE;
sluice_status rewrite_joined(const char *dataset_dir, const struct snapshot *,
                             const struct snapshot_shard *, uint32_t n, struct pending *,
                             struct sluice_error *) MUST_USE;

#endif
