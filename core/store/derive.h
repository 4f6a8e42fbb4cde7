/* Snapshots that are made of another one and stand behind it: by a compaction (store/compact.h) or
 * a removal (store/removal.h). What both need: files of data/ whose names tell what they were made
 * of, and what such a snapshot keeps. Depends on snapshot, pending. */
#ifndef SLUICE_STORE_DERIVE_H
#define SLUICE_STORE_DERIVE_H

#include "store/pending.h"
#include "store/snapshot.h"

/* What is behind the first dot of a stored name, with it: ".jsonl.zst". Borrowed. */
const char *derive_suffix(const char *file);

/* What of a stored name the file's bytes decide: 12 digits and the suffix; "" of another name.
 * Borrowed. */
const char *derive_hash_part(const char *file);

/* Whether it is JSON Lines, none, gzip or zstd. */
bool derive_is_lines(const char *file);

/* A stored file of this key (32 digits), if a snapshot that is known has one and it is whole. *file
 * is borrowed from that, NULL = there is none. known and vouch may be NULL. */
sluice_status derive_find(const char *dataset_dir, const struct snapshot *known,
                          struct vouch *vouch, const char *key, const char **file,
                          struct published *, struct sluice_error *) MUST_USE;

/* Compares a stored file with what its manifest says of it. SLUICE_E_DATA: it was damaged. */
sluice_status derive_check(const char *path, const struct snapshot_shard *,
                           struct sluice_error *) MUST_USE;

/* Removes what a process that died left in data/ in the making. */
sluice_status derive_sweep(const char *dataset_dir, struct sluice_error *) MUST_USE;

/* Begins a file of data/. Gives. */
sluice_status derive_open(const char *dataset_dir, struct pending **,
                          struct sluice_error *) MUST_USE;
/* Ends it under the name "KEY24-0000-HASH12SUFFIX", which is set. Takes pending, also on errors.
 * vouch may be NULL. */
sluice_status derive_publish(const char *dataset_dir, struct pending *, const char *key,
                             const char *suffix, struct vouch *vouch, char name[200],
                             struct published *, struct sluice_error *) MUST_USE;

/* What next keeps of the one it stands behind: owner, ledger, notes, and the lineage under its own;
 * that says under `way` ("compacts", "removes") of which content it stands for, unless it stands
 * for another's already. */
sluice_status derive_keep(const struct snapshot *from, struct snapshot *next, const char *way,
                          struct sluice_error *) MUST_USE;

/* Publishes it behind `from` and nothing else: SLUICE_E_CONFIG where another one came meanwhile. */
sluice_status derive_stand(const char *dataset_dir, const struct snapshot *from,
                           struct snapshot *next, uint32_t *number, struct sluice_error *) MUST_USE;

/* The content (32 digits) of the run's snapshot that this one stands for, so that the same run
 * publishes nothing. NULL: it is a run's own. Borrowed. */
const char *derive_stands_for(const struct snapshot *);

#endif
