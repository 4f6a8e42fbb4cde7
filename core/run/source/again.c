/* Rows of a second pass: see again.h. */
#include "run/source/again.h"

#include <stdlib.h>

#include "data/draft.h"
#include "run/edge/edge.h"

/* Makes a stored row current, or finds the end. */
static sluice_status stored_row(struct again *again, struct sluice_error *err)
{
    while (!again->ended && (again->batch == NULL || again->at >= again->batch->length)) {
        meter_begin(chain_meter(again->chain));
        batch_unref(again->batch);
        again->batch = NULL;
        again->at = 0;
        TRY(edge_reader_next(again->stored, &again->batch, err));
        again->ended = again->batch == NULL;
        meter_end(chain_meter(again->chain), &chain_options(again->chain)->metrics->source, false);
    }
    return SLUICE_OK;
}

static const uint64_t *stored_numbers(const struct again *again)
{
    int32_t column = op_load(again->load)->stored[again->load->row_slot];
    return again->batch->columns[column]->array.buffers[1];
}

static sluice_status rows_reserve(struct again *again, int64_t n, struct sluice_error *err)
{
    uint32_t *rows;

    if (n <= again->capacity) {
        return SLUICE_OK;
    }
    rows = realloc(again->rows, (size_t)n * sizeof *rows);
    if (rows == NULL) {
        return error_nomem(err, "row numbers");
    }
    again->rows = rows;
    again->capacity = n;
    return SLUICE_OK;
}

/* The stored rows from at on that lie in the n rows of the split from first on, as numbers in those
 * n. */
static sluice_status select_rows(struct again *again, uint64_t first, int64_t n, int64_t *selected,
                                 struct sluice_error *err)
{
    const uint64_t *numbers = stored_numbers(again);
    uint64_t before = first;

    *selected = 0;
    TRY(rows_reserve(again, n, err));
    for (int64_t k = again->at; k < again->batch->length && numbers[k] - first < (uint64_t)n; k++) {
        if (numbers[k] < before) {
            return error_set(
                err, SLUICE_E_INTERNAL, "the rows of '%s' are not in order: %llu behind %llu",
                again->load->name, (unsigned long long)numbers[k], (unsigned long long)before);
        }
        before = numbers[k] + 1;
        again->rows[(*selected)++] = (uint32_t)(numbers[k] - first);
    }
    return SLUICE_OK;
}

/* Is slot k of the load a column of the second pass? Row numbers are the same in both. */
static int32_t read_slot(const struct again *again, const struct op *reader, uint32_t k)
{
    return (int32_t)k == again->load->row_slot ? reader->row_slot : again->plan->columns[k];
}

static bool has_stored_columns(const struct again *again, const struct op *reader)
{
    for (uint32_t k = 0; k < again->load->out.n; k++) {
        if (again->load->live[k] && op_load(again->load)->stored[k] >= 0 &&
            read_slot(again, reader, k) < 0) {
            return true;
        }
    }
    return false;
}

static sluice_status stored_column(struct again *again, uint32_t k, int64_t n, struct column **out,
                                   struct sluice_error *err)
{
    struct column *column = again->batch->columns[op_load(again->load)->stored[k]];

    if (n == again->batch->length) {
        *out = column_ref(column);
        return SLUICE_OK;
    }
    TRY(rows_reserve(again, n, err));
    for (int64_t i = 0; i < n; i++) {
        again->rows[i] = (uint32_t)(again->at + i);
    }
    return column_gather(column, again->load->out.fields[k].type, again->rows, n, out, err);
}

/* The load's batch of n selected rows. Where there are stored columns as well, both are gathered to
 * the same n rows; else it is a selection of what was read. */
static sluice_status join(struct again *again, const struct op *reader, struct batch *read,
                          int64_t n, struct batch **out, struct sluice_error *err)
{
    const struct op *load = again->load;
    bool stored = has_stored_columns(again, reader);
    bool gathers = stored && n < read->length;
    struct draft draft;
    struct batch *all;

    draft_init(&draft, load->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < load->out.n; k++) {
        int32_t slot = read_slot(again, reader, k);
        struct column *column = NULL;
        if (!load->live[k] || slot < 0) {
            continue;
        }
        if (gathers) {
            draft_place(&draft, k,
                        column_gather(read->columns[slot], load->out.fields[k].type, again->rows, n,
                                      &column, err),
                        &column);
        } else {
            draft_share(&draft, k, read->columns[slot]);
        }
    }
    if (!stored) {
        TRY(draft_end(&draft, read->length, &all, err));
        *out = n == read->length ? batch_ref(all) : batch_select(all, again->rows, n);
        batch_unref(all);
        return *out == NULL ? error_nomem(err, "a batch") : SLUICE_OK;
    }
    for (uint32_t k = 0; draft_ok(&draft) && k < load->out.n; k++) {
        struct column *column = NULL;
        if (load->live[k] && op_load(load)->stored[k] >= 0 && draft.columns[k] == NULL) {
            draft_place(&draft, k, stored_column(again, k, n, &column, err), &column);
        }
    }
    return draft_end(&draft, n, out, err);
}

sluice_status again_push(struct again *again, struct batch *read, uint64_t first,
                         struct sluice_error *err)
{
    const struct op *reader = chain_options(again->chain)->phase->ops[again->plan->op];

    for (;;) {
        struct batch *batch = NULL;
        uint64_t last;
        int64_t n;
        sluice_status status;
        TRY(stored_row(again, err));
        if (again->ended) {
            return SLUICE_OK;
        }
        TRY(select_rows(again, first, read->length, &n, err));
        if (n == 0) {
            /* the next stored row is behind these, or was missed: again_finish sees that */
            return SLUICE_OK;
        }
        last = stored_numbers(again)[again->at + n - 1];
        TRY(join(again, reader, read, n, &batch, err));
        again->at += n;
        status = chain_emit(again->chain, again->load->index, batch, err);
        batch_unref(batch);
        TRY(status);
        if (!op_load(again->load)->side) {
            TRY(chain_drain(again->chain, last, err));
        }
    }
}

sluice_status again_finish(struct again *again, uint64_t n, const char *name,
                           struct sluice_error *err)
{
    TRY(stored_row(again, err));
    if ((again->expected == UINT64_MAX || again->expected == n) && again->ended) {
        return SLUICE_OK;
    }
    return error_set(
        err, SLUICE_E_DATA,
        "%s: found %llu records in the second pass over the input, expected %llu as in the "
        "first; the input changed while the run was working, or its reader is not "
        "deterministic. Run again when nobody writes to it, or with spill = \"rows\" in "
        "s.pipeline",
        name, (unsigned long long)n, (unsigned long long)again->expected);
}

void again_deinit(struct again *again)
{
    batch_unref(again->batch);
    free(again->rows);
}
