/* Small files of a snapshot joined into files of a chosen stored size, without decoding: members of
 * a gzip file and frames of a zstd file may follow one another, and so may lines of text. Files
 * under 75 % of the target are joined with their neighbours, so the rows keep their order; a joined
 * file has 75 to 125 % of the target. Where one ends is decided by the sizes and hashes of its own
 * files alone, as in content-defined chunking: a file that changes, comes or goes changes the
 * joined file that it is in and seldom the next one, and equal snapshots give equal bytes.
 *
 * What can be joined here is JSON Lines (none, gzip, zstd); other formats by a function of the
 * caller's. Depends on snapshot, pending. */
#ifndef SLUICE_STORE_COMPACT_H
#define SLUICE_STORE_COMPACT_H

#include "store/pending.h"
#include "store/snapshot.h"

/* Writes the rows of these shards of a dataset's snapshot (several, one behind the other, of one
 * suffix) into pending. */
typedef sluice_status compact_join_fn(const char *dataset_dir, const struct snapshot *,
                                      const struct snapshot_shard *, uint32_t n, struct pending *,
                                      struct sluice_error *);

struct compact_rules {
    uint64_t target;       /* stored bytes */
    uint32_t least;        /* neighbours that are joined although they don't fill a file */
    compact_join_fn *join; /* of what is no JSON Lines; NULL: that is refused */
    bool (*takes)(const char *file); /* whether join can, with join */
};

struct compact_group {
    uint32_t first, n; /* shards, one behind the other */
};

struct compact_plan {
    struct compact_group *groups; /* in order */
    uint32_t n, capacity;
    uint32_t joined;       /* shards in them */
    uint32_t large;        /* shards over 180 % of the target, which only their pipeline can cut */
    compact_join_fn *join; /* of the rules */
};

/* SLUICE_E_CONFIG: files of this kind can't be joined. Deinit after an error too. */
sluice_status compact_plan(const struct snapshot *, const struct compact_rules *,
                           struct compact_plan *, struct sluice_error *) MUST_USE;
void compact_plan_deinit(struct compact_plan *);

/* Joins: *out is a snapshot of the new shards, with the lineage's `joined` in its own, and nothing
 * else but the name. The files that are read are compared with their hashes (SLUICE_E_DATA). known:
 * a snapshot that may have some of the joined files already, which vouch then looks at; both may be
 * NULL. stop: nonzero ends it with SLUICE_E_CANCELLED; may be NULL. Gives. */
sluice_status compact_join(const char *dataset_dir, const struct snapshot *,
                           const struct compact_plan *, const struct snapshot *known,
                           struct vouch *vouch, const _Atomic int *stop, struct snapshot **out,
                           struct sluice_error *) MUST_USE;

/* Joins the small files of the newest snapshot, `from`, in a snapshot behind it that keeps the
 * owner and what else there is. A run that would publish what `from` holds publishes nothing (see
 * snapshot_publish). *number: the new one. SLUICE_E_CONFIG: another one was published meanwhile. */
sluice_status compact_snapshot(const char *dataset_dir, const struct snapshot *from,
                               const struct compact_plan *, const _Atomic int *stop,
                               uint32_t *number, struct sluice_error *) MUST_USE;

/* The file that a row of a joined one was in, and its row there. False: it is none. *file is
 * borrowed from the snapshot. */
bool compact_origin(const struct snapshot *, const char **file, uint64_t *row);

#endif
