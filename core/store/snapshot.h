/* Datasets and their snapshots.
 *
 *   DATASET/data/FILE              shards under their stored names (from task keys)
 *   DATASET/snapshots/000001.json  manifests: immutable, numbered from 1, put if absent
 *   DATASET/v000001/part-00000-…   exactly that snapshot's shards under ordered public names (hard
 *                                  links, or copies where those are refused)
 *   DATASET/latest -> v000002      the newest
 *
 * A manifest is the truth; folders and `latest` are made after it and can be made again. Manifests
 * hold no times, hosts or paths of the run, and `content` (XXH3-128 of all but number, parent,
 * added, removed) names what is in them: publishing the newest content again gives no new number.
 * Those four are looked at, too: the file's name tells number and parent, and what was added and
 * removed is compared with the parent at each publication, and made again where it differs. A crash
 * at any operation leaves the older state or a valid new snapshot; the next publish repairs
 * the rest. Any number of processes may publish at once. Depends on disk, pending, vouch,
 * jansson. */
#ifndef SLUICE_STORE_SNAPSHOT_H
#define SLUICE_STORE_SNAPSHOT_H

#include <jansson.h>

#include "base/arena.h"
#include "store/vouch.h"

/* Format 2 names an owner; without one the format is 1, which earlier versions wrote. */
#define SNAPSHOT_FORMAT 2
#define SNAPSHOT_MAX 999999999u
#define SNAPSHOT_FIRST UINT32_MAX /* see struct snapshot, over */

struct snapshot_shard {
    const char *name; /* public: in vNNNNNN/, perhaps in folders there (a/b) */
    const char *file; /* stored: in data/ */
    uint64_t rows;
    uint64_t bytes;
    struct hash128 hash; /* of the stored bytes */
    json_t *measures;    /* object of integers (tokens, documents) or NULL; owned */
};

struct snapshot {
    struct arena arena;            /* texts and arrays of it */
    const char *dataset;           /* name, not path */
    uint32_t number;               /* 0 until published */
    uint32_t parent;               /* 0 = none */
    struct snapshot_shard *shards; /* in order */
    uint32_t n_shards, shards_capacity;
    const char **added; /* stored names that the parent has not; set by publish and open */
    size_t n_added;
    const char **removed; /* stored names of the parent that are gone */
    size_t n_removed;
    uint64_t rows; /* totals */
    uint64_t bytes;
    json_t *measures; /* totals of the shards' measures: an object */
    json_t *ledger;   /* owned references or NULL */
    json_t *lineage;  /* inputs: names and hashes */
    json_t *notes;    /* facts: tokenizer, eos id … */
    struct hash128 content;
    /* Whose dataset it is: the node of a pipeline. Both NULL: an older version wrote it, and
     * whoever publishes next owns it. */
    const char *pipeline, *node;
    /* Of its publication; not printed. over: only behind this snapshot, 0 = whichever is newest,
     * SNAPSHOT_FIRST = behind none.
     * take_over: the owner of this one may be another than its own, 0 = of none. */
    uint32_t over, take_over;
};

/* An empty one; NULL = out of memory. Gives. */
struct snapshot *snapshot_create(const char *dataset);
void snapshot_destroy(struct snapshot *);

/* Copies the owner's names. */
sluice_status snapshot_own(struct snapshot *, const char *pipeline, const char *node,
                           struct sluice_error *) MUST_USE;

/* Whether `next` may be published behind `newest` (NULL: there is none), which owners decide.
 * SLUICE_E_CONFIG says whose it is. */
sluice_status snapshot_check_owner(const char *dataset_dir, const struct snapshot *newest,
                                   const struct snapshot *next, struct sluice_error *) MUST_USE;

/* Copies names; takes the reference to measures (may be NULL), on errors too. Names are checked
 * (SLUICE_E_CONFIG) and must be unique at publish. */
sluice_status snapshot_add_shard(struct snapshot *, const char *name, const char *file,
                                 uint64_t rows, uint64_t bytes, struct hash128 hash,
                                 json_t *measures, struct sluice_error *) MUST_USE;

struct snapshot_outcome {
    bool is_new;     /* false: the newest snapshot has the same content */
    bool adopted;    /* the one before it named no owner */
    uint64_t mended; /* files and links that were missing or damaged, and were put right */
    /* Files of older snapshots, and manifests, that were damaged and nobody has a good copy of, and
     * what is wrong with the first. */
    uint64_t damaged;
    char damage[600];
};

/* Publishes: the shards must stand in dataset_dir/data as they were made (folder synced here).
 * Fills number, parent, added, removed, totals, content. The snapshots there are put right: files
 * and links that lead to other bytes than their manifests say, where there is a good copy; and
 * folder and `latest` of the newest one. vouch knows which files are as they were made (NULL: only
 * sizes are compared). Where the newest one stands for this content (a compaction, a removal:
 * store/derive.h) there is no new number; where rows were removed from it, they are missing in the
 * new one too (store/removal.h), whose shards may then be others. outcome may be NULL. */
sluice_status snapshot_publish(const char *dataset_dir, struct snapshot *, struct vouch *vouch,
                               struct snapshot_outcome *outcome, struct sluice_error *) MUST_USE;

/* Puts s, which has the number of a snapshot that is there and is made of it, in its place:
 * manifest and folder, whose names of other files go. For who removes what old snapshots hold, and
 * works alone on the dataset. before: the snapshot of the number before, NULL if that is gone.
 * Fills as publishing does. */
sluice_status snapshot_replace(const char *dataset_dir, struct snapshot *,
                               const struct snapshot *before, struct sluice_error *) MUST_USE;

/* Numbers of all manifests, ascending; *numbers is given (free()). An absent dataset has none. */
sluice_status snapshot_list(const char *dataset_dir, uint32_t **numbers, size_t *n,
                            struct sluice_error *) MUST_USE;

/* Reads manifest `number` (0 = the newest). Absent or damaged is SLUICE_E_DATA, a folder without
 * any SLUICE_E_CONFIG. Gives. */
sluice_status snapshot_open(const char *dataset_dir, uint32_t number, struct snapshot **out,
                            struct sluice_error *) MUST_USE;
/* The newest; *out is NULL where there is none. Gives. */
sluice_status snapshot_open_newest(const char *dataset_dir, struct snapshot **out,
                                   struct sluice_error *) MUST_USE;

/* Text form (indented JSON, sorted keys) and back; number and content are checked. */
sluice_status snapshot_print(const struct snapshot *, struct buf *out,
                             struct sluice_error *) MUST_USE;
sluice_status snapshot_parse(const char *data, size_t n, struct snapshot **out,
                             struct sluice_error *) MUST_USE;

/* A public name of 1,000 bytes at most, for which folders have room, and more than any. */
#define SNAPSHOT_NAME_MAX 1300

/* Bytes of the folder in a public name, with the slash behind it; 0 = it has none. */
size_t snapshot_folder_size(const char *name);
/* The number of a public name that snapshot_part_in made, also in a folder; false = it is
 * another one. */
bool snapshot_part_number(const char *name, unsigned *part);
/* The public name of a shard: "KEY24-0001-HASH12.jsonl.zst" becomes
 * "part-00000-KEY12.jsonl.zst"; files of one ordinal (.bin and .idx) share the part's number. In a
 * folder, of which the first n bytes are meant; they end with a slash, or are none. */
sluice_status snapshot_part_in(const char *folder, size_t n, const char *file, uint32_t part,
                               char out[SNAPSHOT_NAME_MAX], struct sluice_error *) MUST_USE;

/* A hash of what its files hold, in the order of their public names: that of who reads them all. */
sluice_status snapshot_holds(const struct snapshot *, struct hash128 *,
                             struct sluice_error *) MUST_USE;

/* Path of a shard's stored file; NULL = out of memory. Gives. */
char *snapshot_shard_path(const char *dataset_dir, const struct snapshot_shard *);

/* "PATH@N" or "PATH" (number 0 = newest): *path is given (free()). "@latest" is the newest too. A
 * part behind the last @ that is not a number belongs to the path. */
sluice_status snapshot_reference(const char *reference, char **path, uint32_t *number,
                                 struct sluice_error *) MUST_USE;

/* Checks one snapshot: data files there with their sizes (deep: hashes), its folder holds exactly
 * its shards, added/removed fit the parent. Each fault is told to `fault` (may be NULL) and
 * counted; OK means that looking worked. */
typedef void (*snapshot_fault_fn)(void *ctx, const char *message);
sluice_status snapshot_verify(const char *dataset_dir, const struct snapshot *, bool deep,
                              snapshot_fault_fn fault, void *ctx, uint64_t *n_faults,
                              struct sluice_error *) MUST_USE;

/* Checks the public files of those shards that `made` names too, where they are no links to the
 * stored ones (which the caller looked at), and added/removed. A folder that is not there has no
 * faults. */
sluice_status snapshot_verify_links(const char *dataset_dir, const struct snapshot *,
                                    const struct snapshot *made, bool deep, snapshot_fault_fn fault,
                                    void *ctx, struct sluice_error *) MUST_USE;

/* Files in data/ that no manifest refers to, in byte order (commits of unfinished runs may still
 * need them: the caller knows). SLUICE_E_DATA if a manifest is damaged. */
sluice_status snapshot_unreferenced(const char *dataset_dir, struct disk_names *out,
                                    struct sluice_error *) MUST_USE;

#endif
