/* Which source rows stand where in which shard: a writer's rows, noted until the task ends. */
#include <string.h>

#include "run/chain/chainInt.h"
#include "sluice_arrays.h"

/* The numbers of a row in a list<uint64>; none where slot is -1. */
static const uint64_t *listed(const struct batch *batch, int32_t slot, int64_t at, uint64_t *n)
{
    size_t count = 0;
    const uint64_t *items =
        slot < 0 ? NULL : sluice_list_u64(&batch->columns[slot]->array, at, &count);

    *n = count;
    return items;
}

/* Where the rows that a writer takes say what they came from: columns, or -1. */
struct trace_slots {
    int32_t origin, span, row;
};

/* Notes one written row: where it stands, how many source rows it came from and how many of their
 * spans it says, and these. */
#define TRACE_HEAD 4
static sluice_status trace_row(struct buf *traced, uint32_t shard, uint64_t row,
                               const struct batch *batch, const struct trace_slots *slots,
                               int64_t at, struct sluice_error *err)
{
    uint64_t head[TRACE_HEAD] = { shard, row, 1, 0 };

    if (slots->origin >= 0 && batch->columns[slots->origin]->array.n_children == 1) {
        const uint64_t *items = listed(batch, slots->origin, at, &head[2]);
        const uint64_t *spans = listed(batch, slots->span, at, &head[3]);
        head[3] = head[3] == head[2] ? head[3] : 0;
        buf_append(traced, head, sizeof head);
        buf_append(traced, items, (size_t)head[2] * sizeof *items);
        buf_append(traced, spans, (size_t)head[3] * sizeof *spans);
    } else {
        int32_t slot = slots->origin >= 0 ? slots->origin : slots->row;
        uint64_t value =
            slot < 0 ? row : ((const uint64_t *)batch->columns[slot]->array.buffers[1])[at];
        buf_append(traced, head, sizeof head);
        buf_append(traced, &value, sizeof value);
    }
    return buf_status(traced, err);
}

/* A row of one of the two tables of a writer's rows. */
static sluice_status note_trace(struct chain *chain, enum task_table which, const char *writer,
                                const uint64_t *head, const uint64_t *items, uint64_t n,
                                struct sluice_error *err)
{
    struct table *table;

    TRY(chain_open_table(chain, which, err));
    table = chain->tables[which];
    return table_row(table,
                     builder_bytes_add(table_column(table, TRACE_WRITER), writer, strlen(writer)) &&
                         builder_uint(table_column(table, TRACE_SHARD), head[0]) &&
                         builder_uint(table_column(table, TRACE_ROW), head[1]) &&
                         builder_list_fixed(table_column(table, TRACE_LIST), items, (size_t)n),
                     err);
}

/* base: added to the numbers of the shards. */
static sluice_status write_traced(struct chain *chain, const char *name, const struct buf *traced,
                                  uint32_t base, struct sluice_error *err)
{
    for (size_t at = 0; at < traced->size;) {
        uint64_t head[TRACE_HEAD];
        const uint64_t *items;
        memcpy(head, traced->data + at, sizeof head);
        head[0] += base;
        items = (const uint64_t *)(const void *)(traced->data + at + sizeof head);
        TRY(note_trace(chain, TABLE_TRACE, name, head, items, head[2], err));
        if (head[3] > 0) {
            TRY(note_trace(chain, TABLE_SPANS, name, head, items + head[2], head[3], err));
        }
        at += sizeof head + (size_t)(head[2] + head[3]) * sizeof *items;
    }
    return SLUICE_OK;
}

sluice_status chain_write_traces(struct chain *chain, struct sluice_error *err)
{
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        const struct parts *parts = chain->states[i].parts;
        const char *name = chain->phase->ops[i]->name;
        TRY(write_traced(chain, name, &chain->states[i].traced, 0, err));
        for (uint32_t k = 0; parts != NULL && k < parts->n; k++) {
            TRY(write_traced(chain, name, &parts->items[k]->traced, parts->items[k]->base, err));
        }
    }
    return SLUICE_OK;
}

/* Which source rows stand where in which shard. */
sluice_status chain_trace(struct chain *chain, const struct op *op, const struct batch *batch,
                          const struct stage_result *result, struct sluice_error *err)
{
    const struct op *from = phase_input(chain->phase, op, 0);
    const struct shards *shards = chain->states[op->index].shards;
    const struct trace_slots slots = { schema_find(&from->out, SLUICE_ORIGIN),
                                       schema_find(&from->out, SLUICE_SPAN), from->row_slot };
    uint32_t shard = shards_ordinal(shards);
    uint64_t row = shards_ordinal_rows(shards);
    uint32_t mark = 0;

    for (int64_t k = 0; k < batch->n_rows; k++) {
        int64_t at = batch->rows == NULL ? k : batch->rows[k];
        /* A roll ends the shard after its number of rows. */
        for (;;) {
            while (mark < result->n_marks && result->marks[mark].output != STAGE_MARK_ROLL) {
                mark++;
            }
            if (mark >= result->n_marks || row < (uint64_t)result->marks[mark].rows) {
                break;
            }
            mark++;
            shard++;
            row = 0;
        }
        TRY(trace_row(&chain->states[op->index].traced, shard, row, batch, &slots, at, err));
        row++;
    }
    return SLUICE_OK;
}
