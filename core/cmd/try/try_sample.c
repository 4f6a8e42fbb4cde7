/* The sample of `sluice try`: read once by the reader of pipelines, and kept. It is read twice,
 * rather: members become columns of the types that their values have, which the first pass tells.
 * See try.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/source/sources.h"
#include "store/input.h"

#define BATCH ((uint64_t)256 << 10)        /* bytes: a small sample keeps all processors busy */
#define MOST_COLUMNS (PLAN_NEEDS_MAX - 4u) /* beside text, id, metadata and _file */

/* ---- rows ---- */

bool rows_keep(struct rows *rows, struct batch *batch)
{
    if (rows->n == rows->capacity) {
        uint32_t capacity = rows->capacity * 2 + 16;
        struct batch **more = realloc(rows->batches, capacity * sizeof(struct batch *));
        if (more == NULL) {
            return false;
        }
        rows->batches = more;
        rows->capacity = capacity;
    }
    rows->batches[rows->n++] = batch_ref(batch);
    return true;
}

void rows_deinit(struct rows *rows)
{
    for (uint32_t b = 0; b < rows->n; b++) {
        batch_unref(rows->batches[b]);
    }
    free(rows->batches);
    memset(rows, 0, sizeof *rows);
}

uint64_t rows_number(int32_t slot, const struct batch *batch, int64_t k)
{
    const uint64_t *numbers = batch->columns[slot]->array.buffers[1];

    return numbers[batch->rows == NULL ? (uint32_t)k : batch->rows[k]];
}

/* ---- reading ---- */

struct reading {
    struct rows *rows;
    uint64_t n; /* rows so far */
    /* of the pass before, whose metadata has every member; or NULL */
    const struct rows *before;
    int32_t metadata; /* its slot there */
};

/* The batch with row numbers of the whole sample, and all of its metadata. */
static sluice_status keep(void *ctx, const struct op *op, struct batch *batch, bool *held,
                          struct sluice_error *err)
{
    struct reading *reading = ctx;
    int32_t slot = schema_find(&op->out, "metadata");
    struct column **columns = malloc(batch->n_columns * sizeof(struct column *));
    struct batch *whole;
    bool ok;

    *held = true;
    if (columns == NULL) {
        return error_nomem(err, "the sample");
    }
    for (uint32_t k = 0; k < batch->n_columns; k++) {
        struct column *column = batch->columns[k];
        if ((int32_t)k == op->row_slot) {
            columns[k] = column_count(op->out.fields[k].type, reading->n, 1, batch->length);
            continue;
        }
        if ((int32_t)k == slot && reading->before != NULL) {
            column = reading->before->batches[reading->rows->n]->columns[reading->metadata];
        }
        columns[k] = column == NULL ? NULL : column_ref(column);
    }
    ok = columns[op->row_slot] != NULL;
    whole = batch_create(batch->length, batch->n_columns, columns);
    ok = ok && whole != NULL && rows_keep(reading->rows, whole);
    reading->n += (uint64_t)batch->length;
    batch_unref(whole);
    free(columns);
    return ok ? SLUICE_OK : error_nomem(err, "the sample");
}

static sluice_status refuse(void *ctx, const struct op *op, const struct bad_record *bad,
                            struct sluice_error *err)
{
    (void)ctx;
    (void)op;
    return error_set(err, SLUICE_E_DATA,
                     "the record at byte %llu: %s: %s; expected JSON Lines, as `sluice sample` "
                     "writes",
                     (unsigned long long)bad->begin, bad->reason, bad->detail);
}

static sluice_status read_tasks(struct reading *reading, struct try_plan *plan,
                                struct sluice_error *err)
{
    const struct chain_observer observer = { .ctx = reading, .given = keep, .refused = refuse };
    const struct lane *lane = plan->phase->lanes[0];
    struct feeder_options feeding = { .alone = true };
    struct load_inputs *loads = calloc(plan->phase->n_ops, sizeof *loads);
    struct source_file *files = calloc(lane->files.n + 1, sizeof *files);
    struct source_inputs inputs = { .files = files, .batch_bytes = BATCH, .loads = loads };
    struct worker_cache *cache = worker_cache_create(plan->plan);
    sluice_status status = loads == NULL || files == NULL || cache == NULL
                               ? error_nomem(err, "the sample")
                               : feeder_create(&feeding, &inputs.feeder, err);

    for (size_t i = 0; status == SLUICE_OK && i < lane->files.n; i++) {
        files[i] = (struct source_file){ &lane->files.files[i], &lane->infos[i] };
    }
    for (uint32_t t = 0; status == SLUICE_OK && t < plan->phase->n_tasks; t++) {
        struct chain_options options = { .plan = plan->plan,
                                         .phase = plan->phase,
                                         .task = t,
                                         .cache = cache,
                                         .metrics = plan->metrics.phases,
                                         .cancelled = &session_cancelled,
                                         .observer = &observer };
        struct chain *chain = NULL;
        status = chain_create(&options, &chain, err);
        if (status == SLUICE_OK) {
            status = sources_drive(chain, &inputs, err);
        }
        chain_destroy(chain);
    }
    feeder_destroy(inputs.feeder);
    worker_cache_destroy(cache);
    free(files);
    free(loads);
    return status;
}

/* Reads all rows with the sample's columns. */
static sluice_status read_rows(struct sample *sample, struct reading *reading,
                               struct sluice_error *err)
{
    struct try_plan plan;
    sluice_status status = try_plan_open(sample, &sample->session, NULL, &plan, err);

    if (status == SLUICE_OK) {
        status = read_tasks(reading, &plan, err);
    }
    schema_deinit(&sample->schema);
    if (status == SLUICE_OK) {
        sample->row = plan.op->row_slot;
        status = schema_copy(&sample->schema, &plan.op->out, err);
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
        bool none = name[0] == '_' || strcmp(name, "metadata") == 0 ||
                    json_object_size(kinds) == MOST_COLUMNS;
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
        sample->n_rows += (uint64_t)batch->length;
        sample->has_text = sample->has_text || texts->null_count < batch->length;
    }
}

sluice_status sample_open(const char *path, struct sample *sample, struct sluice_error *err)
{
    const struct session_options none = { 0 };
    struct reading reading = { .rows = &sample->rows };
    struct input *input;

    memset(sample, 0, sizeof *sample);
    schema_init(&sample->schema);
    value_map_init(&sample->columns);
    sample->path = path;
    TRY(input_open(path, &input, err)); /* says more of what can't be read than a listing */
    input_close(input);
    TRY(session_registry(&none, &sample->session, err));
    TRY(try_end(sample->session.registry, true, err));
    TRY(read_rows(sample, &reading, err));
    if (reading.n == 0) {
        return error_set(err, SLUICE_E_DATA, "%s has no rows; make another sample", path);
    }
    TRY(find_columns(sample, err));
    if (sample->columns.as.map.n > 0) {
        reading = (struct reading){ .rows = &sample->rows,
                                    .before = &sample->derived,
                                    .metadata = schema_find(&sample->schema, "metadata") };
        sample->derived = sample->rows;
        memset(&sample->rows, 0, sizeof sample->rows);
        TRY(read_rows(sample, &reading, err));
        rows_deinit(&sample->derived);
    }
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
