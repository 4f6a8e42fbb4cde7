/* Locks between processes: see lock.h. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct lock {
    int fd;
};

struct turn {
    int fd;
    char *path;
};

struct claim {
    int fd;
    char *path;
};

/* 0, EWOULDBLOCK (somebody has it) or another errno. */
static int try_flock(int fd, int how)
{
    int rc;

    do {
        rc = flock(fd, how | LOCK_NB);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* What the holder wrote about itself: one line of printable text, "" when there is none. */
static void read_holder(int fd, char holder[256])
{
    ssize_t n = pread(fd, holder, 255, 0);

    holder[n > 0 ? n : 0] = '\0';
    for (char *p = holder; *p != '\0'; p++) {
        if (*p == '\n') {
            *p = '\0';
            break;
        }
        if ((unsigned char)*p < 0x20 || (unsigned char)*p == 0x7f) {
            *p = '?';
        }
    }
}

/* "process 12 on host, since 2024-05-01T10:00:00Z\n"; for people only, so that failures to write it
 * don't matter. */
static void write_holder(int fd)
{
    char host[128];
    char text[256];
    struct tm tm;
    time_t now = time(NULL);
    int n;

    memset(host, 0, sizeof host);
    (void)gethostname(host, sizeof host - 1);
    memset(&tm, 0, sizeof tm);
    (void)gmtime_r(&now, &tm);
    n = snprintf(text, sizeof text, "process %d on %s, since %04d-%02d-%02dT%02d:%02d:%02dZ\n",
                 (int)getpid(), host, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                 tm.tm_min, tm.tm_sec);
    /* An incomplete line is cut off where possible and does no harm where not. */
    if (ftruncate(fd, 0) == 0 && n > 0 && pwrite(fd, text, (size_t)n, 0) != n &&
        ftruncate(fd, 0) != 0) {
        return;
    }
}

sluice_status lock_open(const char *run_dir, struct lock **out, struct sluice_error *err)
{
    char *path = disk_join(run_dir, "lock");
    struct lock *lock = calloc(1, sizeof *lock);
    char holder[256] = "";
    int fd = -1;
    int errnum;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (path == NULL || lock == NULL) {
        free(path);
        free(lock);
        return error_nomem(err, "a lock");
    }
    errnum = disk_open(path, O_RDWR | O_CREAT, &fd);
    if (errnum == 0) {
        /* The file is never removed, unlike a claim's: its name always means one file, so no
         * check is needed that it is still there. */
        errnum = try_flock(fd, LOCK_EX);
    }
    if (errnum == EWOULDBLOCK) {
        read_holder(fd, holder);
        status = error_field(
            err, SLUICE_E_IO, "lock",
            "%s is in use by %s; wait until that ends or stop it, `sluice work` helps it "
            "without a lock, or give another --run-dir",
            run_dir, holder[0] != '\0' ? holder : "another process");
    } else if (errnum != 0) {
        status = error_errno(err, errnum, "can't lock %s", path);
    }
    free(path);
    if (status != SLUICE_OK) {
        if (fd >= 0) {
            close(fd);
        }
        free(lock);
        return status;
    }
    write_holder(fd);
    lock->fd = fd;
    *out = lock;
    return SLUICE_OK;
}

void lock_close(struct lock *lock)
{
    if (lock != NULL) {
        /* The file stays: removing it would let two others lock two files of that name. */
        if (ftruncate(lock->fd, 0) != 0) {
            /* Then the next holder overwrites what stands there. */
        }
        close(lock->fd);
        free(lock);
    }
}

sluice_status lock_held(const char *run_dir, bool *held, char holder[256], struct sluice_error *err)
{
    char *path = disk_join(run_dir, "lock");
    int fd;
    int errnum;

    *held = false;
    if (holder != NULL) {
        holder[0] = '\0';
    }
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    errnum = fd < 0 ? errno : try_flock(fd, LOCK_SH);
    if (errnum == EWOULDBLOCK) {
        *held = true;
        errnum = 0;
        if (holder != NULL) {
            read_holder(fd, holder);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    if (errnum != 0 && errnum != ENOENT) {
        sluice_status status = error_errno(err, errnum, "can't look at the lock %s", path);
        free(path);
        return status;
    }
    free(path);
    return SLUICE_OK;
}

/* ---- turns ---- */

#define TURN_MIN_NS 1000000L
#define TURN_MAX_NS 64000000L

sluice_status turn_take(const char *path, const _Atomic int *stop, struct turn **out,
                        struct sluice_error *err)
{
    struct turn *turn = calloc(1, sizeof *turn);
    struct timespec pause = { 0, TURN_MIN_NS };
    int errnum;

    *out = NULL;
    if (turn == NULL || (turn->path = str_copy(path, strlen(path))) == NULL) {
        free(turn);
        return error_nomem(err, "a lock");
    }
    errnum = disk_open(path, O_RDWR | O_CREAT, &turn->fd);
    if (errnum != 0) {
        turn->fd = -1;
    }
    while (errnum == 0 && (errnum = try_flock(turn->fd, LOCK_EX)) == EWOULDBLOCK) {
        if (stop != NULL && atomic_load(stop) != 0) {
            turn_leave(turn);
            return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < TURN_MAX_NS ? 2 * pause.tv_nsec : TURN_MAX_NS;
        errnum = 0;
    }
    if (errnum != 0) {
        turn_leave(turn);
        return error_errno(err, errnum, "can't lock %s", path);
    }
    *out = turn;
    return SLUICE_OK;
}

void turn_read(struct turn *turn, char line[256])
{
    read_holder(turn->fd, line);
}

sluice_status turn_write(struct turn *turn, const char *line, struct sluice_error *err)
{
    size_t n = strlen(line);

    errno = 0;
    if (ftruncate(turn->fd, 0) != 0 || pwrite(turn->fd, line, n, 0) != (ssize_t)n) {
        return error_errno(err, errno != 0 ? errno : EIO, "can't write %s", turn->path);
    }
    return SLUICE_OK;
}

void turn_leave(struct turn *turn)
{
    if (turn != NULL) {
        if (turn->fd >= 0) {
            close(turn->fd);
        }
        free(turn->path);
        free(turn);
    }
}

/* ---- claims ---- */

/* Whether path still names the file behind fd: its holder may have removed it between our open and
 * our flock. */
static bool still_there(int fd, const char *path)
{
    struct stat a;
    struct stat b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

sluice_status claim_try(const char *dir, struct hash128 key, struct claim **out,
                        struct sluice_error *err)
{
    struct claim *claim = calloc(1, sizeof *claim);
    char name[33];
    int errnum = 0;
    sluice_status status;

    *out = NULL;
    hash_hex(key, name);
    if (claim == NULL || (claim->path = disk_join(dir, name)) == NULL) {
        free(claim);
        return error_nomem(err, "a claim");
    }
    /* Whoever lets go of a claim removes its file. A lock on a removed file keeps nobody out,
     * since the next one makes another: then try again. */
    for (;;) {
        errnum = disk_open(claim->path, O_RDWR | O_CREAT, &claim->fd);
        if (errnum != 0) {
            break;
        }
        errnum = try_flock(claim->fd, LOCK_EX);
        if (errnum == 0 && still_there(claim->fd, claim->path)) {
            *out = claim;
            return SLUICE_OK;
        }
        close(claim->fd);
        if (errnum != 0) {
            break;
        }
    }
    status =
        errnum == EWOULDBLOCK ? SLUICE_OK : error_errno(err, errnum, "can't claim %s", claim->path);
    free(claim->path);
    free(claim);
    return status;
}

void claim_close(struct claim *claim)
{
    if (claim != NULL) {
        (void)disk_unlink(claim->path);
        close(claim->fd);
        free(claim->path);
        free(claim);
    }
}

sluice_status claims_sweep(const char *dir, bool *held, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    bool others = false;
    sluice_status status = disk_list(dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        struct hash128 key;
        struct claim *claim = NULL;
        if (hash_parse(names.names[i], &key)) {
            status = claim_try(dir, key, &claim, err);
            others = others || claim == NULL;
            claim_close(claim);
        }
    }
    disk_names_deinit(&names);
    if (held != NULL) {
        *held = others;
    }
    return status;
}
