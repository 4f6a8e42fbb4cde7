/* What a sorter holds, given again: see sorter.h. Runs hold what was added first, each in its
 * order; equal records are in the order of adding everywhere. */
#include <endian.h>
#include <string.h>

#include "run/edge/sorterInt.h"

static sluice_status each_of_block(const struct buf *block, sorter_fn *take, void *ctx,
                                   struct sluice_error *err)
{
    for (size_t at = 0; at + SORTER_RECORD_HEADER <= block->size;) {
        struct sorter_record record = { .payload = block->data + at + SORTER_RECORD_HEADER };
        memcpy(&record.n, block->data + at, 4);
        memcpy(record.key, block->data + at + 4, sizeof record.key);
        memcpy(&record.position, block->data + at + 20, 8);
        if (record.n > block->size - at - SORTER_RECORD_HEADER) {
            return error_set(err, SLUICE_E_INTERNAL, "a sorted run has a record without an end");
        }
        TRY(take(ctx, &record, err));
        at += SORTER_RECORD_HEADER + record.n;
    }
    return SLUICE_OK;
}

static sluice_status each_of_runs(struct sorter *s, struct buf *block, sorter_fn *take, void *ctx,
                                  struct sluice_error *err)
{
    for (size_t k = 0; k < s->runs.n; k++) {
        uint64_t at = s->runs.items[k].begin;
        while (at < s->runs.items[k].end) {
            TRY(scratch_read(s->scratch, at, block, &at, err));
            TRY(each_of_block(block, take, ctx, err));
        }
    }
    return SLUICE_OK;
}

sluice_status sorter_each(struct sorter *s, sorter_fn *take, void *ctx, struct sluice_error *err)
{
    struct buf block = BUF_INIT;
    sluice_status status = each_of_runs(s, &block, take, ctx, err);

    for (size_t i = s->n; status == SLUICE_OK && i-- > 0;) {
        const struct entry *entry = sorter_entries(s) + i;
        uint64_t words[2] = { htobe64(entry->words[0]), htobe64(entry->words[1]) };
        struct sorter_record record = { .position = entry->words[2] };
        const char *payload = s->block + entry->words[3];
        memcpy(record.key, words, sizeof words);
        memcpy(&record.n, payload, sizeof record.n);
        record.payload = payload + sizeof record.n;
        status = take(ctx, &record, err);
    }
    buf_deinit(&block);
    return status;
}
