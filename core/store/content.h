/* Files of a frozen plan, kept in the run directory under what is in them:
 * RUN/content/SHA256/NAME. What was put there is never changed: another plan puts other files
 * beside it, and a file that several plans use is there once. NAME is that of the file it was made
 * of, for messages and for whoever goes by endings.
 *
 * A large file is linked where its file system allows it, so that a model of gigabytes is neither
 * copied nor stored twice; who then writes into the original changes what was frozen, which is
 * seen by its size and time. Small ones are copied. Where a run directory is no folder of this
 * machine, what programs map and open themselves is kept there and has a copy here. Depends on
 * pending, statcache. */
#ifndef SLUICE_STORE_CONTENT_H
#define SLUICE_STORE_CONTENT_H

#include "base/hash.h"
#include "base/sha256.h"

#define CONTENT_FOLDER "content"

struct statcache;

struct content {
    char sha256[SHA256_HEX];
    struct hash128 hash; /* XXH3-128 */
    uint64_t size;
    int64_t mtime_ns; /* of the file in the run directory: whether it needs another look */
};

/* "RUN/content/SHA256/NAME"; NULL = out of memory. Gives. */
char *content_path(const char *run_dir, const char *sha256, const char *name);
/* The name that a file at path gets there: its own, if it may be one. Borrowed. */
const char *content_name(const char *path);

/* Puts the file at path, or these bytes, there. What is there already and whole stays. known: what
 * is known of the file at path; kept: of those in the run directory. Both may be NULL. */
sluice_status content_keep_file(const char *run_dir, struct statcache *kept,
                                struct statcache *known, const char *path, struct content *out,
                                struct sluice_error *) MUST_USE;
sluice_status content_keep_bytes(const char *run_dir, const void *data, size_t n, const char *name,
                                 struct content *out, struct sluice_error *) MUST_USE;

/* Is the file at place still what was kept? It is read only if its size or time differ.
 * SLUICE_E_DATA: it is not, or gone. */
sluice_status content_check(struct statcache *, const char *place, const struct content *,
                            struct sluice_error *) MUST_USE;
/* The same of a file that is kept where there are no paths, for who must have one: makes place, on
 * this machine, a copy of it, unless it is one already. */
sluice_status content_fetch(struct statcache *, const char *from, const char *place,
                            const struct content *, struct sluice_error *) MUST_USE;
/* Reads it whole, at most max bytes, and compares. */
struct buf;
sluice_status content_read(const char *place, const struct content *, uint64_t max, struct buf *out,
                           struct sluice_error *) MUST_USE;

/* Removes what is kept under hashes that do not stay, and what dead processes left half-made; dry:
 * only counts. A plan that is frozen meanwhile may lose files, and says so when it is loaded. */
sluice_status content_sweep(const char *run_dir, bool (*stays)(void *ctx, const char *sha256),
                            void *ctx, bool dry, uint64_t *files, uint64_t *bytes,
                            struct sluice_error *) MUST_USE;

#endif
