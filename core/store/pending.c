/* Pending files: see pending.h. */
#include "store/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "store/temp.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define BEHIND_BYTES \
    ((uint64_t)8     \
     << 20) /* ask for write-back in such steps, so that the sync at the end finds little to do */

struct pending {
    char *dir;
    char *path; /* temporary; NULL: the file is a spool without a name, dir is no path */
    int fd;
    size_t used;     /* bytes in buffer */
    uint64_t stored; /* bytes behind buffer */
    uint64_t behind; /* bytes handed to write-back */
    struct hasher *hasher;
    char *buffer;
};

/* ---- writing ---- */

static int close_file(struct pending *p)
{
    int fd = p->fd;

    p->fd = -1;
    return fd < 0 || close(fd) == 0 || errno == EINTR ? 0 : -1; /* Linux closes it on EINTR too */
}

static void pending_free(struct pending *p)
{
    (void)close_file(p);
    hasher_destroy(p->hasher);
    free(p->buffer);
    free(p->path);
    free(p->dir);
    free(p);
}

/* Where files are spooled that can't be written in place: set before there are threads. */
static const char *spool_folder;

void pending_spool(const char *folder)
{
    spool_folder = folder;
}

/* A file that nobody else sees, and that is gone with this process. */
static sluice_status spool_open(struct pending *p, struct sluice_error *err)
{
    const char *folder = spool_folder != NULL ? spool_folder : getenv("TMPDIR");
    int errnum;

    folder = folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
    p->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (p->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char *path;
        errnum = temp_create(folder, &path, &p->fd);
        if (errnum == 0) {
            (void)disk_unlink(path);
        }
        free(path);
        errno = errnum;
    }
    return p->fd >= 0 ? SLUICE_OK
                      : error_errno(err, errno,
                                    "can't create a file in %s, where what goes to %s waits; name "
                                    "a folder with --scratch or TMPDIR",
                                    folder, p->dir);
}

sluice_status pending_open(const char *dir, struct pending **out, struct sluice_error *err)
{
    return pending_open_beside(dir, 0, out, err);
}

sluice_status pending_open_beside(const char *dir, uint32_t n, struct pending **out,
                                  struct sluice_error *err)
{
    struct pending *p = calloc(1, sizeof *p);
    int errnum;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (p == NULL) {
        return error_nomem(err, "an output file");
    }
    p->fd = -1;
    p->dir = str_copy(dir, strlen(dir));
    p->buffer = aligned_alloc(4096, BUFFER_BYTES);
    p->hasher = hasher_create();
    if (p->dir == NULL || p->buffer == NULL || p->hasher == NULL) {
        pending_free(p);
        return error_nomem(err, "an output file");
    }
    if (!store_is_local(dir)) {
        status = store_check(dir, err);
        if (status == SLUICE_OK) {
            status = spool_open(p, err);
        }
    } else if ((errnum = temp_create_beside(dir, n, &p->path, &p->fd)) != 0) {
        status = p->path == NULL ? error_nomem(err, "an output file")
                                 : error_errno(err, errnum, "can't create a file in %s", dir);
    }
    if (status != SLUICE_OK) {
        pending_free(p);
        return status;
    }
    *out = p;
    return SLUICE_OK;
}

static const char *name_of(const struct pending *p)
{
    return p->path != NULL ? p->path : p->dir;
}

static sluice_status pending_store(struct pending *p, const void *data, size_t n,
                                   struct sluice_error *err)
{
    if (n == 0) {
        return SLUICE_OK;
    }
    TRY(disk_write_all(p->fd, name_of(p), data, n, err));
    hasher_add(p->hasher, data, n);
    p->stored += n;
    if (p->path != NULL && p->stored - p->behind >= BEHIND_BYTES) {
        disk_write_behind(p->fd, p->behind, p->stored - p->behind);
        p->behind = p->stored;
    }
    return SLUICE_OK;
}

static sluice_status pending_flush(struct pending *p, struct sluice_error *err)
{
    size_t n = p->used;

    p->used = 0;
    return pending_store(p, p->buffer, n, err);
}

sluice_status pending_write(struct pending *p, const void *data, size_t n, struct sluice_error *err)
{
    const char *bytes = data;

    if (n > BUFFER_BYTES - p->used) {
        /* Fill the buffer so that the file grows in whole buffers, then store long data without
         * copying it. */
        size_t fill = p->used == 0 ? 0 : BUFFER_BYTES - p->used;
        size_t direct;
        if (p->used > 0) {
            memcpy(p->buffer + p->used, bytes, fill);
            p->used = BUFFER_BYTES;
            TRY(pending_flush(p, err));
        }
        direct = (n - fill) / BUFFER_BYTES * BUFFER_BYTES;
        TRY(pending_store(p, bytes + fill, direct, err));
        bytes += fill + direct;
        n -= fill + direct;
    }
    if (n > 0) {
        memcpy(p->buffer + p->used, bytes, n);
        p->used += n;
    }
    return SLUICE_OK;
}

sluice_status pending_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    return pending_write(ctx, data, n, err);
}

uint64_t pending_bytes(const struct pending *p)
{
    return p->stored + p->used;
}

/* Through the buffer, which is empty behind the flush. */
sluice_status pending_pieces(struct pending *p, pending_fn *take, void *ctx,
                             struct sluice_error *err)
{
    TRY(pending_flush(p, err));
    for (uint64_t at = 0; at < p->stored;) {
        ssize_t got = pread(p->fd, p->buffer, BUFFER_BYTES, (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return error_errno(err, got == 0 ? EIO : errno, "can't read back %s", name_of(p));
        }
        TRY(take(ctx, p->buffer, (size_t)got, err));
        at += (uint64_t)got;
    }
    return SLUICE_OK;
}

sluice_status pending_so_far(struct pending *p, struct hash128 *hash, struct sluice_error *err)
{
    return pending_seal(p, hash, err);
}

sluice_status pending_seal(struct pending *p, struct hash128 *hash, struct sluice_error *err)
{
    TRY(pending_flush(p, err));
    *hash = hasher_digest(p->hasher);
    return SLUICE_OK;
}

/* ---- publishing ---- */

/* The final name is taken. 0 bytes differ: *equal. */
static sluice_status compare_existing(const char *final, const struct published *made, bool vouched,
                                      bool *equal, bool *vanished, struct sluice_error *err)
{
    uint64_t bytes;
    struct hash128 hash;
    bool found;
    char theirs[33];
    char ours[33];

    *equal = false;
    *vanished = false;
    TRY(store_size(final, &bytes, &found, err));
    if (found && bytes != made->bytes && !vouched) {
        return SLUICE_OK;
    }
    TRY(store_hash(final, &bytes, &hash, &found, err));
    if (!found) {
        *vanished = true;
        return SLUICE_OK;
    }
    *equal = bytes == made->bytes && hash_equal(hash, made->hash);
    if (!*equal && vouched) {
        hash_hex(hash, theirs);
        hash_hex(made->hash, ours);
        return error_set(err, SLUICE_E_INTERNAL,
                         "%s holds other bytes than this run made (%llu bytes, hash %s; now %llu "
                         "bytes, hash %s): a stage is not "
                         "deterministic, or the file was changed; compare both with `sluice "
                         "verify`, or remove the file to have it "
                         "made again",
                         final, (unsigned long long)bytes, theirs, (unsigned long long)made->bytes,
                         ours);
    }
    return SLUICE_OK;
}

/* Names the complete temporary file. *moved: the temporary name is gone. */
static sluice_status publish_as(struct pending *p, const char *final, bool vouched,
                                struct published *out, bool *moved, struct sluice_error *err)
{
    int errnum = EEXIST;

    for (int tries = 0; tries < 16; tries++) {
        bool vanished;
        errnum = temp_claim(p->path, final, moved);
        if (errnum == 0) {
            return SLUICE_OK;
        }
        if (errnum != EEXIST) {
            break;
        }
        TRY(compare_existing(final, out, vouched, &out->existed, &vanished, err));
        if (out->existed) {
            return SLUICE_OK;
        }
        if (vanished) {
            continue;
        }
        errnum = disk_rename(p->path, final);
        if (errnum == 0) {
            out->replaced = true;
            *moved = true;
            return SLUICE_OK;
        }
        break;
    }
    if (disk_link_refused(errnum)) {
        return error_set(err, SLUICE_E_IO,
                         "can't publish %s: this file system has neither hard links nor renames "
                         "that don't replace, "
                         "one of which commits need; give a folder on another file system",
                         final);
    }
    return error_errno(err, errnum, "can't publish %s", final);
}

/* Puts the spooled file in its place. A file of other bytes there is a leftover or damaged. */
static sluice_status upload(struct pending *p, const char *final, bool vouched,
                            struct published *out, struct sluice_error *err)
{
    bool vanished;

    TRY(compare_existing(final, out, vouched, &out->existed, &vanished, err));
    if (out->existed) {
        return SLUICE_OK;
    }
    out->replaced = !vanished;
    return store_upload(final, p->fd, p->stored, err);
}

/* Makes the complete file safe, and closes it. */
static sluice_status complete(struct pending *p, unsigned flags, struct sluice_error *err)
{
    int errnum = (flags & PENDING_LOOSE) == 0 ? disk_sync(p->fd, p->path) : 0;

    if (errnum != 0) {
        return error_errno(err, errnum, "can't sync %s", p->path);
    }
    /* Before it has a name: some network file systems send what was written only now. */
    return close_file(p) == 0 ? SLUICE_OK : error_errno(err, errno, "can't write %s", p->path);
}

sluice_status pending_publish(struct pending *p, const char *name, unsigned flags,
                              struct published *out, struct sluice_error *err)
{
    char *final = store_join(p->dir, name);
    bool vouched = (flags & PENDING_VOUCHED) != 0;
    bool moved = false;
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (final == NULL) {
        pending_abort(p);
        return error_nomem(err, "a path");
    }
    status = disk_name_valid(name) ? SLUICE_OK
                                   : error_set(err, SLUICE_E_INTERNAL,
                                               "\"%s\" can't be the name of an output file", name);
    if (status == SLUICE_OK) {
        status = pending_flush(p, err);
    }
    out->bytes = p->stored;
    out->hash = hasher_digest(p->hasher);
    if (status == SLUICE_OK && p->path != NULL) {
        status = complete(p, flags, err);
        if (status == SLUICE_OK) {
            status = publish_as(p, final, vouched, out, &moved, err);
        }
    } else if (status == SLUICE_OK) {
        status = upload(p, final, vouched, out, err);
    }
    if (!moved && p->path != NULL) {
        (void)disk_unlink(p->path); /* what stays is swept later */
    }
    free(final);
    pending_free(p);
    return status;
}

void pending_abort(struct pending *p)
{
    if (p != NULL) {
        if (p->path != NULL) {
            (void)disk_unlink(p->path);
        }
        pending_free(p);
    }
}

/* Where a put is one request. */
static sluice_status put_there(const char *dir, const char *name, const void *data, size_t n,
                               unsigned flags, struct published *out, struct sluice_error *err)
{
    char *path = store_join(dir, name);
    enum store_put put = STORE_MADE;
    sluice_status status;

    memset(out, 0, sizeof *out);
    out->bytes = n;
    out->hash = hash_bytes(data, n);
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    if ((flags & PENDING_VOUCHED) == 0) {
        status = store_replace(path, data, n, 0, err);
    } else {
        status = store_put_new(path, data, n, 0, &put, err);
        out->existed = put == STORE_EQUAL;
        if (status == SLUICE_OK && put == STORE_OTHER) {
            status =
                error_set(err, SLUICE_E_INTERNAL, "%s holds other bytes than this run made", path);
        }
    }
    free(path);
    return status;
}

sluice_status pending_put(const char *dir, const char *name, const void *data, size_t n,
                          unsigned flags, struct published *out, struct sluice_error *err)
{
    struct pending *p;
    sluice_status status;

    if (!store_is_local(dir)) {
        return put_there(dir, name, data, n, flags, out, err);
    }
    TRY(pending_open(dir, &p, err));
    status = pending_write(p, data, n, err);
    if (status != SLUICE_OK) {
        pending_abort(p);
        return status;
    }
    TRY(pending_publish(p, name, flags, out, err));
    return (flags & PENDING_LOOSE) != 0 ? SLUICE_OK : disk_sync_dir(dir, err);
}
