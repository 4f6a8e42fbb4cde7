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

/* May the rows of the batch be to blame? */
static bool row_fault(sluice_status status)
{
    return status == SLUICE_E_DATA || status == STAGE_CRASHED || status == STAGE_TIMED_OUT;
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
    chain->fault_op = row_fault(status) ? (int32_t)op->index : -1;
    for (uint32_t k = 0; status == SLUICE_OK && k < chain->result.n_measures; k++) {
        if (chain->result.measures[k].delta != 0) {
            status = ledger_measure(&chain->ledger.ops[op->index], chain->result.measures[k].name,
                                    chain->result.measures[k].delta, err);
        }
    }
    return status;
}

/* ---- verdicts ---- */

static uint64_t row_number(const struct op *from, const struct batch *batch, int64_t row)
{
    const struct column *column = from->row_slot < 0 ? NULL : batch->columns[from->row_slot];
    return column == NULL ? (uint64_t)row : ((const uint64_t *)column->array.buffers[1])[row];
}

static sluice_status quarantine_row(struct chain *chain, const struct op *op,
                                    const struct batch *batch, int64_t row, const char *text,
                                    size_t n, struct sluice_error *err)
{
    const struct op *from = chain->phase->ops[op->inputs[0]];
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
    bad.row = row_number(from, batch, row);
    TRY(quarantine_add(&chain->kept,
                       &(struct quarantine_row){ .phase = chain->phase,
                                                 .op = op,
                                                 .task_key = chain->options.key,
                                                 .task = chain->options.task,
                                                 .row = bad.row,
                                                 .reason = reason,
                                                 .detail = detail },
                       batch, (uint32_t)row, err));
    return chain_quarantine(chain, op->index, &bad, err);
}

/* Sorts the rows of batch by the verdicts in chain->result: *kept is a new batch, dropped rows go to the collectors. */
static sluice_status apply_verdicts(struct chain *chain, const struct op *op, struct batch *batch,
                                    struct batch **kept, struct sluice_error *err)
{
    const struct sluice_verdict *verdicts = chain->result.verdicts;
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
        if (verdicts[k].reason == 0) {
            rows[n_kept++] = row;
        } else if (verdicts[k].reason == SLUICE_VERDICT_BAD) {
            TRY(quarantine_row(
                chain, op, batch, row, verdicts[k].dup_of == NULL ? "" : verdicts[k].dup_of,
                verdicts[k].dup_of == NULL ? 0 : (size_t)verdicts[k].dup_of_length, err));
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

/* Quarantines the rows that a stage which doesn't judge could not process; *good are the others. */
static sluice_status set_aside(struct chain *chain, const struct op *op, struct batch *batch,
                               struct batch **good, struct sluice_error *err)
{
    const struct sluice_verdict *verdicts = chain->result.verdicts;
    uint32_t *rows;
    int64_t n = 0;
    sluice_status status = SLUICE_OK;

    if (!chain->result.has_verdicts) {
        *good = batch_ref(batch);
        return SLUICE_OK;
    }
    rows = malloc(((size_t)batch->n_rows + 1) * sizeof *rows);
    if (rows == NULL) {
        return error_nomem(err, "a selection");
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n_rows; k++) {
        uint32_t row = batch->rows == NULL ? (uint32_t)k : batch->rows[k];
        const struct sluice_verdict *verdict = &verdicts[k];
        if (verdict->reason == 0) {
            rows[n++] = row;
        } else {
            status = quarantine_row(
                chain, op, batch, row, verdict->dup_of == NULL ? "" : verdict->dup_of,
                verdict->dup_of == NULL ? 0 : (size_t)verdict->dup_of_length, err);
        }
    }
    if (status == SLUICE_OK) {
        *good = batch_select(batch, rows, n);
        status = *good == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
    }
    free(rows);
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
        TRY(set_aside(chain, op, batch, &kept, err));
        chain->ledger.ops[op->index].kept += (uint64_t)kept->n_rows;
    } else {
        TRY(apply_verdicts(chain, op, batch, &kept, err));
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
        status = apply_verdicts(chain, op, batch, &same, err);
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

/* The numbers of a row in a list<uint64>; none where slot is -1. */
static const uint64_t *listed(const struct batch *batch, int32_t slot, int64_t at, uint64_t *n)
{
    const struct ArrowArray *list = slot < 0 ? NULL : &batch->columns[slot]->array;
    const int32_t *offsets = list == NULL ? NULL : list->buffers[1];

    *n = list == NULL ? 0 : (uint64_t)(offsets[at + 1] - offsets[at]);
    return *n == 0 ? NULL : (const uint64_t *)list->children[0]->buffers[1] + offsets[at];
}

/* Where the rows that a writer takes say what they came from: columns, or -1. */
struct trace_slots {
    int32_t origin, span, row;
};

/* Notes one written row: where it stands, how many source rows it came from and how many of their spans it says, and these. */
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
static sluice_status note_trace(struct chain *chain, enum chain_table which, const char *writer,
                                const uint64_t *head, const uint64_t *items, uint64_t n,
                                struct sluice_error *err)
{
    struct table *table;

    TRY(chain_open_table(chain, which, err));
    table = chain->tables[which];
    return table_row(table,
                     builder_bytes_add(table_column(table, 0), writer, strlen(writer)) &&
                         builder_uint(table_column(table, 1), head[0]) &&
                         builder_uint(table_column(table, 2), head[1]) &&
                         builder_list_fixed(table_column(table, 3), items, (size_t)n),
                     err);
}

sluice_status chain_write_traces(struct chain *chain, struct sluice_error *err)
{
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        const struct buf *traced = &chain->states[i].traced;
        const char *name = chain->phase->ops[i]->name;
        for (size_t at = 0; at < traced->size;) {
            uint64_t head[TRACE_HEAD];
            const uint64_t *items;
            memcpy(head, traced->data + at, sizeof head);
            items = (const uint64_t *)(const void *)(traced->data + at + sizeof head);
            TRY(note_trace(chain, CHAIN_TRACE, name, head, items, head[2], err));
            if (head[3] > 0) {
                TRY(note_trace(chain, CHAIN_SPANS, name, head, items + head[2], head[3], err));
            }
            at += sizeof head + (size_t)(head[2] + head[3]) * sizeof *items;
        }
    }
    return SLUICE_OK;
}

/* Which source rows stand where in which shard. */
static sluice_status trace(struct chain *chain, const struct op *op, const struct batch *batch,
                           struct sluice_error *err)
{
    const struct op *from = chain->phase->ops[op->inputs[0]];
    const struct shards *shards = chain->states[op->index].shards;
    const struct trace_slots slots = { schema_find(&from->out, "_origin"),
                                       schema_find(&from->out, "_span"), from->row_slot };
    uint32_t shard = shards_ordinal(shards);
    uint64_t row = shards_ordinal_rows(shards);
    uint32_t mark = 0;

    for (int64_t k = 0; k < batch->n_rows; k++) {
        int64_t at = batch->rows == NULL ? k : batch->rows[k];
        /* A roll ends the shard after its number of rows. */
        for (;;) {
            while (mark < chain->result.n_marks &&
                   chain->result.marks[mark].output != STAGE_MARK_ROLL) {
                mark++;
            }
            if (mark >= chain->result.n_marks || row < (uint64_t)chain->result.marks[mark].rows) {
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

static sluice_status push_written(struct chain *chain, const struct op *op,
                                  const struct batch *batch, struct sluice_error *err)
{
    struct shards *shards = chain->states[op->index].shards;
    struct op_metrics *metrics = &chain->options.metrics->ops[op->index];
    uint64_t start = clock_ns();
    sluice_status status = trace(chain, op, batch, err);

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
    sluice_status status = set_aside(chain, op, batch, &good, err);

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
        uint64_t row = row_number(from, batch, batch->rows == NULL ? k : batch->rows[k]);
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
    TRY(set_aside(chain, op, batch, &good, err));
    chain->ledger.ops[op->index].consumed += (uint64_t)good->n_rows;
    batch_unref(good);
    return push_emitted(chain, op, err);
}

static sluice_status push_once(struct chain *chain, const struct op *op, uint32_t port,
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

/* Which rows of the split a fault is about, for a message: " (rows 17 to 300)". */
static void describe_rows(const struct chain *chain, const struct op *op, const struct batch *batch,
                          char *text, size_t size)
{
    const struct op *from = chain->phase->ops[op->inputs[0]];
    int64_t first = batch->rows == NULL ? 0 : batch->rows[0];
    int64_t last = batch->rows == NULL ? batch->length - 1 : batch->rows[batch->n_rows - 1];

    if (batch->n_rows == 1) {
        snprintf(text, size, "row %llu", (unsigned long long)row_number(from, batch, first));
    } else {
        snprintf(text, size, "rows %llu to %llu",
                 (unsigned long long)row_number(from, batch, first),
                 (unsigned long long)row_number(from, batch, last));
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
    return quarantine_row(chain, op, batch, batch->rows == NULL ? 0 : batch->rows[0], text,
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
        status = push_once(chain, op, 0, part, err);
        if (row_fault(status) && chain->fault_op == (int32_t)op->index) {
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

static sluice_status push_stage(struct chain *chain, const struct op *op, uint32_t port,
                                struct batch *batch, struct sluice_error *err)
{
    sluice_status status = push_once(chain, op, port, batch, err);

    if (!row_fault(status) || chain->fault_op != (int32_t)op->index) {
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
        return push_stage(chain, op, port, batch, err);
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
