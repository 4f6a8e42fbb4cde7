/* Publishing of snapshots (see snapshot.h). In this order, so that a crash anywhere leaves nothing
 * or a valid snapshot:
 *   1. the shards, each synced when it was made, are vouched for; data/ is synced
 *   2. a folder of links to them, under a temporary name, synced
 *   3. the manifest under the next free number, synced with its folder: the commit point
 *   4. the folder gets its name vNNNNNN, `latest` is replaced, and the dataset's folder is synced
 * What is missing of 4 is made by the next publish of the newest content, or of any other. So a
 * snapshot of one shard costs seven syncs: shard, data/, folder, manifest, snapshots/, the
 * dataset's folder and the one that holds it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "store/derive.h"
#include "store/listing.h"
#include "store/pending.h"
#include "store/removal.h"
#include "store/snapshotInt.h"
#include "store/store.h"
#include "store/temp.h"

#define ROUNDS 1000 /* of losing a number to another publisher */

struct publication {
    struct vouch *vouch;
    bool links;        /* files may have a second name: there are folders, and `latest` */
    struct stat *seen; /* per shard: its stored file when it was checked */
    bool adopted;
    uint64_t mended;
    struct snapshot_damage damage;
};

/* ---- checks before anything is made ---- */

/* No folder of a name may be the name of a shard. */
static sluice_status check_folders(const struct snapshot *s, const char *const *names, size_t i,
                                   struct sluice_error *err)
{
    char folder[1001];
    const char *key = folder;

    for (const char *p = strchr(names[i], '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(p - names[i]), names[i]);
        if (bsearch(&key, names, s->n_shards, sizeof *names, order_texts) != NULL) {
            return error_set(err, SLUICE_E_CONFIG,
                             "dataset '%s' would have a file '%s' and, in a folder of that name, "
                             "'%s'; expected names of which none is another's folder",
                             s->dataset, folder, names[i]);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_names(const struct snapshot *s, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    const char **names = snapshot_sorted_names(&arena, s, false);
    sluice_status status = arena_status(&arena, err, "a manifest");

    for (uint32_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0) {
            status = error_set(err, SLUICE_E_INTERNAL, "two shards of dataset '%s' are called '%s'",
                               s->dataset, names[i]);
        } else {
            status = check_folders(s, names, i, err);
        }
    }
    arena_deinit(&arena);
    return status;
}

/* A shard is not as the run made it. A snapshot may hold a good copy of it; else it can't be
 * published. */
static sluice_status mend_data(const char *dir, const struct snapshot_shard *shard,
                               const struct snapshot *newest, struct publication *p,
                               const char *reason, struct sluice_error *err)
{
    bool mended = false;

    if (newest != NULL && p->links) {
        TRY(snapshot_data_mend(dir, shard, newest, p->vouch, &mended, err));
    }
    p->mended += mended;
    return mended
               ? SLUICE_OK
               : error_set(err, SLUICE_E_IO,
                           "%s: a file of the dataset was damaged or changed behind the run's "
                           "back; run again to have it made again or, if no task of this run "
                           "makes it (it was carried on from an older snapshot), put a copy back",
                           reason);
}

/* Every shard stands in data/ with the bytes that it had when it was made. Their versions are kept
 * for remember_files(). */
static sluice_status check_files(const char *dir, const struct snapshot *s,
                                 const struct snapshot *newest, struct publication *p,
                                 struct sluice_error *err)
{
    p->seen = calloc(s->n_shards + 1, sizeof *p->seen);
    if (p->seen == NULL) {
        return error_nomem(err, "a snapshot");
    }
    for (size_t i = 0; i < s->n_shards; i++) {
        const struct snapshot_shard *shard = &s->shards[i];
        struct sluice_error why = ERROR_INIT;
        char *path = snapshot_shard_path(dir, shard);
        bool good = false;
        sluice_status status =
            vouch_check(p->vouch, path, shard->bytes, shard->hash, "its record", &good, &why);
        if (status != SLUICE_OK) {
            error_set(err, status, "%s", why.message);
        } else if (!good) {
            status = mend_data(dir, shard, newest, p, why.message, err);
        }
        if (status == SLUICE_OK && p->links && stat(path, &p->seen[i]) != 0) {
            status = error_errno(err, errno, "can't look at %s", path);
        }
        free(path);
        TRY(status);
    }
    return SLUICE_OK;
}

/* Links change a file's version, not its bytes. */
static void remember_files(const char *dir, const struct snapshot *s, const struct publication *p)
{
    for (size_t i = 0; p->links && p->vouch != NULL && i < s->n_shards; i++) {
        char *path = snapshot_shard_path(dir, &s->shards[i]);
        const struct stat *was = &p->seen[i];
        struct stat st;
        if (path != NULL && stat(path, &st) == 0 && st.st_ino == was->st_ino &&
            st.st_dev == was->st_dev && st.st_size == was->st_size &&
            st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
            st.st_mtim.tv_nsec == was->st_mtim.tv_nsec &&
            (st.st_ctim.tv_sec != was->st_ctim.tv_sec ||
             st.st_ctim.tv_nsec != was->st_ctim.tv_nsec)) {
            vouch_note(p->vouch, path, s->shards[i].hash, true);
        }
        free(path);
    }
}

#define CLOCK_GRAIN_NS INT64_C(2000000000) /* the coarsest times of a file system */

/* From when on a change may have come behind the last snapshot, in ns; `latest` is the last of its
 * names. What was not changed since, by a link either, is as it was. */
static int64_t last_published(const char *dir)
{
    char *latest = disk_join(dir, "latest");
    struct stat st;
    int64_t ns = latest != NULL && lstat(latest, &st) == 0 ? stat_ns(st.st_mtim) : 0;

    free(latest);
    return ns - CLOCK_GRAIN_NS;
}

/* What a manifest says was added and removed is compared with its parent, and made again from that.
 * Without the parent (older snapshots may be removed) there is nothing to compare with. */
static sluice_status mend_manifest(const char *dir, struct snapshot *s,
                                   const struct snapshot *before, struct publication *p,
                                   struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct published published;
    char *manifests;
    char name[24];
    bool fit = true;
    sluice_status status = SLUICE_OK;

    if (s->parent == 0) {
        before = NULL;
    } else if (before == NULL || before->number != s->parent) {
        return SLUICE_OK;
    }
    TRY(snapshot_names_fit(s, before, &fit, err));
    if (fit) {
        return SLUICE_OK;
    }
    TRY(snapshot_take_names(s, before, err));
    manifests = store_join(dir, "snapshots");
    snapshot_manifest_name(s->number, name);
    status = snapshot_print(s, &text, err);
    if (status == SLUICE_OK) {
        status = pending_put(manifests, name, text.data, text.size, 0, &published, err);
    }
    p->mended += status == SLUICE_OK;
    buf_deinit(&text);
    free(manifests);
    return status;
}

/* What was damaged since in the snapshots that are there, the shards of this one among them: a file
 * of data/ that was made again is linked in none of them. The newest one is mended last, so that a
 * crash in between is no end of it. Without links there is no other copy to look for, and files
 * that older snapshots alone name are left to `verify --all`: here they would be read each time. */
static sluice_status mend_snapshots(const char *dir, struct publication *p,
                                    struct sluice_error *err)
{
    const int64_t since = last_published(dir);
    struct snapshot *before = NULL;
    uint32_t *numbers;
    size_t n;
    sluice_status status = snapshot_list(dir, &numbers, &n, err);

    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        struct snapshot *named = NULL;
        struct sluice_error why = ERROR_INIT;
        if (snapshot_open(dir, numbers[i], &named, &why) == SLUICE_OK) {
            status = mend_manifest(dir, named, before, p, err);
            if (status == SLUICE_OK && p->links) {
                status = snapshot_folder_restore(dir, named, p->vouch, since, &p->mended,
                                                 &p->damage, err);
            }
        } else {
            p->damage.n++;
            snprintf(p->damage.first, sizeof p->damage.first, "%.599s", why.message);
        }
        snapshot_destroy(before);
        before = named;
    }
    snapshot_destroy(before);
    free(numbers);
    return status;
}

/* ---- the folder ---- */

/* Gives the snapshot its folder: *staged (owned by the caller, set to NULL when used) or, when
 * there is one, mends that. The dataset's folder is not synced. */
static sluice_status install_folder(const char *dir, const struct snapshot *s, char **staged,
                                    struct publication *p, struct sluice_error *err)
{
    char name[24];
    char *path;
    struct stat st;
    int errnum = ENOTEMPTY;
    bool there;
    sluice_status status = SLUICE_OK;

    snapshot_folder_name(s->number, name);
    path = store_join(dir, name);
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    there = lstat(path, &st) == 0;
    if (!there && *staged == NULL) {
        status = snapshot_folder_stage(dir, s, staged, err);
    }
    if (status == SLUICE_OK && *staged != NULL) {
        errnum = disk_rename(*staged, path); /* fails on a folder that holds something */
        if (errnum == 0) {
            free(*staged);
            *staged = NULL;
        }
    }
    if (status == SLUICE_OK && errnum != 0 && errnum != ENOTEMPTY && errnum != EEXIST) {
        status = error_errno(err, errnum, "can't make the snapshot's folder %s", path);
    } else if (status == SLUICE_OK && errnum != 0) {
        status = snapshot_folder_mend(dir, s, p->vouch, &p->mended, err);
    }
    free(path);
    return status;
}

/* ---- publishing ---- */

/* Puts the manifest under s->number. *lost: another content has that number now. */
static sluice_status put_manifest(const char *manifests, const struct snapshot *s, bool *existed,
                                  bool *lost, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct published published;
    char name[24];
    sluice_status status = snapshot_print(s, &text, err);

    *existed = false;
    *lost = false;
    snapshot_manifest_name(s->number, name);
    if (status == SLUICE_OK) {
        status =
            pending_put(manifests, name, text.data, text.size, PENDING_VOUCHED, &published, err);
        *existed = status == SLUICE_OK && published.existed;
        if (status == SLUICE_E_INTERNAL) {
            *lost = true;
            status = SLUICE_OK;
        }
    }
    buf_deinit(&text);
    return status;
}

/* Whether it may stand behind the newest one. */
static sluice_status check_terms(const char *dir, const struct snapshot *parent, uint32_t newest,
                                 const struct snapshot *s, struct sluice_error *err)
{
    TRY(snapshot_check_owner(dir, parent, s, err));
    if (s->over != 0 && (s->over == SNAPSHOT_FIRST ? 0 : s->over) != newest) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: this was made from snapshot %u, but meanwhile the newest is %u, of "
                         "which it would lose what is new there; begin again from that",
                         dir, s->over == SNAPSHOT_FIRST ? 0u : (unsigned)s->over, (unsigned)newest);
    }
    return SLUICE_OK;
}

/* One try to get the next number. *done = false: it was lost, look again. */
static sluice_status publish_round(const char *dir, const char *manifests, struct snapshot *s,
                                   char **staged, struct publication *p, bool *done,
                                   bool *published_new, struct sluice_error *err)
{
    struct snapshot *parent = NULL;
    uint32_t newest;
    bool existed;
    bool lost = false;
    sluice_status status;

    *done = false;
    TRY(snapshot_newest(dir, &newest, err));
    if (newest == SNAPSHOT_MAX) {
        return error_set(err, SLUICE_E_IO,
                         "dataset %s has used up its snapshot numbers; write to another folder",
                         dir);
    }
    if (newest > 0) {
        TRY(snapshot_open(dir, newest, &parent, err));
    }
    if (parent != NULL && hash_equal(parent->content, s->content)) {
        struct snapshot *before = NULL;
        s->number = newest;
        s->parent = parent->parent;
        status = SLUICE_OK;
        snapshot_destroy(parent);
        if (s->parent != 0) {
            /* For added and removed only; older manifests may be gone. */
            if (snapshot_open(dir, s->parent, &before, NULL) != SLUICE_OK) {
                before = NULL;
            }
        }
        status = snapshot_take_names(s, before, err);
        snapshot_destroy(before);
        if (status == SLUICE_OK) {
            status = store_settle(manifests, err); /* whoever put it may not have come that far */
        }
        *published_new = false;
        *done = true;
        return status;
    }
    status = check_terms(dir, parent, newest, s, err);
    if (status != SLUICE_OK) {
        snapshot_destroy(parent);
        return status;
    }
    p->adopted = parent != NULL && parent->node == NULL && s->node != NULL;
    s->number = newest + 1;
    s->parent = newest;
    status = snapshot_take_names(s, parent, err);
    if (status == SLUICE_OK && p->links && parent != NULL && !snapshot_folder_there(dir, newest)) {
        /* A crash came between its manifest and its folder. Its shards may be gone since: then
         * there is nothing to repair. What was staged stays unused if somebody else is quicker. */
        char *parents = NULL;
        sluice_status ignored = install_folder(dir, parent, &parents, p, NULL);
        (void)ignored;
        snapshot_folder_drop(parents);
    }
    snapshot_destroy(parent);
    if (status == SLUICE_OK && p->links && *staged == NULL) {
        status = snapshot_folder_stage(dir, s, staged, err);
    }
    if (status == SLUICE_OK) {
        status = put_manifest(manifests, s, &existed, &lost, err);
        *done = !lost;
        *published_new = !existed;
    }
    return status;
}

static sluice_status prepare(const char *dir, const char *manifests, struct snapshot *s,
                             struct sluice_error *err)
{
    char *data = store_join(dir, "data");
    sluice_status status = snapshot_add_up(s, err);

    if (status == SLUICE_OK && (status = snapshot_hash(s, err)) == SLUICE_OK &&
        (store_is_local(dir) ? (status = disk_mkdirs(dir, err)) : SLUICE_OK) == SLUICE_OK &&
        (status = store_make_folder(data, true, err)) == SLUICE_OK &&
        (status = store_make_folder(manifests, true, err)) == SLUICE_OK &&
        (status = store_settle(data, err)) == SLUICE_OK &&
        (status = temp_sweep(dir, NULL, err)) == SLUICE_OK) {
        status = temp_sweep(manifests, NULL, err);
    }
    free(data);
    return status;
}

/* Shards as they should be, here and in the snapshots that name them. */
static sluice_status mend(const char *dir, const struct snapshot *s, struct publication *p,
                          struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    sluice_status status = snapshot_open_newest(dir, &newest, err);

    if (status == SLUICE_OK) {
        status = check_files(dir, s, newest, p, err);
    }
    if (status == SLUICE_OK) {
        status = mend_snapshots(dir, p, err);
    }
    snapshot_destroy(newest);
    return status;
}

/* What is published in place of s: the newest snapshot, if it stands for what s holds, so that
 * there is nothing new; or s without the rows that were removed. NULL: s itself. */
static sluice_status find_instead(const char *dir, struct snapshot *s, struct vouch *vouch,
                                  struct snapshot **out, struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    const char *stands_for;
    char hex[33];
    sluice_status status;

    *out = NULL;
    TRY(snapshot_open_newest(dir, &newest, err));
    if (newest == NULL) {
        return SLUICE_OK;
    }
    status = snapshot_add_up(s, err);
    if (status == SLUICE_OK) {
        status = snapshot_hash(s, err);
    }
    hash_hex(s->content, hex);
    stands_for = derive_stands_for(newest);
    if (status == SLUICE_OK && stands_for != NULL && strcmp(stands_for, hex) == 0) {
        *out = newest;
        return SLUICE_OK;
    }
    if (status == SLUICE_OK && json_object_get(s->lineage, "removed") == NULL) {
        status = removal_apply(dir, newest, s, vouch, out, err);
    }
    snapshot_destroy(newest);
    return status;
}

static sluice_status publish(const char *dataset_dir, struct snapshot *s, struct vouch *vouch,
                             struct snapshot_outcome *outcome, struct sluice_error *err)
{
    struct publication p = { .vouch = vouch,
                             .links = (store_caps(dataset_dir) & STORE_LINKS) != 0 };
    char *manifests = store_join(dataset_dir, "snapshots");
    char *latest = store_join(dataset_dir, "latest");
    char *staged = NULL;
    bool is_new = false;
    bool done = false;
    sluice_status status = SLUICE_OK;

    if (manifests == NULL || latest == NULL) {
        status = error_nomem(err, "a path");
    }
    if (status == SLUICE_OK && (status = check_names(s, err)) == SLUICE_OK &&
        (status = mend(dataset_dir, s, &p, err)) == SLUICE_OK &&
        (!p.links || (status = snapshot_check_latest(latest, err)) == SLUICE_OK)) {
        status = prepare(dataset_dir, manifests, s, err);
    }
    /* A round that finds its number taken lost to another publisher; the next one begins behind
     * that. */
    for (int round = 0; round < ROUNDS && status == SLUICE_OK && !done; round++) {
        status = publish_round(dataset_dir, manifests, s, &staged, &p, &done, &is_new, err);
    }
    if (status == SLUICE_OK && !done) {
        status = error_set(
            err, SLUICE_E_IO,
            "%d other snapshots were published to %s meanwhile; publish again when that ends",
            ROUNDS, dataset_dir);
    }
    if (status == SLUICE_OK && p.links) {
        status = install_folder(dataset_dir, s, &staged, &p, err);
    }
    if (status == SLUICE_OK && p.links) {
        /* Last of all names: `latest` never points to a folder that is not there. */
        status = snapshot_set_latest(dataset_dir, latest, s->number, err);
    }
    if (status == SLUICE_OK) {
        status = store_settle(dataset_dir, err);
    }
    if (status == SLUICE_OK) {
        remember_files(dataset_dir, s, &p);
    }
    snapshot_folder_drop(staged);
    if (outcome != NULL) {
        *outcome = (struct snapshot_outcome){ .is_new = status == SLUICE_OK && is_new,
                                              .adopted = p.adopted,
                                              .mended = p.mended,
                                              .damaged = p.damage.n };
        memcpy(outcome->damage, p.damage.first, sizeof outcome->damage);
    }
    free(p.seen);
    free(manifests);
    free(latest);
    return status;
}

sluice_status snapshot_publish(const char *dataset_dir, struct snapshot *s, struct vouch *vouch,
                               struct snapshot_outcome *outcome, struct sluice_error *err)
{
    struct snapshot *instead;
    sluice_status status;

    TRY(find_instead(dataset_dir, s, vouch, &instead, err));
    if (instead == NULL) {
        return publish(dataset_dir, s, vouch, outcome, err);
    }
    status = publish(dataset_dir, instead, vouch, outcome, err); /* puts it right */
    s->number = instead->number;
    s->parent = instead->parent;
    snapshot_destroy(instead);
    return status;
}
