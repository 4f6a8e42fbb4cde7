/* dedup - deduplication of documents, sentences, lines and paragraphs, and the filter that drops
 * the rows of a list. The composites of the standard library put these stages together: only
 * hashes, ids and positions move between splits, never text. */
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
