/* Probing input files on several threads: see probing.h. */
#include "run/source/probing.h"

#include "run/runInt.h"

#define GROUP 8u /* files a job */

struct probe_job {
    const struct probing *probing;
    const struct listing_file *files;
    size_t n;
    uint64_t large;
    struct input_info *infos;
    atomic_size_t done;
};

static sluice_status probe_group(void *ctx, void *state, uint32_t i, bool *taken,
                                 struct sluice_error *err)
{
    struct probe_job *job = ctx;
    size_t end = ((size_t)i + 1) * GROUP < job->n ? ((size_t)i + 1) * GROUP : job->n;

    (void)state;
    (void)taken;
    for (size_t k = (size_t)i * GROUP; k < end; k++) {
        TRY(probe_file(&job->files[k], job->probing->cache, job->files[k].size >= job->large,
                       &job->infos[k], err));
        atomic_fetch_add(&job->done, 1);
    }
    return SLUICE_OK;
}

static void tick(void *ctx)
{
    struct probe_job *job = ctx;

    if (job->probing->tick != NULL) {
        job->probing->tick(job->probing->ctx, atomic_load(&job->done), job->n);
    }
}

sluice_status probing_run(void *ctx, const struct listing_file *files, size_t n, uint64_t large,
                          struct input_info *infos, struct sluice_error *err)
{
    const struct probing *probing = ctx;
    struct probe_job job = {
        .probing = probing, .files = files, .n = n, .large = large, .infos = infos
    };
    struct pool_job pool = { .ctx = &job,
                             .n = (uint32_t)((n + GROUP - 1) / GROUP),
                             .n_threads = probing->workers,
                             .run = probe_group,
                             .tick = tick,
                             .drain = probing->drain };
    bool drained = false;

    TRY(pool_run(&pool, &drained, err));
    return drained
               ? error_set(err, SLUICE_E_CANCELLED,
                           "stopped while looking at the input files; run the same command again")
               : SLUICE_OK;
}
