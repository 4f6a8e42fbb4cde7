/* dedup - exact deduplication by a column's content, and the filter that drops the rows of a list. The composites `exact` and `minhash` of the
 * standard library put these stages together: only hashes and ids move between splits, never text. */
#include "dedup.h"

sluice_status dedup_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}

static const struct sluice_stage *const stages[] = { &exact_keys_stage, &exact_drops_stage,
                                                     &drop_listed_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "dedup",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
    .libraries = "xxhash 0.8",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
