/* A plugin from the days of a later minor: every struct has grown at its end, and it needs nothing of that. */
#include <stddef.h>
#include <string.h>

#include "sluice.h"

struct future_option {
    struct sluice_option known;
    const char *unit;
    uint64_t more[3];
};

struct future_stage {
    struct sluice_stage known;
    sluice_status (*explain)(void *worker);
    uint64_t more[5];
};

struct future_plugin {
    struct sluice_plugin known;
    const char *signature;
};

struct future_config {
    int64_t lowest;
    const char *label;
};

static sluice_status future_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_verdict keep[64];

    (void)worker;
    (void)err;
    memset(keep, 0, sizeof keep);
    return emit->verdicts(emit, keep, batch->n < 64 ? batch->n : 64);
}

static const struct future_option options[] = {
    { { .name = "lowest", .doc = "The lowest.", .def = "7", .type = SLUICE_OPT_INT, .offset = offsetof(struct future_config, lowest) },
      "documents", { 1, 2, 3 } },
    { { .name = "label", .doc = "The label.", .def = "blue", .type = SLUICE_OPT_STRING,
        .offset = offsetof(struct future_config, label) },
      NULL, { 4, 5, 6 } },
};

static const struct future_stage stage = {
    .known = {
        .size = sizeof stage,
        .name = "future_keep",
        .version = "9.0",
        .summary = "Keeps everything, some day.",
        .role = SLUICE_ROLE_FILTER,
        .mode = SLUICE_MODE_STATELESS,
        .reasons = "never",
        .options = &options[0].known,
        .n_options = 2,
        .option_stride = sizeof options[0],
        .config_size = sizeof(struct future_config),
        .process = future_process,
    },
    .more = { 1, 2, 3, 4, 5 },
};

static const struct sluice_stage *const stages[] = { &stage.known, NULL };

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct future_plugin plugin = {
        .known = {
            .size = sizeof plugin,
            .abi_major = 1,
            .abi_minor_built = 7,
            .abi_minor_needed = 0,
            .name = "future",
            .version = "9.0",
            .stages = stages,
        },
        .signature = "signed",
    };

    return &plugin.known;
}
