/* Rows taken out of a snapshot: a new one behind it, in which only the shards that held them are
 * written again and all others are named as they are. Rows are given by their numbers; who looks
 * for them is not known here, and nothing of them is kept.
 *
 * What was removed stays removed. The manifest's lineage says which rows of which files of the
 * pipeline's own are gone,
 *
 *   removed    {FILE: {hash, rows: [row…]}}  of a file that a task wrote: wherever this lineage
 *                                            means FILE, it is without these rows
 *   rewritten  {NEW: FILE}                   what was written in its place
 *   removals   [{…}]                         each removal, as its command notes it (no ids)
 *   removes    CONTENT                       the content of the run's snapshot that it stands for
 *
 * and every snapshot that is published later, and has a file of these bytes, is published without
 * these rows (removal_apply, which snapshot_publish calls). So a run of the pipeline does not bring
 * them back, unless a changed input makes other bytes of the file, which then hold them again.
 *
 * Rows of JSON Lines are taken out here, without a look into them; other formats by a function of
 * the caller's. Depends on derive, compact. */
#ifndef SLUICE_STORE_REMOVAL_H
#define SLUICE_STORE_REMOVAL_H

#include "store/derive.h"

struct removal_shard {
    uint64_t *rows; /* ascending, each once */
    uint64_t n;
};

/* Writes a shard of a dataset's snapshot without these rows (some, not all) into pending. */
typedef sluice_status removal_copy_fn(const char *dataset_dir, const struct snapshot *,
                                      const struct snapshot_shard *, const struct removal_shard *,
                                      struct pending *, struct sluice_error *);

struct removal_terms {
    const struct removal_shard *shards; /* as many as the snapshot has; borrowed */
    removal_copy_fn *copy;              /* of what is no JSON Lines; NULL: that is refused */
    bool (*takes)(const char *file);    /* whether copy can, with copy */
    struct vouch *vouch;                /* may be NULL */
    const struct snapshot *known;       /* may have some of the files already; may be NULL */
    const _Atomic int *stop;            /* nonzero ends it with SLUICE_E_CANCELLED; may be NULL */
};

/* Makes a snapshot of what is left: all but number and owner's terms of publication. A shard of
 * which no row is left is gone. Files are compared with their hashes before they are read
 * (SLUICE_E_DATA). Gives *out. */
sluice_status removal_make(const char *dataset_dir, const struct snapshot *from,
                           const struct removal_terms *, struct snapshot **out,
                           struct sluice_error *) MUST_USE;

/* Adds a note to lineage.removals. Takes note. */
sluice_status removal_note(struct snapshot *, json_t *note, struct sluice_error *) MUST_USE;

/* What is to be published in place of s, behind newest: s without the rows that newest's lineage
 * says are gone, and with that lineage. *out is NULL where nothing was removed. SLUICE_E_CONFIG: a
 * file of s that has such rows is no JSON Lines, and newest has no copy of it without them. */
sluice_status removal_apply(const char *dataset_dir, const struct snapshot *newest,
                            const struct snapshot *s, struct vouch *vouch, struct snapshot **out,
                            struct sluice_error *) MUST_USE;

/* The file of a task that a row of a rewritten one was in, and its row there. False: nothing was
 * removed from it. *file is borrowed from the snapshot. After compact_origin. */
bool removal_origin(const struct snapshot *, const char **file, uint64_t *row);

#endif
