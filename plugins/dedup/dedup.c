/* dedup - deduplication of documents, sentences, lines and paragraphs, and the filter that drops the rows of a list. The composites of the
 * standard library put these stages together: only hashes, ids and positions move between splits, never text. */
#include "dedup.h"

sluice_status dedup_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}

sluice_status dedup_open(const void *config, size_t size, void **shared, struct sluice_error *err)
{
    void *copy = malloc(size);

    if (copy == NULL) {
        return dedup_nomem(err);
    }
    memcpy(copy, config, size);
    *shared = copy;
    return SLUICE_OK;
}

void dedup_close(void *shared)
{
    free(shared);
}

static const struct sluice_stage *const stages[] = { &exact_keys_stage,    &exact_index_keys_stage,
                                                     &exact_drops_stage,   &exact_index_rows_stage,
                                                     &drop_listed_stage,   &span_keys_stage,
                                                     &span_marks_stage,    &span_filter_stage,
                                                     &bloom_grams_stage,   &bloom_marks_stage,
                                                     &bloom_collect_stage, &bloom_filter_stage,
                                                     &write_bloom_stage,   NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "dedup",
    .version = "1.1",
    .license = "MIT",
    .stages = stages,
    .libraries = "xxhash 0.8, utf8proc 2",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
