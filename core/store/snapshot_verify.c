/* Checking of a snapshot against what stands on disk: see snapshot.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "store/snapshotInt.h"
#include "store/store.h"

struct verify {
    const char *dir;
    const struct snapshot *snapshot;
    bool deep;
    snapshot_fault_fn fault;
    void *ctx;
    uint64_t n_faults;
    bool links; /* there are folders of public names */
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
    TRY(store_size(path, &bytes, &found, err));
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
    TRY(store_hash(path, &bytes, &hash, &found, err));
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
    struct arena arena = ARENA_INIT;
    char *stored = snapshot_path(&arena, v->dir, "data", shard->file);
    char *public = snapshot_path(&arena, v->dir, folder, shard->name);
    struct stat a;
    struct stat b;
    bool good;
    sluice_status status = arena_status(&arena, err, "a path");

    if (status == SLUICE_OK && !public_only) {
        status = verify_file(v, stored, shard, &good, err);
    }
    /* A hard link to a file that was looked at needs no second look. */
    if (status == SLUICE_OK && v->links &&
        !(stat(stored, &a) == 0 && stat(public, &b) == 0 && a.st_dev == b.st_dev &&
          a.st_ino == b.st_ino)) {
        status = verify_file(v, public, shard, &good, err);
    }
    arena_deinit(&arena);
    return status;
}

static bool has_links(const char *dataset_dir)
{
    return (store_caps(dataset_dir) & STORE_LINKS) != 0;
}

static bool is_shard(const char *const *names, size_t n, const char *name)
{
    return n > 0 && bsearch(&name, names, n, sizeof *names, order_texts) != NULL;
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
    struct arena arena = ARENA_INIT;
    const char *slash = inner[0] != '\0' ? "/" : "";
    char *path = arena_printf(&arena, "%s/%s%s%s", v->dir, folder, slash, inner);
    struct disk_names there = { NULL, 0 };
    sluice_status status = store_names(path, &there, err);

    for (size_t i = 0; i < there.n && status == SLUICE_OK; i++) {
        char *name = arena_printf(&arena, "%s%s%s", inner, slash, there.names[i]);
        if (name == NULL) {
            status = arena_status(&arena, err, "a path");
        } else if (strncmp(name, ".tmp-", 5) != 0 && !is_shard(names, n, name)) {
            if (is_folder(names, n, name)) {
                status = verify_extras(v, folder, name, names, err);
            } else {
                report(v, "%s/%s belongs to no shard of the snapshot", path, there.names[i]);
            }
        }
    }
    disk_names_deinit(&there);
    arena_deinit(&arena);
    return status;
}

static sluice_status verify_parent(struct verify *v, struct sluice_error *err)
{
    const struct snapshot *s = v->snapshot;
    struct snapshot *parent = NULL;
    struct arena arena = ARENA_INIT;
    char name[24];
    uint64_t bytes;
    bool found = false;
    bool fit;
    sluice_status status;

    if (s->parent != 0) {
        snapshot_manifest_name(s->parent, name);
        status = store_size(snapshot_path(&arena, v->dir, "snapshots", name), &bytes, &found, err);
        arena_deinit(&arena);
        if (status != SLUICE_OK || !found) {
            return status; /* older snapshots may be removed */
        }
        status = snapshot_open(v->dir, s->parent, &parent, err);
        if (status == SLUICE_E_DATA && err != NULL) {
            report(v, "%s", err->message);
            return SLUICE_OK;
        }
        TRY(status);
    }
    status = snapshot_names_fit(s, parent, &fit, err);
    if (status == SLUICE_OK && !fit) {
        report(v,
               "manifest %u of %s lists other shards as added or removed than it has compared with "
               "its parent",
               (unsigned)s->number, v->dir);
    }
    snapshot_destroy(parent);
    return status;
}

sluice_status snapshot_verify(const char *dataset_dir, const struct snapshot *snapshot, bool deep,
                              snapshot_fault_fn fault, void *ctx, uint64_t *n_faults,
                              struct sluice_error *err)
{
    struct sluice_error own = ERROR_INIT;
    struct verify v = { dataset_dir, snapshot, deep, fault, ctx, 0, has_links(dataset_dir) };
    struct sluice_error *where = err != NULL ? err : &own;
    struct arena arena = ARENA_INIT;
    const char **names = snapshot_sorted_names(&arena, snapshot, false);
    char folder[24];
    sluice_status status = arena_status(&arena, where, "a manifest");

    snapshot_folder_name(snapshot->number, folder);
    for (uint32_t i = 0; i < snapshot->n_shards && status == SLUICE_OK; i++) {
        status = verify_shard(&v, folder, &snapshot->shards[i], false, where);
    }
    if (status == SLUICE_OK && v.links) {
        status = verify_extras(&v, folder, "", names, where);
    }
    arena_deinit(&arena);
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
    struct verify v = { dataset_dir, snapshot, deep, fault, ctx, 0, has_links(dataset_dir) };
    struct arena arena = ARENA_INIT;
    const char **names = snapshot_sorted_names(&arena, made, true);
    char folder[24];
    char *path;
    struct stat st;
    bool there;
    sluice_status status;

    snapshot_folder_name(snapshot->number, folder);
    path = snapshot_path(&arena, dataset_dir, NULL, folder);
    status = arena_status(&arena, err, "a manifest");
    there = status == SLUICE_OK && stat(path, &st) == 0;
    for (uint32_t i = 0; there && i < snapshot->n_shards && status == SLUICE_OK; i++) {
        if (is_shard(names, made->n_shards, snapshot->shards[i].file)) {
            status = verify_shard(&v, folder, &snapshot->shards[i], true, err);
        }
    }
    arena_deinit(&arena);
    return status == SLUICE_OK ? verify_parent(&v, err) : status;
}
