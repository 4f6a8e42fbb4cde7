/* The sample of `sluice try`: JSON Lines, decoded once and kept. See try.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/try/try.h"
#include "data/builder.h"
#include "store/input.h"

#define PIECE ((size_t)1 << 20)
#define BATCH_ROWS 2000
#define BATCH_BYTES ((uint64_t)1 << 20)

/* ---- reading ---- */

/* A column in the making: what kinds of values its member has. */
struct member {
    char *name;
    bool text, whole, real, logic, other;
    struct builder *builder;
    uint64_t row; /* of the last value, + 1 */
};

struct loading {
    const char *path;
    struct sample *sample;
    json_t **rows;
    size_t n, capacity;
    struct member *members;
    size_t n_members;
    json_t *places; /* name -> index in members */
};

static sluice_status bad_line(const struct loading *loading, const char *what,
                              struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s:%zu: %s; expected JSON Lines, as `sluice sample` writes", loading->path,
                     loading->n + 1, what);
}

static sluice_status note_member(struct loading *loading, const char *name, const json_t *value,
                                 struct sluice_error *err)
{
    json_t *place = json_object_get(loading->places, name);
    struct member *member;

    if (place == NULL) {
        struct member *more =
            realloc(loading->members, (loading->n_members + 1) * sizeof *loading->members);
        if (more == NULL ||
            json_object_set_new(loading->places, name,
                                json_integer((json_int_t)loading->n_members)) != 0) {
            loading->members = more != NULL ? more : loading->members;
            return error_nomem(err, "the sample");
        }
        loading->members = more;
        memset(&more[loading->n_members], 0, sizeof *more);
        more[loading->n_members++].name = str_copy(name, strlen(name));
        if (more[loading->n_members - 1].name == NULL) {
            return error_nomem(err, "the sample");
        }
        member = &more[loading->n_members - 1];
    } else {
        member = &loading->members[json_integer_value(place)];
    }
    switch (json_typeof(value)) {
    case JSON_STRING:
        member->text = true;
        break;
    case JSON_INTEGER:
        member->whole = true;
        break;
    case JSON_REAL:
        member->real = true;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        member->logic = true;
        break;
    case JSON_NULL:
        break;
    default:
        member->other = true;
    }
    return SLUICE_OK;
}

static sluice_status add_line(struct loading *loading, const char *line, size_t n,
                              struct sluice_error *err)
{
    const char *name;
    json_t *value;
    json_t *row;
    json_error_t place;

    if (n > 0 && line[n - 1] == '\r') {
        n--;
    }
    if (n == 0) {
        return SLUICE_OK;
    }
    row = json_loadb(line, n, JSON_ALLOW_NUL, &place);
    if (row == NULL && json_error_code(&place) == json_error_numeric_overflow) {
        row = json_loadb(line, n, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &place);
    }
    if (row == NULL) {
        return bad_line(loading, place.text, err);
    }
    if (!json_is_object(row)) {
        json_decref(row);
        return bad_line(loading, "found no object", err);
    }
    if (loading->n == loading->capacity) {
        size_t capacity = loading->capacity * 2 + 1024;
        json_t **rows = realloc(loading->rows, capacity * sizeof *rows);
        if (rows == NULL) {
            json_decref(row);
            return error_nomem(err, "the sample");
        }
        loading->rows = rows;
        loading->capacity = capacity;
    }
    loading->rows[loading->n++] = row;
    json_object_foreach(row, name, value)
    {
        TRY(note_member(loading, name, value, err));
    }
    return SLUICE_OK;
}

static sluice_status read_lines(struct loading *loading, struct sluice_error *err)
{
    struct input *input = NULL;
    struct buf bytes = BUF_INIT;
    sluice_status status = input_open(loading->path, &input, err);
    size_t got = 1;

    while (status == SLUICE_OK && got > 0) {
        size_t at = 0;
        const char *newline;
        if (!buf_reserve(&bytes, PIECE)) {
            status = error_nomem(err, "the sample");
            break;
        }
        status = input_read(input, bytes.data + bytes.size, PIECE, &got, err);
        bytes.size += status == SLUICE_OK ? got : 0;
        while (status == SLUICE_OK && bytes.size > at &&
               (newline = memchr(bytes.data + at, '\n', bytes.size - at)) != NULL) {
            size_t end = (size_t)(newline - bytes.data);
            status = add_line(loading, bytes.data + at, end - at, err);
            at = end + 1;
        }
        if (at > 0) {
            memmove(bytes.data, bytes.data + at, bytes.size - at);
            bytes.size -= at;
        }
    }
    if (status == SLUICE_OK && bytes.size > 0) { /* the last line may lack its end */
        status = add_line(loading, bytes.data, bytes.size, err);
    }
    input_close(input);
    buf_deinit(&bytes);
    return status;
}

/* ---- columns ---- */

static const char *type_of(const struct member *member)
{
    int kinds = member->text + (member->whole || member->real) + member->logic + member->other;

    if (kinds > 1 || member->other) {
        return strcmp(member->name, "id") == 0 && !member->other && !member->logic ? "utf8?"
                                                                                   : "json?";
    }
    return member->logic ? "bool?" : member->real ? "float64?" : member->whole ? "int64?" : "utf8?";
}

/* The types are those that a reader gives: an id is text, whatever it is in JSON. */
static sluice_status make_schema(struct loading *loading, struct sluice_error *err)
{
    struct sample *sample = loading->sample;
    bool metadata = false;

    for (size_t k = 0; k < loading->n_members; k++) {
        struct member *member = &loading->members[k];
        const char *type = strcmp(member->name, "id") == 0 && !member->other && !member->logic
                               ? "utf8?"
                               : type_of(member);
        if (member->name[0] == '_') {
            continue; /* hidden in a pipeline */
        }
        metadata = metadata || strcmp(member->name, "metadata") == 0;
        TRY(schema_add_text(&sample->schema, member->name, type, NULL, err));
        TRY(builder_create(sample->schema.fields[sample->schema.n - 1].type, &member->builder,
                           err));
    }
    if (!metadata) {
        TRY(schema_add_text(&sample->schema, "metadata", "json?", NULL, err));
    }
    TRY(schema_add_text(&sample->schema, "_row", "uint64", NULL, err));
    sample->text = schema_find(&sample->schema, "text");
    sample->id = schema_find(&sample->schema, "id");
    if (sample->text >= 0 && sample->schema.fields[sample->text].type->kind != TYPE_UTF8) {
        sample->text = -1;
    }
    if (sample->id >= 0 && sample->schema.fields[sample->id].type->kind != TYPE_UTF8) {
        sample->id = -1;
    }
    return SLUICE_OK;
}

static bool add_json(struct builder *builder, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    bool ok = text != NULL && builder_bytes_add(builder, text, strlen(text));

    free(text);
    return ok;
}

static bool add_value(struct builder *builder, const struct type *type, const json_t *value)
{
    char number[40];

    if (value == NULL || json_is_null(value)) {
        return builder_null(builder);
    }
    switch (type->kind) {
    case TYPE_UTF8:
        if (json_is_integer(value)) {
            int n = snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
            return builder_bytes_add(builder, number, (size_t)n);
        }
        if (json_is_real(value)) {
            number_print(json_real_value(value), number);
            return builder_bytes_add(builder, number, strlen(number));
        }
        return builder_bytes_add(builder, json_string_value(value), json_string_length(value));
    case TYPE_INT64:
        return builder_int(builder, json_integer_value(value));
    case TYPE_FLOAT64:
        return builder_float(builder, json_number_value(value));
    case TYPE_BOOL:
        return builder_bool(builder, json_is_true(value));
    default:
        return add_json(builder, value);
    }
}

/* The members that are neither id nor text, as an object. */
static bool add_metadata(struct builder *builder, json_t *row)
{
    json_object_del(row, "id");
    json_object_del(row, "text");
    return json_object_size(row) == 0 ? builder_null(builder) : add_json(builder, row);
}

static sluice_status end_column(struct builder *builder, struct column **out,
                                struct sluice_error *err)
{
    struct ArrowArray array;

    TRY(builder_finish(builder, &array, err));
    *out = column_create(&array);
    return *out == NULL ? error_nomem(err, "the sample") : SLUICE_OK;
}

/* Rows from..to become a batch. */
static sluice_status make_batch(struct loading *loading, size_t from, size_t to,
                                struct builder *metadata, struct builder *numbers, uint64_t bytes,
                                struct sluice_error *err)
{
    struct sample *sample = loading->sample;
    struct sample_batch *batch;
    uint32_t column = 0;

    if (sample->n_batches == sample->capacity) {
        uint32_t capacity = sample->capacity * 2 + 16;
        struct sample_batch *batches = realloc(sample->batches, capacity * sizeof *batches);
        if (batches == NULL) {
            return error_nomem(err, "the sample");
        }
        sample->batches = batches;
        sample->capacity = capacity;
    }
    batch = &sample->batches[sample->n_batches];
    memset(batch, 0, sizeof *batch);
    batch->columns = calloc(sample->schema.n + 1u, sizeof *batch->columns);
    if (batch->columns == NULL) {
        return error_nomem(err, "the sample");
    }
    sample->n_batches++;
    batch->first = from;
    batch->n = (int64_t)(to - from);
    batch->bytes = bytes;
    for (size_t k = 0; k < loading->n_members; k++) {
        if (loading->members[k].builder != NULL) {
            TRY(end_column(loading->members[k].builder, &batch->columns[column++], err));
        }
    }
    if (metadata != NULL) {
        TRY(end_column(metadata, &batch->columns[column++], err));
    }
    return end_column(numbers, &batch->columns[column++], err);
}

static sluice_status add_row(struct loading *loading, size_t row, struct builder *metadata,
                             struct builder *numbers, uint64_t *bytes, struct sluice_error *err)
{
    json_t *json = loading->rows[row];
    const json_t *text = json_object_get(json, "text");
    uint32_t column = 0;
    bool ok = builder_uint(numbers, row);

    *bytes += json_is_string(text) ? json_string_length(text) : 0;
    for (size_t k = 0; ok && k < loading->n_members; k++) {
        struct member *member = &loading->members[k];
        if (member->builder != NULL) {
            ok = add_value(member->builder, loading->sample->schema.fields[column++].type,
                           json_object_get(json, member->name));
        }
    }
    ok = ok && (metadata == NULL || add_metadata(metadata, json));
    json_decref(json);
    loading->rows[row] = NULL;
    return ok ? SLUICE_OK : error_nomem(err, "the sample");
}

static sluice_status make_batches(struct loading *loading, struct sluice_error *err)
{
    struct sample *sample = loading->sample;
    struct builder *metadata = NULL;
    struct builder *numbers = NULL;
    struct type *type = NULL;
    uint64_t bytes = 0;
    size_t from = 0;
    sluice_status status = type_parse("uint64", &type, err);

    if (status == SLUICE_OK) {
        status = builder_create(type, &numbers, err);
    }
    if (status == SLUICE_OK && json_object_get(loading->places, "metadata") == NULL) {
        status = builder_create(sample->schema.fields[sample->schema.n - 2].type, &metadata, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < loading->n; i++) {
        status = add_row(loading, i, metadata, numbers, &bytes, err);
        if (status == SLUICE_OK &&
            (i + 1 == loading->n || i + 1 - from >= BATCH_ROWS || bytes >= BATCH_BYTES)) {
            status = make_batch(loading, from, i + 1, metadata, numbers, bytes, err);
            sample->bytes += bytes;
            bytes = 0;
            from = i + 1;
        }
    }
    sample->n_rows = loading->n;
    builder_destroy(metadata);
    builder_destroy(numbers);
    type_destroy(type);
    return status;
}

sluice_status sample_open(const char *path, struct sample *sample, struct sluice_error *err)
{
    struct loading loading = { .path = path, .sample = sample, .places = json_object() };
    sluice_status status = loading.places == NULL ? error_nomem(err, "the sample") : SLUICE_OK;

    memset(sample, 0, sizeof *sample);
    schema_init(&sample->schema);
    if (status == SLUICE_OK) {
        status = read_lines(&loading, err);
    }
    if (status == SLUICE_OK && loading.n == 0) {
        status = error_set(err, SLUICE_E_DATA, "%s has no rows; make another sample", path);
    }
    if (status == SLUICE_OK) {
        status = make_schema(&loading, err);
    }
    if (status == SLUICE_OK) {
        status = make_batches(&loading, err);
    }
    for (size_t i = 0; i < loading.n; i++) {
        json_decref(loading.rows[i]);
    }
    for (size_t k = 0; k < loading.n_members; k++) {
        builder_destroy(loading.members[k].builder);
        free(loading.members[k].name);
    }
    free(loading.rows);
    free(loading.members);
    json_decref(loading.places);
    if (status != SLUICE_OK) {
        sample_close(sample);
    }
    return status;
}

void sample_close(struct sample *sample)
{
    for (uint32_t b = 0; b < sample->n_batches; b++) {
        for (uint32_t k = 0; k < sample->schema.n; k++) {
            column_unref(sample->batches[b].columns[k]);
        }
        free(sample->batches[b].columns);
    }
    free(sample->batches);
    schema_deinit(&sample->schema);
    memset(sample, 0, sizeof *sample);
}

sluice_status sample_add(struct sample *sample, const struct field *field, struct column **columns,
                         int32_t *place, struct sluice_error *err)
{
    sluice_status status =
        schema_add(&sample->schema, field->name, field->type, field->metadata, err);
    struct field *added = status == SLUICE_OK ? &sample->schema.fields[sample->schema.n - 1] : NULL;

    if (status == SLUICE_OK) {
        added->derived_provider =
            str_copy(field->derived_provider, strlen(field->derived_provider));
        added->derived_options = str_copy(field->derived_options, strlen(field->derived_options));
        added->derived_source = str_copy(field->derived_source, strlen(field->derived_source));
        if (added->derived_provider == NULL || added->derived_options == NULL ||
            added->derived_source == NULL) {
            schema_remove(&sample->schema, sample->schema.n - 1);
            status = error_nomem(err, "a column");
        }
    }
    for (uint32_t b = 0; status == SLUICE_OK && b < sample->n_batches; b++) {
        struct column **more =
            realloc(sample->batches[b].columns, (sample->schema.n + 1u) * sizeof(struct column *));
        if (more == NULL) { /* the batches before have room to spare, that is all */
            schema_remove(&sample->schema, sample->schema.n - 1);
            status = error_nomem(err, "a column");
        } else {
            sample->batches[b].columns = more;
        }
    }
    for (uint32_t b = 0; b < sample->n_batches; b++) {
        if (status == SLUICE_OK) {
            sample->batches[b].columns[sample->schema.n - 1] = columns[b];
        } else {
            column_unref(columns[b]);
        }
    }
    *place = (int32_t)sample->schema.n - 1;
    return status;
}

/* ---- values ---- */

static const struct sample_batch *batch_of(const struct sample *sample, uint64_t row)
{
    uint32_t low = 0;
    uint32_t high = sample->n_batches;

    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sample->batches[middle].first <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &sample->batches[low];
}

const char *sample_value(const struct sample *sample, int32_t column, uint64_t row, size_t *n,
                         char buffer[64])
{
    const struct sample_batch *batch = batch_of(sample, row);
    const struct ArrowArray *array = &batch->columns[column]->array;
    int64_t at = (int64_t)(row - batch->first);

    if (array_is_null(array, at)) {
        return NULL;
    }
    switch (sample->schema.fields[column].type->kind) {
    case TYPE_INT64:
        *n = (size_t)snprintf(buffer, 64, "%lld",
                              (long long)((const int64_t *)array->buffers[1])[at]);
        return buffer;
    case TYPE_UINT64:
        *n = (size_t)snprintf(buffer, 64, "%llu",
                              (unsigned long long)((const uint64_t *)array->buffers[1])[at]);
        return buffer;
    case TYPE_FLOAT64:
        number_print(((const double *)array->buffers[1])[at], buffer);
        *n = strlen(buffer);
        return buffer;
    case TYPE_BOOL:
        *n = (size_t)snprintf(
            buffer, 64, "%s",
            ((const uint8_t *)array->buffers[1])[at >> 3] >> (at & 7) & 1 ? "true" : "false");
        return buffer;
    case TYPE_UTF8:
    case TYPE_JSON:
        return array_bytes(array, at, n);
    default:
        *n = 0;
        return "";
    }
}

const char *sample_id(const struct sample *sample, uint64_t row, size_t *n, char buffer[64])
{
    const char *id = sample->id < 0 ? NULL : sample_value(sample, sample->id, row, n, buffer);

    if (id == NULL) {
        *n = (size_t)snprintf(buffer, 64, "#%llu", (unsigned long long)row);
        id = buffer;
    }
    return id;
}

const char *sample_text(const struct sample *sample, uint64_t row, size_t *n)
{
    char buffer[64];
    const char *text = sample->text < 0 ? NULL : sample_value(sample, sample->text, row, n, buffer);

    if (text == NULL) {
        *n = 0;
        return "";
    }
    return text;
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
    if (*column < 0 || sample->schema.fields[*column].hidden ||
        sample->schema.fields[*column].derived_provider != NULL) {
        return schema_missing(&sample->schema, name, err);
    }
    return SLUICE_OK;
}
