/* Publishing of snapshots (see snapshot.h). In this order, so that a crash anywhere leaves nothing
 * or a valid snapshot:
 *   1. a folder of links to the shards, under a temporary name, synced
 *   2. the manifest under the next free number: the commit point
 *   3. the folder gets its name vNNNNNN, and the dataset's folder is synced
 *   4. `latest` is replaced
 * What is missing of 3 and 4 is made by the next publish of the newest content, or of any other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/pending.h"
#include "store/snapshotInt.h"

#define ROUNDS 1000 /* of losing a number to another publisher */
#define NAME_TRIES 1000u

/* ---- checks before anything is made ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No folder of a name may be the name of a shard. */
static sluice_status check_folders(const struct snapshot *s, const char *const *names, size_t i,
                                   struct sluice_error *err)
{
    char folder[1001];
    const char *key = folder;

    for (const char *p = strchr(names[i], '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(p - names[i]), names[i]);
        if (bsearch(&key, names, s->n_shards, sizeof *names, compare_texts) != NULL) {
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
    const char **names;
    sluice_status status = snapshot_sorted_names(s, false, &names, err);

    for (size_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0) {
            status = error_set(err, SLUICE_E_INTERNAL, "two shards of dataset '%s' are called '%s'",
                               s->dataset, names[i]);
        } else {
            status = check_folders(s, names, i, err);
        }
    }
    free(names);
    return status;
}

static sluice_status check_files(const char *dir, const struct snapshot *s,
                                 struct sluice_error *err)
{
    for (size_t i = 0; i < s->n_shards; i++) {
        const struct snapshot_shard *shard = &s->shards[i];
        char *path = snapshot_shard_path(dir, shard);
        uint64_t bytes = 0;
        bool found = false;
        sluice_status status =
            path == NULL ? error_nomem(err, "a path") : disk_stat(path, &bytes, &found, err);
        if (status == SLUICE_OK && (!found || bytes != shard->bytes)) {
            status = error_set(err, SLUICE_E_IO,
                               "shard %s of %llu bytes %s: it was changed while the run was going "
                               "on; run again to "
                               "have it made again",
                               path, (unsigned long long)shard->bytes,
                               found ? "has another size" : "is missing");
        }
        free(path);
        TRY(status);
    }
    return SLUICE_OK;
}

/* `latest` must be ours to replace. */
static sluice_status check_latest(const char *latest, struct sluice_error *err)
{
    struct stat st;

    if (lstat(latest, &st) == 0 && !S_ISLNK(st.st_mode)) {
        return error_set(err, SLUICE_E_IO,
                         "%s is no symlink, but that name is needed for the link to the newest "
                         "snapshot; move it away",
                         latest);
    }
    return SLUICE_OK;
}

/* ---- folders of links ---- */

static sluice_status copy_file(const char *from, const char *to, struct sluice_error *err)
{
    size_t size = (size_t)1 << 20;
    char *piece = malloc(size);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = -1;
    int errnum = in < 0 ? errno : 0;
    sluice_status status = piece == NULL ? error_nomem(err, "copying a shard") : SLUICE_OK;

    if (status == SLUICE_OK && errnum == 0) {
        errnum = disk_open(to, O_WRONLY | O_CREAT | O_EXCL, &out);
    }
    while (status == SLUICE_OK && errnum == 0) {
        ssize_t n = read(in, piece, size);
        if (n < 0) {
            errnum = errno == EINTR ? 0 : errno;
        } else if (n == 0) {
            errnum = disk_sync(out, to);
            break;
        } else {
            status = disk_write_all(out, to, piece, (size_t)n, err);
        }
    }
    if (status == SLUICE_OK && errnum != 0) {
        status = error_errno(err, errnum, "can't copy %s to %s", from, to);
    }
    if (in >= 0) {
        close(in);
    }
    if (out >= 0) {
        close(out);
    }
    free(piece);
    return status;
}

/* A hard link, or a synced copy where links are refused. `to` must be free. */
static sluice_status link_or_copy(const char *from, const char *to, struct sluice_error *err)
{
    int errnum = disk_link(from, to);

    if (errnum == 0) {
        return SLUICE_OK;
    }
    return disk_link_refused(errnum) ? copy_file(from, to, err)
                                     : error_errno(err, errnum, "can't link %s to %s", from, to);
}

/* Removes a temporary folder of ours as far as that goes; what stays is swept later. */
static void remove_folder(const char *path)
{
    sluice_status ignored = pending_remove(path, NULL);

    (void)ignored;
}

/* Gives up a staged folder that was not needed. Takes path; NULL is fine. */
static void drop_staged(char *path)
{
    if (path != NULL) {
        remove_folder(path);
        free(path);
    }
}

/* The folder that holds a shard of this name below `folder`; NULL = out of memory. Gives. */
static char *inner_folder(const char *folder, const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash == NULL ? str_copy(folder, strlen(folder))
                         : str_printf("%s/%.*s", folder, (int)(slash - name), name);
}

/* Makes the folders below `folder` that the shard's name has. */
static sluice_status make_inner(const char *folder, const char *name, struct sluice_error *err)
{
    char *inner;
    sluice_status status;

    if (strchr(name, '/') == NULL) {
        return SLUICE_OK;
    }
    inner = inner_folder(folder, name);
    status = inner == NULL ? error_nomem(err, "a path") : disk_mkdirs(inner, err);
    free(inner);
    return status;
}

/* Syncs the folder and those in it, each once or a little more often. */
static sluice_status sync_folders(const char *folder, const struct snapshot *s,
                                  struct sluice_error *err)
{
    const char **names;
    char *before = NULL;
    sluice_status status = snapshot_sorted_names(s, false, &names, err);

    for (size_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        char *inner;
        if (strchr(names[i], '/') == NULL) {
            continue;
        }
        inner = inner_folder(folder, names[i]);
        if (inner == NULL) {
            status = error_nomem(err, "a path");
        } else if (before == NULL || strcmp(inner, before) != 0) {
            status = disk_sync_dir(inner, err);
        }
        free(before);
        before = inner;
    }
    free(before);
    free(names);
    return status == SLUICE_OK ? disk_sync_dir(folder, err) : status;
}

/* Makes a complete, synced folder of the shards under a temporary name. *path is given. */
static sluice_status stage_folder(const char *dir, const struct snapshot *s, char **path,
                                  struct sluice_error *err)
{
    int errnum = EEXIST;
    sluice_status status = SLUICE_OK;

    *path = NULL;
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(*path);
        *path = pending_temp_path(dir, n);
        if (*path == NULL) {
            return error_nomem(err, "a path");
        }
        errnum = disk_mkdir(*path);
    }
    if (errnum != 0) {
        status = error_errno(err, errnum, "can't make a folder in %s", dir);
        free(*path);
        *path = NULL;
        return status;
    }
    for (size_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        char *from = snapshot_shard_path(dir, &s->shards[i]);
        char *to = disk_join(*path, s->shards[i].name);
        status = from == NULL || to == NULL ? error_nomem(err, "a path")
                                            : make_inner(*path, s->shards[i].name, err);
        if (status == SLUICE_OK) {
            status = link_or_copy(from, to, err);
        }
        free(from);
        free(to);
    }
    if (status == SLUICE_OK) {
        status = sync_folders(*path, s, err);
    }
    if (status != SLUICE_OK) {
        remove_folder(*path);
        free(*path);
        *path = NULL;
    }
    return status;
}

/* Puts one shard into an existing folder, unless it is there. */
static sluice_status repair_shard(const char *dir, const char *folder,
                                  const struct snapshot_shard *shard, struct sluice_error *err)
{
    char *from = snapshot_shard_path(dir, shard);
    char *to = disk_join(folder, shard->name);
    char *temp = NULL;
    struct stat st;
    int errnum = EEXIST;
    sluice_status status = SLUICE_OK;

    if (from == NULL || to == NULL) {
        status = error_nomem(err, "a path");
    } else if (!(lstat(to, &st) == 0 && S_ISREG(st.st_mode) &&
                 (uint64_t)st.st_size == shard->bytes)) {
        for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
            free(temp);
            temp = pending_temp_path(folder, n);
            if (temp == NULL) {
                break;
            }
            errnum = lstat(temp, &st) == 0 ? EEXIST : 0;
        }
        status = temp == NULL ? error_nomem(err, "a path") : link_or_copy(from, temp, err);
        if (status == SLUICE_OK) {
            status = make_inner(folder, shard->name, err);
        }
        if (status == SLUICE_OK) {
            errnum = disk_rename(temp, to);
            (void)disk_unlink(temp); /* rename leaves it where both are links to one file */
            status = errnum == 0 ? SLUICE_OK : error_errno(err, errnum, "can't repair %s", to);
        }
    }
    free(from);
    free(to);
    free(temp);
    return status;
}

/* Gives the snapshot its folder: *staged (owned by the caller, set to NULL when used) or, when
 * there is one, repairs that. */
static sluice_status install_folder(const char *dir, const struct snapshot *s, char **staged,
                                    struct sluice_error *err)
{
    char name[24];
    char *path;
    struct stat st;
    int errnum = ENOTEMPTY;
    bool there;
    sluice_status status = SLUICE_OK;

    snapshot_folder_name(s->number, name);
    path = disk_join(dir, name);
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    there = lstat(path, &st) == 0;
    if (!there && *staged == NULL) {
        status = stage_folder(dir, s, staged, err);
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
        for (size_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
            status = repair_shard(dir, path, &s->shards[i], err);
        }
        if (status == SLUICE_OK) {
            status = sync_folders(path, s, err);
        }
    }
    if (status == SLUICE_OK) {
        status = disk_sync_dir(dir, err);
    }
    free(path);
    return status;
}

/* ---- latest ---- */

static sluice_status newest_number(const char *dir, uint32_t *number, struct sluice_error *err)
{
    uint32_t *numbers;
    size_t n;

    TRY(snapshot_list(dir, &numbers, &n, err));
    *number = n > 0 ? numbers[n - 1] : 0;
    free(numbers);
    return SLUICE_OK;
}

static sluice_status replace_latest(const char *dir, const char *latest, uint32_t number,
                                    struct sluice_error *err)
{
    char target[24];
    char *temp = NULL;
    int errnum = EEXIST;
    sluice_status status = SLUICE_OK;

    snapshot_folder_name(number, target);
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(temp);
        temp = pending_temp_path(dir, n);
        if (temp == NULL) {
            return error_nomem(err, "a path");
        }
        errnum = disk_symlink(target, temp);
    }
    if (errnum == 0) {
        errnum = disk_rename(temp, latest);
        if (errnum != 0) {
            (void)disk_unlink(temp);
        }
    }
    if (errnum != 0) {
        status = error_errno(err, errnum, "can't make %s point to %s", latest, target);
    } else {
        status = disk_sync_dir(dir, err);
    }
    free(temp);
    return status;
}

static bool folder_there(const char *dir, uint32_t number)
{
    char name[24];
    char *path;
    struct stat st;
    bool there;

    snapshot_folder_name(number, name);
    path = disk_join(dir, name);
    there = path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    free(path);
    return there;
}

/* Lets `latest` point to `number` or to a newer one. A slow publisher may replace a newer link by
 * its own: it then sees the newer manifest and corrects that. */
static sluice_status set_latest(const char *dir, const char *latest, uint32_t number,
                                struct sluice_error *err)
{
    for (;;) {
        char target[64];
        ssize_t n = readlink(latest, target, sizeof target - 1);
        uint32_t now;
        uint32_t newest;
        target[n > 0 ? n : 0] = '\0';
        now = snapshot_folder_number(target);
        if (now != number && !(now > number && folder_there(dir, now))) {
            TRY(check_latest(latest, err));
            TRY(replace_latest(dir, latest, number, err));
        }
        TRY(newest_number(dir, &newest, err));
        if (newest <= number || !folder_there(dir, newest)) {
            return SLUICE_OK;
        }
        number = newest;
    }
}

/* ---- publishing ---- */

static sluice_status take_names(struct snapshot *s, const struct snapshot *parent,
                                struct sluice_error *err)
{
    snapshot_names_free(s->added, s->n_added);
    snapshot_names_free(s->removed, s->n_removed);
    s->added = NULL;
    s->removed = NULL;
    s->n_added = 0;
    s->n_removed = 0;
    TRY(snapshot_difference(s, parent, &s->added, &s->n_added, err));
    return parent == NULL ? SLUICE_OK
                          : snapshot_difference(parent, s, &s->removed, &s->n_removed, err);
}

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
        status = pending_put(manifests, name, text.data, text.size, true, &published, err);
        *existed = status == SLUICE_OK && published.existed;
        if (status == SLUICE_E_INTERNAL) {
            *lost = true;
            status = SLUICE_OK;
        }
    }
    buf_deinit(&text);
    return status;
}

/* One try to get the next number. *done = false: it was lost, look again. */
static sluice_status publish_round(const char *dir, const char *manifests, struct snapshot *s,
                                   char **staged, bool *done, bool *published_new,
                                   struct sluice_error *err)
{
    struct snapshot *parent = NULL;
    uint32_t newest;
    bool existed;
    bool lost = false;
    sluice_status status;

    *done = false;
    TRY(newest_number(dir, &newest, err));
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
        status = take_names(s, before, err);
        snapshot_destroy(before);
        if (status == SLUICE_OK) {
            status = disk_sync_dir(manifests, err); /* whoever put it may not have come that far */
        }
        *published_new = false;
        *done = true;
        return status;
    }
    s->number = newest + 1;
    s->parent = newest;
    status = take_names(s, parent, err);
    if (status == SLUICE_OK && parent != NULL && !folder_there(dir, newest)) {
        /* A crash came between its manifest and its folder. Its shards may be gone since: then
         * there is nothing to repair. What was staged stays unused if somebody else is quicker. */
        char *parents = NULL;
        sluice_status ignored = install_folder(dir, parent, &parents, NULL);
        (void)ignored;
        drop_staged(parents);
    }
    snapshot_destroy(parent);
    if (status == SLUICE_OK && *staged == NULL) {
        status = stage_folder(dir, s, staged, err);
    }
    if (status == SLUICE_OK) {
        status = put_manifest(manifests, s, &existed, &lost, err);
        *done = !lost;
        *published_new = !existed;
    }
    return status;
}

sluice_status snapshot_publish(const char *dataset_dir, struct snapshot *s, bool *published_new,
                               struct sluice_error *err)
{
    char *manifests = disk_join(dataset_dir, "snapshots");
    char *data = disk_join(dataset_dir, "data");
    char *latest = disk_join(dataset_dir, "latest");
    char *staged = NULL;
    bool is_new = false;
    bool done = false;
    sluice_status status = SLUICE_OK;

    if (manifests == NULL || data == NULL || latest == NULL) {
        status = error_nomem(err, "a path");
    }
    if (status == SLUICE_OK && (status = check_names(s, err)) == SLUICE_OK &&
        (status = check_files(dataset_dir, s, err)) == SLUICE_OK &&
        (status = check_latest(latest, err)) == SLUICE_OK &&
        (status = snapshot_add_up(s, err)) == SLUICE_OK &&
        (status = snapshot_hash(s, err)) == SLUICE_OK &&
        (status = disk_mkdirs(manifests, err)) == SLUICE_OK &&
        (status = disk_mkdirs(data, err)) == SLUICE_OK &&
        (status = disk_sync_dir(data, err)) == SLUICE_OK &&
        (status = pending_sweep(dataset_dir, NULL, err)) == SLUICE_OK) {
        status = pending_sweep(manifests, NULL, err);
    }
    for (int round = 0; round < ROUNDS && status == SLUICE_OK && !done; round++) {
        status = publish_round(dataset_dir, manifests, s, &staged, &done, &is_new, err);
    }
    if (status == SLUICE_OK && !done) {
        status = error_set(
            err, SLUICE_E_IO,
            "%d other snapshots were published to %s meanwhile; publish again when that ends",
            ROUNDS, dataset_dir);
    }
    if (status == SLUICE_OK) {
        status = install_folder(dataset_dir, s, &staged, err);
    }
    if (status == SLUICE_OK) {
        status = set_latest(dataset_dir, latest, s->number, err);
    }
    drop_staged(staged);
    if (published_new != NULL) {
        *published_new = status == SLUICE_OK && is_new;
    }
    free(manifests);
    free(data);
    free(latest);
    return status;
}
