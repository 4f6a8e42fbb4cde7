/* Remembers what probing found for files that did not change: one append-only text file of
 * checksummed lines. Depends on base/ and the text form of struct input_info. Losing it costs
 * time only: lines that are damaged, or that belong to files that changed, are ignored.
 * Thread-safe; several processes may append at once. */
#ifndef SLUICE_STORE_STATCACHE_H
#define SLUICE_STORE_STATCACHE_H

#include "store/probe.h"

struct statcache;

/* Opens or creates the file at path. */
sluice_status statcache_open(const char *path, struct statcache **out,
                             struct sluice_error *err) MUST_USE;
void statcache_close(struct statcache *);

/* True if path, size, mtime, ctime, inode and device are as remembered; fills *out (release with
 * input_info_deinit). decoded: wants the decoded size even where no header states it. */
bool statcache_get(struct statcache *, const struct listing_file *, bool decoded,
                   struct input_info *out);

/* Remembers, unless the file was modified less than 2 s ago (a later change might not show in
 * its times). */
sluice_status statcache_put(struct statcache *, const struct listing_file *, bool decoded,
                            const struct input_info *, struct sluice_error *err) MUST_USE;

#endif
