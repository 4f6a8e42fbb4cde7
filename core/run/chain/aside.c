/* The tables that a task writes beside its data: where records came from, what was set aside. */
#include <string.h>

#include "run/chain/chainInt.h"

bool chain_records(const struct chain *chain)
{
    return chain->options.spill_dir != NULL;
}

sluice_status chain_open_table(struct chain *chain, enum task_table which, struct sluice_error *err)
{
    if (chain->tables[which] != NULL) {
        return SLUICE_OK;
    }
    return table_open(chain->options.spill_dir, which, chain->options.scratch_dir,
                      &chain->tables[which], err);
}

static sluice_status write_bad(struct chain *chain, const struct bad_record *bad,
                               struct sluice_error *err)
{
    struct table *table;
    bool ok;

    TRY(chain_open_table(chain, TABLE_BAD, err));
    table = chain->tables[TABLE_BAD];
    ok =
        builder_bytes_add(table_column(table, BAD_STAGE), bad->stage, strlen(bad->stage)) &&
        builder_bytes_add(table_column(table, BAD_REASON), bad->reason, strlen(bad->reason)) &&
        builder_bytes_add(table_column(table, BAD_DETAIL), bad->detail, strlen(bad->detail)) &&
        (bad->has_place ? builder_uint(table_column(table, BAD_FILE), bad->file)
                        : builder_null(table_column(table, BAD_FILE))) &&
        (bad->has_place ? builder_uint(table_column(table, BAD_BEGIN), bad->begin)
                        : builder_null(table_column(table, BAD_BEGIN))) &&
        (bad->has_place ? builder_uint(table_column(table, BAD_END), bad->end)
                        : builder_null(table_column(table, BAD_END))) &&
        (bad->has_row ? builder_uint(table_column(table, BAD_ROW), bad->row)
                      : builder_null(table_column(table, BAD_ROW))) &&
        (bad->raw != NULL ? builder_bytes_add(table_column(table, BAD_RAW), bad->raw, bad->raw_size)
                          : builder_null(table_column(table, BAD_RAW)));
    return table_row(table, ok, err);
}

sluice_status chain_quarantine(struct chain *chain, uint32_t index, const struct bad_record *bad,
                               struct sluice_error *err)
{
    struct note note = { .row = bad->row, .op = index };

    const struct chain_observer *observer = chain->options.observer;

    chain->ledger.ops[index].quarantined++;
    if (observer != NULL && observer->refused != NULL) {
        TRY(observer->refused(observer->ctx, chain->phase->ops[index], bad, err));
    }
    if (!chain_records(chain)) {
        return chain_judge_fault(chain, index, bad, err);
    }
    if (!bad->has_row) {
        TRY(write_bad(chain, bad, err)); /* records come in the order of the file */
    } else {
        TRY(notes_add(&chain->bad, &note, bad->reason, strlen(bad->reason) + 1, bad->detail,
                      strlen(bad->detail) + 1, err));
    }
    return chain_judge_fault(chain, index, bad, err);
}

/* Quarantined rows come behind the records that could not be read, by row and stage. */
sluice_status chain_write_bad_rows(struct chain *chain, struct sluice_error *err)
{
    notes_sort(&chain->bad);
    for (size_t i = 0; i < chain->bad.n; i++) {
        const struct note *note = &chain->bad.items[i];
        struct bad_record bad = { .stage = chain->phase->ops[note->op]->name,
                                  .reason = notes_text(&chain->bad, note),
                                  .detail = notes_more(&chain->bad, note),
                                  .has_row = true,
                                  .row = note->row };
        TRY(write_bad(chain, &bad, err));
    }
    return SLUICE_OK;
}

sluice_status chain_origin(struct chain *chain, uint64_t row, uint32_t file, uint64_t begin,
                           uint64_t end, const char *id, size_t id_size, struct sluice_error *err)
{
    struct table *table;
    bool ok;

    if (!chain_records(chain)) {
        return SLUICE_OK;
    }
    TRY(chain_open_table(chain, TABLE_ORIGIN, err));
    table = chain->tables[TABLE_ORIGIN];
    ok = builder_uint(table_column(table, ORIGIN_ROW), row) &&
         builder_uint(table_column(table, ORIGIN_FILE), file) &&
         builder_uint(table_column(table, ORIGIN_BEGIN), begin) &&
         builder_uint(table_column(table, ORIGIN_END), end) &&
         (id != NULL ? builder_bytes_add(table_column(table, ORIGIN_ID), id, id_size)
                     : builder_null(table_column(table, ORIGIN_ID)));
    return table_row(table, ok, err);
}
