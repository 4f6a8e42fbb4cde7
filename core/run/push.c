/* Rows on their way through the stages of a chain: verdicts become selections, added columns new batches, bytes shards. */
#include "run/chainInt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static sluice_status push(struct chain *chain, uint32_t index, uint32_t port, struct batch *batch,
                          struct sluice_error *err);

/* ---- handing batches on ---- */

/* Passes a batch with op's slots to op's consumers. */
static sluice_status deliver(struct chain *chain, const struct op *op, struct batch *batch,
                             struct sluice_error *err)
{
    chain->ledger.ops[op->index].emitted += (uint64_t)batch->n_rows;
    METRIC_ADD(chain->options.metrics->ops[op->index].rows_out, batch->n_rows);
    if (batch->n_rows == 0) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < op->n_consumers; k++) {
        TRY(push(chain, op->consumers[k].op, op->consumers[k].port, batch, err));
    }
    return SLUICE_OK;
}

sluice_status chain_emit(struct chain *chain, uint32_t op, struct batch *batch,
                         struct sluice_error *err)
{
    sluice_status status = deliver(chain, chain->phase->ops[op], batch, err);

    chain->failed = chain->failed || status != SLUICE_OK;
    return status;
}

/* A batch of op's live columns; takes references to what from[] says. emitted: columns of what the stage gave, or NULL. */
static sluice_status project(const struct op *op, const int32_t *from, const struct batch *in,
                             struct column **emitted, struct batch **out, struct sluice_error *err)
{
    struct column **columns = calloc(op->out.n + 1u, sizeof(struct column *));
    struct batch *all;

    if (columns == NULL) {
        return error_nomem(err, "a batch");
    }
    for (uint32_t k = 0; k < op->out.n; k++) {
        if (!op->live[k]) {
            continue;
        }
        if (from[k] >= 0) {
            columns[k] = in->columns[from[k]] == NULL ? NULL : column_ref(in->columns[from[k]]);
        } else if (emitted != NULL) {
            columns[k] = column_ref(emitted[~from[k]]);
        }
    }
    all = batch_create(in->length, op->out.n, columns);
    free(columns);
    if (all == NULL) {
        return error_nomem(err, "a batch");
    }
    if (in->rows != NULL) {
        *out = batch_select(all, in->rows, in->n_rows);
        batch_unref(all);
        return *out == NULL ? error_nomem(err, "a batch") : SLUICE_OK;
    }
    *out = all;
    return SLUICE_OK;
}

/* ---- views for stages ---- */

#define MAX_NEEDS PLAN_NEEDS_MAX

struct view {
    struct ArrowArray array;
    struct ArrowArray empty;
    struct ArrowArray *children[MAX_NEEDS];
    const void *buffers[1];
    struct sluice_batch batch;
};

static sluice_status make_view(const struct op *op, uint32_t port, const struct batch *batch,
                               struct view *view, struct sluice_error *err)
{
    uint32_t n = op->n_need[port];

    if (n > MAX_NEEDS) {
        return error_set(err, SLUICE_E_SCHEMA,
                         "stage '%s' needs %u columns, at most %d are possible", op->name, n,
                         MAX_NEEDS);
    }
    memset(&view->array, 0, sizeof view->array);
    memset(&view->empty, 0, sizeof view->empty);
    view->buffers[0] = NULL;
    for (uint32_t k = 0; k < n; k++) {
        int32_t slot = op->need[port][k];
        assert(slot < 0 || batch->columns[slot] != NULL);
        view->children[k] = slot < 0 ? &view->empty : &batch->columns[slot]->array;
    }
    view->array.length = batch->length;
    view->array.n_buffers = 1;
    view->array.buffers = view->buffers;
    view->array.n_children = n;
    view->array.children = view->children;
    view->batch = (struct sluice_batch){ .size = sizeof view->batch,
                                         .port = port,
                                         .array = &view->array,
                                         .rows = batch->rows,
                                         .n = batch->n_rows };
    return SLUICE_OK;
}

/* Bytes of text in the selected rows of the columns that the stage sees: what its speed is measured by. */
static uint64_t text_bytes_of(const struct chain *chain, const struct op *op, uint32_t port,
                              const struct batch *batch)
{
    const struct schema *schema =
        op->inputs[port] < 0 ? NULL : &chain->phase->ops[op->inputs[port]]->out;
    uint64_t sum = 0;

    for (uint32_t k = 0; schema != NULL && k < op->n_need[port]; k++) {
        int32_t slot = op->need[port][k];
        const struct type *type =
            slot < 0 || (uint32_t)slot >= schema->n ? NULL : schema->fields[slot].type;
        const int32_t *offsets;
        if (type == NULL || (type->kind != TYPE_UTF8 && type->kind != TYPE_JSON)) {
            continue;
        }
        offsets = batch->columns[slot]->array.buffers[1];
        if (batch->rows == NULL) {
            sum += (uint64_t)(offsets[batch->length] - offsets[0]);
        }
        for (int64_t i = 0; batch->rows != NULL && i < batch->n_rows; i++) {
            sum += (uint64_t)(offsets[batch->rows[i] + 1] - offsets[batch->rows[i]]);
        }
    }
    return sum;
}

static sluice_status run_stage(struct chain *chain, const struct op *op, uint32_t port,
                               const struct batch *batch, struct sluice_error *err)
{
    struct op_metrics *metrics = &chain->options.metrics->ops[op->index];
    struct stage_worker *worker;
    struct view view;
    uint64_t start;
    sluice_status status;
    int tries = 0;

    chain->fault_op = -1; /* that no worker opens is no row's fault */
    TRY(make_view(op, port, batch, &view, err));
    do {
        TRY(chain_worker(chain, op->index, &worker, err));
        start = clock_ns();
        status = stage_process(worker, &view.batch, &chain->result, err);
        METRIC_ADD(metrics->ns, clock_ns() - start);
        METRIC_ADD(metrics->bytes_in, text_bytes_of(chain, op, port, batch));
        if (status != SLUICE_OK && !stage_worker_usable(worker)) {
            chain_drop_worker(chain, op->index);
        }
    } while (status == SLUICE_E_RETRY && ++tries < 5);
    chain->fault_op = chain_row_fault(status) ? (int32_t)op->index : -1;
    for (uint32_t k = 0; status == SLUICE_OK && k < chain->result.n_measures; k++) {
        if (chain->result.measures[k].delta != 0) {
            status = ledger_measure(&chain->ledger.ops[op->index], chain->result.measures[k].name,
                                    chain->result.measures[k].delta, err);
        }
    }
    return status;
}

/* ---- roles ---- */

static const struct type **types_of(const struct schema *schema)
{
    const struct type **types = malloc((schema->n + 1u) * sizeof(const struct type *));

    for (uint32_t k = 0; types != NULL && k < schema->n; k++) {
        types[k] = schema->fields[k].type;
    }
    return types;
}

static sluice_status compact(const struct op *from, struct batch *batch, struct batch **out,
                             struct sluice_error *err)
{
    const struct type **types;
    sluice_status status;

    if (batch->rows == NULL) {
        *out = batch_ref(batch);
        return SLUICE_OK;
    }
    types = types_of(&from->out);
    if (types == NULL) {
        return error_nomem(err, "a batch");
    }
    status = batch_compact(batch, types, out, err);
    free(types);
    return status;
}

/* Moves the children of an emitted struct array into columns. */
static sluice_status take_children(struct ArrowArray *array, uint32_t n, struct column **columns,
                                   struct sluice_error *err)
{
    assert((uint32_t)array->n_children == n);
    for (uint32_t k = 0; k < n; k++) {
        columns[k] = column_create(array->children[k]);
        if (columns[k] == NULL) {
            while (k-- > 0) {
                column_unref(columns[k]);
            }
            return error_nomem(err, "a column");
        }
    }
    return SLUICE_OK;
}

static uint32_t emitted_columns(const struct op *op)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < op->out.n; k++) {
        if (op->from[k] < 0 && (uint32_t)~op->from[k] + 1 > n) {
            n = (uint32_t)~op->from[k] + 1;
        }
    }
    return n;
}

static sluice_status push_filter(struct chain *chain, const struct op *op, struct batch *batch,
                                 struct sluice_error *err)
{
    struct batch *kept = NULL;
    struct batch *out = NULL;
    sluice_status status;

    if (op->kind_of->role == SLUICE_ROLE_GATE) {
        TRY(chain_set_aside(chain, op, batch, &kept, err));
        chain->ledger.ops[op->index].kept += (uint64_t)kept->n_rows;
    } else {
        TRY(chain_judge(chain, op, batch, &kept, err));
    }
    status = project(op, op->from, kept, NULL, &out, err);
    batch_unref(kept);
    if (status == SLUICE_OK) {
        status = deliver(chain, op, out, err);
        batch_unref(out);
    }
    return status;
}

static sluice_status push_annotator(struct chain *chain, const struct op *op, struct batch *batch,
                                    struct sluice_error *err)
{
    uint32_t n = emitted_columns(op);
    struct column *columns[MAX_NEEDS];
    struct batch *out = NULL;
    struct batch *kept = NULL;
    bool judged = chain->result.has_verdicts;
    sluice_status status;

    if (n > 0) {
        if (chain->result.n_batches != 1) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "stage '%s' gave %u batches of columns for one of rows", op->name,
                             chain->result.n_batches);
        }
        TRY(take_children(&chain->result.batches[0], n, columns, err));
    }
    status = project(op, op->from, batch, columns, &out, err);
    for (uint32_t k = 0; k < n; k++) {
        column_unref(columns[k]);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (judged) {
        /* Rows are judged as they came in; out has the same rows. */
        struct batch *same = NULL;
        status = chain_judge(chain, op, batch, &same, err);
        if (status == SLUICE_OK) {
            kept =
                same->rows == NULL ? batch_ref(out) : batch_select(out, same->rows, same->n_rows);
            status = kept == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
            batch_unref(same);
        }
    } else {
        chain->ledger.ops[op->index].kept += (uint64_t)batch->n_rows;
        kept = batch_ref(out);
    }
    batch_unref(out);
    if (status == SLUICE_OK) {
        status = deliver(chain, op, kept, err);
        batch_unref(kept);
    }
    return status;
}

/* _row of emitted rows: what the stage declared, or a running number. */
static sluice_status number_rows(struct op_state *state, int64_t n, struct column **out,
                                 struct sluice_error *err)
{
    struct type *type = NULL;
    struct builder *builder = NULL;
    struct ArrowArray array;
    sluice_status status = type_parse("uint64", &type, err);

    if (status == SLUICE_OK) {
        status = builder_create(type, &builder, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < n; k++) {
        if (!builder_uint(builder, state->next_row++)) {
            status = error_nomem(err, "row numbers");
        }
    }
    if (status == SLUICE_OK) {
        status = builder_finish(builder, &array, err);
    }
    if (status == SLUICE_OK) {
        *out = column_create(&array);
        status = *out == NULL ? error_nomem(err, "row numbers") : SLUICE_OK;
    }
    builder_destroy(builder);
    type_destroy(type);
    return status;
}

/* Hands on the batches that a transform emitted. */
static sluice_status push_emitted(struct chain *chain, const struct op *op,
                                  struct sluice_error *err)
{
    uint32_t n_batches = chain->result.n_batches;
    struct ArrowArray *batches;
    sluice_status status = SLUICE_OK;

    if (n_batches == 0) {
        return SLUICE_OK;
    }
    /* The result buffer is used by the stages downstream. */
    batches = malloc(n_batches * sizeof *batches);
    if (batches == NULL) {
        return error_nomem(err, "emitted rows");
    }
    memcpy(batches, chain->result.batches, n_batches * sizeof *batches);
    for (uint32_t i = 0; i < n_batches; i++) {
        chain->result.batches[i].release = NULL;
    }
    for (uint32_t i = 0; i < n_batches; i++) {
        int64_t length = batches[i].length;
        uint32_t declared = (uint32_t)batches[i].n_children;
        struct column *columns[MAX_NEEDS + 1];
        struct batch *out = NULL;
        if (status == SLUICE_OK) {
            status = take_children(&batches[i], declared, columns, err);
            if (status == SLUICE_OK && op->out.n > declared) {
                status = number_rows(&chain->states[op->index], length, &columns[declared], err);
            }
            for (uint32_t k = 0; status == SLUICE_OK && k < op->out.n; k++) {
                if (!op->live[k]) {
                    column_unref(columns[k]);
                    columns[k] = NULL;
                }
            }
            if (status == SLUICE_OK) {
                out = batch_create(length, op->out.n, columns);
                status =
                    out == NULL ? error_nomem(err, "emitted rows") : deliver(chain, op, out, err);
                batch_unref(out);
            }
        }
        if (batches[i].release != NULL) {
            batches[i].release(&batches[i]);
        }
    }
    free(batches);
    return status;
}

static sluice_status push_written(struct chain *chain, const struct op *op,
                                  const struct batch *batch, struct sluice_error *err)
{
    struct shards *shards = chain->states[op->index].shards;
    struct op_metrics *metrics = &chain->options.metrics->ops[op->index];
    uint64_t start = clock_ns();
    sluice_status status = chain_trace(chain, op, batch, err);

    if (status == SLUICE_OK) {
        shards_rows(shards, (uint64_t)batch->n_rows);
        status = shards_apply(shards, &chain->result, err);
    }
    if (status == SLUICE_OK) {
        chain->ledger.ops[op->index].written += (uint64_t)batch->n_rows;
        METRIC_ADD(metrics->bytes_out, chain->result.bytes.size);
    }
    METRIC_ADD(metrics->ns, clock_ns() - start);
    return status;
}

static sluice_status push_writer(struct chain *chain, const struct op *op, struct batch *batch,
                                 struct sluice_error *err)
{
    struct batch *good = NULL;
    sluice_status status = chain_set_aside(chain, op, batch, &good, err);

    if (status == SLUICE_OK) {
        status = push_written(chain, op, good, err);
        batch_unref(good);
    }
    return status;
}

/* A row-local transform knows no rows but those of its batch: what it gives comes from them. */
static sluice_status check_origin(const struct chain *chain, const struct op *op,
                                  const struct batch *batch, struct sluice_error *err)
{
    const struct op *from = chain->phase->ops[op->inputs[0]];
    int32_t slot = schema_find(&op->out, "_origin");
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    size_t n;

    if (slot < 0 || op->kind_of->mode != SLUICE_MODE_STATELESS || chain->result.n_batches == 0 ||
        field_metadata(&op->out.fields[slot], "through", &n) != NULL) {
        return SLUICE_OK;
    }
    for (int64_t k = 0; k < batch->n_rows; k++) {
        uint64_t row = chain_row_number(from, batch, batch->rows == NULL ? k : batch->rows[k]);
        first = row < first ? row : first;
        last = row > last ? row : last;
    }
    for (uint32_t i = 0; i < chain->result.n_batches; i++) {
        const struct ArrowArray *array = &chain->result.batches[i];
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

static sluice_status push_transform(struct chain *chain, const struct op *op, struct batch *batch,
                                    struct sluice_error *err)
{
    struct batch *good = NULL;

    TRY(check_origin(chain, op, batch, err));
    TRY(chain_set_aside(chain, op, batch, &good, err));
    chain->ledger.ops[op->index].consumed += (uint64_t)good->n_rows;
    batch_unref(good);
    return push_emitted(chain, op, err);
}

sluice_status chain_push_once(struct chain *chain, const struct op *op, uint32_t port,
                              struct batch *batch, struct sluice_error *err)
{
    struct batch *whole = NULL;
    sluice_status status;

    if (op->kind_of->role == SLUICE_ROLE_ANNOTATOR && port == 0) {
        TRY(compact(chain->phase->ops[op->inputs[0]], batch, &whole, err));
    } else {
        whole = batch_ref(batch);
    }
    status = run_stage(chain, op, port, whole, err);
    if (status == SLUICE_OK && port == 0) {
        switch (op->kind_of->role) {
        case SLUICE_ROLE_FILTER:
        case SLUICE_ROLE_GATE:
            status = push_filter(chain, op, whole, err);
            break;
        case SLUICE_ROLE_ANNOTATOR:
            status = push_annotator(chain, op, whole, err);
            break;
        case SLUICE_ROLE_WRITER:
            status = push_writer(chain, op, whole, err);
            break;
        default:
            status = push_transform(chain, op, whole, err);
            break;
        }
    } else if (status == SLUICE_OK && op->kind_of->role == SLUICE_ROLE_TRANSFORM) {
        status = push_emitted(chain, op, err);
    }
    batch_unref(whole);
    return status;
}

static sluice_status push(struct chain *chain, uint32_t index, uint32_t port, struct batch *batch,
                          struct sluice_error *err)
{
    const struct op *op = chain->phase->ops[index];
    struct ledger_op *entry = &chain->ledger.ops[index];
    struct op_metrics *metrics = &chain->options.metrics->ops[index];
    sluice_status status = SLUICE_OK;
    struct batch *out = NULL;
    uint64_t start;

    METRIC_ADD(metrics->rows_in, batch->n_rows);
    entry->in[op->kind == OP_UNION ? 0 : port] += (uint64_t)batch->n_rows;
    switch (op->kind) {
    case OP_STAGE:
        return chain_push_stage(chain, op, port, batch, err);
    case OP_UNION:
        TRY(project(op, op->from + (size_t)port * op->out.n, batch, NULL, &out, err));
        status = deliver(chain, op, out, err);
        batch_unref(out);
        return status;
    case OP_STORE:
        start = clock_ns();
        status = port_add(chain->states[index].port, batch, op->from, err);
        METRIC_ADD(metrics->ns, clock_ns() - start);
        return status;
    case OP_READ:
    case OP_LOAD:
    case OP_COLLECT:
        break;
    }
    assert(0 && "a source has no input");
    return SLUICE_E_INTERNAL;
}

/* ---- the end ---- */

sluice_status chain_flush_op(struct chain *chain, uint32_t index, struct sluice_error *err)
{
    const struct op *op = chain->phase->ops[index];
    struct op_state *state = &chain->states[index];
    struct stage_worker *worker;

    if (op->kind == OP_COLLECT) {
        return collector_drain(chain, index, UINT64_MAX, err);
    }
    if (op->kind == OP_STORE) {
        TRY(port_finish(state->port, &state->directory, &state->port_rows, err));
        chain->ledger.ops[index].written = state->port_rows;
        return SLUICE_OK;
    }
    if (op->kind != OP_STAGE) {
        return SLUICE_OK;
    }
    if (op->kind_of->flush != NULL) {
        uint64_t start = clock_ns();
        TRY(chain_worker(chain, index, &worker, err));
        TRY(stage_flush(worker, &chain->result, err));
        METRIC_ADD(chain->options.metrics->ops[index].ns, clock_ns() - start);
        for (uint32_t k = 0; k < chain->result.n_measures; k++) {
            if (chain->result.measures[k].delta != 0) {
                TRY(ledger_measure(&chain->ledger.ops[index], chain->result.measures[k].name,
                                   chain->result.measures[k].delta, err));
            }
        }
        if (op->writes) {
            TRY(shards_apply(state->shards, &chain->result, err));
        } else if (op->kind_of->role == SLUICE_ROLE_TRANSFORM) {
            TRY(push_emitted(chain, op, err));
        }
    }
    return op->writes ? shards_finish(state->shards, err) : SLUICE_OK;
}
