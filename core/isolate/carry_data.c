/* Batches and results on their way between parent and child: see carry.h. */
#include "isolate/carry.h"

#include <stdlib.h>
#include <string.h>

#include "isolate/flat.h"

#define ITEMS_MAX (UINT64_C(1) << 28)

/* ---- the types of columns ---- */

static struct type *type_of(const struct stage_need *need, const struct schema *schema)
{
    const struct type word = { .kind = TYPE_UINT64 };

    return need->field == STAGE_FIELD_MISSING || schema == NULL ||
                   (need->field >= 0 && (uint32_t)need->field >= schema->n)
               ? NULL
               : type_copy(need->field < 0 ? &word : schema->fields[need->field].type);
}

sluice_status carry_ports_init(struct carry_ports *ports, const struct stage_prepared *prepared,
                               const struct stage_inputs *inputs, struct sluice_error *err)
{
    memset(ports, 0, sizeof *ports);
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        uint32_t n = prepared->n_needs[port];
        ports->types[port] = calloc(n + 1u, sizeof(struct type *));
        if (ports->types[port] == NULL) {
            carry_ports_deinit(ports);
            return error_nomem(err, "the columns of a stage");
        }
        ports->n[port] = n;
        for (uint32_t k = 0; k < n; k++) {
            const struct stage_need *need = &prepared->needs[port][k];
            ports->types[port][k] = type_of(need, inputs->schemas[port]);
            if (ports->types[port][k] == NULL && need->field != STAGE_FIELD_MISSING) {
                carry_ports_deinit(ports);
                return error_nomem(err, "the columns of a stage");
            }
        }
    }
    return SLUICE_OK;
}

void carry_ports_deinit(struct carry_ports *ports)
{
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        for (uint32_t k = 0; k < ports->n[port]; k++) {
            type_destroy(ports->types[port][k]);
        }
        free(ports->types[port]);
    }
    memset(ports, 0, sizeof *ports);
}

/* ---- batches ---- */

/* A column that the planner left out is zeroed: it has no buffers. */
static bool column_there(const struct sluice_batch *batch, const struct carry_ports *ports,
                         uint32_t k)
{
    return batch->array->children[k]->n_buffers > 0 && ports->types[batch->port][k] != NULL;
}

static size_t rows_size(const struct sluice_batch *batch)
{
    return batch->rows == NULL ? 0 : carry_body((size_t)batch->n * sizeof *batch->rows + 1);
}

void carry_put_batch(struct buf *out, const struct sluice_batch *batch,
                     const struct carry_ports *ports, size_t *body)
{
    uint32_t n = ports->n[batch->port];

    *body = rows_size(batch);
    wire_put(out, batch->port);
    wire_put(out, (uint64_t)batch->array->length);
    wire_put(out, (uint64_t)batch->n);
    wire_put(out, batch->rows != NULL);
    wire_put(out, n);
    for (uint32_t k = 0; k < n; k++) {
        size_t size = column_there(batch, ports, k)
                          ? flat_size(batch->array->children[k], ports->types[batch->port][k])
                          : 0;
        wire_put(out, *body);
        wire_put(out, size);
        *body += carry_body(size);
    }
}

void carry_write_batch(const struct sluice_batch *batch, const struct carry_ports *ports,
                       char *body)
{
    char *to = body + rows_size(batch);

    if (batch->rows != NULL && batch->n > 0) {
        memcpy(body, batch->rows, (size_t)batch->n * sizeof *batch->rows);
    }
    for (uint32_t k = 0; k < ports->n[batch->port]; k++) {
        const struct ArrowArray *column = batch->array->children[k];
        const struct type *type = ports->types[batch->port][k];
        if (column_there(batch, ports, k)) {
            flat_write(column, type, to);
            to += carry_body(flat_size(column, type));
        }
    }
}

void carry_batch_deinit(struct carry_batch *batch)
{
    for (uint32_t k = 0; k < batch->n && batch->columns != NULL; k++) {
        if (batch->columns[k].release != NULL) {
            batch->columns[k].release(&batch->columns[k]);
        }
    }
    free(batch->columns);
    free(batch->pointers);
    batch->columns = NULL;
    batch->pointers = NULL;
}

/* This side is the child, which trusts its parent; what could go wrong is our own fault. */
sluice_status carry_get_batch(struct wire *wire, const struct carry_ports *ports, const char *body,
                              size_t n, struct carry_batch *out, struct sluice_error *err)
{
    uint32_t port = (uint32_t)wire_get_below(wire, STAGE_PORTS - 1);
    int64_t length = (int64_t)wire_get_below(wire, INT32_MAX);
    int64_t selected = (int64_t)wire_get_below(wire, INT32_MAX);
    bool rows = wire_get(wire) != 0;

    memset(out, 0, sizeof *out);
    out->n = (uint32_t)wire_get_below(wire, UINT32_MAX);
    if (wire->failed || out->n != ports->n[port]) {
        return carry_nonsense(err, "a batch");
    }
    out->columns = calloc(out->n + 1u, sizeof *out->columns);
    out->pointers = calloc(out->n + 1u, sizeof(struct ArrowArray *));
    if (out->columns == NULL || out->pointers == NULL) {
        return error_nomem(err, "a batch");
    }
    for (uint32_t k = 0; k < out->n; k++) {
        uint64_t place = wire_get_below(wire, n);
        uint64_t size = wire_get_below(wire, n - place);
        out->pointers[k] = &out->columns[k];
        if (!wire->failed && size > 0) {
            TRY(flat_read(body + place, (size_t)size, ports->types[port][k], NULL, &out->columns[k],
                          err));
        }
    }
    if (wire->failed) {
        return carry_nonsense(err, "a batch");
    }
    batch_view_init(&out->view, out->pointers, out->n, length);
    out->view.batch.port = port;
    out->view.batch.rows = rows ? (const uint32_t *)(const void *)body : NULL;
    out->view.batch.n = selected;
    return SLUICE_OK;
}

/* ---- results ---- */

struct carried_verdict {
    int32_t reason, length;
    double value, limit, similarity;
    uint64_t dup_of; /* place in the text plus one; 0 = none */
};

static void put_verdicts(struct buf *out, const struct stage_result *result)
{
    size_t n = (size_t)result->n_verdicts;

    wire_put(out, n * sizeof(struct carried_verdict));
    if (!buf_reserve(out, n * sizeof(struct carried_verdict))) {
        return;
    }
    for (size_t k = 0; k < n; k++) {
        const struct sluice_verdict *verdict = &result->verdicts[k];
        const struct carried_verdict carried = {
            .reason = verdict->reason,
            .length = verdict->dup_of_length,
            .value = verdict->value,
            .limit = verdict->limit,
            .similarity = verdict->similarity,
            .dup_of =
                verdict->dup_of == NULL ? 0 : (uint64_t)(verdict->dup_of - result->text.data) + 1,
        };
        memcpy(out->data + out->size, &carried, sizeof carried);
        out->size += sizeof carried;
    }
}

static void put_absences(struct buf *out, const struct stage_result *result)
{
    struct stage_absence absence;
    uint64_t n = 0;

    for (size_t at = 0; stage_absence_next(result, &at, &absence);) {
        n++;
    }
    wire_put(out, n);
    for (size_t at = 0; stage_absence_next(result, &at, &absence);) {
        const char *name = absence.there;
        wire_put_text(out, absence.name);
        wire_put(out, absence.rows);
        wire_put(out, absence.n_there);
        for (uint64_t k = 0; k < absence.n_there; k++) {
            wire_put_text(out, name);
            name += strlen(name) + 1;
        }
    }
}

void carry_put_result(struct buf *out, const struct stage_result *result, const struct type *output,
                      size_t *body)
{
    uint64_t measures = 0;

    *body = 0;
    carry_put_asks(out, result);
    if (result->n_asks > 0) {
        return;
    }
    carry_put_units(out, result);
    wire_put(out, result->has_verdicts);
    put_verdicts(out, result);
    wire_put_bytes(out, result->text.data, result->text.size);
    wire_put(out, result->n_bad);
    for (uint32_t k = 0; k < result->n_bad; k++) {
        wire_put(out, result->bad[k].begin);
        wire_put(out, result->bad[k].end);
        wire_put_text(out, result->bad[k].reason);
        wire_put_text(out, result->bad[k].detail);
    }
    for (uint32_t k = 0; k < result->n_measures; k++) {
        measures += result->measures[k].delta != 0 ? 1 : 0;
    }
    wire_put(out, measures);
    for (uint32_t k = 0; k < result->n_measures; k++) {
        if (result->measures[k].delta != 0) {
            wire_put_text(out, result->measures[k].name);
            wire_put(out, (uint64_t)result->measures[k].delta);
        }
    }
    put_absences(out, result);
    /* The body: what goes into output files stands first, each batch at the place that is told
     * here. */
    *body = carry_body(result->bytes.size);
    wire_put(out, result->n_marks);
    for (uint32_t k = 0; k < result->n_marks; k++) {
        wire_put(out, result->marks[k].output);
        wire_put(out, result->marks[k].offset);
        wire_put(out, result->marks[k].size);
        wire_put(out, (uint64_t)result->marks[k].rows);
    }
    wire_put(out, result->n_batches);
    for (uint32_t k = 0; k < result->n_batches; k++) {
        size_t size = flat_size(&result->batches[k], output);
        wire_put(out, *body);
        wire_put(out, size);
        *body += carry_body(size);
    }
}

void carry_write_result(const struct stage_result *result, const struct type *output, char *body)
{
    char *to = body + carry_body(result->bytes.size);

    if (result->n_asks > 0) {
        return;
    }
    if (result->bytes.size > 0) {
        memcpy(body, result->bytes.data, result->bytes.size);
    }
    for (uint32_t k = 0; k < result->n_batches; k++) {
        flat_write(&result->batches[k], output, to);
        to += carry_body(flat_size(&result->batches[k], output));
    }
}

static sluice_status emit_verdicts(struct wire *wire, struct sluice_emit *emit,
                                   struct sluice_error *err)
{
    bool there = wire_get(wire) != 0;
    size_t size;
    size_t text_size;
    const char *carried = wire_get_bytes(wire, &size);
    const char *text = wire_get_bytes(wire, &text_size);
    size_t n = size / sizeof(struct carried_verdict);
    struct sluice_verdict *verdicts;
    sluice_status status = SLUICE_OK;

    if (wire->failed || size % sizeof(struct carried_verdict) != 0 || (!there && n > 0)) {
        return carry_nonsense(err, "verdicts");
    }
    if (!there) {
        return SLUICE_OK;
    }
    verdicts = calloc(n + 1, sizeof *verdicts);
    if (verdicts == NULL) {
        return error_nomem(err, "verdicts");
    }
    for (size_t k = 0; k < n && status == SLUICE_OK; k++) {
        struct carried_verdict from;
        memcpy(&from, carried + k * sizeof from, sizeof from);
        /* dup_of is a place in text, plus one; both numbers are the child's word alone. */
        if (from.dup_of > 0 && (from.length < 0 || from.dup_of - 1 > text_size ||
                                (uint64_t)from.length > text_size - (from.dup_of - 1))) {
            status = carry_nonsense(err, "verdicts");
            break;
        }
        verdicts[k] = (struct sluice_verdict){
            .reason = from.reason,
            .dup_of_length = from.length,
            .value = from.value,
            .limit = from.limit,
            .dup_of = from.dup_of > 0 ? text + (from.dup_of - 1) : NULL,
            .similarity = from.similarity,
        };
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, (int64_t)n);
    }
    free(verdicts);
    return status;
}

/* The bytes are opaque, so they are taken from where they lie, once. */
static sluice_status emit_marks(struct wire *wire, const char *body, size_t n,
                                struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t marks = wire_get_below(wire, ITEMS_MAX);

    for (uint64_t k = 0; k < marks; k++) {
        uint64_t output = wire_get_below(wire, UINT32_MAX);
        uint64_t offset = wire_get_below(wire, n);
        uint64_t size = wire_get_below(wire, n - offset);
        int64_t rows = (int64_t)wire_get(wire);
        if (wire->failed) {
            return carry_nonsense(err, "bytes");
        }
        if (output == STAGE_MARK_ROLL) {
            TRY(emit->roll(emit, rows));
        } else {
            TRY(emit->write(emit, (uint32_t)output, body + offset, size));
        }
    }
    return SLUICE_OK;
}

static sluice_status emit_batch(const struct type *output, const char *from, size_t n,
                                struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray array;
    char *copy = flat_alloc(n);
    sluice_status status;

    if (copy == NULL) {
        return error_nomem(err, "a batch");
    }
    memcpy(copy, from, n);
    status = flat_read(copy, n, output, copy, &array, err);
    if (status != SLUICE_OK) {
        free(copy);
        return status;
    }
    return emit->batch(emit, &array);
}

static sluice_status emit_batches(struct wire *wire, const struct type *output, const char *body,
                                  size_t n, struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t batches = wire_get_below(wire, ITEMS_MAX);

    for (uint64_t k = 0; k < batches; k++) {
        uint64_t place = wire_get_below(wire, n);
        uint64_t size = wire_get_below(wire, n - place);
        if (wire->failed) {
            return carry_nonsense(err, "a batch");
        }
        TRY(emit_batch(output, body + place, (size_t)size, emit, err));
    }
    return SLUICE_OK;
}

static sluice_status emit_absences(struct wire *wire, struct sluice_emit *emit)
{
    uint64_t items = wire_get_below(wire, ITEMS_MAX);

    for (uint64_t i = 0; i < items && !wire->failed; i++) {
        const char *there[STAGE_THERE_MAX];
        const char *name = wire_get_text(wire);
        uint64_t rows = wire_get(wire);
        uint64_t n = wire_get_below(wire, STAGE_THERE_MAX);
        for (uint64_t k = 0; k < n; k++) {
            there[k] = wire_get_text(wire);
        }
        TRY(emit->absent(emit, name, rows, there, n));
    }
    return SLUICE_OK;
}

sluice_status carry_emit(struct wire *wire, const struct type *output, const char *body, size_t n,
                         struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t items;
    bool waits;

    TRY(carry_emit_asks(wire, emit, &waits, err));
    if (waits) {
        return wire_end(wire) ? SLUICE_OK : carry_nonsense(err, "asks");
    }
    TRY(carry_emit_units(wire, emit, err));
    TRY(emit_verdicts(wire, emit, err));
    items = wire_get_below(wire, ITEMS_MAX);
    for (uint64_t k = 0; k < items && !wire->failed; k++) {
        uint64_t begin = wire_get(wire);
        uint64_t end = wire_get(wire);
        const char *reason = wire_get_text(wire);
        TRY(emit->bad(emit, begin, end, reason, wire_get_text(wire)));
    }
    items = wire_get_below(wire, ITEMS_MAX);
    for (uint64_t k = 0; k < items && !wire->failed; k++) {
        const char *name = wire_get_text(wire);
        TRY(emit->measure(emit, name, (int64_t)wire_get(wire)));
    }
    TRY(emit_absences(wire, emit));
    TRY(emit_marks(wire, body, n, emit, err));
    TRY(emit_batches(wire, output, body, n, emit, err));
    return wire_end(wire) ? SLUICE_OK : carry_nonsense(err, "a result");
}
