/* Collectors of `.dropped`: bring the dropped rows of all stages back into input order. */
#include "run/chain/chainInt.h"

#include <stdlib.h>
#include <string.h>

#include "data/draft.h"

void chain_collect_from(struct chain *chain, uint32_t op, struct edge_reader *reader)
{
    chain->states[op].earlier = reader;
}

void collector_deinit(struct chain *chain, uint32_t index)
{
    struct op_state *state = &chain->states[index];

    for (uint32_t i = 0; i < state->n_slices; i++) {
        drop_slice_deinit(&state->slices[i]);
    }
    free(state->slices);
    state->slices = NULL;
    state->n_slices = 0;
    batch_unref(state->earlier_batch);
    state->earlier_batch = NULL;
    edge_reader_close(state->earlier);
    state->earlier = NULL;
}

static uint64_t slice_row(const struct chain *chain, const struct drop_slice *slice)
{
    const struct op *from = phase_input(chain->phase, slice->stage, 0);
    uint32_t row = slice->rows[slice->at];

    return ((const uint64_t *)slice->batch->columns[from->row_slot]->array.buffers[1])[row];
}

/* Rows that were taken before the chain was saved. */
static void skip_taken(struct op_state *state)
{
    int64_t n = state->earlier_batch->n_rows;

    n = state->earlier_skip < (uint64_t)n ? (int64_t)state->earlier_skip : n;
    state->earlier_at = n;
    state->earlier_skip -= (uint64_t)n;
}

/* Makes the next row of the earlier phase's drops current; false at their end. */
static sluice_status earlier_row(struct chain *chain, const struct op *op, struct op_state *state,
                                 bool *more, uint64_t *row, struct sluice_error *err)
{
    const struct op *load;

    *more = false;
    if (state->earlier == NULL || state->earlier_done) {
        return SLUICE_OK;
    }
    load = chain->phase->ops[op_earlier_drops(op)->op];
    while (state->earlier_batch == NULL || state->earlier_at >= state->earlier_batch->n_rows) {
        batch_unref(state->earlier_batch);
        state->earlier_batch = NULL;
        state->earlier_at = 0;
        TRY(edge_reader_next(state->earlier, &state->earlier_batch, err));
        if (state->earlier_batch == NULL) {
            state->earlier_done = true;
            return SLUICE_OK;
        }
        chain->ledger.ops[load->index].emitted += (uint64_t)state->earlier_batch->n_rows;
        skip_taken(state);
    }
    *row = ((const uint64_t *)state->earlier_batch->columns[op_load(load)->stored[load->row_slot]]
                ->array.buffers[1])[state->earlier_at];
    *more = true;
    return SLUICE_OK;
}

/* One value of a collected column that the collector makes itself; false = it is a column of the
 * rows. */
static bool own_column(const char *name, const struct drop_slice *slice, struct builder *builder,
                       bool *ok)
{
    const struct sluice_verdict *verdict = &slice->verdicts[slice->at];
    const char *reason = stage_reason(op_code(slice->stage)->stage, (uint32_t)verdict->reason);

    if (strcmp(name, "drop_stage") == 0) {
        *ok = builder_bytes_add(builder, slice->stage->name, strlen(slice->stage->name));
    } else if (strcmp(name, "drop_reason") == 0) {
        *ok = builder_bytes_add(builder, reason, strlen(reason));
    } else if (strcmp(name, "drop_value") == 0) {
        *ok = builder_float(builder, verdict->value);
    } else if (strcmp(name, "drop_limit") == 0) {
        *ok = builder_float(builder, verdict->limit);
    } else if (strcmp(name, "dup_of") == 0) {
        *ok = verdict->dup_of == NULL
                  ? builder_null(builder)
                  : builder_bytes_add(builder, verdict->dup_of, (size_t)verdict->dup_of_length);
    } else if (strcmp(name, "similarity") == 0) {
        *ok = verdict->dup_of == NULL ? builder_null(builder)
                                      : builder_float(builder, verdict->similarity);
    } else {
        return false;
    }
    return true;
}

static bool copy_row(const struct op *op, const struct drop_slice *slice, const struct op *load,
                     const struct batch *earlier, int64_t earlier_at, struct builder **builders)
{
    for (uint32_t k = 0; k < op->out.n; k++) {
        bool ok = true;
        if (slice == NULL) {
            int32_t slot = op_earlier_drops(op)->slots[k];
            int32_t column = slot < 0 ? -1 : op_load(load)->stored[slot];
            ok = column < 0
                     ? builder_null(builders[k])
                     : builder_copy(builders[k], &earlier->columns[column]->array, earlier_at);
        } else if (!own_column(op->out.fields[k].name, slice, builders[k], &ok)) {
            int32_t slot = op_collect(op)->stages[slice->source].slots[k];
            const struct column *column = slot < 0 ? NULL : slice->batch->columns[slot];
            ok = column == NULL ? builder_null(builders[k])
                                : builder_copy(builders[k], &column->array, slice->rows[slice->at]);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static sluice_status emit_built(struct chain *chain, const struct op *op, struct builder **builders,
                                int64_t n, struct sluice_error *err)
{
    struct draft draft;
    struct batch *batch;
    sluice_status status;

    draft_init(&draft, op->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < op->out.n; k++) {
        struct column *column = NULL;
        draft_place(&draft, k, builder_column(builders[k], &column, err), &column);
    }
    TRY(draft_end(&draft, n, &batch, err));
    status = chain_emit(chain, op->index, batch, err);
    batch_unref(batch);
    return status;
}

/* Those of which all rows are written. Others hold rows behind the limit: rows before them wait
 * for answers, and may still be dropped. */
static void forget_slices(struct op_state *state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < state->n_slices; i++) {
        if (state->slices[i].at < state->slices[i].n) {
            state->slices[n++] = state->slices[i];
        } else {
            drop_slice_deinit(&state->slices[i]);
        }
    }
    state->n_slices = n;
}

#define COLLECT_ROWS 4096

sluice_status collector_drain(struct chain *chain, uint32_t index, uint64_t limit,
                              struct sluice_error *err)
{
    const struct op *op = chain->phase->ops[index];
    struct op_state *state = &chain->states[index];
    const struct op_drops *drops = op_earlier_drops(op);
    const struct op *load = drops == NULL ? NULL : chain->phase->ops[drops->op];
    struct builder **builders = calloc(op->out.n + 1u, sizeof(struct builder *));
    int64_t n = 0;
    sluice_status status = builders == NULL ? error_nomem(err, "dropped rows") : SLUICE_OK;

    for (uint32_t k = 0; status == SLUICE_OK && k < op->out.n; k++) {
        status = builder_create(op->out.fields[k].type, &builders[k], err);
    }
    while (status == SLUICE_OK) {
        struct drop_slice *best = NULL;
        uint64_t best_row = UINT64_MAX;
        uint64_t row = 0;
        bool earlier = false;
        for (uint32_t i = 0; i < state->n_slices; i++) {
            struct drop_slice *slice = &state->slices[i];
            uint64_t at = slice->at < slice->n ? slice_row(chain, slice) : UINT64_MAX;
            if (slice->at < slice->n && at <= limit && (best == NULL || at < best_row)) {
                best = slice;
                best_row = at;
            }
        }
        status = earlier_row(chain, op, state, &earlier, &row, err);
        if (status != SLUICE_OK) {
            break;
        }
        earlier = earlier && row <= limit && (best == NULL || row < best_row);
        if (!earlier && best == NULL) {
            break;
        }
        if (!copy_row(op, earlier ? NULL : best, load, state->earlier_batch, state->earlier_at,
                      builders)) {
            status = error_nomem(err, "dropped rows");
            break;
        }
        if (earlier) {
            state->earlier_at++;
            state->earlier_taken++;
        } else {
            best->at++;
        }
        n++;
        if (n == COLLECT_ROWS || builder_bytes(builders[0]) > (1u << 20)) {
            status = emit_built(chain, op, builders, n, err);
            n = 0;
        }
    }
    if (status == SLUICE_OK && n > 0) {
        status = emit_built(chain, op, builders, n, err);
    }
    for (uint32_t k = 0; builders != NULL && k < op->out.n; k++) {
        builder_destroy(builders[k]);
    }
    free(builders);
    forget_slices(state);
    return status;
}

sluice_status chain_drain(struct chain *chain, uint64_t row, struct sluice_error *err)
{
    uint64_t below;

    if (chain->n_behind > 0) {
        return SLUICE_OK; /* it was done before */
    }
    chain->drained = row;
    chain->drains = true;
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        TRY(waiting_tend(chain, chain->phase->ops[i], false, err));
    }
    /* Rows that wait may still be dropped. */
    below = waiting_first_row(chain);
    TRY(collect_note_drops(chain, below, err));
    for (uint32_t i = 0; i < chain->phase->n_ops && below > 0; i++) {
        if (chain->phase->ops[i]->kind == OP_COLLECT) {
            TRY(collector_drain(chain, i, row < below ? row : below - 1, err));
        }
    }
    return SLUICE_OK;
}
