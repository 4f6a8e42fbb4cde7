/* Remembers what was found out about files that did not change since: one append-only text file of
 * checksummed lines. Depends on base/ and the text form of struct input_info. Losing it costs
 * time only: lines that are damaged, or that belong to files that changed, are ignored; the last
 * ones are written when it is closed. Thread-safe; several processes may append at once. */
#ifndef SLUICE_STORE_STATCACHE_H
#define SLUICE_STORE_STATCACHE_H

#include "base/sha256.h"
#include "store/probe.h"

struct statcache;

/* Opens or creates the file at path. */
sluice_status statcache_open(const char *path, struct statcache **out,
                             struct sluice_error *err) MUST_USE;
void statcache_close(struct statcache *);

/* True if path and version are as remembered; appends what was said of the file then. */
bool statcache_find(struct statcache *, const struct listing_file *, struct buf *what);

/* The same for many bytes, which are kept in a file of their own beside the cache's: what was found
 * out about the file by `key`. Nothing is kept of a file that is young. Failures cost time only. */
bool statcache_find_bytes(struct statcache *, const struct listing_file *, struct hash128 key,
                          struct buf *out);
void statcache_add_bytes(struct statcache *, const struct listing_file *, struct hash128 key,
                         const void *data, size_t n);
const char *statcache_path(const struct statcache *);

/* Whether anything was said of a file of this path, in whatever state; whether anything was there
 * when it was opened. */
bool statcache_knows(struct statcache *, const char *path);
bool statcache_empty(const struct statcache *);

/* Writes what is not written yet, and takes in what other processes wrote since. Failures cost time
 * only. */
void statcache_exchange(struct statcache *);

/* Whether the file was changed less than so long ago: a later change might not show in its
 * times. */
bool statcache_fresh(const struct listing_file *, int64_t ns);

/* Remembers `what`, a text without newline; keep: beyond this process too, for which the file must
 * not be fresh. */
sluice_status statcache_add(struct statcache *, const struct listing_file *, const char *what,
                            bool keep, struct sluice_error *err) MUST_USE;

/* The same for what probing found; of a file that was changed less than 2 s ago nothing is
 * remembered. *out: release with input_info_deinit. */
bool statcache_get(struct statcache *, const struct listing_file *, struct input_info *out);

sluice_status statcache_put(struct statcache *, const struct listing_file *,
                            const struct input_info *, struct sluice_error *err) MUST_USE;

/* Whether a file was changed so lately that a change from now on might not show in its times. */
bool statcache_young(const struct listing_file *);

/* Both hashes of the file at path, as sha256_file has them; one that did not change since it
 * was read is not read again. NULL in place of a cache: it is always read. */
sluice_status statcache_hashes(struct statcache *, const char *path, char hex[SHA256_HEX],
                               struct hash128 *hash, struct sluice_error *err) MUST_USE;
/* The SHA-256 alone. */
sluice_status statcache_sha256(struct statcache *, const char *path, char hex[SHA256_HEX],
                               struct sluice_error *err) MUST_USE;
/* The caller has given the file, whose hashes it knows, another name, and so another ctime: they
 * hold for it as it is now. */
void statcache_renamed(struct statcache *, const char *path, const char hex[SHA256_HEX],
                       struct hash128 hash);

#endif
