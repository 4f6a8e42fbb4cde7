/* Private to core/cmd/freeze. */
#ifndef SLUICE_CMD_FREEZEINT_H
#define SLUICE_CMD_FREEZEINT_H

#include "cmd/freeze/freeze.h"
#include "store/content.h"
#include "store/statcache.h"

enum frozen_kind {
    FROZEN_SCRIPT,
    FROZEN_PLUGIN,
    FROZEN_LIBRARY,
    FROZEN_FILE,
    FROZEN_INPUTS,
    FROZEN_KINDS
};

struct frozen {
    enum frozen_kind kind;
    const char *name;  /* of a script or a reader; "" */
    const char *path;  /* where it was; "" */
    const char *place; /* where it is kept; on this machine, unless it is read by the host alone */
    const char *far;   /* in a store, of which place is a copy; or NULL */
    struct content content;
    bool checked; /* it is what was kept, as far as its size and time tell */
};

struct freeze {
    struct frozen *files; /* in the session's arena */
    uint32_t n, capacity;
    bool loaded; /* from plan.json; else in the making */
    struct hash128 key;
    const char *version, *sha256; /* of the program that made it */
    struct script_file *scripts;
    size_t n_scripts;
    const char **plugins;
    size_t n_plugins;
};

/* Puts a file into the run directory, and where that is no folder of this machine a copy here. */
sluice_status freeze_put(struct session *, const char *path, struct content *out,
                         struct sluice_error *) MUST_USE;

/* Is it what was frozen? What is kept in a store is fetched. cache may be NULL: it is read. */
sluice_status freeze_check(const struct frozen *, struct statcache *cache,
                           struct sluice_error *) MUST_USE;

/* The list that a FROZEN_INPUTS holds: see listing_thaw. */
sluice_status freeze_files(const struct session *, const struct frozen *, struct listing *files,
                           const struct hash128 **hashes, struct sluice_error *) MUST_USE;

extern const char *const frozen_kinds[FROZEN_KINDS];

/* Adds an entry; texts are copied. place is made of the run directory, content and path (or name).
 */
sluice_status freeze_add(struct session *, enum frozen_kind, const char *name, const char *path,
                         const struct content *, struct frozen **out,
                         struct sluice_error *) MUST_USE;

#endif
