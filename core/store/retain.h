/* Forgetting old snapshots of a dataset: their manifests, their folders, and the files that no
 * other manifest names. The newest ones stay, and all that have a tag. A snapshot may still be read
 * for a while after a newer one stands behind it, so that one goes only when the next has been
 * there for long enough. Readers of what is kept are undisturbed; a kill leaves some snapshots
 * forgotten and the others whole, and perhaps files that nobody names, which the next call or `gc`
 * removes. Depends on snapshot, tags. */
#ifndef SLUICE_STORE_RETAIN_H
#define SLUICE_STORE_RETAIN_H

#include "store/snapshot.h"

struct retain_rules {
    uint32_t keep;     /* of the newest, at least 1 */
    int64_t before_ns; /* the one behind it was published before that (since the epoch) */
    bool dry;          /* only tell */
};

struct retained {
    uint32_t *forgotten, *kept; /* numbers, ascending */
    size_t n_forgotten, n_kept;
    size_t n_young;        /* of the kept: those that only their age keeps */
    uint64_t files, bytes; /* of data/, that went */
};

/* Deinit after an error too. SLUICE_E_DATA: a manifest is damaged, and nothing was removed. */
sluice_status retain(const char *dataset_dir, const struct retain_rules *, struct retained *,
                     struct sluice_error *) MUST_USE;
void retained_deinit(struct retained *);

#endif
