/* catalogue - one file over all shards of a snapshot, which some formats want (MDS: index.json). A
 * writer asks for it by its note `catalogue` (see sluice.h, plan->note). Depends on plan, store. */
#ifndef SLUICE_RUN_CATALOGUE_H
#define SLUICE_RUN_CATALOGUE_H

#include "plan/plan.h"
#include "store/snapshot.h"

/* Makes the file that `note` describes from the snapshot's shards, whose files stand in op's
 * dataset, puts it beside them under a name from its content, and adds it to the snapshot as a
 * shard of no rows. SLUICE_E_CONFIG: the note is wrong. */
sluice_status catalogue_add(const struct op *op, const char *note, struct snapshot *snapshot,
                            struct sluice_error *err) MUST_USE;

#endif
