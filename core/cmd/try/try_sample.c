/* The sample of `sluice try`: read by the reader of pipelines, and kept. It is read twice: members
 * become columns of the types that their values have, which the first pass tells. See try.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/limits.h"
#include "store/input.h"

/* ---- reading ---- */

/* The batch with row numbers of the whole sample and another metadata column (NULL: its own). */
static struct batch *complete(const struct sample *sample, const struct batch *batch,
                              struct column *metadata)
{
    int32_t slot = schema_find(&sample->schema, "metadata");
    struct column **columns = malloc(batch->n_columns * sizeof(struct column *));
    struct batch *whole;

    for (uint32_t k = 0; columns != NULL && k < batch->n_columns; k++) {
        columns[k] =
            (int32_t)k == sample->row
                ? column_count(sample->schema.fields[k].type, sample->n_rows, 1, batch->length)
                : column_ref((int32_t)k == slot && metadata != NULL ? metadata : batch->columns[k]);
    }
    whole = columns == NULL ? NULL : batch_create(batch->length, batch->n_columns, columns);
    if (whole != NULL && whole->columns[sample->row] == NULL) {
        batch_unref(whole);
        whole = NULL;
    }
    free(columns);
    return whole;
}

/* Reads all rows with the sample's columns. before: the same rows without any, or none; slot: of
 * their metadata, which has all members. */
static sluice_status read_rows(struct sample *sample, const struct rows *before, int32_t slot,
                               struct sluice_error *err)
{
    struct rows_pass pass = { .workers = limits_workers() };
    struct try_plan plan;
    sluice_status status = try_plan_open(sample, &sample->session, NULL, &plan, err);

    schema_deinit(&sample->schema);
    sample->n_rows = 0;
    if (status == SLUICE_OK) {
        sample->row = plan.op->row_slot;
        status = schema_copy(&sample->schema, &plan.op->out, err);
    }
    if (status == SLUICE_OK) {
        pass.plan = &plan;
        pass.until = plan.op;
        status = rows_pass(&pass, &sample->rows, err);
    }
    for (uint32_t b = 0; status == SLUICE_OK && b < sample->rows.n; b++) {
        struct batch **batch = &sample->rows.batches[b];
        struct column *metadata = b < before->n && before->batches[b]->length == (*batch)->length
                                      ? before->batches[b]->columns[slot]
                                      : NULL;
        struct batch *whole = complete(sample, *batch, metadata);
        status = whole == NULL ? error_nomem(err, "the sample") : SLUICE_OK;
        if (whole != NULL) {
            sample->n_rows += (uint64_t)whole->length;
            batch_unref(*batch);
            *batch = whole;
        }
    }
    try_plan_close(&plan);
    return status;
}

/* ---- columns ---- */

enum { TEXT = 1, WHOLE = 2, REAL = 4, LOGIC = 8, OTHER = 16 };

static const char *type_of(int64_t kinds)
{
    return kinds == LOGIC                                          ? "bool"
           : kinds == WHOLE                                        ? "int64"
           : (kinds & ~(int64_t)(WHOLE | REAL)) == 0 && kinds != 0 ? "float64"
           : kinds == TEXT || kinds == 0                           ? "utf8"
                                                                   : "json";
}

static int64_t kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return TEXT;
    case JSON_INTEGER:
        return WHOLE;
    case JSON_REAL:
        return REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return LOGIC;
    case JSON_NULL:
        return 0;
    default:
        return OTHER;
    }
}

/* Adds the kinds of values that a row's members have: {"lang": 1, "n": 2}. */
static bool note_members(json_t *kinds, const char *text, size_t n)
{
    json_error_t place;
    json_t *row = json_loadb(text, n, JSON_ALLOW_NUL, &place);
    const char *name;
    json_t *value;
    bool ok = true;

    if (row == NULL && json_error_code(&place) == json_error_numeric_overflow) {
        row = json_loadb(text, n, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    }
    json_object_foreach(row, name, value)
    {
        json_t *known = json_object_get(kinds, name);
        int64_t before = json_integer_value(known);
        int64_t kind = before | kind_of(value);
        bool none = name[0] == '_' || strcmp(name, "metadata") == 0;
        if (known == NULL ? !none : kind != before) {
            ok = ok && json_object_set_new(kinds, name, json_integer(kind)) == 0;
        }
    }
    json_decref(row);
    return ok;
}

/* The members that are neither text nor id, with types that hold all of their values. */
static sluice_status find_columns(struct sample *sample, struct sluice_error *err)
{
    int32_t slot = schema_find(&sample->schema, "metadata");
    json_t *kinds = json_object();
    bool ok = kinds != NULL;
    const char *name;
    json_t *kind;

    for (uint32_t b = 0; b < sample->rows.n; b++) {
        const struct batch *batch = sample->rows.batches[b];
        const struct ArrowArray *array = &batch->columns[slot]->array;
        for (int64_t k = 0; ok && k < batch->length; k++) {
            size_t n;
            const char *text = array_is_null(array, k) ? NULL : array_bytes(array, k, &n);
            ok = text == NULL || note_members(kinds, text, n);
        }
    }
    json_object_foreach(kinds, name, kind)
    {
        const char *type = type_of(json_integer_value(kind));
        struct value value;
        ok = ok && value_string(&value, type, strlen(type)) &&
             value_map_set(&sample->columns, name, value);
    }
    json_decref(kinds);
    return ok ? SLUICE_OK : error_nomem(err, "the sample");
}

/* ---- opening ---- */

/* Where texts are, and how long. */
static void measure(struct sample *sample)
{
    sample->text = schema_find(&sample->schema, "text");
    sample->id = schema_find(&sample->schema, "id");
    for (uint32_t b = 0; b < sample->rows.n; b++) {
        const struct batch *batch = sample->rows.batches[b];
        const struct ArrowArray *texts = &batch->columns[sample->text]->array;
        const int32_t *offsets = texts->buffers[1];
        sample->bytes += (uint64_t)(offsets[batch->length] - offsets[0]);
        sample->has_text = sample->has_text || texts->null_count < batch->length;
    }
}

sluice_status sample_open(const char *path, struct sample *sample, struct sluice_error *err)
{
    const struct session_options none = { 0 };
    struct rows before = { 0 };
    sluice_status status;
    int32_t slot;
    struct input *input;

    memset(sample, 0, sizeof *sample);
    schema_init(&sample->schema);
    value_map_init(&sample->columns);
    sample->path = path;
    TRY(input_open(path, &input, err)); /* says more of what can't be read than a listing */
    input_close(input);
    TRY(session_registry(&none, &sample->session, err));
    TRY(read_rows(sample, &before, 0, err));
    if (sample->n_rows == 0) {
        return error_set(err, SLUICE_E_DATA, "%s has no rows; make another sample", path);
    }
    TRY(find_columns(sample, err));
    slot = schema_find(&sample->schema, "metadata");
    before = sample->rows;
    memset(&sample->rows, 0, sizeof sample->rows);
    status = read_rows(sample, &before, slot, err);
    rows_deinit(&before);
    TRY(status);
    measure(sample);
    return SLUICE_OK;
}

void sample_close(struct sample *sample)
{
    rows_deinit(&sample->rows);
    rows_deinit(&sample->derived);
    schema_deinit(&sample->schema);
    value_deinit(&sample->columns);
    session_close(&sample->session);
    memset(sample, 0, sizeof *sample);
}

/* ---- values ---- */

const char *value_text(const struct type *type, const struct ArrowArray *array, int64_t row,
                       size_t *n, char buffer[64])
{
    const void *values = array->buffers[1];
    const int32_t *offsets = values;

    if (array_is_null(array, row)) {
        return NULL;
    }
    switch (type->kind) {
    case TYPE_UTF8:
    case TYPE_JSON:
        return array_bytes(array, row, n);
    case TYPE_FLOAT64:
        number_print(((const double *)values)[row], buffer);
        break;
    case TYPE_FLOAT32:
        snprintf(buffer, 64, "%g", (double)((const float *)values)[row]);
        break;
    case TYPE_INT64:
        snprintf(buffer, 64, "%lld", (long long)((const int64_t *)values)[row]);
        break;
    case TYPE_INT32:
        snprintf(buffer, 64, "%d", ((const int32_t *)values)[row]);
        break;
    case TYPE_UINT64:
        snprintf(buffer, 64, "%llu", (unsigned long long)((const uint64_t *)values)[row]);
        break;
    case TYPE_UINT32:
        snprintf(buffer, 64, "%u", ((const uint32_t *)values)[row]);
        break;
    case TYPE_BOOL:
        snprintf(buffer, 64, "%s",
                 ((const uint8_t *)values)[row >> 3] >> (row & 7) & 1 ? "true" : "false");
        break;
    case TYPE_LIST:
        snprintf(buffer, 64, "(%d items)", offsets[row + 1] - offsets[row]);
        break;
    default:
        snprintf(buffer, 64, "(a value)");
    }
    *n = strlen(buffer);
    return buffer;
}

/* The batch of a row, and its place there. */
static const struct batch *batch_of(const struct sample *sample, uint64_t row, int64_t *at)
{
    uint32_t low = 0;
    uint32_t high = sample->rows.n;

    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows_number(sample->row, sample->rows.batches[middle], 0) <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *at = (int64_t)(row - rows_number(sample->row, sample->rows.batches[low], 0));
    return sample->rows.batches[low];
}

const char *sample_value(const struct sample *sample, int32_t column, uint64_t row, size_t *n,
                         char buffer[64])
{
    int64_t at;
    const struct batch *batch = batch_of(sample, row, &at);

    return value_text(sample->schema.fields[column].type, &batch->columns[column]->array, at, n,
                      buffer);
}

const char *sample_id(const struct sample *sample, uint64_t row, size_t *n, char buffer[64])
{
    return sample_value(sample, sample->id, row, n, buffer);
}

const char *sample_text(const struct sample *sample, uint64_t row, size_t *n)
{
    char buffer[64];
    const char *text = sample_value(sample, sample->text, row, n, buffer);

    *n = text == NULL ? 0 : *n;
    return text == NULL ? "" : text;
}

uint64_t sample_row_bytes(const struct sample *sample, uint64_t row)
{
    size_t n;

    (void)sample_text(sample, row, &n);
    return n;
}

sluice_status sample_column(const struct sample *sample, const char *name, int32_t *column,
                            struct sluice_error *err)
{
    *column = schema_find(&sample->schema, name);
    return *column < 0 || sample->schema.fields[*column].hidden
               ? schema_missing(&sample->schema, name, err)
               : SLUICE_OK;
}
