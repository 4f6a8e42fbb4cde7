/* names - shards that are called as their contents want it instead of part-00000-KEY. A writer asks
 * for it by its note `names` (see sluice.h, plan->note). Depends on plan, store. */
#ifndef SLUICE_RUN_NAMES_H
#define SLUICE_RUN_NAMES_H

#include "plan/plan.h"
#include "store/snapshot.h"

/* The note is the suffix of an output kind: each file of that kind holds the public name of the
 * file beside it, with marks for its number and how many there are, and is then no shard of the
 * snapshot. SLUICE_E_CONFIG: the note, or such a name,
 * is none. Two shards of one name are found when the snapshot is published. */
sluice_status names_apply(const struct op *op, const char *note, struct snapshot *snapshot,
                          struct sluice_error *err) MUST_USE;

#endif
