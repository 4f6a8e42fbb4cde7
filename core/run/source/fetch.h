/* Calls of a reader that reads at random, to their end: its asks are answered with parts of the
 * file. Depends on extents.h. One thread at a time. */
#ifndef SLUICE_RUN_FETCH_H
#define SLUICE_RUN_FETCH_H

#include "base/hash.h"
#include "plugin/stage.h"
#include "run/source/extents.h"

/* Who answers. The caller fills in the first part; zero the rest. */
struct fetch {
    struct stage_worker *worker;
    struct extents *file;
    struct hasher
        *hasher; /* gets what was asked for and read, in order; NULL: nobody wants to know */
    /* Called before as many bytes are held for answers at once, or NULL. May wait, and refuse. */
    sluice_status (*hold)(void *ctx, uint64_t bytes, struct sluice_error *err);
    /* Around the calls of the stage and around reading: begins (true) and ends; or NULL. */
    void (*meter)(void *ctx, bool begins, bool reads);
    int32_t (*cancelled)(void *ctx); /* or NULL */
    void *ctx;
    uint64_t asked; /* out: bytes that calls asked for */
    /* private */
    struct hasher *call;
    char *buffer;
    size_t capacity;
};
void fetch_deinit(struct fetch *);

/* Like stage_survey and stage_scan, but result has no asks: the call is over. What a reader takes
 * for passing (SLUICE_E_RETRY) is tried again a few times. On failure the worker may only be
 * closed. */
sluice_status fetch_survey(struct fetch *, const struct sluice_file *, struct stage_result *,
                           struct sluice_error *) MUST_USE;
sluice_status fetch_scan(struct fetch *, struct sluice_scan *, struct stage_result *,
                         struct sluice_error *) MUST_USE;

#endif
