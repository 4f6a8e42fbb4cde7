/* Asking a stage about a batch. Where it fails, only the call is made again, over parts, until the
 * rows that are to blame are found; what the parts gave is delivered when all have answered. Or the
 * run ends. */
#include <stdio.h>

#include "base/buf.h"
#include "run/chain/chainInt.h"

/* Which rows of the split a fault is about, for a message: " (rows 17 to 300)". */
static void describe_rows(const struct chain *chain, const struct op *op, const struct batch *batch,
                          char *text, size_t size)
{
    const struct op *from = phase_input(chain->phase, op, 0);
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

/* Can the rows to blame be found, and set aside? */
static bool divides(const struct op *op, sluice_status fault)
{
    return chain_repeats(op) && fault != STAGE_KILLED &&
           (fault != STAGE_TIMED_OUT || op_code(op)->quarantine_late);
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
    if (fault == STAGE_KILLED) {
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

/* A batch that a stage is asked about, in parts where rows of it fail. */
struct asking_rows {
    struct chain *chain;
    const struct op *op;
    uint32_t port;
    struct answer **end; /* of the list of answers */
    uint64_t culprits;   /* rows that fail alone */
    bool parts;          /* it failed before: no call of a part is left waiting */
    bool died;
};

static sluice_status note_culprit(struct asking_rows *asking, struct batch *row,
                                  sluice_status fault, struct sluice_error *err)
{
    struct answer *answer = answer_take(asking->chain);

    if (answer == NULL) {
        return error_nomem(err, "an answer");
    }
    *asking->end = answer;
    asking->end = &answer->next;
    asking->culprits++;
    answer->batch = batch_ref(row);
    answer->fault = fault;
    answer->why = str_printf("%s: %s",
                             fault == SLUICE_E_DATA   ? "data_error"
                             : fault == STAGE_CRASHED ? "crash"
                                                      : "late",
                             err->message);
    return answer->why == NULL ? error_nomem(err, "an answer") : SLUICE_OK;
}

static sluice_status ask(struct asking_rows *asking, struct batch *batch, struct sluice_error *err);
static sluice_status blame(struct asking_rows *asking, struct batch *batch, sluice_status fault,
                           struct sluice_error *err);

/* After a fault: finds the rows that fail alone. A stage in a child process gets a fresh child for
 * every part, so that what a part does is not the doing of the one before. */
static sluice_status bisect(struct asking_rows *asking, struct batch *batch, sluice_status fault,
                            struct sluice_error *err)
{
    struct sluice_error first = *err;
    uint64_t culprits = asking->culprits;
    int64_t middle = batch->n_rows / 2;

    if (batch->n_rows == 1) {
        return note_culprit(asking, batch, fault, err);
    }
    for (int half = 0; half < 2; half++) {
        struct batch *part = half == 0 ? batch_slice(batch, 0, middle)
                                       : batch_slice(batch, middle, batch->n_rows - middle);
        sluice_status status =
            part == NULL ? error_nomem(err, "a selection") : ask(asking, part, err);
        batch_unref(part);
        TRY(status);
    }
    if (fault == STAGE_CRASHED && asking->culprits == culprits) {
        *err = first;
        return refuse_batch(asking->chain, asking->op, 0, batch, fault, true, err);
    }
    return SLUICE_OK;
}

static sluice_status ask(struct asking_rows *asking, struct batch *batch, struct sluice_error *err)
{
    struct answer *answer;
    sluice_status fault;
    sluice_status status;

    if (asking->culprits > 0 &&
        chain_faults_suffice(asking->chain, asking->op->index, asking->culprits)) {
        return SLUICE_OK; /* the run ends as soon as these are delivered */
    }
    TRY(chain_check_cancelled(asking->chain, err));
    status = asking->parts
                 ? chain_call(asking->chain, asking->op, asking->port, batch, &answer, &fault, err)
                 : chain_call_begin(asking->chain, asking->op, asking->port, batch, &answer, &fault,
                                    err);
    if (status == SLUICE_OK) {
        *asking->end = answer;
        asking->end = &answer->next;
        return SLUICE_OK;
    }
    return fault == SLUICE_OK ? status : blame(asking, batch, fault, err);
}

/* The call over a batch failed. */
static sluice_status blame(struct asking_rows *asking, struct batch *batch, sluice_status fault,
                           struct sluice_error *err)
{
    asking->parts = true;
    asking->died = asking->died || stage_died(fault);
    return asking->port == 0 && divides(asking->op, fault)
               ? bisect(asking, batch, fault, err)
               : refuse_batch(asking->chain, asking->op, asking->port, batch, fault, false, err);
}

static sluice_status ask_end(const struct asking_rows *asking, sluice_status status)
{
    if (asking->died) {
        chain_drop_worker(asking->chain, asking->op->index); /* the next batch is no suspect */
    }
    return status;
}

sluice_status chain_ask(struct chain *chain, const struct op *op, uint32_t port,
                        struct batch *batch, struct answer **answers, struct sluice_error *err)
{
    struct asking_rows asking = { .chain = chain, .op = op, .port = port, .end = answers };

    *answers = NULL;
    return ask_end(&asking, ask(&asking, batch, err));
}

sluice_status chain_ask_again(struct chain *chain, const struct op *op, struct batch *batch,
                              sluice_status fault, struct answer **answers,
                              struct sluice_error *err)
{
    struct asking_rows asking = { .chain = chain, .op = op, .end = answers, .parts = true };
    sluice_status status;

    *answers = NULL;
    status = fault == SLUICE_OK ? ask(&asking, batch, err) : blame(&asking, batch, fault, err);
    return ask_end(&asking, status);
}
