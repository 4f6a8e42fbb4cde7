/* The local disk as a place: see store_ops.h. Everything that changes it goes through disk.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/disk.h"
#include "store/store_ops.h"
#include "store/temp.h"

#define FOLDER_TRIES 100 /* to make a folder that others remove */

static void version_set(struct store_version *version, const struct stat *st)
{
    memset(version, 0, sizeof *version);
    version->size = (uint64_t)st->st_size;
    version->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    version->ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

static bool is_absent(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR;
}

/* ---- reading ---- */

static enum store_answer file_look(struct store_file *file, struct store_version *version,
                                   struct sluice_error *err)
{
    struct stat st;

    if (fstat(file->fd, &st) != 0) {
        return store_failed(error_errno(err, errno, "%s can't be examined", file->name));
    }
    if (!S_ISREG(st.st_mode)) {
        return store_failed(
            error_set(err, SLUICE_E_CONFIG,
                      "%s is a %s, expected a file; give the files themselves or a folder of them",
                      file->name, file_kind(st.st_mode)));
    }
    version_set(version, &st);
    return ANSWER_DONE;
}

static enum store_answer disk_file_open(struct store_file *file, struct sluice_error *err)
{
    /* Not to hang on a pipe that took the file's place. */
    do {
        file->fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0) {
        bool absent = is_absent(errno);
        sluice_status status = error_errno(err, errno, "%s can't be opened", file->name);
        return absent ? ANSWER_ABSENT : store_failed(status);
    }
    return file_look(file, &file->version, err);
}

static void disk_file_close(struct store_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
}

static enum store_answer disk_file_read(struct store_file *file, struct store_extent *extents,
                                        size_t n, struct sluice_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct store_extent *e = &extents[i];
        e->got = 0;
        while (e->got < e->n) {
            ssize_t r = pread(file->fd, (char *)e->data + e->got, e->n - e->got,
                              (off_t)(e->offset + e->got));
            if (r < 0 && errno == EINTR) {
                continue;
            }
            if (r < 0) {
                return store_failed(error_errno(err, errno, "%s can't be read at byte %llu",
                                                file->name,
                                                (unsigned long long)(e->offset + e->got)));
            }
            if (r == 0) {
                break;
            }
            e->got += (size_t)r;
        }
    }
    return ANSWER_DONE;
}

static void disk_file_sequential(struct store_file *file)
{
    (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static enum store_answer disk_name_stat(const char *name, struct store_version *version,
                                        struct sluice_error *err)
{
    struct stat st;

    if (stat(name, &st) != 0) {
        return is_absent(errno) || errno == ELOOP
                   ? ANSWER_ABSENT
                   : store_failed(error_errno(err, errno, "can't look at %s", name));
    }
    if (!S_ISREG(st.st_mode)) {
        return ANSWER_ABSENT;
    }
    version_set(version, &st);
    return ANSWER_DONE;
}

/* ---- listing ---- */

/* One folder; prefix ("" or "a/b/") goes before its names. A name that vanishes meanwhile is not
 * there, nor is a file in the making: whoever removes all that is listed must not take it from the
 * process that is about to name it. */
static sluice_status list_folder(const char *folder, const char *prefix, unsigned flags,
                                 struct store_list *out, struct sluice_error *err)
{
    struct disk_names names;
    sluice_status status = SLUICE_OK;

    TRY(disk_list(folder, &names, err));
    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        struct store_version version;
        struct stat st;
        char *path;
        char *name;
        if (temp_named(names.names[i])) {
            continue;
        }
        path = disk_join(folder, names.names[i]);
        name = str_printf("%s%s", prefix, names.names[i]);
        memset(&version, 0, sizeof version);
        memset(&st, 0, sizeof st);
        if (path == NULL || name == NULL) {
            status = error_nomem(err, "a list of files");
        } else if (flags == 0) {
            status = store_list_add(out, name, strlen(name), &version, false)
                         ? SLUICE_OK
                         : error_nomem(err, "a list of files");
        } else if (lstat(path, &st) != 0) {
            status =
                is_absent(errno) ? SLUICE_OK : error_errno(err, errno, "can't look at %s", path);
        } else if (S_ISDIR(st.st_mode) && (flags & STORE_DEEP) != 0) {
            char *inner = str_printf("%s/", name);
            status = inner == NULL ? error_nomem(err, "a list of files")
                                   : list_folder(path, inner, flags, out, err);
            free(inner);
        } else {
            version_set(&version, &st);
            status = store_list_add(out, name, strlen(name), &version, S_ISDIR(st.st_mode))
                         ? SLUICE_OK
                         : error_nomem(err, "a list of files");
        }
        free(path);
        free(name);
    }
    disk_names_deinit(&names);
    return status;
}

static enum store_answer disk_folder_list(const char *folder, unsigned flags,
                                          struct store_page *page, struct sluice_error *err)
{
    sluice_status status = list_folder(folder, "", flags, page->list, err);

    return status == SLUICE_OK ? ANSWER_DONE : store_failed(status);
}

/* ---- writing ---- */

static sluice_status folder_of(const char *name, char **folder, struct sluice_error *err)
{
    const char *slash = strrchr(name, '/');
    size_t n = slash == NULL ? 0 : slash == name ? 1 : (size_t)(slash - name);

    *folder = slash == NULL ? str_copy(".", 1) : str_copy(name, n);
    return *folder == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* A file with these bytes beside its later name. Gives *temp. */
static sluice_status write_temp(const char *folder, const void *data, size_t n, unsigned flags,
                                char **temp, struct sluice_error *err)
{
    bool durable = (flags & STORE_LOOSE) == 0;
    int errnum;
    int fd;
    sluice_status status;

    errnum = temp_create(folder, temp, &fd);
    /* Another process may remove the folder before the first file is in it. */
    for (int tries = 0; errnum == ENOENT && tries < FOLDER_TRIES; tries++) {
        TRY(disk_mkdirs_absent(folder, durable, err));
        free(*temp);
        errnum = temp_create(folder, temp, &fd);
    }
    if (*temp == NULL) {
        return error_nomem(err, "a path");
    }
    if (errnum != 0) {
        return error_errno(err, errnum, "can't create a file in %s", folder);
    }
    status = disk_write_all(fd, *temp, data, n, err);
    if (status == SLUICE_OK && durable) {
        errnum = disk_sync(fd, *temp);
        if (errnum != 0) {
            status = error_errno(err, errnum, "can't sync %s", *temp);
        }
    }
    /* Some network file systems send what was written only now. */
    if (close(fd) != 0 && errno != EINTR && status == SLUICE_OK) {
        status = error_errno(err, errno, "can't write %s", *temp);
    }
    if (status != SLUICE_OK) {
        (void)disk_unlink(*temp);
    }
    return status;
}

enum how { PUT, PUT_NEW };

static enum store_answer write_as(const char *name, const void *data, size_t n, unsigned flags,
                                  enum how how, struct sluice_error *err)
{
    char *folder = NULL;
    char *temp = NULL;
    bool moved = false;
    bool exists = false;
    sluice_status status = folder_of(name, &folder, err);

    if (status == SLUICE_OK) {
        status = write_temp(folder, data, n, flags, &temp, err);
    }
    if (status == SLUICE_OK) {
        int errnum = how == PUT_NEW ? temp_claim(temp, name, &moved) : disk_rename(temp, name);
        exists = how == PUT_NEW && errnum == EEXIST;
        moved = moved || (how == PUT && errnum == 0);
        if (errnum != 0 && !exists) {
            status = error_errno(err, errnum, "can't write %s", name);
        }
        if (!moved) {
            (void)disk_unlink(temp); /* what stays is swept later */
        }
    }
    if (status == SLUICE_OK && (flags & STORE_LOOSE) == 0) {
        status = disk_sync_dir(folder, err);
        if (status != SLUICE_OK && access(folder, F_OK) != 0 && errno == ENOENT) {
            status = SLUICE_OK; /* whoever removed the folder removed the file before */
        }
    }
    free(temp);
    free(folder);
    return status != SLUICE_OK ? store_failed(status) : exists ? ANSWER_EXISTS : ANSWER_DONE;
}

static enum store_answer disk_put_new(const char *name, const void *data, size_t n, unsigned flags,
                                      struct sluice_error *err)
{
    return write_as(name, data, n, flags, PUT_NEW, err);
}

static enum store_answer disk_put(const char *name, const void *data, size_t n, unsigned flags,
                                  struct sluice_error *err)
{
    return write_as(name, data, n, flags, PUT, err);
}

/* Those that replace by version pass one after the other; those that just write do not ask. */
static enum store_answer disk_put_if(const char *name, const struct store_version *expected,
                                     const void *data, size_t n, struct sluice_error *err)
{
    struct store_version now;
    enum store_answer answer;
    char *folder = NULL;
    sluice_status status = folder_of(name, &folder, err);
    int fd = -1;
    int rc = -1;

    if (status != SLUICE_OK) {
        return store_failed(status);
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && (rc = flock(fd, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (rc != 0) {
        answer = fd < 0 && is_absent(errno)
                     ? ANSWER_ABSENT
                     : store_failed(error_errno(err, errno, "can't lock folder %s", folder));
    } else {
        answer = disk_name_stat(name, &now, err);
        if (answer == ANSWER_DONE) {
            answer = store_version_equal(&now, expected) ? disk_put(name, data, n, 0, err)
                                                         : ANSWER_DIFFERS;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    free(folder);
    return answer;
}

static enum store_answer disk_remove(const char *name, struct sluice_error *err)
{
    int errnum = disk_unlink(name);

    return errnum == 0         ? ANSWER_DONE
           : is_absent(errnum) ? ANSWER_ABSENT
                               : store_failed(error_errno(err, errnum, "can't remove %s", name));
}

const struct store_ops store_disk = {
    .scheme = NULL,
    .caps = STORE_LINKS | STORE_PUT_NEW | STORE_REPLACE_IF | STORE_FOLDERS | STORE_MAP,
    .tries = 16,
    .open = disk_file_open,
    .close = disk_file_close,
    .read = disk_file_read,
    .look = file_look,
    .sequential = disk_file_sequential,
    .stat = disk_name_stat,
    .list = disk_folder_list,
    .put_new = disk_put_new,
    .put_if = disk_put_if,
    .put = disk_put,
    .remove = disk_remove,
    .settle = disk_sync_dir,
    .make_folder = disk_mkdirs_absent,
};
