/* Private to core/cmd/repro. */
#ifndef SLUICE_CMD_REPROINT_H
#define SLUICE_CMD_REPROINT_H

#include <jansson.h>

#include "cmd/session.h"
#include "store/snapshot.h"

/* A writer of the plan: what was recorded of it, and what it made now. Zeroed; deinit. */
struct repro_writer {
    const struct op *op;
    struct snapshot *recorded;
    struct snapshot
        *parent; /* that recorded one carried on: its files were there before; or NULL */
    struct snapshot *made;
};
void repro_writer_deinit(struct repro_writer *);

/* Finds the newest snapshot that a plan of this key made of the writer's dataset, and one that is
 * derived from that (store/derive.h) only where none else is left. *why is "" if
 * recorded is there, else says what is missing; NULL = an error. */
sluice_status repro_find(struct repro_writer *, struct hash128 plan, char why[600],
                         struct sluice_error *) MUST_USE;

/* {writer, dataset, snapshot, files, rows, bytes, equal, different: [{file, then: {rows, bytes,
 * hash}, now: {…}}], gone: [file], new: [file], inputs: [reader], ledger}: files that differ, those
 * of which there is none now, or was none; readers that read other bytes; whether the ledgers are
 * the same (of rows behind a parent's nobody knows). Of a compaction what its files were joined
 * from is compared, whose bytes nobody knows: then and now have only hash. NULL = out of memory.
 * Gives. */
json_t *repro_compare(const struct repro_writer *, bool *equal);

#endif
