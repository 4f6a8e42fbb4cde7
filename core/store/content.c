/* Files of a frozen plan: see content.h. */
#include "store/content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "store/listing.h"
#include "store/pending.h"
#include "store/statcache.h"
#include "store/store.h"
#include "store/temp.h"

/* From here on a link saves more than a copy's independence is worth. */
#define LINK_BYTES (UINT64_C(16) << 20)

char *content_path(const char *run_dir, const char *sha256, const char *name)
{
    return str_printf("%s/" CONTENT_FOLDER "/%s/%s", run_dir, sha256, name);
}

const char *content_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    return disk_name_valid(name) ? name : "file";
}

/* Whether both names are one file of this machine. */
static bool is_one(const char *path, const char *place)
{
    struct stat a;
    struct stat b;

    return store_is_local(path) && stat(path, &a) == 0 && stat(place, &b) == 0 &&
           a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Notes what the kept file looks like. */
static sluice_status note(const char *place, struct content *out, struct sluice_error *err)
{
    struct store_version version;
    bool found = false;

    TRY(store_stat(place, &version, &found, err));
    if (!found) {
        return error_set(err, SLUICE_E_IO, "%s was kept and is gone; run again", place);
    }
    out->size = version.size;
    out->mtime_ns = version.mtime_ns;
    return SLUICE_OK;
}

static sluice_status changed(const char *path, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s changed while the plan was made; run again when nobody writes to it",
                     path);
}

/* ---- keeping ---- */

/* Does the place hold these bytes already? A file that is the same as the one at path does. */
static bool is_kept(struct statcache *cache, const char *path, const char *place,
                    const char *sha256)
{
    char hex[SHA256_HEX];
    struct hash128 hash;
    struct store_version version;
    bool found;

    if (store_stat(place, &version, &found, NULL) != SLUICE_OK || !found) {
        return false;
    }
    return is_one(path, place) || (statcache_hashes(cache, place, hex, &hash, NULL) == SLUICE_OK &&
                                   strcmp(hex, sha256) == 0);
}

/* A second name for the file; *done false: this file system, or this file, refuses. */
static sluice_status link_file(const char *path, const char *folder, const char *place,
                               const struct store_version *was, bool *done,
                               struct sluice_error *err)
{
    /* Not a second name of a symbolic link. */
    char *real = store_is_local(path) ? realpath(path, NULL) : NULL;
    struct store_version now;
    bool found;
    sluice_status status = SLUICE_OK;

    *done = false;
    for (uint32_t n = 0; real != NULL && n < 1000; n++) {
        char *temp = temp_path(folder, n);
        int errnum = disk_link(real, temp);
        if (errnum == EEXIST) {
            free(temp);
            continue;
        }
        if (errnum == 0 && (store_stat(temp, &now, &found, NULL) != SLUICE_OK || !found ||
                            !store_version_holds(was, &now))) {
            status = changed(path, err);
        } else if (errnum == 0) {
            errnum = disk_rename(temp, place);
            *done = errnum == 0;
        }
        if (!*done && temp != NULL) {
            (void)disk_unlink(temp);
        }
        free(temp);
        break;
    }
    free(real);
    return status; /* whatever else went wrong, a copy may do */
}

/* *same false: it holds other bytes, and nothing was put there. */
static sluice_status copy_file(const char *path, const char *folder, const char *name,
                               struct hash128 hash, bool *same, struct sluice_error *err)
{
    struct pending *pending = NULL;
    struct published published;
    struct store_file *from;
    struct hash128 is;
    sluice_status status;

    TRY(store_open(path, &from, NULL, err));
    status = pending_open(folder, &pending, err);
    if (status == SLUICE_OK) {
        status = store_pieces(from, pending_piece, pending, err);
    }
    store_close(from);
    if (status == SLUICE_OK) {
        status = pending_seal(pending, &is, err);
    }
    *same = status == SLUICE_OK && hash_equal(is, hash);
    if (!*same) {
        pending_abort(pending);
        return status;
    }
    return pending_publish(pending, name, PENDING_LOOSE, &published, err);
}

/* The folder of one content; *place: the file in it. Both are given. */
static sluice_status open_folder(const char *run_dir, const char *sha256, const char *name,
                                 char **folder, char **place, struct sluice_error *err)
{
    *folder = str_printf("%s/" CONTENT_FOLDER "/%s", run_dir, sha256);
    *place = content_path(run_dir, sha256, name);
    return *folder == NULL || *place == NULL ? error_nomem(err, "a path")
                                             : store_make_folder(*folder, false, err);
}

static sluice_status keep_file(struct statcache *kept, struct statcache *known, const char *path,
                               const char *folder, const char *place, const struct content *content,
                               const struct store_version *was, struct sluice_error *err)
{
    bool linked = false;
    bool same = true;

    if (is_kept(kept, path, place, content->sha256)) {
        return SLUICE_OK;
    }
    if (content->size >= LINK_BYTES && store_is_local(folder)) {
        TRY(link_file(path, folder, place, was, &linked, err));
    }
    if (linked) {
        statcache_renamed(known, path, content->sha256, content->hash);
        return SLUICE_OK;
    }
    TRY(copy_file(path, folder, content_name(path), content->hash, &same, err));
    return same ? SLUICE_OK : changed(path, err);
}

sluice_status content_keep_file(const char *run_dir, struct statcache *kept,
                                struct statcache *known, const char *path, struct content *out,
                                struct sluice_error *err)
{
    char *folder = NULL;
    char *place = NULL;
    struct store_version was;
    struct store_version now;
    bool found;
    sluice_status status;

    memset(out, 0, sizeof *out);
    /* Hashing finds better words where it is not there. */
    TRY(store_stat(path, &was, &found, err));
    TRY(statcache_hashes(known, path, out->sha256, &out->hash, err));
    TRY(store_stat(path, &now, &found, err));
    if (!found || !store_version_holds(&was, &now)) {
        return changed(path, err);
    }
    out->size = was.size;
    status = open_folder(run_dir, out->sha256, content_name(path), &folder, &place, err);
    if (status == SLUICE_OK) {
        status = keep_file(kept, known, path, folder, place, out, &was, err);
    }
    if (status == SLUICE_OK) {
        status = note(place, out, err);
    }
    free(folder);
    free(place);
    return status;
}

sluice_status content_keep_bytes(const char *run_dir, const void *data, size_t n, const char *name,
                                 struct content *out, struct sluice_error *err)
{
    enum store_put put = STORE_MADE;
    char *place;
    sluice_status status;

    memset(out, 0, sizeof *out);
    sha256_bytes(data, n, out->sha256);
    out->hash = hash_bytes(data, n);
    place = content_path(run_dir, out->sha256, name);
    status = place == NULL ? error_nomem(err, "a path")
                           : store_put_new(place, data, n, STORE_LOOSE, &put, err);
    if (status == SLUICE_OK && put == STORE_OTHER) { /* it was damaged */
        status = store_replace(place, data, n, STORE_LOOSE, err);
    }
    if (status == SLUICE_OK) {
        status = note(place, out, err);
    }
    free(place);
    return status;
}

/* ---- using ---- */

static sluice_status spoilt(const char *place, const char *how, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s %s since the plan was frozen; run `sluice prepare` (or `sluice run`) with "
                     "the script again",
                     place, how);
}

sluice_status content_check(struct statcache *cache, const char *place,
                            const struct content *content, struct sluice_error *err)
{
    char hex[SHA256_HEX];
    struct hash128 hash;
    struct store_version version;
    bool found = false;

    TRY(store_stat(place, &version, &found, err));
    if (!found) {
        return spoilt(place, "is gone", err);
    }
    if (version.size == content->size && version.mtime_ns == content->mtime_ns) {
        return SLUICE_OK;
    }
    if (version.size != content->size) {
        return spoilt(place, "changed", err);
    }
    TRY(statcache_hashes(cache, place, hex, &hash, err));
    return strcmp(hex, content->sha256) == 0 ? SLUICE_OK : spoilt(place, "changed", err);
}

/* Whether the copy on this machine is whole. */
static sluice_status is_fetched(struct statcache *cache, const char *place,
                                const struct content *content, bool *whole,
                                struct sluice_error *err)
{
    char hex[SHA256_HEX];
    struct hash128 hash;
    uint64_t size = 0;

    TRY(store_size(place, &size, whole, err));
    if (*whole && size == content->size) {
        TRY(statcache_hashes(cache, place, hex, &hash, err));
        *whole = strcmp(hex, content->sha256) == 0;
        return SLUICE_OK;
    }
    *whole = false;
    return SLUICE_OK;
}

sluice_status content_fetch(struct statcache *cache, const char *from, const char *place,
                            const struct content *content, struct sluice_error *err)
{
    const char *name = strrchr(place, '/') + 1;
    char *folder;
    uint64_t size;
    bool found = false;
    bool whole;
    bool same = false;
    sluice_status status;

    TRY(is_fetched(cache, place, content, &whole, err));
    if (whole) {
        return SLUICE_OK;
    }
    TRY(store_size(from, &size, &found, err));
    if (!found || size != content->size) {
        return spoilt(from, found ? "changed" : "is gone", err);
    }
    folder = str_copy(place, (size_t)(name - place - 1));
    status = folder == NULL ? error_nomem(err, "a path") : store_make_folder(folder, false, err);
    if (status == SLUICE_OK) {
        status = copy_file(from, folder, name, content->hash, &same, err);
    }
    if (status == SLUICE_OK && same) {
        status = is_fetched(cache, place, content, &whole, err);
    }
    free(folder);
    return status != SLUICE_OK || whole ? status : spoilt(from, "changed", err);
}

sluice_status content_read(const char *place, const struct content *content, uint64_t max,
                           struct buf *out, struct sluice_error *err)
{
    char hex[SHA256_HEX];
    size_t begin = out->size;
    bool found = false;

    TRY(store_read_all(place, max, out, &found, err));
    if (!found) {
        return spoilt(place, "is gone", err);
    }
    sha256_bytes(out->data == NULL ? "" : out->data + begin, out->size - begin, hex);
    return strcmp(hex, content->sha256) == 0 ? SLUICE_OK : spoilt(place, "changed", err);
}

/* ---- cleaning up ---- */

static sluice_status sweep_folder(const char *folder, bool stays, bool dry, uint64_t *files,
                                  uint64_t *bytes, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = stays ? (dry ? SLUICE_OK : temp_sweep(folder, NULL, err))
                                 : store_names(folder, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *path = store_join(folder, names.names[i]);
        uint64_t size;
        bool found = false;
        status = path == NULL ? error_nomem(err, "a path") : store_size(path, &size, &found, err);
        if (found) {
            (*files)++;
            *bytes += size;
        }
        if (found && !dry) {
            status = store_remove(path, err);
        }
        free(path);
    }
    disk_names_deinit(&names);
    return status != SLUICE_OK || stays || dry || !store_is_local(folder) ? status
                                                                          : temp_drop(folder, err);
}

sluice_status content_sweep(const char *run_dir, bool (*stays)(void *ctx, const char *sha256),
                            void *ctx, bool dry, uint64_t *files, uint64_t *bytes,
                            struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    char *top = store_join(run_dir, CONTENT_FOLDER);
    sluice_status status = top == NULL ? error_nomem(err, "a path") : store_names(top, &names, err);

    *files = 0;
    *bytes = 0;
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *folder = store_join(top, names.names[i]);
        status = folder == NULL
                     ? error_nomem(err, "a path")
                     : sweep_folder(folder, stays(ctx, names.names[i]), dry, files, bytes, err);
        free(folder);
    }
    disk_names_deinit(&names);
    free(top);
    return status;
}
