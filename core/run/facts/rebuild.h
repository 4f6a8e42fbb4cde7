/* What building a dataset anew would change in one that was carried on, snapshot by snapshot.
 * Depends on plan, store. */
#ifndef SLUICE_RUN_REBUILD_H
#define SLUICE_RUN_REBUILD_H

#include <jansson.h>

#include "plan/plan.h"

/* Appends to list, for every writer of the plan that carries a snapshot on: dataset, snapshot,
 * appends (snapshots since it was built from nothing), documents, rebuild_changes (the sum of that
 * measure of their ledgers). A dataset that is not there yet is left out. */
sluice_status rebuild_json(const struct plan *, json_t *list, struct sluice_error *) MUST_USE;

#endif
