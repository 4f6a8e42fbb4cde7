/* sluice_stage.h - what most stages do alike: the options as their shared state, a worker that
 * points to it. Header-only C11/C++17; depends on sluice_arrays.h. Owns nothing, keeps no state. */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include "sluice_arrays.h"

/* SLUICE_E_NOMEM, with the remedy. */
SLUICE_INLINE sluice_status sluice_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}

/* An `open`: the shared state is the config itself, which the host keeps until `close` has
 * returned. It needs no `close`, and must not be written to. */
SLUICE_INLINE sluice_status sluice_open_config(const struct sluice_host_api *api,
                                               struct sluice_host *host, const void *config,
                                               void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    (void)err;
    *shared = (void *)(uintptr_t)config;
    return SLUICE_OK;
}

/* What most `worker_open` do: a worker of `size` bytes, all zeros but for its first member, which
 * is a pointer and points to shared; all zeros where shared is NULL. free(3) it. SLUICE_E_NOMEM. */
SLUICE_INLINE sluice_status sluice_worker_new(void *shared, size_t size, void **worker,
                                              struct sluice_error *err)
{
    void *made = calloc(1, size);
    if (made == NULL) {
        return sluice_nomem(err);
    }
    memcpy(made, &shared, sizeof shared);
    *worker = made;
    return SLUICE_OK;
}

/* What other `open` do: a shared state of `size` bytes, all zeros but for its first member, which
 * is a `const struct config *` and points to the config, which the host keeps until `close` has
 * returned. free(3) it. SLUICE_E_NOMEM. */
SLUICE_INLINE sluice_status sluice_shared_new(const void *config, size_t size, void **shared,
                                              struct sluice_error *err)
{
    return sluice_worker_new((void *)(uintptr_t)config, size, shared, err);
}

#endif
