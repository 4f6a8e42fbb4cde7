/* The folder of a snapshot: links to its shards under their public names. Made complete under a
 * temporary name, and mended where one of them is missing or holds other bytes than the manifest
 * says. See snapshot.h and snapshot_publish.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/order.h"
#include "store/pending.h"
#include "store/snapshotInt.h"
#include "store/temp.h"

#define NAME_TRIES 1000u

/* ---- making ---- */

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
            /* Unlike a link, a copy is a file of its own, which nobody has synced yet. */
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
    sluice_status ignored = temp_remove(path, NULL);

    (void)ignored;
}

void snapshot_folder_drop(char *path)
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
    status = disk_mkdirs(inner, err);
    free(inner);
    return status;
}

/* Syncs the folder and those in it, each once or a little more often. */
static sluice_status sync_folders(const char *folder, const struct snapshot *s,
                                  struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    const char **names = snapshot_sorted_names(&arena, s, false);
    char *before = NULL;
    sluice_status status = arena_status(&arena, err, "a manifest");

    for (uint32_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        char *inner;
        if (strchr(names[i], '/') == NULL) {
            continue;
        }
        inner = inner_folder(folder, names[i]);
        if (before == NULL || inner == NULL || strcmp(inner, before) != 0) {
            status = disk_sync_dir(inner, err);
        }
        free(before);
        before = inner;
    }
    free(before);
    arena_deinit(&arena);
    return status == SLUICE_OK ? disk_sync_dir(folder, err) : status;
}

/* Under a temporary name, synced with its folders: what is called v00000N is always whole. */
sluice_status snapshot_folder_stage(const char *dir, const struct snapshot *s, char **path,
                                    struct sluice_error *err)
{
    int errnum = EEXIST;
    sluice_status status = SLUICE_OK;

    *path = NULL;
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(*path);
        *path = temp_path(dir, n);
        errnum = disk_mkdir(*path);
    }
    if (errnum != 0) {
        status = error_errno(err, errnum, "can't make a folder in %s", dir);
        free(*path);
        *path = NULL;
        return status;
    }
    for (uint32_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        char *from = snapshot_shard_path(dir, &s->shards[i]);
        char *to = disk_join(*path, s->shards[i].name);
        status = make_inner(*path, s->shards[i].name, err);
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

/* ---- mending ---- */

/* A name in `folder` that nobody has. NULL = out of memory. Gives. */
static char *free_name(const char *folder)
{
    char *path = NULL;
    struct stat st;

    for (uint32_t n = 0; n < NAME_TRIES; n++) {
        free(path);
        path = temp_path(folder, n);
        if (path == NULL || lstat(path, &st) != 0) {
            break;
        }
    }
    return path;
}

/* Gives `temp` the name `to`, in place of what has it. */
static sluice_status take_place(const char *temp, const char *to, struct sluice_error *err)
{
    int errnum = disk_rename(temp, to);

    (void)disk_unlink(temp); /* rename leaves it where both are links to one file */
    return errnum == 0 ? SLUICE_OK : error_errno(err, errnum, "can't repair %s", to);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;

    return stat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the public file holds what the manifest says, where it is no link to the stored one. */
static sluice_status copy_good(const char *public, const struct snapshot_shard *shard,
                               struct vouch *vouch, bool *good, struct sluice_error *err)
{
    struct stat st;

    *good = false;
    return lstat(public, &st) == 0 && S_ISREG(st.st_mode)
               ? vouch_check(vouch, public, shard->bytes, shard->hash, "the manifest", good, err)
               : SLUICE_OK;
}

/* A link to the stored file is right, that being good. Where links are refused, a copy is if its
 * bytes are. */
static sluice_status mend_link(const char *from, const char *folder, const char *to,
                               const struct snapshot_shard *shard, struct vouch *vouch,
                               bool *mended, struct sluice_error *err)
{
    char *temp = free_name(folder);
    bool good = false;
    int errnum = disk_link(from, temp);
    sluice_status status = temp == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK && errnum != 0) {
        if (!disk_link_refused(errnum)) {
            status = error_errno(err, errnum, "can't link %s to %s", from, temp);
        } else {
            status = copy_good(to, shard, vouch, &good, err);
        }
        if (status == SLUICE_OK && !good) {
            status = copy_file(from, temp, err);
        }
    }
    if (status == SLUICE_OK && !good) {
        status = take_place(temp, to, err);
        *mended = status == SLUICE_OK;
    }
    free(temp);
    return status;
}

static sluice_status mend_shard(const char *dir, const char *folder,
                                const struct snapshot_shard *shard, struct vouch *vouch,
                                bool *mended, struct sluice_error *err)
{
    char *from = snapshot_shard_path(dir, shard);
    char *to = disk_join(folder, shard->name);
    sluice_status status = SLUICE_OK;

    *mended = false;
    if (from == NULL || to == NULL) {
        status = error_nomem(err, "a path");
    } else if (!is_same_file(from, to)) {
        status = make_inner(folder, shard->name, err);
        if (status == SLUICE_OK) {
            status = mend_link(from, folder, to, shard, vouch, mended, err);
        }
    }
    free(from);
    free(to);
    return status;
}

sluice_status snapshot_folder_mend(const char *dir, const struct snapshot *s, struct vouch *vouch,
                                   uint64_t *mended, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    char name[24];
    char *folder;
    struct stat st;
    uint64_t n = 0;
    sluice_status status;

    snapshot_folder_name(s->number, name);
    folder = snapshot_path(&arena, dir, NULL, name);
    status = arena_status(&arena, err, "a manifest");
    if (status == SLUICE_OK && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))) {
        arena_deinit(&arena); /* removed, or never made */
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        bool was = false;
        status = mend_shard(dir, folder, &s->shards[i], vouch, &was, err);
        n += was;
    }
    if (status == SLUICE_OK && n > 0) {
        status = sync_folders(folder, s, err);
    }
    *mended += n;
    arena_deinit(&arena);
    return status;
}

sluice_status snapshot_data_mend(const char *dir, const struct snapshot_shard *shard,
                                 const struct snapshot *holder, struct vouch *vouch, bool *mended,
                                 struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    char folder[24];
    char *data = snapshot_path(&arena, dir, NULL, "data");
    char *to = snapshot_path(&arena, dir, "data", shard->file);
    sluice_status status = SLUICE_OK;

    *mended = false;
    snapshot_folder_name(holder->number, folder);
    for (uint32_t i = 0; i < holder->n_shards && status == SLUICE_OK && !*mended; i++) {
        const struct snapshot_shard *theirs = &holder->shards[i];
        char *from;
        bool good = false;
        if (strcmp(theirs->file, shard->file) != 0 || !hash_equal(theirs->hash, shard->hash)) {
            continue;
        }
        from = snapshot_path(&arena, dir, folder, theirs->name);
        status = arena_status(&arena, err, "a path");
        if (status == SLUICE_OK) {
            status =
                vouch_check(vouch, from, shard->bytes, shard->hash, "the manifest", &good, NULL);
        }
        if (status == SLUICE_OK && good) {
            /* By a rename over the bad file: at no time is the name without one, and readers of
             * the old one keep it. */
            char *temp = free_name(data);
            status = link_or_copy(from, temp, err);
            if (status == SLUICE_OK) {
                status = take_place(temp, to, err);
            }
            *mended = status == SLUICE_OK;
            free(temp);
        }
    }
    arena_deinit(&arena);
    return status;
}

static void damage_add(struct snapshot_damage *damage, const struct sluice_error *why)
{
    if (damage->n++ == 0) {
        snprintf(damage->first, sizeof damage->first, "%.599s", why->message);
    }
}

/* The stored file is bad: its name in the snapshot may still have a good one. */
static sluice_status restore_data(const char *dir, const struct snapshot *s,
                                  const struct snapshot_shard *shard, bool same,
                                  const struct sluice_error *why, struct vouch *vouch,
                                  uint64_t *mended, struct snapshot_damage *damage,
                                  struct sluice_error *err)
{
    bool was = false;

    if (!same) {
        TRY(snapshot_data_mend(dir, shard, s, vouch, &was, err));
    }
    *mended += was;
    if (!was) {
        damage_add(damage, why);
    }
    return SLUICE_OK;
}

static sluice_status restore_shard(const char *dir, const char *folder, const struct snapshot *s,
                                   const struct snapshot_shard *shard, struct vouch *vouch,
                                   int64_t since_ns, uint64_t *mended,
                                   struct snapshot_damage *damage, struct sluice_error *err)
{
    char *from = snapshot_shard_path(dir, shard);
    char *to = disk_join(folder, shard->name);
    struct sluice_error why = ERROR_INIT;
    const bool same = from != NULL && to != NULL && is_same_file(from, to);
    bool good = false;
    bool was = false;
    sluice_status status;

    if (from == NULL || to == NULL) {
        status = error_nomem(err, "a path");
    } else {
        /* Where the two are apart, the stored one takes the other's place: only if it is good. */
        status =
            same ? vouch_check_since(vouch, from, shard->bytes, shard->hash, "its manifest",
                                     since_ns, &good, &why)
                 : vouch_check(vouch, from, shard->bytes, shard->hash, "its manifest", &good, &why);
        if (status != SLUICE_OK) {
            error_set(err, status, "%s", why.message);
        } else if (!good) {
            status = restore_data(dir, s, shard, same, &why, vouch, mended, damage, err);
        } else if (!same) {
            status = mend_shard(dir, folder, shard, vouch, &was, err);
            *mended += was;
        }
    }
    free(from);
    free(to);
    return status;
}

sluice_status snapshot_folder_restore(const char *dir, const struct snapshot *s,
                                      struct vouch *vouch, int64_t since_ns, uint64_t *mended,
                                      struct snapshot_damage *damage, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    const uint64_t before = *mended;
    char name[24];
    char *folder;
    struct stat st;
    sluice_status status;

    snapshot_folder_name(s->number, name);
    folder = snapshot_path(&arena, dir, NULL, name);
    status = arena_status(&arena, err, "a manifest");
    if (status == SLUICE_OK && stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) {
        for (uint32_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
            status =
                restore_shard(dir, folder, s, &s->shards[i], vouch, since_ns, mended, damage, err);
        }
        if (status == SLUICE_OK && *mended > before) {
            status = sync_folders(folder, s, err);
        }
    }
    arena_deinit(&arena);
    return status;
}
