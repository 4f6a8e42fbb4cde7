/* File-system operations of the store: see disk.h. The test hooks are in disk_hooks.c, reading
 * in disk_read.c. */
#include "store/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hooks.h"
#include "base/order.h"
#include "store/diskInt.h"
#include "store/temp.h"

/* ---- single operations ---- */

static int perform_write(struct disk_call *call)
{
    size_t n = call->n < ((size_t)1 << 30) ? call->n : (size_t)1 << 30;
    ssize_t done;

    do {
        done = write(call->fd, call->data, n);
    } while (done < 0 && errno == EINTR);
    if (done <= 0) {
        return done < 0 ? errno : EIO;
    }
    call->done = (size_t)done;
    return 0;
}

/* Of a file its bytes and its size; its times need not be right. */
static int perform_sync(int fd)
{
    int rc;

    do {
        rc = fdatasync(fd);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static int perform_sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int errnum;

    if (fd < 0) {
        return errno;
    }
    do {
        errnum = fsync(fd) == 0 ? 0 : errno;
    } while (errnum == EINTR);
    close(fd);
    /* Some network and FUSE file systems can't sync a folder: they make names durable at once or
     * not at all. */
    return errnum == EINVAL || errnum == ENOTSUP ? 0 : errnum;
}

int disk_perform(struct disk_call *call)
{
    int rc = -1;

    switch (call->op) {
    case DISK_OPEN:
        do {
            call->fd = open(call->path, call->flags | O_CLOEXEC, 0666);
        } while (call->fd < 0 && errno == EINTR);
        rc = call->fd < 0 ? -1 : 0;
        break;
    case DISK_WRITE:
        return perform_write(call);
    case DISK_SYNC:
        return perform_sync(call->fd);
    case DISK_SYNC_DIR:
        return perform_sync_dir(call->path);
    case DISK_LINK:
        rc = link(call->path, call->path2);
        break;
    case DISK_UNLINK:
        rc = unlink(call->path);
        break;
    case DISK_MKDIR:
        rc = mkdir(call->path, 0777);
        break;
    case DISK_RMDIR:
        rc = rmdir(call->path);
        break;
    case DISK_RENAME:
        rc = rename(call->path, call->path2);
        break;
    case DISK_RENAME_NEW:
        /* Create-if-absent for file systems without hard links (see temp_claim in temp.c). */
        rc = renameat2(AT_FDCWD, call->path, AT_FDCWD, call->path2, RENAME_NOREPLACE);
        break;
    case DISK_SYMLINK:
        rc = symlink(call->path, call->path2);
        break;
    }
    return rc == 0 ? 0 : errno;
}

static int disk_run(struct disk_call *call)
{
    bool open_file = call->op == DISK_WRITE || call->op == DISK_SYNC;
    bool two = call->op == DISK_LINK || call->op == DISK_RENAME || call->op == DISK_RENAME_NEW ||
               call->op == DISK_SYMLINK;

    if (!open_file && (call->path == NULL || (two && call->path2 == NULL))) {
        return ENOMEM;
    }
#if HOOKS_ON
    int mode = atomic_load_explicit(&disk_hooks_mode, memory_order_relaxed);

    if (mode == 2 || (mode == 0 && disk_hooks_start())) {
        return disk_perform_hooked(call);
    }
#endif
    return disk_perform(call);
}

static int disk_run_paths(enum disk_op op, const char *path, const char *path2)
{
    struct disk_call call = { .op = op, .fd = -1, .path = path, .path2 = path2 };

    return disk_run(&call);
}

int disk_open(const char *path, int flags, int *fd)
{
    struct disk_call call = { .op = DISK_OPEN, .fd = -1, .flags = flags, .path = path };
    int errnum = disk_run(&call);

    *fd = errnum == 0 ? call.fd : -1;
    return errnum;
}

int disk_sync(int fd, const char *path)
{
    struct disk_call call = { .op = DISK_SYNC, .fd = fd, .path = path };

    return disk_run(&call);
}

int disk_link(const char *from, const char *to)
{
    return disk_run_paths(DISK_LINK, from, to);
}

int disk_unlink(const char *path)
{
    return disk_run_paths(DISK_UNLINK, path, NULL);
}

int disk_mkdir(const char *path)
{
    return disk_run_paths(DISK_MKDIR, path, NULL);
}

int disk_rmdir(const char *path)
{
    return disk_run_paths(DISK_RMDIR, path, NULL);
}

int disk_rename(const char *from, const char *to)
{
    return disk_run_paths(DISK_RENAME, from, to);
}

int disk_rename_new(const char *from, const char *to)
{
    return disk_run_paths(DISK_RENAME_NEW, from, to);
}

int disk_symlink(const char *target, const char *path)
{
    return disk_run_paths(DISK_SYMLINK, target, path);
}

/* ---- helpers ---- */

sluice_status disk_write_all(int fd, const char *path, const void *data, size_t n,
                             struct sluice_error *err)
{
    const char *bytes = data;

    while (n > 0) {
        struct disk_call call = { .op = DISK_WRITE, .fd = fd, .path = path, .data = bytes, .n = n };
        int errnum = disk_run(&call);
        if (errnum != 0) {
            return error_errno(err, errnum, "can't write %s", path);
        }
        bytes += call.done;
        n -= call.done;
    }
    return SLUICE_OK;
}

void disk_write_behind(int fd, uint64_t offset, uint64_t n)
{
    (void)sync_file_range(fd, (off64_t)offset, (off64_t)n, SYNC_FILE_RANGE_WRITE);
}

sluice_status disk_sync_dir(const char *dir, struct sluice_error *err)
{
    int errnum = disk_run_paths(DISK_SYNC_DIR, dir, NULL);

    if (dir == NULL) {
        return error_nomem(err, "a path");
    }
    return errnum == 0 ? SLUICE_OK : error_errno(err, errnum, "can't sync folder %s", dir);
}

#define MKDIR_TRIES 100

enum mkdir_sync { SYNC_NONE, SYNC_MADE, SYNC_ALWAYS };

/* Makes the folder at path (its parents exist) and, as `sync` says, its name durable. `path` is
 * changed for a moment to name the parent. */
static sluice_status mkdir_one(char *path, enum mkdir_sync sync, struct sluice_error *err)
{
    struct stat st;
    bool made = false;
    int errnum = 0;
    char *slash;

    for (int tries = 0; !made && stat(path, &st) != 0; tries++) {
        errnum = disk_mkdir(path);
        made = errnum == 0;
        /* One that is there and is not was removed by another process meanwhile. */
        if (errnum != 0 && (errnum != EEXIST || tries == MKDIR_TRIES)) {
            return error_errno(err, errnum, "can't make folder %s", path);
        }
        errnum = 0;
    }
    if (!made && !S_ISDIR(st.st_mode)) {
        return error_errno(err, ENOTDIR, "can't make folder %s: something else has this name",
                           path);
    }
    if (sync == SYNC_NONE || (sync == SYNC_MADE && !made)) {
        return SLUICE_OK;
    }
    slash = strrchr(path, '/');
    if (slash == NULL) {
        errnum = disk_run_paths(DISK_SYNC_DIR, ".", NULL);
    } else {
        char kept = slash == path ? slash[1] : slash[0];
        char *cut = slash == path ? slash + 1 : slash;
        *cut = '\0';
        errnum = disk_run_paths(DISK_SYNC_DIR, path, NULL);
        *cut = kept;
    }
    /* A folder that was there before may stand in one that we may not read: then others made it and
     * answer for it. */
    if (errnum != 0 && (made || (errnum != EACCES && errnum != EPERM && errnum != EROFS))) {
        return error_errno(err, errnum, "can't sync the folder that holds %s", path);
    }
    return SLUICE_OK;
}

/* `each` holds for the folder's parents, `last` for itself. */
static sluice_status make_path(const char *dir, enum mkdir_sync each, enum mkdir_sync last,
                               struct sluice_error *err)
{
    size_t n = dir == NULL ? 0 : strlen(dir);
    char *path = dir == NULL ? NULL : str_copy(dir, n);
    sluice_status status = SLUICE_OK;

    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    while (n > 1 && path[n - 1] == '/') {
        path[--n] = '\0';
    }
    for (size_t i = 1; i < n && status == SLUICE_OK; i++) {
        if (path[i] == '/' && path[i - 1] != '/') {
            path[i] = '\0';
            status = mkdir_one(path, each, err);
            path[i] = '/';
        }
    }
    if (status == SLUICE_OK && strcmp(path, "/") != 0) {
        status = mkdir_one(path, last, err);
    }
    free(path);
    return status;
}

sluice_status disk_mkdirs(const char *dir, struct sluice_error *err)
{
    return make_path(dir, SYNC_MADE, SYNC_ALWAYS, err);
}

sluice_status disk_mkdirs_absent(const char *dir, bool durable, struct sluice_error *err)
{
    enum mkdir_sync sync = durable ? SYNC_MADE : SYNC_NONE;
    struct stat st;

    return dir != NULL && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)
               ? SLUICE_OK
               : make_path(dir, sync, sync, err);
}

bool disk_link_refused(int errnum)
{
    return errnum == EPERM || errnum == EMLINK || errnum == ENOSYS || errnum == EOPNOTSUPP ||
           errnum == EXDEV || errnum == EINVAL;
}

char *disk_join(const char *dir, const char *name)
{
    size_t n = dir == NULL ? 0 : strlen(dir);

    if (dir == NULL || name == NULL) {
        return NULL;
    }
    return str_printf(n > 0 && dir[n - 1] == '/' ? "%s%s" : "%s/%s", dir, name);
}

bool disk_name_valid(const char *name)
{
    size_t n = 0;

    for (; name[n] != '\0'; n++) {
        unsigned char c = (unsigned char)name[n];
        if (c < 0x20 || c == 0x7f || c == '/' || n >= 200) {
            return false;
        }
    }
    return n > 0 && name[0] != '.';
}

bool disk_path_valid(const char *path)
{
    char name[202];
    size_t all = strlen(path);

    if (all == 0 || all > 1000) {
        return false;
    }
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, "/");
        snprintf(name, sizeof name, "%.*s", (int)(n < 201 ? n : 201), p);
        if (!disk_name_valid(name)) {
            return false;
        }
        p += n;
        if (*p == '\0') {
            return true;
        }
    }
}
