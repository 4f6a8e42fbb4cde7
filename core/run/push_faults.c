/* A batch that a stage could not process: the rows that are to blame are found and set aside, or the run ends. */
#include <stdio.h>
#include <string.h>

#include "run/chainInt.h"

/* May the rows of the batch be to blame? */
bool chain_row_fault(sluice_status status)
{
    return status == SLUICE_E_DATA || status == STAGE_CRASHED || status == STAGE_TIMED_OUT;
}

/* Which rows of the split a fault is about, for a message: " (rows 17 to 300)". */
static void describe_rows(const struct chain *chain, const struct op *op, const struct batch *batch,
                          char *text, size_t size)
{
    const struct op *from = chain->phase->ops[op->inputs[0]];
    int64_t first = batch->rows == NULL ? 0 : batch->rows[0];
    int64_t last = batch->rows == NULL ? batch->length - 1 : batch->rows[batch->n_rows - 1];

    if (batch->n_rows == 1) {
        snprintf(text, size, "row %llu", (unsigned long long)chain_row_number(from, batch, first));
    } else {
        snprintf(text, size, "rows %llu to %llu",
                 (unsigned long long)chain_row_number(from, batch, first),
                 (unsigned long long)chain_row_number(from, batch, last));
    }
}

/* SIGKILL comes from outside, as a rule from a system that has no memory left: never a row's doing. */
static bool killed(sluice_status fault, const struct sluice_error *err)
{
    return fault == STAGE_CRASHED && strstr(err->message, "(SIGKILL") != NULL;
}

/* Can the rows to blame be found, and set aside? */
static bool divides(const struct op *op, sluice_status fault, const struct sluice_error *err)
{
    return chain_repeats(op) && !killed(fault, err) &&
           (fault != STAGE_TIMED_OUT || op->quarantine_late);
}

/* The run ends over a fault. Data errors stay what they are. */
static sluice_status refuse_batch(struct chain *chain, const struct op *op, uint32_t port,
                                  const struct batch *batch, sluice_status fault, bool divided,
                                  struct sluice_error *err)
{
    char why[sizeof err->message];
    char rows[80];

    if (fault == SLUICE_E_DATA) {
        return fault;
    }
    describe_rows(chain, op, batch, rows, sizeof rows);
    snprintf(why, sizeof why, "%.600s", err->message);
    if (killed(fault, err)) {
        return error_set(err, SLUICE_E_NOMEM,
                         "%s; the batch is %s of its %s; it was killed from outside, as the system "
                         "does when it has no memory left: run again, with fewer workers, or with "
                         "a lower isolate = { memory = ... }",
                         why, rows, port == 0 ? "input" : "side input");
    }
    if (fault == STAGE_TIMED_OUT) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "%s; the batch is %s of its %s%s; raise isolate = { timeout = ... }%s",
                         why, rows, port == 0 ? "input" : "side input",
                         divided ? ", a row alone" : "",
                         chain_repeats(op) ? ", or set such rows aside with on_timeout = "
                                             "\"quarantine\" (the result then depends on the "
                                             "machine's speed)"
                                           : "");
    }
    return error_set(err, SLUICE_E_INTERNAL, "%s; the batch is %s of its %s%s", why, rows,
                     port == 0 ? "input" : "side input",
                     divided
                         ? ": all of them together crash it, no row does alone; that is a defect "
                           "of the plugin, see `sluice test-plugin`"
                         : ": the stage keeps a state from row to row, so no row can be set "
                           "aside; that is a defect of the plugin, see `sluice test-plugin`");
}

static sluice_status quarantine_culprit(struct chain *chain, const struct op *op,
                                        const struct batch *batch, sluice_status fault,
                                        struct sluice_error *err)
{
    char text[1100];
    int n = snprintf(text, sizeof text, "%s: %s",
                     fault == SLUICE_E_DATA   ? "data_error"
                     : fault == STAGE_CRASHED ? "crash"
                                              : "late",
                     err->message);

    chain->culprits++;
    return chain_quarantine_row(chain, op, batch, batch->rows == NULL ? 0 : batch->rows[0], text,
                                n < (int)sizeof text ? (size_t)n : sizeof text - 1, err);
}

/* After a fault: finds the rows that fail alone and quarantines them; all others go on, in order. A stage in a child process gets a
 * fresh child for every part, so that what a part does is not the doing of the one before. */
static sluice_status bisect(struct chain *chain, const struct op *op, struct batch *batch,
                            sluice_status fault, struct sluice_error *err)
{
    struct sluice_error first = *err;
    uint64_t culprits = chain->culprits;
    sluice_status status;

    if (batch->n_rows == 1) {
        return quarantine_culprit(chain, op, batch, fault, err);
    }
    for (int half = 0; half < 2; half++) {
        int64_t middle = batch->n_rows / 2;
        struct batch *part = half == 0 ? batch_slice(batch, 0, middle)
                                       : batch_slice(batch, middle, batch->n_rows - middle);
        if (part == NULL) {
            return error_nomem(err, "a selection");
        }
        status = chain_push_once(chain, op, 0, part, err);
        if (chain_row_fault(status) && chain->fault_op == (int32_t)op->index) {
            status = divides(op, status, err)
                         ? bisect(chain, op, part, status, err)
                         : refuse_batch(chain, op, 0, part, status, false, err);
        }
        batch_unref(part);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (fault == STAGE_CRASHED && chain->culprits == culprits) {
        *err = first;
        return refuse_batch(chain, op, 0, batch, fault, true, err);
    }
    return SLUICE_OK;
}

sluice_status chain_push_stage(struct chain *chain, const struct op *op, uint32_t port,
                               struct batch *batch, struct sluice_error *err)
{
    sluice_status status = chain_push_once(chain, op, port, batch, err);

    if (!chain_row_fault(status) || chain->fault_op != (int32_t)op->index) {
        return status;
    }
    if (port != 0 || !divides(op, status, err)) {
        return refuse_batch(chain, op, port, batch, status, false, err);
    }
    if (status == SLUICE_E_DATA) {
        return bisect(chain, op, batch, status, err);
    }
    status = bisect(chain, op, batch, status, err);
    chain_drop_worker(chain, op->index); /* the next batch is no suspect */
    return status;
}
