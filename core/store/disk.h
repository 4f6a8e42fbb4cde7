/* The only place that changes the file system on behalf of the store: every create, write, sync,
 * link, unlink, mkdir, rename and symlink goes through here, so that tests can log, fail or kill at
 * each of them.
 *
 * A path may be NULL: memory ran out where it was made, and the operation fails with that. So
 * whoever makes a path for one operation need not look at it.
 *
 * Depends on base. Thread-safe: no state but the test hooks. Crash model: data is safe after
 * disk_sync(fd), a name is safe after disk_sync_dir() of its folder; nothing else is.
 *
 * Test hooks, in the test program alone (base/hooks.h), read from the environment once:
 *   SLUICE_TEST_OPLOG=FILE
 *     appends every operation that succeeded, with its data, to FILE; tests/crash/replay.py turns
 *     each prefix into the tree that a power cut could leave
 *   SLUICE_TEST_KILL=N[:WHEN]
 *     SIGKILL of this process at its N-th operation (from 1); WHEN = before (default), half (of a
 *     write), after
 *   SLUICE_TEST_KILL_SEED=S[:M]
 *     the same at an operation in 1..M (default 200) and a WHEN, both chosen by the number S
 *   SLUICE_TEST_FAIL=N:ERRNO
 *     the N-th operation fails (ENOSPC, EIO, EPERM … or a number); N+ = all from the N-th on; an
 *     operation's name (link:EPERM) = all of that kind. A failing write stores half of its
 * bytes. */
#ifndef SLUICE_STORE_DISK_H
#define SLUICE_STORE_DISK_H

#include "base/buf.h"
#include "base/hash.h"

/* ---- single operations: 0 or an errno value, never EINTR; for callers that decide by it ---- */

/* O_CLOEXEC is added; mode 0666 less the umask. */
int disk_open(const char *path, int flags, int *fd);
int disk_sync(int fd, const char *path); /* fdatasync of a file; path for logs only */
int disk_link(const char *from, const char *to);
int disk_unlink(const char *path);
int disk_mkdir(const char *path); /* 0777 less the umask */
int disk_rmdir(const char *path);
int disk_rename(const char *from, const char *to); /* replaces */
int disk_rename_new(const char *from,
                    const char *to); /* EEXIST when `to` exists; EINVAL where unsupported */
int disk_symlink(const char *target, const char *path);

/* ---- helpers: a status and a message with path and remedy ---- */

/* Writes all n bytes at the file's position (short writes and EINTR are continued). */
sluice_status disk_write_all(int fd, const char *path, const void *data, size_t n,
                             struct sluice_error *) MUST_USE;

/* A hint that these bytes should go to the device soon, so that the sync at the end is short. Never
 * fails, promises nothing. */
void disk_write_behind(int fd, uint64_t offset, uint64_t n);

/* Makes the names in a folder durable. */
sluice_status disk_sync_dir(const char *dir, struct sluice_error *) MUST_USE;

/* Makes a folder and its parents, each durable before the next one is made. An existing one is made
 * durable too. */
sluice_status disk_mkdirs(const char *dir, struct sluice_error *) MUST_USE;

/* The same, but what is there stays as durable as it is, and what is made is only if wanted. */
sluice_status disk_mkdirs_absent(const char *dir, bool durable, struct sluice_error *) MUST_USE;

/* Appends a whole file of at most max bytes to out. found NULL: an absent file is an error; else
 * *found says whether it is there. */
sluice_status disk_read_file(const char *path, uint64_t max, struct buf *out, bool *found,
                             struct sluice_error *) MUST_USE;

/* XXH3-128 and size of a file's bytes. An absent file is an error unless found is given. */
sluice_status disk_hash_file(const char *path, uint64_t *bytes, struct hash128 *hash, bool *found,
                             struct sluice_error *) MUST_USE;

/* Names in a folder (without . and ..) in byte order. An absent folder has none. */
struct disk_names {
    char **names; /* owned */
    size_t n;
};
sluice_status disk_list(const char *dir, struct disk_names *out, struct sluice_error *) MUST_USE;
void disk_names_deinit(struct disk_names *);

/* Whether a failed disk_link() says that this file system (or this file) refuses hard links, so
 * that another way must be taken. */
bool disk_link_refused(int errnum);

/* "dir/name"; NULL = out of memory, or one of them is NULL. Gives. */
char *disk_join(const char *dir, const char *name);

/* Whether text may be a file's name in a flat folder of ours: 1 to 200 bytes, no slash, no control
 * bytes, no leading dot. */
bool disk_name_valid(const char *name);

/* The same of a file in folders of ours: such names with single slashes between, 1,000 bytes at
 * most. */
bool disk_path_valid(const char *path);

/* Reads the environment again and counts from 1 again: for tests, in a forked child. Not in the
 * program that people run. */
void disk_hooks_reload(void);

#endif
