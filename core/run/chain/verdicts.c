/* What a stage said of its rows: kept ones become a selection, dropped ones go to the collectors,
 * bad ones are set aside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/chain/chainInt.h"

uint64_t chain_row_number(const struct op *from, const struct batch *batch, int64_t row)
{
    const struct column *column = from->row_slot < 0 ? NULL : batch->columns[from->row_slot];
    return column == NULL ? (uint64_t)row : ((const uint64_t *)column->array.buffers[1])[row];
}

/* Quarantines a row of op's input; text is "reason: detail". */
static sluice_status quarantine_row(struct chain *chain, const struct op *op,
                                    const struct batch *batch, int64_t row, const char *text,
                                    size_t n, struct sluice_error *err)
{
    const struct op *from = phase_input(chain->phase, op, 0);
    char reason[64] = "bad_row";
    char detail[1024];
    const char *colon = memchr(text, ':', n);
    struct bad_record bad = {
        .stage = op->name, .reason = reason, .detail = detail, .has_row = true
    };

    if (colon != NULL && (size_t)(colon - text) < sizeof reason) {
        memcpy(reason, text, (size_t)(colon - text));
        reason[colon - text] = '\0';
        colon++;
        while (colon < text + n && *colon == ' ') {
            colon++;
        }
    } else {
        colon = text;
    }
    snprintf(detail, sizeof detail, "%.*s", (int)(text + n - colon), colon);
    bad.row = chain_row_number(from, batch, row);
    TRY(quarantine_add(&chain->kept,
                       &(struct quarantine_row){ .phase = chain->phase,
                                                 .op = op,
                                                 .task = chain->options.task,
                                                 .row = bad.row,
                                                 .reason = reason,
                                                 .detail = detail },
                       batch, (uint32_t)row, err));
    return chain_quarantine(chain, op->index, &bad, err);
}

/* A row that a verdict calls bad. */
static sluice_status quarantine_bad(struct chain *chain, const struct op *op,
                                    const struct batch *batch, uint32_t row,
                                    const struct sluice_verdict *verdict, struct sluice_error *err)
{
    const char *text = verdict->dup_of == NULL ? "" : verdict->dup_of;

    return quarantine_row(chain, op, batch, row, text,
                          verdict->dup_of == NULL ? 0 : (size_t)verdict->dup_of_length, err);
}

sluice_status chain_quarantine_culprit(struct chain *chain, const struct op *op,
                                       const struct answer *answer, struct sluice_error *err)
{
    const struct batch *batch = answer->batch;

    return quarantine_row(chain, op, batch, batch->rows == NULL ? 0 : batch->rows[0], answer->why,
                          strlen(answer->why), err);
}

sluice_status chain_judge(struct chain *chain, const struct op *op, const struct answer *answer,
                          struct batch **kept, struct sluice_error *err)
{
    const struct sluice_verdict *verdicts = answer->result.verdicts;
    struct batch *batch = answer->batch;
    struct ledger_op *entry = &chain->ledger.ops[op->index];
    int64_t n = batch->n_rows;
    int64_t n_kept = 0;
    int64_t n_dropped = 0;
    uint32_t *rows;
    uint32_t *dropped;
    struct sluice_verdict *reasons = NULL;
    sluice_status status = SLUICE_OK;

    if (n > chain->verdict_capacity) {
        uint32_t *more = realloc(chain->verdict_rows, (size_t)n * 2 * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "a selection");
        }
        chain->verdict_rows = more;
        chain->verdict_capacity = n;
    }
    rows = chain->verdict_rows;
    dropped = rows + chain->verdict_capacity;
    for (int64_t k = 0; k < n; k++) {
        uint32_t row = batch->rows == NULL ? (uint32_t)k : batch->rows[k];
        chain->states[op->index].took |= verdicts[k].reason != SLUICE_VERDICT_BAD;
        if (verdicts[k].reason == 0) {
            rows[n_kept++] = row;
        } else if (verdicts[k].reason == SLUICE_VERDICT_BAD) {
            TRY(quarantine_bad(chain, op, batch, row, &verdicts[k], err));
        } else {
            entry->dropped[verdicts[k].reason]++;
            dropped[n_dropped++] = row;
        }
    }
    entry->kept += (uint64_t)n_kept;
    if (n_dropped > 0) {
        int64_t at = 0;
        reasons = malloc((size_t)n_dropped * sizeof *reasons);
        if (reasons == NULL) {
            return error_nomem(err, "dropped rows");
        }
        for (int64_t k = 0; k < n; k++) {
            if (verdicts[k].reason > 0) {
                reasons[at++] = verdicts[k];
            }
        }
        status = collect_drops(chain, op, batch, dropped, reasons, n_dropped, err);
        free(reasons);
    }
    if (status == SLUICE_OK) {
        *kept = n_kept == n ? batch_ref(batch) : batch_select(batch, rows, n_kept);
        status = *kept == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
    }
    return status;
}

sluice_status chain_set_aside(struct chain *chain, const struct op *op, const struct answer *answer,
                              struct batch **good, struct sluice_error *err)
{
    const struct sluice_verdict *verdicts = answer->result.verdicts;
    struct batch *batch = answer->batch;
    uint32_t *rows;
    int64_t n = 0;
    sluice_status status = SLUICE_OK;

    if (!answer->result.has_verdicts) {
        chain->states[op->index].took |= batch->n_rows > 0;
        *good = batch_ref(batch);
        return SLUICE_OK;
    }
    rows = malloc(((size_t)batch->n_rows + 1) * sizeof *rows);
    if (rows == NULL) {
        return error_nomem(err, "a selection");
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n_rows; k++) {
        uint32_t row = batch->rows == NULL ? (uint32_t)k : batch->rows[k];
        if (verdicts[k].reason == 0) {
            chain->states[op->index].took = true;
            rows[n++] = row;
        } else {
            status = quarantine_bad(chain, op, batch, row, &verdicts[k], err);
        }
    }
    if (status == SLUICE_OK) {
        *good = batch_select(batch, rows, n);
        status = *good == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
    }
    free(rows);
    return status;
}
