/* Documents that wait: see pack_held.h. */
#include "pack_held.h"

int pack_held_add(struct pack_held *held, const uint32_t *tokens, const uint8_t *mask, size_t n,
                  const struct pack_source *source)
{
    uint32_t length = (uint32_t)n;
    uint64_t end = held->origins.size / sizeof end + source->n;

    return (mask == NULL || sluice_bytes_add(&held->mask, mask, n)) &&
           sluice_bytes_add(&held->tokens, tokens, n * sizeof *tokens) &&
           sluice_bytes_add(&held->lengths, &length, sizeof length) &&
           sluice_bytes_add(&held->begins, &source->begin, sizeof source->begin) &&
           sluice_bytes_add(&held->origins, source->origins, source->n * sizeof *source->origins) &&
           sluice_bytes_add(&held->origin_ends, &end, sizeof end);
}

struct pack_source pack_held_source(const struct pack_held *held, size_t k)
{
    const uint64_t *ends = (const uint64_t *)(const void *)held->origin_ends.data;
    const uint64_t *begins = (const uint64_t *)(const void *)held->begins.data;
    const uint64_t *origins = (const uint64_t *)(const void *)held->origins.data;
    uint64_t first = k == 0 ? 0 : ends[k - 1];

    return (struct pack_source){ origins + first, (uint32_t)(ends[k] - first), begins[k] };
}

void pack_held_deinit(struct pack_held *held)
{
    sluice_bytes_free(&held->tokens);
    sluice_bytes_free(&held->mask);
    sluice_bytes_free(&held->lengths);
    sluice_bytes_free(&held->begins);
    sluice_bytes_free(&held->origins);
    sluice_bytes_free(&held->origin_ends);
}
