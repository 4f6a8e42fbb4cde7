/* bpe_pass_plain.c — the steps of a pass on any processor. Depends on: bpe_pass_steps.h. */
#include "model/bpe_pass_steps.h"

/* Which of 8 bytes a piece has, by its length up to 8. */
static const uint64_t low_bytes[9] = { 0,
                                       UINT64_C(0xFF),
                                       UINT64_C(0xFFFF),
                                       UINT64_C(0xFFFFFF),
                                       UINT64_C(0xFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFFFF),
                                       UINT64_C(0xFFFFFFFFFFFFFF),
                                       UINT64_MAX };

INLINE int find_short(const struct short_entry *set, uint64_t key, uint32_t *ids)
{
    const size_t way = (size_t)(set[1].key == key) + 2 * (size_t)(set[2].key == key) +
                       3 * (size_t)(set[3].key == key);
    const uint32_t is = 0u - (uint32_t)(set[way].key == key);
    ids[0] = set[way].ids[0] & is;
    ids[1] = set[way].ids[1] & is;
    return is != 0;
}

INLINE const struct piece_entry *find_mid(const struct piece_entry *set, struct piece_key key)
{
    return find_mid_by_each(set, key);
}

INLINE void sort_far(struct strip *strip, const struct cache *cache, const uint8_t *text,
                     size_t from, const size_t *ends, size_t far)
{
    for (size_t i = 0; i < far; i++) {
        const size_t len = ends[i] - from, is_short = len <= SHORT_BYTES;
        sort_one(strip, cache, i,
                 (word_at(text + from) & low_bytes[is_short ? len : 8]) | len << 56, is_short);
        from = ends[i];
    }
}

const struct pass_steps pass_steps_plain = { look, emit, merge_jobs_run };
