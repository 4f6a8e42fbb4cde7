/* Rows that stages dropped: into the task's drops table, and to collectors that want them. */
#include <stdlib.h>
#include <string.h>

#include "run/chain/chainInt.h"

sluice_status collect_note_drops(struct chain *chain, uint64_t below, struct sluice_error *err)
{
    struct notes *drops = &chain->drops;
    struct table *table;
    size_t n = 0;

    if (chain->drops.n == 0) {
        return SLUICE_OK;
    }
    TRY(chain_open_table(chain, TABLE_DROPS, err));
    table = chain->tables[TABLE_DROPS];
    notes_sort(&chain->drops);
    for (; n < drops->n && (drops->items[n].row < below || below == UINT64_MAX); n++) {
        const struct note *note = &drops->items[n];
        const struct op *stage = chain->phase->ops[note->op];
        const char *reason = stage_reason(op_code(stage)->stage, (uint32_t)note->reason);
        bool ok =
            builder_uint(table_column(table, DROPS_ROW), note->row) &&
            builder_bytes_add(table_column(table, DROPS_STAGE), stage->name, strlen(stage->name)) &&
            builder_bytes_add(table_column(table, DROPS_REASON), reason, strlen(reason)) &&
            builder_float(table_column(table, DROPS_VALUE), note->value) &&
            builder_float(table_column(table, DROPS_LIMIT), note->limit) &&
            (note->dup ? builder_bytes_add(table_column(table, DROPS_DUP_OF),
                                           notes_text(&chain->drops, note), note->text_size)
                       : builder_null(table_column(table, DROPS_DUP_OF))) &&
            (note->dup ? builder_float(table_column(table, DROPS_SIMILARITY), note->similarity)
                       : builder_null(table_column(table, DROPS_SIMILARITY)));
        TRY(table_row(table, ok, err));
    }
    if (n == drops->n) {
        notes_clear(drops);
    } else if (n > 0) {
        memmove(drops->items, drops->items + n, (drops->n - n) * sizeof *drops->items);
        drops->n -= n;
    }
    return SLUICE_OK;
}

void drop_slice_deinit(struct drop_slice *slice)
{
    batch_unref(slice->batch);
    free(slice->rows);
    free(slice->verdicts);
    free(slice->text);
}

static sluice_status add_slice(struct chain *chain, const struct op *collector, uint32_t source,
                               const struct op *stage, struct batch *batch, const uint32_t *rows,
                               const struct sluice_verdict *verdicts, int64_t n,
                               struct sluice_error *err)
{
    struct op_state *state = &chain->states[collector->index];
    struct drop_slice *slice;
    size_t text = 0;

    if (state->n_slices == state->slices_capacity) {
        uint32_t capacity = state->slices_capacity == 0 ? 8 : state->slices_capacity * 2;
        struct drop_slice *more = realloc(state->slices, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "dropped rows");
        }
        state->slices = more;
        state->slices_capacity = capacity;
    }
    slice = &state->slices[state->n_slices];
    memset(slice, 0, sizeof *slice);
    for (int64_t k = 0; k < n; k++) {
        text += verdicts[k].dup_of == NULL ? 0 : (size_t)verdicts[k].dup_of_length;
    }
    slice->source = source;
    slice->stage = stage;
    slice->rows = malloc((size_t)n * sizeof *slice->rows);
    slice->verdicts = malloc((size_t)n * sizeof *slice->verdicts);
    slice->text = malloc(text + 1);
    if (slice->rows == NULL || slice->verdicts == NULL || slice->text == NULL) {
        drop_slice_deinit(slice);
        return error_nomem(err, "dropped rows");
    }
    memcpy(slice->rows, rows, (size_t)n * sizeof *rows);
    memcpy(slice->verdicts, verdicts, (size_t)n * sizeof *verdicts);
    text = 0;
    for (int64_t k = 0; k < n; k++) {
        if (verdicts[k].dup_of != NULL) {
            memcpy(slice->text + text, verdicts[k].dup_of, (size_t)verdicts[k].dup_of_length);
            slice->verdicts[k].dup_of = slice->text + text;
            text += (size_t)verdicts[k].dup_of_length;
        }
    }
    slice->batch = batch_ref(batch);
    slice->n = n;
    state->n_slices++;
    return SLUICE_OK;
}

sluice_status collect_drops(struct chain *chain, const struct op *stage, struct batch *batch,
                            const uint32_t *rows, const struct sluice_verdict *verdicts, int64_t n,
                            struct sluice_error *err)
{
    const struct op *from = phase_input(chain->phase, stage, 0);
    const uint64_t *numbers = from->row_slot >= 0 && batch->columns[from->row_slot] != NULL
                                  ? batch->columns[from->row_slot]->array.buffers[1]
                                  : NULL;

    for (int64_t k = 0; chain_records(chain) && k < n; k++) {
        struct note note = { .row = numbers == NULL ? rows[k] : numbers[rows[k]],
                             .op = stage->index,
                             .reason = verdicts[k].reason,
                             .value = verdicts[k].value,
                             .limit = verdicts[k].limit,
                             .similarity = verdicts[k].similarity,
                             .dup = verdicts[k].dup_of != NULL };
        TRY(notes_add(&chain->drops, &note, note.dup ? verdicts[k].dup_of : "",
                      note.dup ? (size_t)verdicts[k].dup_of_length : 0, "", 0, err));
    }
    /* Behind an exchange rows come in fixed frames and in no order of rows: what comes is written
     * as it comes. */
    if (!chain->by_rows) {
        TRY(collect_note_drops(chain, UINT64_MAX, err));
    }
    for (uint32_t i = stage->index + 1; i < chain->phase->n_ops; i++) {
        const struct op *op = chain->phase->ops[i];
        for (uint32_t d = 0; op->kind == OP_COLLECT && d < op_collect(op)->n_stages; d++) {
            if (op_collect(op)->stages[d].op == stage->index) {
                TRY(add_slice(chain, op, d, stage, batch, rows, verdicts, n, err));
            }
        }
    }
    return SLUICE_OK;
}
