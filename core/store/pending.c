/* Pending files: see pending.h. */
#include "store/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)
#define BEHIND_BYTES \
    ((uint64_t)8     \
     << 20) /* ask for write-back in such steps, so that the sync at the end finds little to do */
#define FOREIGN_SECONDS (7 * 86400) /* leftovers of processes that we can't look at */
#define NAME_TRIES 10000u

struct pending {
    char *dir;
    char *path; /* temporary */
    int fd;
    size_t used;     /* bytes in buffer */
    uint64_t stored; /* bytes behind buffer */
    uint64_t behind; /* bytes handed to write-back */
    struct hasher *hasher;
    char *buffer;
};

/* ---- temporary names ---- */

/* Who made a temporary name: enough to tell whether that process lives. */
struct owner {
    uint32_t host;  /* hash of the host's name */
    uint32_t boot;  /* of the kernel's boot id */
    uint32_t space; /* of the pid namespace */
    int pid;
    unsigned long long start; /* ticks since boot; 0 = unknown */
};

/* Reads at most size - 1 bytes of a file of /proc; "" when that fails. */
static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* Start time of a process in ticks since boot (field 22 of its stat), 0 if there is no such process
 * or no /proc. */
static unsigned long long process_start(int pid)
{
    char path[64];
    char text[1024];
    char *field;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    read_text(path, text, sizeof text);
    field = strrchr(text, ')'); /* the command's name may hold anything, also spaces and brackets */
    for (int i = 2; field != NULL && i < 22; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

static uint32_t hash_text(const char *text)
{
    return (uint32_t)hash_bytes(text, strlen(text)).lo;
}

static void owner_self(struct owner *owner)
{
    /* What a process is stays; a fork of it, or the same number in another space, is another. */
    static _Thread_local struct owner known;
    char text[256];
    struct stat st;

    *owner = known;
    owner->space = stat("/proc/self/ns/pid", &st) == 0 ? (uint32_t)st.st_ino : 0;
    owner->pid = (int)getpid();
    if (known.pid == owner->pid && known.space == owner->space) {
        return;
    }
    memset(text, 0, sizeof text);
    (void)gethostname(text, sizeof text - 1);
    owner->host = hash_text(text);
    read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    owner->boot = hash_text(text);
    owner->start = process_start(owner->pid);
    known = *owner;
}

static bool owner_parse(const char *name, struct owner *owner)
{
    int end = -1;
    int thread;
    unsigned n;

    return sscanf(name, ".tmp-%8x-%8x-%8x-%d-%llu-%d-%u%n", &owner->host, &owner->boot,
                  &owner->space, &owner->pid, &owner->start, &thread, &n, &end) == 7 &&
           end > 0 && name[end] == '\0' && owner->pid > 0;
}

static char *temp_path(const char *dir, const struct owner *self, uint32_t n)
{
    char name[128];

    snprintf(name, sizeof name, ".tmp-%08x-%08x-%08x-%d-%llu-%d-%u", self->host, self->boot,
             self->space, self->pid, self->start, (int)gettid(), n);
    return disk_join(dir, name);
}

char *pending_temp_path(const char *dir, uint32_t n)
{
    struct owner self;

    owner_self(&self);
    return temp_path(dir, &self, n);
}

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

sluice_status pending_open(const char *dir, struct pending **out, struct sluice_error *err)
{
    struct pending *p = calloc(1, sizeof *p);
    struct owner self;
    int errnum = EEXIST;
    sluice_status status;

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
    owner_self(&self);
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(p->path);
        p->path = temp_path(dir, &self, n);
        if (p->path == NULL) {
            pending_free(p);
            return error_nomem(err, "an output file");
        }
        /* O_EXCL: the name says who makes it, and a process may make several. */
        errnum = disk_open(p->path, O_RDWR | O_CREAT | O_EXCL, &p->fd);
    }
    if (errnum != 0) {
        status = error_errno(err, errnum, "can't create a file in %s", dir);
        pending_free(p);
        return status;
    }
    *out = p;
    return SLUICE_OK;
}

static sluice_status pending_store(struct pending *p, const void *data, size_t n,
                                   struct sluice_error *err)
{
    if (n == 0) {
        return SLUICE_OK;
    }
    TRY(disk_write_all(p->fd, p->path, data, n, err));
    hasher_add(p->hasher, data, n);
    p->stored += n;
    if (p->stored - p->behind >= BEHIND_BYTES) {
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

uint64_t pending_bytes(const struct pending *p)
{
    return p->stored + p->used;
}

sluice_status pending_seal(struct pending *p, struct hash128 *hash, struct sluice_error *err)
{
    TRY(pending_flush(p, err));
    *hash = hasher_digest(p->hasher);
    return SLUICE_OK;
}

/* ---- publishing ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int pending_claim(const char *temp, const char *final, bool *moved)
{
    int errnum = disk_link(temp, final);

    *moved = false;
    if (errnum == EEXIST && same_file(temp, final)) {
        return 0; /* over NFS a link may succeed and its answer get lost: the repeated call says
                     EEXIST */
    }
    if (errnum != 0 && disk_link_refused(errnum)) {
        int refused = errnum;
        errnum = disk_rename_new(temp, final);
        *moved = errnum == 0;
        if (errnum == EINVAL || errnum == ENOSYS) {
            errnum = refused;
        }
    }
    return errnum;
}

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
    TRY(disk_stat(final, &bytes, &found, err));
    if (found && bytes != made->bytes && !vouched) {
        return SLUICE_OK;
    }
    TRY(disk_hash_file(final, &bytes, &hash, &found, err));
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
        errnum = pending_claim(p->path, final, moved);
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

sluice_status pending_publish(struct pending *p, const char *name, unsigned flags,
                              struct published *out, struct sluice_error *err)
{
    char *final = disk_join(p->dir, name);
    bool moved = false;
    int errnum;
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
    if (status == SLUICE_OK && (flags & PENDING_LOOSE) == 0) {
        errnum = disk_sync(p->fd, p->path);
        if (errnum != 0) {
            status = error_errno(err, errnum, "can't sync %s", p->path);
        }
    }
    /* Before it has a name: some network file systems send what was written only now. */
    if (status == SLUICE_OK && close_file(p) != 0) {
        status = error_errno(err, errno, "can't write %s", p->path);
    }
    if (status == SLUICE_OK) {
        out->bytes = p->stored;
        out->hash = hasher_digest(p->hasher);
        status = publish_as(p, final, (flags & PENDING_VOUCHED) != 0, out, &moved, err);
    }
    if (!moved) {
        (void)disk_unlink(p->path); /* what stays is swept later */
    }
    free(final);
    pending_free(p);
    return status;
}

void pending_abort(struct pending *p)
{
    if (p != NULL) {
        (void)disk_unlink(p->path);
        pending_free(p);
    }
}

sluice_status pending_put(const char *dir, const char *name, const void *data, size_t n,
                          unsigned flags, struct published *out, struct sluice_error *err)
{
    struct pending *p;
    sluice_status status;

    TRY(pending_open(dir, &p, err));
    status = pending_write(p, data, n, err);
    if (status != SLUICE_OK) {
        pending_abort(p);
        return status;
    }
    TRY(pending_publish(p, name, flags, out, err));
    return (flags & PENDING_LOOSE) != 0 ? SLUICE_OK : disk_sync_dir(dir, err);
}

/* ---- sweeping ---- */

static bool owner_dead(const struct owner *owner, const struct owner *self, const char *path)
{
    struct stat st;

    if (owner->host == self->host && owner->boot == self->boot && owner->space == self->space) {
        unsigned long long start = process_start(owner->pid);
        return self->start != 0 && start != owner->start;
    }
    if (owner->host == self->host && owner->boot != self->boot) {
        return true; /* this host was started again since */
    }
    return lstat(path, &st) == 0 && time(NULL) - st.st_mtime > FOREIGN_SECONDS;
}

/* Folders in folders that are followed: what a child process left in its scratch folder may be
 * anything. */
#define DEPTH_MAX 64

static sluice_status remove_tree(const char *path, int depth, struct sluice_error *err)
{
    struct disk_names names;
    int errnum = disk_unlink(path);

    if (errnum == 0 || errnum == ENOENT) {
        return SLUICE_OK;
    }
    if ((errnum != EISDIR && errnum != EPERM) || depth == DEPTH_MAX) {
        return error_errno(err, errnum, "can't remove the leftover %s", path);
    }
    TRY(disk_list(path, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        char *inner = disk_join(path, names.names[i]);
        if (inner != NULL) {
            if (remove_tree(inner, depth + 1, NULL) != SLUICE_OK) {
                /* The folder can't be removed then, which is said below. */
            }
        }
        free(inner);
    }
    disk_names_deinit(&names);
    errnum = disk_rmdir(path);
    return errnum == 0 || errnum == ENOENT
               ? SLUICE_OK
               : error_errno(err, errnum, "can't remove the leftover %s", path);
}

sluice_status pending_remove(const char *path, struct sluice_error *err)
{
    return remove_tree(path, 0, err);
}

sluice_status pending_sweep(const char *dir, uint32_t *removed, struct sluice_error *err)
{
    struct disk_names names;
    struct owner self;
    struct owner owner;
    sluice_status status = SLUICE_OK;

    if (removed != NULL) {
        *removed = 0;
    }
    TRY(disk_list(dir, &names, err));
    owner_self(&self);
    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        char *path;
        if (strncmp(names.names[i], ".tmp-", 5) != 0 || !owner_parse(names.names[i], &owner)) {
            continue;
        }
        path = disk_join(dir, names.names[i]);
        if (path == NULL) {
            status = error_nomem(err, "a path");
        } else if (owner_dead(&owner, &self, path)) {
            status = remove_tree(path, 0, err);
            if (removed != NULL && status == SLUICE_OK) {
                ++*removed;
            }
        }
        free(path);
    }
    disk_names_deinit(&names);
    return status;
}
