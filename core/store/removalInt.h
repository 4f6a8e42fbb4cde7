/* Private to removal*.c. */
#ifndef SLUICE_STORE_REMOVALINT_H
#define SLUICE_STORE_REMOVALINT_H

#include "store/removal.h"
#include "store/store.h"

/* Copies the lines that stay, in the same codec. SLUICE_E_DATA: it has another number of lines than
 * the manifest says. */
sluice_status removal_copy_lines(const char *path, const struct snapshot_shard *,
                                 const struct removal_shard *gone, const _Atomic int *stop,
                                 struct pending *, struct sluice_error *) MUST_USE;

/* Tells out's lineage, which was from's, that these rows of a shard of from's are gone, and which
 * file stands in its place (NULL: none). */
sluice_status removal_tell(const char *dataset_dir, struct snapshot *out,
                           const struct snapshot *from, const struct snapshot_shard *,
                           const struct removal_shard *gone, const char *file,
                           struct sluice_error *) MUST_USE;

/* Sets the rows of a shard of s that newest's lineage says are gone. *gone is owned by the
 * caller. */
sluice_status removal_rows(const char *dataset_dir, const struct snapshot *newest,
                           const struct snapshot *s, const struct snapshot_shard *,
                           struct removal_shard *gone, struct sluice_error *) MUST_USE;

/* Carries the newest one's lineage of removals and joined files on. */
sluice_status removal_carry(const struct snapshot *newest, struct snapshot *out,
                            struct sluice_error *) MUST_USE;

#endif
