/* Locks between processes: the coordinator's lock of a run directory, and claims on tasks for
 * `work` processes. Both are flock()s, which the kernel releases when the holder dies (children
 * forked without exec hold them too: they must die with their parent). They only save work: commits
 * stay right without them. Depends on disk. */
#ifndef SLUICE_STORE_LOCK_H
#define SLUICE_STORE_LOCK_H

#include "store/disk.h"

struct lock;

/* Takes `run_dir/lock`. Held by another: SLUICE_E_IO with field "lock", the message names pid, host
 * and start time. Gives. */
sluice_status lock_open(const char *run_dir, struct lock **out, struct sluice_error *) MUST_USE;
void lock_close(struct lock *); /* NULL is fine */

/* Whether somebody holds it now; holder (may be NULL) gets "process 12 on host, since
 * 2024-05-01T10:00:00Z" or "". */
sluice_status lock_held(const char *run_dir, bool *held, char holder[256],
                        struct sluice_error *) MUST_USE;

/* A turn: processes pass one after the other, and the file at path keeps a line for the next
 * one. */
struct turn;
/* Waits until nobody else is there. SLUICE_E_CANCELLED once *stop (may be NULL) is not 0. Gives. */
sluice_status turn_take(const char *path, const _Atomic int *stop, struct turn **out,
                        struct sluice_error *) MUST_USE;
/* The line, "" when there is none; not synced, so that it may be lost with the power. */
void turn_read(struct turn *, char line[256]);
sluice_status turn_write(struct turn *, const char *line, struct sluice_error *) MUST_USE;
void turn_leave(struct turn *); /* NULL is fine */

struct claim;

/* Claims a task in dir (existing). *out = NULL: another process or thread has it now. Never blocks.
 * Gives. */
sluice_status claim_try(const char *dir, struct hash128 key, struct claim **out,
                        struct sluice_error *) MUST_USE;
void claim_close(struct claim *); /* releases and removes the claim's file; NULL is fine */
/* Removes the files of claims whose holders died; *held (may be NULL): there are claims of
 * others. */
sluice_status claims_sweep(const char *dir, bool *held, struct sluice_error *) MUST_USE;

#endif
