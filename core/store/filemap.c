/* Mapped files: see filemap.h. */
#include "store/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk.h"
#include "store/store.h"
#include "store/temp.h"

struct mapped {
    struct mapped *next;
    dev_t dev;
    ino_t inode;
    struct timespec mtime;
    const void *data;
    uint64_t size;
    uint32_t refs;
};

struct filemaps {
    pthread_mutex_t mutex;
    struct mapped *all;
};

struct filemaps *filemaps_create(void)
{
    struct filemaps *maps = calloc(1, sizeof *maps);

    if (maps != NULL && pthread_mutex_init(&maps->mutex, NULL) != 0) {
        free(maps);
        maps = NULL;
    }
    return maps;
}

void filemaps_destroy(struct filemaps *maps)
{
    if (maps != NULL) {
        pthread_mutex_destroy(&maps->mutex);
        free(maps);
    }
}

/* ---- copies ---- */

struct copying {
    int fd;
    const char *path;
    uint64_t bytes;
};

static sluice_status copy_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct copying *copying = ctx;

    copying->bytes += n;
    return disk_write_all(copying->fd, copying->path, data, n, err);
}

static sluice_status copy_bytes(struct store_file *from, int fd, const char *path,
                                struct sluice_error *err)
{
    struct copying copying = { .fd = fd, .path = path };

    TRY(store_pieces(from, copy_piece, &copying, err));
    return copying.bytes >= store_version(from)->size
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA, "%s was cut while it was read; run again",
                           store_name(from));
}

/* Makes the copy under its name, whole: its size is believed later. */
static sluice_status fetch(struct store_file *from, const char *folder, const char *path,
                           struct sluice_error *err)
{
    char *temp;
    int fd;
    int errnum = temp_create(folder, &temp, &fd);
    sluice_status status;

    if (errnum != 0) {
        free(temp);
        return error_errno(err, errnum, "no copy of %s can be made in %s", store_name(from),
                           folder);
    }
    status = copy_bytes(from, fd, temp, err);
    errnum = status == SLUICE_OK ? disk_sync(fd, temp) : 0;
    close(fd);
    if (status == SLUICE_OK && errnum == 0) {
        errnum = disk_rename(temp, path);
    }
    if (status == SLUICE_OK && errnum != 0) {
        status =
            error_errno(err, errnum, "no copy of %s can be made in %s", store_name(from), folder);
    }
    if (status != SLUICE_OK) {
        (void)disk_unlink(temp);
    }
    free(temp);
    return status;
}

/* Removes the copies of other versions. */
static void forget_others(const char *folder, const char *begin, const char *kept)
{
    struct disk_names names;

    if (disk_list(folder, &names, NULL) != SLUICE_OK) {
        return; /* they take room, and nothing else */
    }
    for (size_t i = 0; i < names.n; i++) {
        if (strncmp(names.names[i], begin, strlen(begin)) == 0 &&
            strcmp(names.names[i], kept) != 0) {
            char *path = disk_join(folder, names.names[i]);
            (void)(path == NULL ? 0 : disk_unlink(path));
            free(path);
        }
    }
    disk_names_deinit(&names);
}

/* The copy of a file that is in no folder of this machine; made if it is not there. */
static sluice_status copy_of(struct store_file *from, const char *folder, char **out,
                             struct sluice_error *err)
{
    char version[STORE_VERSION_TEXT];
    char begin[40];
    char name[80];
    char hex[33];
    struct stat st;
    sluice_status status = SLUICE_OK;

    hash_hex(hash_bytes(store_name(from), strlen(store_name(from))), hex);
    snprintf(begin, sizeof begin, "map-%s-", hex);
    store_version_print(store_version(from), version);
    hash_hex(hash_bytes(version, strlen(version)), hex);
    snprintf(name, sizeof name, "%s%s", begin, hex);
    *out = disk_join(folder, name);
    if (*out == NULL) {
        return error_nomem(err, "a path");
    }
    if (stat(*out, &st) != 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size != store_version(from)->size) {
        status = disk_mkdirs_absent(folder, false, err);
        if (status == SLUICE_OK) {
            status = fetch(from, folder, *out, err);
        }
        if (status == SLUICE_OK) {
            forget_others(folder, begin, name);
        }
    }
    return status;
}

static sluice_status open_copy(const char *name, const char *copies, int *fd, uint64_t *size,
                               struct sluice_error *err)
{
    struct store_file *from;
    char *path = NULL;
    sluice_status status;

    if (copies == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is no file of this machine, and there is no folder for a copy of it",
                         name);
    }
    TRY(store_open(name, &from, NULL, err));
    status = copy_of(from, copies, &path, err);
    store_close(from);
    if (status == SLUICE_OK) {
        status = filemap_open(path, NULL, fd, size, err);
    }
    free(path);
    return status;
}

/* ---- mappings ---- */

sluice_status filemap_open(const char *path, const char *copies, int *fd, uint64_t *size,
                           struct sluice_error *err)
{
    struct stat st;

    *fd = -1;
    *size = 0;
    TRY(store_check(path, err));
    if ((store_caps(path) & STORE_MAP) == 0) {
        return open_copy(path, copies, fd, size, err);
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) {
        int errnum = errno;
        (void)error_errno(err, errnum, "%s can't be opened", path);
        if (errnum == ENOENT && err != NULL) {
            err->code = SLUICE_E_CONFIG;
        }
        return errnum == ENOENT ? SLUICE_E_CONFIG : SLUICE_E_IO;
    }
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(*fd);
        *fd = -1;
        return error_set(err, SLUICE_E_CONFIG, "%s is no file, and only files can be mapped", path);
    }
    *size = (uint64_t)st.st_size;
    return SLUICE_OK;
}

static struct mapped *find(const struct filemaps *maps, const struct stat *st)
{
    for (struct mapped *mapped = maps->all; mapped != NULL; mapped = mapped->next) {
        if (mapped->dev == st->st_dev && mapped->inode == st->st_ino &&
            mapped->size == (uint64_t)st->st_size && mapped->mtime.tv_sec == st->st_mtim.tv_sec &&
            mapped->mtime.tv_nsec == st->st_mtim.tv_nsec) {
            return mapped;
        }
    }
    return NULL;
}

/* Under the lock. */
static sluice_status map_new(struct filemaps *maps, const char *path, int fd, const struct stat *st,
                             struct mapped **out, struct sluice_error *err)
{
    struct mapped *mapped = calloc(1, sizeof *mapped);
    size_t size = (size_t)st->st_size;
    void *data =
        size == 0 ? (void *)(uintptr_t) "" : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

    if (mapped == NULL || data == MAP_FAILED) {
        if (data != MAP_FAILED && size > 0) {
            munmap(data, size);
        }
        free(mapped);
        return error_set(err, SLUICE_E_NOMEM, "there is no room to map %s, which has %zu bytes",
                         path, size);
    }
    *mapped = (struct mapped){ .next = maps->all,
                               .dev = st->st_dev,
                               .inode = st->st_ino,
                               .mtime = st->st_mtim,
                               .data = data,
                               .size = size };
    maps->all = mapped;
    *out = mapped;
    return SLUICE_OK;
}

sluice_status filemaps_take(struct filemaps *maps, const char *path, const char *copies,
                            const void **data, uint64_t *size, struct sluice_error *err)
{
    struct mapped *mapped;
    struct stat st;
    int fd;
    sluice_status status;

    *data = NULL;
    TRY(filemap_open(path, copies, &fd, size, err));
    if (fstat(fd, &st) != 0) {
        status = error_errno(err, errno, "%s can't be examined", path);
        close(fd);
        return status;
    }
    pthread_mutex_lock(&maps->mutex);
    mapped = find(maps, &st);
    status = mapped != NULL ? SLUICE_OK : map_new(maps, path, fd, &st, &mapped, err);
    if (status == SLUICE_OK) {
        mapped->refs++;
        *data = mapped->data;
        *size = mapped->size;
    }
    pthread_mutex_unlock(&maps->mutex);
    close(fd);
    return status;
}

void filemaps_release(struct filemaps *maps, const void *data, uint64_t size)
{
    pthread_mutex_lock(&maps->mutex);
    for (struct mapped **at = &maps->all; *at != NULL; at = &(*at)->next) {
        struct mapped *mapped = *at;
        if (mapped->data == data && mapped->size == size) {
            if (--mapped->refs == 0) {
                *at = mapped->next;
                if (size > 0) {
                    munmap((void *)(uintptr_t)data, (size_t)size);
                }
                free(mapped);
            }
            break;
        }
    }
    pthread_mutex_unlock(&maps->mutex);
}
