/* Private to disk.c and disk_hooks.c: one file-system operation as a value, so that the test hooks
 * see all of them at one place. */
#ifndef SLUICE_STORE_DISKINT_H
#define SLUICE_STORE_DISKINT_H

#include <stdatomic.h>

#include "store/disk.h"

/* The numbers are those of the operation log (tests/crash/replay reads them). */
enum disk_op {
    DISK_OPEN = 1,
    DISK_WRITE = 2,
    DISK_SYNC = 3,
    DISK_SYNC_DIR = 4,
    DISK_LINK = 5,
    DISK_UNLINK = 6,
    DISK_MKDIR = 7,
    DISK_RMDIR = 8,
    DISK_RENAME = 9,
    DISK_RENAME_NEW = 10,
    DISK_SYMLINK = 11
};

struct disk_call {
    enum disk_op op;
    int fd;    /* open: the result; write, sync: given */
    int flags; /* open */
    const char *path;
    const char *path2; /* link, rename: the new name; symlink: path is the target, path2 the name */
    const void *data;  /* write */
    size_t n;          /* write */
    size_t done;       /* write: bytes stored, at least 1 on success */
};

/* Performs the call: 0 or errno. */
int disk_perform(struct disk_call *);

/* The same through the hooks, which are on. */
int disk_perform_hooked(struct disk_call *);

/* 0 = the environment was not read yet, 1 = no hooks, 2 = hooks. Relaxed loads do: the value only
 * ever changes from 0, or in a test's single-threaded child. */
extern atomic_int disk_hooks_mode;

/* Reads the environment if nobody did; whether hooks are on. */
bool disk_hooks_start(void);

#endif
