/* Mapped files: see filemap.h. */
#include "store/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

sluice_status filemap_open(const char *path, int *fd, uint64_t *size, struct sluice_error *err)
{
    struct stat st;

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

sluice_status filemaps_take(struct filemaps *maps, const char *path, const void **data,
                            uint64_t *size, struct sluice_error *err)
{
    struct mapped *mapped;
    struct stat st;
    int fd;
    sluice_status status;

    *data = NULL;
    TRY(filemap_open(path, &fd, size, err));
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
