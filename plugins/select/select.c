/* select - keeps a part of the documents: by chance (sampler) or by a pattern of one's own (regex). This file is the plugin's descriptor. */
#include "select.h"

static const struct sluice_stage *const stages[] = { &select_sampler_stage,
                                                     &select_sampler_peer_stage,
                                                     &select_regex_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "select",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
    .libraries = "pcre2 10, xxhash 0.8",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
