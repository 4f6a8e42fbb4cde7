/* Rows on their way downstream: a batch goes to an op's consumers; a stage among them is asked, and
 * what it answered is delivered: verdicts become selections, added columns new batches, bytes
 * shards. */
#include <assert.h>

#include "data/draft.h"
#include "run/chain/chainInt.h"

static sluice_status push(struct chain *chain, uint32_t index, uint32_t port, struct batch *batch,
                          struct sluice_error *err);

/* ---- handing batches on ---- */

/* Passes a batch with op's slots to op's consumers. */
static sluice_status deliver(struct chain *chain, const struct op *op, struct batch *batch,
                             struct sluice_error *err)
{
    const struct chain_observer *observer = chain->options.observer;
    bool kept = false;
    uint64_t held;

    chain->ledger.ops[op->index].emitted += (uint64_t)batch->n_rows;
    METRIC_ADD(chain->options.metrics->ops[op->index].rows_out, batch->n_rows);
    if (batch->n_rows > 0 && observer != NULL && observer->given != NULL) {
        TRY(observer->given(observer->ctx, op, batch, &kept, err));
    }
    if (batch->n_rows == 0 || kept) {
        return SLUICE_OK;
    }
    held = giant_hold(chain, op, batch);
    for (uint32_t k = 0; k < op->n_consumers; k++) {
        TRY(push(chain, op->consumers[k].op, op->consumers[k].port, batch, err));
    }
    giant_let(chain, held);
    return SLUICE_OK;
}

static void release_answers(struct chain *chain, struct answer *answers)
{
    while (answers != NULL) {
        answers = answer_release(chain, answers);
    }
}

/* Rows that went by before the chain was saved, for the stages that learn from them; they are
 * accounted for already, and so is what came of them. */
static sluice_status tell_again(struct chain *chain, const struct op *op, struct batch *batch,
                                struct sluice_error *err)
{
    for (uint32_t k = 0; k < op->n_consumers; k++) {
        const struct op *to = chain->phase->ops[op->consumers[k].op];
        if (to->kind == OP_STAGE && op->consumers[k].port == 1 &&
            chain_learns_again(chain->phase, to)) {
            struct answer *answers = NULL;
            sluice_status status = chain_ask(chain, to, 1, batch, &answers, err);
            release_answers(chain, answers);
            TRY(status);
        }
    }
    return SLUICE_OK;
}

/* What the source gave before the chain was saved goes no further, but for side inputs. */
static sluice_status deliver_rest(struct chain *chain, const struct op *op, struct batch *batch,
                                  struct sluice_error *err)
{
    uint64_t *skip = &chain->states[op->index].skip;
    int64_t n = *skip < (uint64_t)batch->n_rows ? (int64_t)*skip : batch->n_rows;
    struct batch *rest;
    sluice_status status;

    chain->ledger.ops[op->index].emitted += (uint64_t)n;
    METRIC_ADD(chain->options.metrics->ops[op->index].rows_out, n);
    *skip -= (uint64_t)n;
    chain->n_behind -= *skip == 0;
    if (op->kind == OP_LOAD && op_load(op)->side) {
        struct batch *seen = batch_slice(batch, 0, n);
        status = seen == NULL ? error_nomem(err, "a selection") : tell_again(chain, op, seen, err);
        batch_unref(seen);
        TRY(status);
    }
    if (n == batch->n_rows) {
        return SLUICE_OK;
    }
    rest = batch_slice(batch, n, batch->n_rows - n);
    status = rest == NULL ? error_nomem(err, "a selection") : deliver(chain, op, rest, err);
    batch_unref(rest);
    return status;
}

sluice_status chain_emit(struct chain *chain, uint32_t op, struct batch *batch,
                         struct sluice_error *err)
{
    sluice_status status = chain->states[op].skip > 0
                               ? deliver_rest(chain, chain->phase->ops[op], batch, err)
                               : deliver(chain, chain->phase->ops[op], batch, err);

    chain->ledger.ops[op].source = true;
    chain->failed = chain->failed || status != SLUICE_OK;
    return status;
}

/* A batch of op's live columns, as `columns` says; takes references to those of the input. emitted:
 * what the stage gave, or NULL. */
static sluice_status project(const struct op *op, const struct op_column *columns,
                             const struct batch *in, struct ArrowArray *emitted, struct batch **out,
                             struct sluice_error *err)
{
    struct draft draft;

    draft_init(&draft, op->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < op->out.n; k++) {
        struct column *nulls = NULL;
        if (!op->live[k]) {
            continue;
        }
        if (columns[k].from == FROM_INPUT) {
            if (in->columns[columns[k].at] != NULL) {
                draft_share(&draft, k, in->columns[columns[k].at]);
            }
        } else if (columns[k].from == FROM_PLUGIN) {
            if (emitted != NULL) {
                draft_move(&draft, k, emitted->children[columns[k].at]);
            }
        } else {
            draft_place(&draft, k, column_nulls(op->out.fields[k].type, in->length, &nulls, err),
                        &nulls);
        }
    }
    return draft_end_like(&draft, in, out, err);
}

/* ---- what stages of each role answered ---- */

static sluice_status deliver_filter(struct chain *chain, const struct op *op,
                                    const struct answer *answer, struct sluice_error *err)
{
    struct batch *kept = NULL;
    struct batch *out = NULL;
    sluice_status status;

    if (op_declared(op)->role == SLUICE_ROLE_GATE) {
        TRY(chain_set_aside(chain, op, answer, &kept, err));
        chain->ledger.ops[op->index].kept += (uint64_t)kept->n_rows;
    } else {
        TRY(chain_judge(chain, op, answer, &kept, err));
    }
    status = project(op, op_stage(op)->columns, kept, NULL, &out, err);
    batch_unref(kept);
    if (status == SLUICE_OK) {
        status = deliver(chain, op, out, err);
        batch_unref(out);
    }
    return status;
}

static sluice_status deliver_annotator(struct chain *chain, const struct op *op,
                                       struct answer *answer, struct sluice_error *err)
{
    struct stage_result *result = &answer->result;
    struct ArrowArray *emitted = result->n_batches == 0 ? NULL : &result->batches[0];
    struct batch *out = NULL;
    struct batch *kept = NULL;
    sluice_status status;

    assert(result->n_batches <= 1); /* stage_process sees to it */
    TRY(project(op, op_stage(op)->columns, answer->batch, emitted, &out, err));
    if (result->has_verdicts) {
        /* Rows are judged as they came in; out has the same rows. */
        struct batch *same = NULL;
        status = chain_judge(chain, op, answer, &same, err);
        if (status == SLUICE_OK) {
            kept =
                same->rows == NULL ? batch_ref(out) : batch_select(out, same->rows, same->n_rows);
            status = kept == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
            batch_unref(same);
        }
        batch_unref(out);
    } else {
        chain->states[op->index].took |= answer->batch->n_rows > 0;
        chain->ledger.ops[op->index].kept += (uint64_t)answer->batch->n_rows;
        kept = out;
        status = SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = deliver(chain, op, kept, err);
        batch_unref(kept);
    }
    return status;
}

/* One batch that a transform emitted, with _row behind its columns where it does not declare it: a
 * running number. */
static sluice_status deliver_emitted(struct chain *chain, const struct op *op,
                                     struct ArrowArray *emitted, struct sluice_error *err)
{
    uint64_t *next = &chain->states[op->index].next_row;
    uint32_t declared = (uint32_t)emitted->n_children;
    struct draft draft;
    struct batch *out;
    sluice_status status;

    draft_init(&draft, op->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < op->out.n; k++) {
        if (op->live[k] && k < declared) {
            draft_move(&draft, k, emitted->children[k]);
        } else if (op->live[k]) {
            draft_put(&draft, k, column_count(op->out.fields[k].type, *next, 1, emitted->length));
        }
    }
    TRY(draft_end(&draft, emitted->length, &out, err));
    *next += (uint64_t)emitted->length;
    status = deliver(chain, op, out, err);
    batch_unref(out);
    return status;
}

sluice_status chain_deliver_batches(struct chain *chain, const struct op *op,
                                    struct stage_result *result, struct sluice_error *err)
{
    for (uint32_t i = 0; i < result->n_batches; i++) {
        struct ArrowArray *emitted = &result->batches[i];
        sluice_status status = deliver_emitted(chain, op, emitted, err);
        emitted->release(emitted); /* the next one needs its memory */
        emitted->release = NULL;
        TRY(status);
    }
    return SLUICE_OK;
}

static sluice_status deliver_written(struct chain *chain, const struct op *op,
                                     const struct batch *batch, const struct stage_result *result,
                                     struct sluice_error *err)
{
    struct shards *shards = chain->states[op->index].shards;
    struct op_metrics *metrics = &chain->options.metrics->ops[op->index];
    sluice_status status;

    meter_begin(&chain->meter);
    status = chain_trace(chain, op, batch, result, err);
    if (status == SLUICE_OK) {
        shards_rows(shards, (uint64_t)batch->n_rows);
        status = shards_apply(shards, result, err);
    }
    if (status == SLUICE_OK) {
        chain->ledger.ops[op->index].written += (uint64_t)batch->n_rows;
        METRIC_ADD(metrics->bytes_out, result->bytes.size);
    }
    meter_end(&chain->meter, &metrics->time, false);
    return status;
}

static sluice_status deliver_writer(struct chain *chain, const struct op *op,
                                    const struct answer *answer, struct sluice_error *err)
{
    struct batch *good = NULL;
    sluice_status status = chain_set_aside(chain, op, answer, &good, err);

    if (status == SLUICE_OK) {
        status = deliver_written(chain, op, good, &answer->result, err);
        batch_unref(good);
    }
    return status;
}

/* A row-local transform knows no rows but those of its batch: what it gives comes from them. */
static sluice_status check_origin(const struct chain *chain, const struct op *op,
                                  const struct answer *answer, struct sluice_error *err)
{
    const struct stage_result *result = &answer->result;
    const struct batch *batch = answer->batch;
    const struct op *from = phase_input(chain->phase, op, 0);
    int32_t slot = schema_find(&op->out, SLUICE_ORIGIN);
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    size_t n;

    if (slot < 0 || op_declared(op)->mode != SLUICE_MODE_STATELESS || result->n_batches == 0 ||
        field_metadata(&op->out.fields[slot], "through", &n) != NULL) {
        return SLUICE_OK;
    }
    for (int64_t k = 0; k < batch->n_rows; k++) {
        uint64_t row = chain_row_number(from, batch, batch->rows == NULL ? k : batch->rows[k]);
        first = row < first ? row : first;
        last = row > last ? row : last;
    }
    for (uint32_t i = 0; i < result->n_batches; i++) {
        const struct ArrowArray *array = &result->batches[i];
        const struct ArrowArray *origin = slot < array->n_children ? array->children[slot] : NULL;
        const struct ArrowArray *values =
            origin != NULL && origin->n_children == 1 ? origin->children[0] : origin;
        const uint64_t *rows = values == NULL ? NULL : values->buffers[1];
        for (int64_t k = 0; rows != NULL && k < values->length; k++) {
            if (rows[k] < first || rows[k] > last) {
                return error_set(err, SLUICE_E_INTERNAL,
                                 "stage '%s': (a defect of the plugin) its _origin names the row "
                                 "%llu, it was given the rows %llu to %llu",
                                 op->name, (unsigned long long)rows[k], (unsigned long long)first,
                                 (unsigned long long)last);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status deliver_transform(struct chain *chain, const struct op *op,
                                       struct answer *answer, struct sluice_error *err)
{
    struct batch *good = NULL;

    TRY(check_origin(chain, op, answer, err));
    TRY(chain_set_aside(chain, op, answer, &good, err));
    chain->ledger.ops[op->index].consumed += (uint64_t)good->n_rows;
    batch_unref(good);
    return chain_deliver_batches(chain, op, &answer->result, err);
}

static sluice_status deliver_answer(struct chain *chain, const struct op *op, uint32_t port,
                                    struct answer *answer, struct sluice_error *err)
{
    const struct chain_observer *observer = chain->options.observer;

    TRY(chain_book(chain, op->index, &answer->result, err));
    if (port != 0) { /* a side input: it was for the stage alone, but a transform may emit */
        return op_declared(op)->role == SLUICE_ROLE_TRANSFORM
                   ? chain_deliver_batches(chain, op, &answer->result, err)
                   : SLUICE_OK;
    }
    if (answer->fault != SLUICE_OK) {
        return chain_quarantine_culprit(chain, op, answer, err);
    }
    if (observer != NULL && observer->answered != NULL) {
        TRY(observer->answered(observer->ctx, op, answer->batch, &answer->result, err));
    }
    switch (op_declared(op)->role) {
    case SLUICE_ROLE_FILTER:
    case SLUICE_ROLE_GATE:
        return deliver_filter(chain, op, answer, err);
    case SLUICE_ROLE_ANNOTATOR:
        return deliver_annotator(chain, op, answer, err);
    case SLUICE_ROLE_WRITER:
        return deliver_writer(chain, op, answer, err);
    default:
        return deliver_transform(chain, op, answer, err);
    }
}

sluice_status chain_deliver_answers(struct chain *chain, const struct op *op, uint32_t port,
                                    struct answer *answers, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    while (answers != NULL && status == SLUICE_OK) {
        status = deliver_answer(chain, op, port, answers, err);
        answers = answer_release(chain, answers);
    }
    release_answers(chain, answers);
    return status;
}

static sluice_status push_batch(struct chain *chain, const struct op *op, uint32_t port,
                                struct batch *batch, struct sluice_error *err)
{
    struct answer *answers;
    bool waits = false;
    sluice_status status;

    if (chain->room.giant) { /* nothing is held beside it */
        TRY(waiting_tend(chain, op, true, err));
    }
    status = chain_ask(chain, op, port, batch, &answers, err);
    if (status != SLUICE_OK) {
        release_answers(chain, answers);
        return status;
    }
    TRY(waiting_queue(chain, op, answers, &waits, err));
    return waits ? SLUICE_OK : chain_deliver_answers(chain, op, port, answers, err);
}

#define FIRST_CALL_ROWS 1

/* A failing row may cost a thousand times what another one does: until a stage takes a row it gets
 * few at once, so that faults are counted between them. */
static sluice_status push_stage(struct chain *chain, const struct op *op, uint32_t port,
                                struct batch *batch, struct sluice_error *err)
{
    const struct op_state *state = &chain->states[op->index];
    int64_t step = FIRST_CALL_ROWS;
    sluice_status status = SLUICE_OK;

    if (port != 0 || state->took || batch->n_rows <= step) {
        return push_batch(chain, op, port, batch, err);
    }
    for (int64_t at = 0; at < batch->n_rows && status == SLUICE_OK; step *= 2) {
        int64_t left = batch->n_rows - at;
        int64_t n = state->took || left < step ? left : step;
        struct batch *part = batch_slice(batch, at, n);
        status =
            part == NULL ? error_nomem(err, "a selection") : push_batch(chain, op, port, part, err);
        batch_unref(part);
        at += n;
    }
    return status;
}

static sluice_status push_part(struct chain *chain, const struct op *op, struct part *part,
                               void *ctx, struct sluice_error *err)
{
    struct batch *rows = batch_select(ctx, part->rows, part->n);
    sluice_status status =
        rows == NULL ? error_nomem(err, "a selection") : push_stage(chain, op, 0, rows, err);

    batch_unref(rows);
    return status;
}

/* Each partition's rows to a worker of its own. */
static sluice_status push_parts(struct chain *chain, const struct op *op, struct batch *batch,
                                struct sluice_error *err)
{
    struct parts *parts = chain->states[op->index].parts;

    TRY(parts_assign(parts, batch, err));
    for (uint32_t k = 0; k < parts->n_touched; k++) {
        TRY(chain_with_part(chain, op, parts->items[parts->touched[k]], push_part, batch, err));
    }
    return SLUICE_OK;
}

static sluice_status push(struct chain *chain, uint32_t index, uint32_t port, struct batch *batch,
                          struct sluice_error *err)
{
    const struct op *op = chain->phase->ops[index];
    struct ledger_op *entry = &chain->ledger.ops[index];
    struct op_metrics *metrics = &chain->options.metrics->ops[index];
    sluice_status status = SLUICE_OK;
    struct batch *out = NULL;

    TRY(giant_admit(chain, op, port, batch, err));
    METRIC_ADD(metrics->rows_in, batch->n_rows);
    entry->in[op->kind == OP_UNION ? 0 : port] += (uint64_t)batch->n_rows;
    switch (op->kind) {
    case OP_STAGE:
        return port == 0 && chain->states[index].parts != NULL
                   ? push_parts(chain, op, batch, err)
                   : push_stage(chain, op, port, batch, err);
    case OP_UNION:
        TRY(project(op, op_union(op)->ports[port].columns, batch, NULL, &out, err));
        status = deliver(chain, op, out, err);
        batch_unref(out);
        return status;
    case OP_STORE:
        meter_begin(&chain->meter);
        status = port_add(chain->states[index].port, batch, op_store(op)->slots, err);
        meter_end(&chain->meter, &metrics->time, false);
        giant_after(chain, op);
        return status;
    case OP_READ:
    case OP_LOAD:
    case OP_COLLECT:
        break;
    }
    assert(0 && "a source has no input");
    return SLUICE_E_INTERNAL;
}
