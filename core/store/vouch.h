/* Vouching for what was made before: whether a file still holds the bytes whose hash a record or a
 * manifest tells. Size and hash decide. What was hashed once, or made by a process of ours, is
 * remembered with the file's version in a stat cache, so that a
 * run that changes nothing reads no file again; a file that was touched since is read.
 *
 * What was written without a sync (see pending.h) is believed by its version only until the machine
 * starts anew: a power cut may have kept the version and lost the bytes.
 *
 * Depends on disk, statcache. Thread-safe. */
#ifndef SLUICE_STORE_VOUCH_H
#define SLUICE_STORE_VOUCH_H

#include "store/disk.h"

struct vouch;

/* What is remembered stands in the file at path, which is made if need be. */
sluice_status vouch_open(const char *path, struct vouch **out, struct sluice_error *) MUST_USE;
/* Remembers what it was told and could not yet. NULL is fine. */
void vouch_close(struct vouch *);

/* Whether there is a file at path with this size and hash. *good = false comes with OK, and the
 * error struct says what was found and what `said` so ("the manifest") expected. NULL in place of a
 * vouch: only sizes are compared. */
sluice_status vouch_check(struct vouch *, const char *path, uint64_t bytes, struct hash128 hash,
                          const char *said, bool *good, struct sluice_error *) MUST_USE;

/* As above, but a file of this size that was not changed in any way since a time (ns since the
 * epoch) is believed unread. */
sluice_status vouch_check_since(struct vouch *, const char *path, uint64_t bytes,
                                struct hash128 hash, const char *said, int64_t since_ns, bool *good,
                                struct sluice_error *) MUST_USE;

/* The caller knows that the file has this hash: it made it, or linked one that it made. durable: it
 * was synced. NULL is fine. What can't be remembered is hashed another time. */
void vouch_note(struct vouch *, const char *path, struct hash128 hash, bool durable);

#endif
