/* minhash - near-duplicates by MinHash and banding (Broder 1997; datatrove's constants). The composite `minhash` of the standard library puts
 * the stages together: sign -> keys -> exchange by
 * band -> edges -> components -> members by split -> exchange by cluster -> pick -> drop lists by split -> drop. */
#include "minhash_stages.h"

sluice_status minhash_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}

static const struct sluice_stage *const stages[] = {
    &minhash_sign_stage,        &minhash_keys_stage,
    &minhash_edges_stage,       &minhash_components_stage,
    &minhash_members_stage,     &minhash_pick_stage,
    &minhash_index_rows_stage,  &minhash_index_keys_stage,
    &write_minhash_index_stage, NULL
};

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "minhash",
    .version = "2.0",
    .license = "MIT",
    .stages = stages,
    .libraries = "utf8proc 2, xxhash 0.8, nettle 3",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
