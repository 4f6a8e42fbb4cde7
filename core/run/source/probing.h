/* Probing input files on several threads, for plan_options.probe. */
#ifndef SLUICE_RUN_PROBING_H
#define SLUICE_RUN_PROBING_H

#include "store/probe.h"
#include "store/statcache.h"

struct probing {
    struct statcache *cache;
    uint32_t workers;
    const _Atomic int *drain;
    void (*tick)(void *ctx, size_t done, size_t n); /* may be NULL */
    void *ctx;
};

/* ctx is a struct probing. */
sluice_status probing_run(void *ctx, const struct listing_file *files, size_t n, uint64_t large,
                          struct input_info *infos, struct sluice_error *err) MUST_USE;

#endif
