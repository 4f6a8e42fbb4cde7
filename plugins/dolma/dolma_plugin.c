/* dolma - taggers, attributes and mixing as in the Dolma toolkit. */
#include "dolma.h"

static const struct sluice_stage *const stages[] = {
    &dolma_tag_stage,        &dolma_attribute_stage,       &dolma_mix_stage,
    &write_attributes_stage, &dolma_line_keys_stage,       &dolma_line_match_stage,
    &dolma_line_join_stage,  &write_attribute_files_stage, NULL
};

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "dolma",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
    .libraries = "utf8proc 2, jansson 2, pcre2 10",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
