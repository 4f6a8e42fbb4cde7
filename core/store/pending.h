/* A pending file: append-only output in the making. It lives under a temporary name in the folder
 * of its final one, is published complete or not at all, and knows the size and hash of what it
 * stores. It is synced before it gets its name, unless it is loose: what can be made again, and is
 * believed by its hash alone, need not wait for the disk. After a power cut a loose file may be
 * gone, empty or cut; a process that dies leaves it as it was.
 *
 * Where files can't be written in place (no path of this machine), they wait in a spool and go to
 * the place whole; a process that dies leaves nothing.
 *
 * Depends on disk, temp, store. One thread a pending file; different ones may be used at once, in
 * one folder too. A process that dies leaves `.tmp-…` files only, which temp_sweep() removes. */
#ifndef SLUICE_STORE_PENDING_H
#define SLUICE_STORE_PENDING_H

#include "store/disk.h"

struct pending;

struct published {
    uint64_t bytes;      /* as stored, after compression */
    struct hash128 hash; /* XXH3-128 of them */
    bool existed;        /* an equal file stood there already */
    bool replaced;       /* a different, not vouched file stood there and was replaced */
};

enum pending_flags {
    PENDING_VOUCHED = 1, /* a commit record or manifest refers to the file of this name */
    PENDING_LOOSE = 2,   /* not synced */
};

/* The folder in which files wait whose place takes them only whole: before there are threads, and
 * borrowed for ever. Without one it is TMPDIR, or /tmp. */
void pending_spool(const char *folder);

/* Begins a file in dir, which must exist where folders are things. Elsewhere it is spooled, without
 * a name, and uploaded when it is published. Gives. */
sluice_status pending_open(const char *dir, struct pending **out, struct sluice_error *) MUST_USE;
/* The same for who has about n of them, so that a free temporary name is found at once. */
sluice_status pending_open_beside(const char *dir, uint32_t n, struct pending **out,
                                  struct sluice_error *) MUST_USE;

/* Appends. After an error (disk full) only pending_abort() is allowed. */
sluice_status pending_write(struct pending *, const void *data, size_t n,
                            struct sluice_error *) MUST_USE;

/* The same for who takes bytes some at a time (store_pieces); ctx is the pending file. */
sluice_status pending_piece(void *ctx, const void *data, size_t n, struct sluice_error *) MUST_USE;

/* Bytes written so far. */
uint64_t pending_bytes(const struct pending *);

/* Gives the bytes written so far to take, from the first, some at a time: for who saves what is not
 * finished. Writing goes on behind it. */
typedef sluice_status pending_fn(void *ctx, const void *data, size_t n, struct sluice_error *);
sluice_status pending_pieces(struct pending *, pending_fn *take, void *ctx,
                             struct sluice_error *) MUST_USE;
/* The hash of the bytes written so far. */
sluice_status pending_so_far(struct pending *, struct hash128 *, struct sluice_error *) MUST_USE;

/* The end: nothing may be written any more. The hash of all bytes, for who puts it into the name: a
 * file of other bytes is then another file. */
sluice_status pending_seal(struct pending *, struct hash128 *, struct sluice_error *) MUST_USE;

/* Flushes, syncs (but for loose ones) and gives the file its final name in dir if that is free.
 * Takes the pending file, also on errors (the temporary file is removed then). The name is durable
 * only after disk_sync_dir(dir), which several files may share. Where the name is taken, bytes are
 * compared: equal is fine (existed). Different: with PENDING_VOUCHED SLUICE_E_INTERNAL, not
 * deterministic; else the file there is a leftover or damaged, and is replaced atomically. flags:
 * enum pending_flags. */
sluice_status pending_publish(struct pending *, const char *name, unsigned flags,
                              struct published *, struct sluice_error *) MUST_USE;

/* Closes and removes. NULL is fine. */
void pending_abort(struct pending *);

/* All at once: a small file with these bytes under this name, durable on return (the folder is
 * synced), unless it is loose. */
sluice_status pending_put(const char *dir, const char *name, const void *data, size_t n,
                          unsigned flags, struct published *, struct sluice_error *) MUST_USE;

#endif
