/* Checking of a snapshot against what stands on disk: see snapshot.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/snapshotInt.h"

struct verify {
    const char *dir;
    const struct snapshot *snapshot;
    bool deep;
    snapshot_fault_fn fault;
    void *ctx;
    uint64_t n_faults;
};

static void report(struct verify *v, const char *format, ...) PRINTF_LIKE(2, 3);

static void report(struct verify *v, const char *format, ...)
{
    char message[1200];
    va_list args;

    v->n_faults++;
    if (v->fault != NULL) {
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
        v->fault(v->ctx, message);
    }
}

/* Size and, deep, hash of one file. *good: it is as the manifest says. */
static sluice_status verify_file(struct verify *v, const char *path,
                                 const struct snapshot_shard *shard, bool *good,
                                 struct sluice_error *err)
{
    uint64_t bytes;
    struct hash128 hash;
    bool found;
    char is[33];
    char was[33];

    *good = false;
    TRY(disk_stat(path, &bytes, &found, err));
    if (!found) {
        report(v, "%s is missing", path);
        return SLUICE_OK;
    }
    if (bytes != shard->bytes) {
        report(v, "%s has %llu bytes, the manifest says %llu", path, (unsigned long long)bytes,
               (unsigned long long)shard->bytes);
        return SLUICE_OK;
    }
    *good = true;
    if (!v->deep) {
        return SLUICE_OK;
    }
    TRY(disk_hash_file(path, &bytes, &hash, &found, err));
    if (!found || !hash_equal(hash, shard->hash)) {
        hash_hex(hash, is);
        hash_hex(shard->hash, was);
        report(v, "%s has hash %s, the manifest says %s", path, is, was);
        *good = false;
    }
    return SLUICE_OK;
}

/* The stored file (unless that was looked at) and the public one. */
static sluice_status verify_shard(struct verify *v, const char *folder,
                                  const struct snapshot_shard *shard, bool public_only,
                                  struct sluice_error *err)
{
    char *stored = snapshot_shard_path(v->dir, shard);
    char *public = snapshot_path(v->dir, folder, shard->name);
    struct stat a;
    struct stat b;
    bool good;
    sluice_status status = SLUICE_OK;

    if (stored == NULL || public == NULL) {
        status = error_nomem(err, "a path");
    } else if (!public_only) {
        status = verify_file(v, stored, shard, &good, err);
    }
    /* A hard link to a file that was looked at needs no second look. */
    if (status == SLUICE_OK && !(stat(stored, &a) == 0 && stat(public, &b) == 0 &&
                                 a.st_dev == b.st_dev && a.st_ino == b.st_ino)) {
        status = verify_file(v, public, shard, &good, err);
    }
    free(stored);
    free(public);
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_shard(const char *const *names, size_t n, const char *name)
{
    return n > 0 && bsearch(&name, names, n, sizeof *names, compare_texts) != NULL;
}

/* Whether shards lie in the folder of this name. */
static bool is_folder(const char *const *names, size_t n, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], name, length) == 0 && names[i][length] == '/') {
            return true;
        }
    }
    return false;
}

/* Names in the folder `inner` of the snapshot's ("": itself) that are neither shards nor folders of
 * shards. */
static sluice_status verify_extras(struct verify *v, const char *folder, const char *inner,
                                   const char *const *names, struct sluice_error *err)
{
    size_t n = v->snapshot->n_shards;
    char *path = str_printf("%s/%s%s%s", v->dir, folder, inner[0] != '\0' ? "/" : "", inner);
    struct disk_names there = { NULL, 0 };
    sluice_status status = path == NULL ? error_nomem(err, "a path") : disk_list(path, &there, err);

    for (size_t i = 0; i < there.n && status == SLUICE_OK; i++) {
        char *name = inner[0] == '\0' ? str_copy(there.names[i], strlen(there.names[i]))
                                      : disk_join(inner, there.names[i]);
        if (name == NULL) {
            status = error_nomem(err, "a path");
        } else if (strncmp(name, ".tmp-", 5) != 0 && !is_shard(names, n, name)) {
            if (is_folder(names, n, name)) {
                status = verify_extras(v, folder, name, names, err);
            } else {
                report(v, "%s/%s belongs to no shard of the snapshot", path, there.names[i]);
            }
        }
        free(name);
    }
    disk_names_deinit(&there);
    free(path);
    return status;
}

static bool names_equal(char *const *a, size_t n, char *const *b, size_t m)
{
    bool equal = n == m;

    for (size_t i = 0; i < n && equal; i++) {
        equal = strcmp(a[i], b[i]) == 0;
    }
    return equal;
}

static sluice_status verify_parent(struct verify *v, struct sluice_error *err)
{
    const struct snapshot *s = v->snapshot;
    struct snapshot *parent = NULL;
    char **added = NULL;
    char **removed = NULL;
    size_t n_added = 0;
    size_t n_removed = 0;
    char name[24];
    char *path;
    uint64_t bytes;
    bool found = false;
    sluice_status status = SLUICE_OK;

    if (s->parent != 0) {
        snapshot_manifest_name(s->parent, name);
        path = snapshot_path(v->dir, "snapshots", name);
        status = path == NULL ? error_nomem(err, "a path") : disk_stat(path, &bytes, &found, err);
        free(path);
        if (status != SLUICE_OK || !found) {
            return status; /* older snapshots may be removed */
        }
        status = snapshot_open(v->dir, s->parent, &parent, err);
        if (status == SLUICE_E_DATA && err != NULL) {
            report(v, "%s", err->message);
            return SLUICE_OK;
        }
    }
    if (status == SLUICE_OK) {
        status = snapshot_difference(s, parent, &added, &n_added, err);
    }
    if (status == SLUICE_OK && parent != NULL) {
        status = snapshot_difference(parent, s, &removed, &n_removed, err);
    }
    if (status == SLUICE_OK && (!names_equal(added, n_added, s->added, s->n_added) ||
                                !names_equal(removed, n_removed, s->removed, s->n_removed))) {
        report(v,
               "manifest %u of %s lists other shards as added or removed than it has compared with "
               "its parent",
               (unsigned)s->number, v->dir);
    }
    snapshot_names_free(added, n_added);
    snapshot_names_free(removed, n_removed);
    snapshot_destroy(parent);
    return status;
}

sluice_status snapshot_verify(const char *dataset_dir, const struct snapshot *snapshot, bool deep,
                              snapshot_fault_fn fault, void *ctx, uint64_t *n_faults,
                              struct sluice_error *err)
{
    struct sluice_error own = ERROR_INIT;
    struct verify v = { dataset_dir, snapshot, deep, fault, ctx, 0 };
    struct sluice_error *where = err != NULL ? err : &own;
    const char **names = NULL;
    char folder[24];
    sluice_status status = SLUICE_OK;

    snapshot_folder_name(snapshot->number, folder);
    for (size_t i = 0; i < snapshot->n_shards && status == SLUICE_OK; i++) {
        status = verify_shard(&v, folder, &snapshot->shards[i], false, where);
    }
    if (status == SLUICE_OK) {
        status = snapshot_sorted_names(snapshot, false, &names, where);
    }
    if (status == SLUICE_OK) {
        status = verify_extras(&v, folder, "", names, where);
    }
    free(names);
    if (status == SLUICE_OK) {
        status = verify_parent(&v, where);
    }
    *n_faults = v.n_faults;
    return status;
}

sluice_status snapshot_verify_links(const char *dataset_dir, const struct snapshot *snapshot,
                                    const struct snapshot *made, bool deep, snapshot_fault_fn fault,
                                    void *ctx, struct sluice_error *err)
{
    struct verify v = { dataset_dir, snapshot, deep, fault, ctx, 0 };
    const char **names = NULL;
    char folder[24];
    char *path;
    struct stat st;
    bool there;
    sluice_status status;

    snapshot_folder_name(snapshot->number, folder);
    path = disk_join(dataset_dir, folder);
    there = path != NULL && stat(path, &st) == 0;
    status = path == NULL ? error_nomem(err, "a path") : SLUICE_OK;
    free(path);
    if (status == SLUICE_OK && there) {
        status = snapshot_sorted_names(made, true, &names, err);
    }
    for (size_t i = 0; i < snapshot->n_shards && names != NULL && status == SLUICE_OK; i++) {
        if (is_shard(names, made->n_shards, snapshot->shards[i].file)) {
            status = verify_shard(&v, folder, &snapshot->shards[i], true, err);
        }
    }
    free(names);
    return status;
}
