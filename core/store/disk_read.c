/* Reading files and folders of the disk: see disk.h. No hook sees it: nothing changes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/order.h"
#include "store/disk.h"

#define READ_PIECE ((size_t)1 << 20)

/* Opens a regular file for reading. *fd = -1 when it is absent and `found` allows that. */
static sluice_status open_read(const char *path, int *fd, struct stat *st, bool *found,
                               struct sluice_error *err)
{
    int errnum;

    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    do {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0) {
        errnum = errno;
        if (found != NULL && (errnum == ENOENT || errnum == ENOTDIR)) {
            *found = false;
            return SLUICE_OK;
        }
        return error_errno(err, errnum, "can't read %s", path);
    }
    if (fstat(*fd, st) != 0) {
        errnum = errno;
        close(*fd);
        return error_errno(err, errnum, "can't read %s", path);
    }
    if (!S_ISREG(st->st_mode)) {
        close(*fd);
        return error_set(err, SLUICE_E_CONFIG, "can't read %s: it is a %s, expected a file", path,
                         file_kind(st->st_mode));
    }
    if (found != NULL) {
        *found = true;
    }
    return SLUICE_OK;
}

/* Reads up to n bytes; fewer only at the end of the file. */
static sluice_status read_full(int fd, const char *path, char *data, size_t n, size_t *done,
                               struct sluice_error *err)
{
    *done = 0;
    while (*done < n) {
        ssize_t got = read(fd, data + *done, n - *done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_errno(err, errno, "can't read %s", path);
        }
        if (got == 0) {
            break;
        }
        *done += (size_t)got;
    }
    return SLUICE_OK;
}

sluice_status disk_read_file(const char *path, uint64_t max, struct buf *out, bool *found,
                             struct sluice_error *err)
{
    struct stat st;
    int fd;
    size_t got = 0;
    size_t piece;
    sluice_status status;

    TRY(open_read(path, &fd, &st, found, err));
    if (fd < 0) {
        return SLUICE_OK;
    }
    /* The size is only a hint: the file may be growing. */
    piece = (uint64_t)st.st_size <= max ? (size_t)st.st_size + 1 : 1;
    for (uint64_t total = 0;;) {
        if (!buf_reserve(out, piece)) {
            status = error_nomem(err, path);
            break;
        }
        status = read_full(fd, path, out->data + out->size, piece, &got, err);
        if (status != SLUICE_OK) {
            break;
        }
        out->size += got;
        total += got;
        if (total > max || (uint64_t)st.st_size > max) {
            status =
                error_set(err, SLUICE_E_DATA,
                          "%s has more than %llu bytes, which no file of this kind should have",
                          path, (unsigned long long)max);
            break;
        }
        if (got < piece) {
            break;
        }
        piece = READ_PIECE;
    }
    close(fd);
    return status;
}

sluice_status disk_hash_file(const char *path, uint64_t *bytes, struct hash128 *hash, bool *found,
                             struct sluice_error *err)
{
    struct stat st;
    int fd;
    size_t got = 0;
    struct hasher *hasher;
    char *piece;
    sluice_status status = SLUICE_OK;

    *bytes = 0;
    memset(hash, 0, sizeof *hash);
    TRY(open_read(path, &fd, &st, found, err));
    if (fd < 0) {
        return SLUICE_OK;
    }
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    hasher = hasher_create();
    piece = malloc(READ_PIECE);
    if (hasher == NULL || piece == NULL) {
        status = error_nomem(err, "hashing a file");
    }
    while (status == SLUICE_OK) {
        status = read_full(fd, path, piece, READ_PIECE, &got, err);
        if (status == SLUICE_OK && got > 0) {
            hasher_add(hasher, piece, got);
            *bytes += got;
        }
        if (got < READ_PIECE) {
            break;
        }
    }
    if (status == SLUICE_OK) {
        *hash = hasher_digest(hasher);
    }
    free(piece);
    hasher_destroy(hasher);
    close(fd);
    return status;
}

sluice_status disk_list(const char *dir, struct disk_names *out, struct sluice_error *err)
{
    DIR *stream = dir == NULL ? NULL : opendir(dir);
    size_t capacity = 0;
    sluice_status status = SLUICE_OK;

    out->names = NULL;
    out->n = 0;
    if (dir == NULL) {
        return error_nomem(err, "a path");
    }
    if (stream == NULL) {
        /* Below a file nothing is there; a file in the folder's own place is an error. */
        int failure = errno;
        bool absent = failure == ENOENT || (failure == ENOTDIR && access(dir, F_OK) != 0);
        return absent ? SLUICE_OK : error_errno(err, failure, "can't list folder %s", dir);
    }
    for (;;) {
        struct dirent *entry;
        char *name;
        errno = 0;
        entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0) {
                status = error_errno(err, errno, "can't list folder %s", dir);
            }
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (out->n == capacity) {
            size_t larger = capacity == 0 ? 64 : capacity * 2;
            char **names = realloc(out->names, larger * sizeof *names);
            if (names == NULL) {
                status = error_nomem(err, "a list of files");
                break;
            }
            out->names = names;
            capacity = larger;
        }
        name = str_copy(entry->d_name, strlen(entry->d_name));
        if (name == NULL) {
            status = error_nomem(err, "a list of files");
            break;
        }
        out->names[out->n++] = name;
    }
    closedir(stream);
    if (status != SLUICE_OK) {
        disk_names_deinit(out);
        return status;
    }
    if (out->n > 1) {
        qsort(out->names, out->n, sizeof *out->names, order_texts);
    }
    return SLUICE_OK;
}

void disk_names_deinit(struct disk_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        free(names->names[i]);
    }
    free(names->names);
    names->names = NULL;
    names->n = 0;
}
