/* Temporary names: see temp.h. */
#include "store/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/owner.h"

#define FOREIGN_SECONDS (7 * 86400) /* leftovers of processes that we can't look at */
#define NAME_TRIES 10000u

static bool temp_parse(const char *name, struct owner *owner)
{
    const char *rest;
    int end = -1;
    int thread;
    unsigned n;

    return strncmp(name, ".tmp-", 5) == 0 && owner_parse(name + 5, owner, &rest) &&
           sscanf(rest, "-%d-%u%n", &thread, &n, &end) == 2 && end > 0 && rest[end] == '\0';
}

bool temp_named(const char *name)
{
    struct owner owner;

    return temp_parse(name, &owner);
}

static char *path_of(const char *dir, const struct owner *self, uint32_t n)
{
    char owner[OWNER_TEXT];
    char name[OWNER_TEXT + 64];

    snprintf(name, sizeof name, ".tmp-%s-%d-%u", owner_print(self, owner), (int)gettid(), n);
    return disk_join(dir, name);
}

char *temp_path(const char *dir, uint32_t n)
{
    struct owner self;

    owner_self(&self);
    return path_of(dir, &self, n);
}

int temp_create(const char *dir, char **path, int *fd)
{
    return temp_create_beside(dir, 0, path, fd);
}

int temp_create_beside(const char *dir, uint32_t first, char **path, int *fd)
{
    struct owner self;
    int errnum = EEXIST;

    *path = NULL;
    *fd = -1;
    owner_self(&self);
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(*path);
        *path = path_of(dir, &self, first + n);
        /* O_EXCL: the name says who makes it, and a process may make several. */
        errnum = disk_open(*path, O_RDWR | O_CREAT | O_EXCL, fd);
    }
    return errnum;
}

/* ---- the final name ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int temp_claim(const char *temp, const char *final, bool *moved)
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

/* ---- sweeping ---- */

static bool owner_dead(const struct owner *owner, const struct owner *self, const char *path)
{
    enum owner_sight sight = owner_look(owner, self);
    struct stat st;

    if (sight == OWNER_ELSEWHERE && owner->host == self->host && owner->boot != self->boot) {
        return true; /* this host was started again since */
    }
    return sight == OWNER_DIED || (sight == OWNER_ELSEWHERE && lstat(path, &st) == 0 &&
                                   time(NULL) - st.st_mtime > FOREIGN_SECONDS);
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

sluice_status temp_remove(const char *path, struct sluice_error *err)
{
    return remove_tree(path, 0, err);
}

sluice_status temp_sweep(const char *dir, uint32_t *removed, struct sluice_error *err)
{
    struct disk_names names;
    struct owner self;
    struct owner owner;
    sluice_status status = SLUICE_OK;

    if (removed != NULL) {
        *removed = 0;
    }
    if (strstr(dir, "://") != NULL) {
        return SLUICE_OK;
    }
    TRY(disk_list(dir, &names, err));
    owner_self(&self);
    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        char *path;
        if (!temp_parse(names.names[i], &owner)) {
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

sluice_status temp_drop(const char *dir, struct sluice_error *err)
{
    int errnum;

    TRY(temp_sweep(dir, NULL, err));
    errnum = disk_rmdir(dir);
    return errnum == 0 || errnum == ENOENT || errnum == ENOTEMPTY || errnum == EEXIST
               ? SLUICE_OK
               : error_errno(err, errnum, "can't remove folder %s", dir);
}

sluice_status temp_folder(const char *dir, char **path, struct sluice_error *err)
{
    int failure = EEXIST;

    *path = NULL;
    TRY(disk_mkdirs(dir, err));
    TRY(temp_sweep(dir, NULL, err)); /* of those that were killed */
    for (uint32_t n = 0; failure == EEXIST; n++) {
        free(*path);
        *path = temp_path(dir, n);
        if (*path == NULL) {
            return error_nomem(err, "a path");
        }
        failure = disk_mkdir(*path);
    }
    if (failure != 0) {
        free(*path);
        *path = NULL;
        return error_errno(err, failure, "can't make a folder in %s", dir);
    }
    return SLUICE_OK;
}
