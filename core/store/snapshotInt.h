/* Private to snapshot*.c: names of a dataset's parts, and the sums over a snapshot. */
#ifndef SLUICE_STORE_SNAPSHOTINT_H
#define SLUICE_STORE_SNAPSHOTINT_H

#include "store/snapshot.h"

#define SNAPSHOT_MAX_BYTES ((uint64_t)1 << 30) /* of a manifest's text */

/* Behind the number in the name of what stands, where lists may lack files, for a manifest that was
 * forgotten; and of what says that a snapshot has tags. */
#define SNAPSHOT_GONE ".gone"
#define SNAPSHOT_TAGGED ".tagged"

/* "000012.json" and "v000012". */
void snapshot_manifest_name(uint32_t number, char name[24]);
void snapshot_folder_name(uint32_t number, char name[24]);

/* Digits at text as a number 1..SNAPSHOT_MAX, else 0. *end is behind them. */
uint32_t snapshot_number(const char *text, const char **end);

/* The number in a manifest's or folder's name, 0 if it is none. */
uint32_t snapshot_manifest_number(const char *name);
uint32_t snapshot_folder_number(const char *name);

/* "dir/sub/name" (sub NULL: "dir/name") in the arena; NULL = out of memory. */
char *snapshot_path(struct arena *, const char *dir, const char *sub, const char *name);

/* Sets rows, bytes and measures from the shards. SLUICE_E_DATA on overflow. */
sluice_status snapshot_add_up(struct snapshot *, struct sluice_error *) MUST_USE;

/* Sets content from everything that it covers. */
sluice_status snapshot_hash(struct snapshot *, struct sluice_error *) MUST_USE;

/* Sets added and removed from the parent (NULL: it has none). */
sluice_status snapshot_take_names(struct snapshot *, const struct snapshot *parent,
                                  struct sluice_error *) MUST_USE;

/* Whether added and removed, which content does not cover, are what they are compared with the
 * parent. */
sluice_status snapshot_names_fit(const struct snapshot *, const struct snapshot *parent, bool *fit,
                                 struct sluice_error *) MUST_USE;

/* Makes a complete, synced folder of the shards under a temporary name. *path is given. */
sluice_status snapshot_folder_stage(const char *dataset_dir, const struct snapshot *, char **path,
                                    struct sluice_error *) MUST_USE;
/* Gives up such a folder. Takes path; NULL is fine. */
void snapshot_folder_drop(char *path);

/* Puts right what is missing or damaged in the snapshot's folder, from data/, which must be good.
 * An absent folder stays absent. *mended is added to. */
sluice_status snapshot_folder_mend(const char *dataset_dir, const struct snapshot *,
                                   struct vouch *vouch, uint64_t *mended,
                                   struct sluice_error *) MUST_USE;

/* Files of snapshots that nothing could put right. */
struct snapshot_damage {
    uint64_t n;
    char first[600]; /* what is wrong with the first of them */
};

/* Looks at all shards of a snapshot, and puts right what data/ or the snapshot's own folder have a
 * good copy of; the rest is damage. An absent folder stays absent. What was not touched since
 * since_ns is believed (vouch_check_since). */
sluice_status snapshot_folder_restore(const char *dataset_dir, const struct snapshot *,
                                      struct vouch *vouch, int64_t since_ns, uint64_t *mended,
                                      struct snapshot_damage *, struct sluice_error *) MUST_USE;

/* Puts a file of data/ right from the holder's folder, if that has it as it should be. */
sluice_status snapshot_data_mend(const char *dataset_dir, const struct snapshot_shard *,
                                 const struct snapshot *holder, struct vouch *vouch, bool *mended,
                                 struct sluice_error *) MUST_USE;

/* Number of the newest manifest, 0 if there is none. */
sluice_status snapshot_newest(const char *dataset_dir, uint32_t *number,
                              struct sluice_error *) MUST_USE;

/* `latest` (a path) must be ours to replace. */
sluice_status snapshot_check_latest(const char *latest, struct sluice_error *) MUST_USE;
/* Lets it point to `number` or to a newer one. */
sluice_status snapshot_set_latest(const char *dataset_dir, const char *latest, uint32_t number,
                                  struct sluice_error *) MUST_USE;
bool snapshot_folder_there(const char *dataset_dir, uint32_t number);

/* Stored (or public) names of all shards, sorted, borrowed: an array in the arena, or NULL. */
const char **snapshot_sorted_names(struct arena *, const struct snapshot *, bool stored);

#endif
