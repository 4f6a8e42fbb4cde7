/* The smallest plugin: one filter that keeps everything. The including file may define any of the macros to break one thing. */
#include <string.h>

#include "sluice.h"

#ifndef MAJOR
#define MAJOR 1
#endif
#ifndef NEEDED
#define NEEDED 0
#endif
#ifndef PROCESS
#define PROCESS keep_process
#endif
#ifndef OPTIONS
#define OPTIONS
#endif
#ifndef NAME
#define NAME "keep"
#endif
#ifndef STAGE_SIZE
#define STAGE_SIZE sizeof(struct sluice_stage)
#endif
#ifndef STRIDE
#define STRIDE 0
#endif
#ifndef BEFORE
#define BEFORE
#endif
#ifndef ENTRY
#define ENTRY sluice_plugin_v1
#endif

SLUICE_EXPORT const struct sluice_plugin *ENTRY(void);

__attribute__((unused)) static sluice_status keep_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit,
                                                          struct sluice_error *err)
{
    struct sluice_verdict keep[64];
    int64_t n = batch->n < 64 ? batch->n : 64;

    (void)worker;
    (void)err;
    memset(keep, 0, sizeof keep);
    return emit->verdicts(emit, keep, n);
}

static const struct sluice_stage keep_stage = {
    .size = STAGE_SIZE,
    .name = NAME,
    .version = "1.0",
    .summary = "Keeps everything.",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .reasons = "never",
    .process = PROCESS,
    OPTIONS
};

static const struct sluice_stage *const keep_stages[] = { &keep_stage, NULL };

const struct sluice_plugin *ENTRY(void)
{
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = MAJOR,
        .abi_minor_built = NEEDED,
        .abi_minor_needed = NEEDED,
        .verdict_stride = STRIDE,
        .name = "broken",
        .version = "0.1",
        .stages = keep_stages,
    };

    BEFORE;
    return &plugin;
}
