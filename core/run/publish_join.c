/* Small files of many tasks joined when they are published: a writer's note `join` tells the stored
 * bytes of a file. The files of the tasks stay in data/, for the next run to find, and the snapshot
 * names the joined ones; which files are joined is decided by their sizes and hashes
 * (store/compact.h), so that a run that changes a task makes one joined file or two anew, and reads
 * no others. One process does it, the one that publishes; a kill leaves files that nobody names. */
#include <stdlib.h>
#include <string.h>

#include "run/runInt.h"
#include "store/compact.h"

/* The bytes that the note tells; 0 = there is none. */
static uint64_t join_target(const struct op *op)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < op_stage(op)->n_notes; k++) {
        if (strcmp(op_stage(op)->notes[k].key, "join") == 0) {
            bytes = strtoull(op_stage(op)->notes[k].json, NULL, 10);
        }
    }
    return bytes;
}

sluice_status run_join(const struct run *run, const struct op *writer, struct snapshot **snapshot,
                       struct sluice_error *err)
{
    const struct compact_rules rules = { .target = join_target(writer), .least = 2 };
    struct compact_plan plan = { .n = 0 };
    struct snapshot *known = NULL;
    struct snapshot *joined = NULL;
    sluice_status status;

    if (rules.target == 0) {
        return SLUICE_OK;
    }
    status = compact_plan(*snapshot, &rules, &plan, err);
    if (status == SLUICE_OK && plan.n > 0) {
        status = snapshot_open_newest(op_stage(writer)->dataset, &known, err);
    }
    if (status == SLUICE_OK && plan.n > 0) {
        /* What the newest snapshot has joined need not be joined again. */
        status = compact_join(op_stage(writer)->dataset, *snapshot, &plan, known, run->vouch,
                              run->options.cancelled, &joined, err);
    }
    if (joined != NULL) {
        snapshot_destroy(*snapshot);
        *snapshot = joined;
    }
    snapshot_destroy(known);
    compact_plan_deinit(&plan);
    return status;
}
