/* One call of a stage over one batch: the view that the stage gets, and the answer that it gave.
 * Nothing of an answer has gone downstream, so that a call may be made again over parts of the
 * batch (faults.c), and what came of it may wait. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "run/asks/asks.h"
#include "run/chain/chainInt.h"

/* ---- answers ---- */

struct answer *answer_take(struct chain *chain)
{
    struct answer *answer = chain->spare;

    if (answer != NULL) {
        chain->spare = answer->next;
        answer->next = NULL;
        return answer;
    }
    answer = calloc(1, sizeof *answer);
    if (answer != NULL) {
        stage_result_init(&answer->result);
    }
    return answer;
}

/* What waits is given up. */
static void give_up(struct answer *answer)
{
    asking_end(answer->asking);
    stage_worker_close(answer->worker);
    answer->asking = NULL;
    answer->worker = NULL;
}

struct answer *answer_release(struct chain *chain, struct answer *answer)
{
    struct answer *next = answer->next;

    give_up(answer);
    batch_unref(answer->batch);
    free(answer->why);
    answer->batch = NULL;
    answer->why = NULL;
    answer->fault = SLUICE_OK;
    stage_result_clear(&answer->result);
    answer->next = chain->spare;
    chain->spare = answer;
    return next;
}

void answers_destroy(struct answer *answer)
{
    while (answer != NULL) {
        struct answer *next = answer->next;
        give_up(answer);
        batch_unref(answer->batch);
        free(answer->why);
        stage_result_deinit(&answer->result);
        free(answer);
        answer = next;
    }
}

sluice_status chain_book(struct chain *chain, uint32_t index, const struct stage_result *result,
                         struct sluice_error *err)
{
    struct ledger_op *entry = &chain->ledger.ops[index];
    struct stage_absence absence;

    for (uint32_t k = 0; k < result->n_measures; k++) {
        if (result->measures[k].delta != 0) {
            TRY(ledger_measure(entry, result->measures[k].name, result->measures[k].delta, err));
        }
    }
    for (size_t at = 0; stage_absence_next(result, &at, &absence);) {
        TRY(ledger_absent(entry, &absence, err));
    }
    for (uint32_t k = 0; k < result->n_skips; k++) {
        const struct stage_skip *skip = &result->skips[k];
        if (skip->rows > 0 || skip->bytes > 0) {
            TRY(ledger_skip(
                entry,
                &(struct ledger_skip){ .how = skip->how, .rows = skip->rows, .bytes = skip->bytes },
                err));
        }
    }
    return SLUICE_OK;
}

/* ---- views ---- */

static sluice_status view_init(struct call_view *view, const struct op *op, uint32_t port,
                               const struct batch *batch, struct sluice_error *err)
{
    uint32_t n = op_stage(op)->n_need[port];

    if (n > PLAN_NEEDS_MAX) {
        return error_set(err, SLUICE_E_SCHEMA,
                         "stage '%s' needs %u columns, at most %d are possible", op->name, n,
                         PLAN_NEEDS_MAX);
    }
    for (uint32_t k = 0; k < n; k++) {
        int32_t slot = op_stage(op)->need[port][k];
        assert(slot < 0 || batch->columns[slot] != NULL);
        view->columns[k] = slot < 0 ? &view->of.absent : &batch->columns[slot]->array;
    }
    batch_view_init(&view->of, view->columns, n, batch->length);
    view->of.batch.port = port;
    view->of.batch.rows = batch->rows;
    view->of.batch.n = batch->n_rows;
    return SLUICE_OK;
}

static uint64_t text_bytes(const struct ArrowArray *texts, const struct batch *batch)
{
    const int32_t *offsets = texts->buffers[1];
    uint64_t sum = 0;

    if (batch->rows == NULL) {
        return (uint64_t)(offsets[batch->length] - offsets[0]);
    }
    for (int64_t i = 0; i < batch->n_rows; i++) {
        sum += (uint64_t)(offsets[batch->rows[i] + 1] - offsets[batch->rows[i]]);
    }
    return sum;
}

/* Bytes of text in the selected rows of the columns that the stage sees: what its speed is measured
 * by. */
static uint64_t bytes_seen(const struct chain *chain, const struct op *op, uint32_t port,
                           const struct batch *batch)
{
    const struct schema *schema = &phase_input(chain->phase, op, port)->out;
    uint64_t sum = 0;

    for (uint32_t k = 0; k < op_stage(op)->n_need[port]; k++) {
        int32_t slot = op_stage(op)->need[port][k];
        const struct type *type =
            slot < 0 || (uint32_t)slot >= schema->n ? NULL : schema->fields[slot].type;
        if (type != NULL && (type->kind == TYPE_UTF8 || type->kind == TYPE_JSON)) {
            sum += text_bytes(&batch->columns[slot]->array, batch);
        }
    }
    return sum;
}

/* Annotators get batches without a selection, because the columns that they give stand beside those
 * of the batch. */
static sluice_status compact(const struct schema *schema, struct batch *batch, struct batch **out,
                             struct sluice_error *err)
{
    const struct type **types = malloc((schema->n + 1u) * sizeof(const struct type *));
    sluice_status status;

    if (types == NULL) {
        return error_nomem(err, "a batch");
    }
    for (uint32_t k = 0; k < schema->n; k++) {
        types[k] = schema->fields[k].type;
    }
    status = batch_compact(batch, types, out, err);
    free(types);
    return status;
}

/* ---- calls ---- */

#define TRIES 5 /* of a call that says SLUICE_E_RETRY */

void chain_call_ended(struct chain *chain, const struct op *op, sluice_status status,
                      sluice_status *fault)
{
    if (status == SLUICE_OK) {
        giant_after(chain, op);
    }
    *fault = status == SLUICE_E_DATA || stage_died(status) ? status : SLUICE_OK;
}

static sluice_status call(struct chain *chain, const struct op *op, uint32_t port, bool may_wait,
                          struct answer *answer, sluice_status *fault, struct sluice_error *err)
{
    struct op_metrics *metrics = &chain->options.metrics->ops[op->index];
    struct stage_worker *worker;
    sluice_status status;
    int tries = 0;

    TRY(view_init(&answer->view, op, port, answer->batch, err));
    do {
        TRY(chain_worker(chain, op->index, &worker, err)); /* that none opens is no row's fault */
        meter_begin(&chain->meter);
        status = stage_process(worker, &answer->view.of.batch, &answer->result, err);
        meter_end(&chain->meter, &metrics->time, op_isolated(op));
        METRIC_ADD(metrics->bytes_in, bytes_seen(chain, op, port, answer->batch));
        if (status == SLUICE_OK && waiting_call(answer)) {
            if (may_wait) {
                *fault = SLUICE_OK;
                return waiting_leave(chain, op, answer, err);
            }
            status = waiting_finish(chain, op, worker, answer, err);
        }
        if (status != SLUICE_OK && !stage_worker_usable(worker)) {
            chain_drop_worker(chain, op->index);
        }
    } while (status == SLUICE_E_RETRY && ++tries < TRIES);
    chain_call_ended(chain, op, status, fault);
    return status;
}

static sluice_status call_new(struct chain *chain, const struct op *op, uint32_t port,
                              bool may_wait, struct batch *batch, struct answer **out,
                              sluice_status *fault, struct sluice_error *err)
{
    struct answer *answer = answer_take(chain);
    sluice_status status = SLUICE_OK;

    *out = NULL;
    *fault = SLUICE_OK;
    if (answer == NULL) {
        return error_nomem(err, "an answer");
    }
    if (op_declared(op)->role == SLUICE_ROLE_ANNOTATOR && port == 0 && batch->rows != NULL) {
        status = compact(&phase_input(chain->phase, op, 0)->out, batch, &answer->batch, err);
    } else {
        answer->batch = batch_ref(batch);
    }
    if (status == SLUICE_OK) {
        status = call(chain, op, port, may_wait, answer, fault, err);
    }
    if (status != SLUICE_OK) {
        answer_release(chain, answer);
        return status;
    }
    *out = answer;
    return SLUICE_OK;
}

sluice_status chain_call(struct chain *chain, const struct op *op, uint32_t port,
                         struct batch *batch, struct answer **out, sluice_status *fault,
                         struct sluice_error *err)
{
    return call_new(chain, op, port, false, batch, out, fault, err);
}

sluice_status chain_call_begin(struct chain *chain, const struct op *op, uint32_t port,
                               struct batch *batch, struct answer **out, sluice_status *fault,
                               struct sluice_error *err)
{
    return call_new(chain, op, port, waiting_may(chain, op, port), batch, out, fault, err);
}
