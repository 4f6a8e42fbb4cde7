/* Rows of the user's own (--data): JSON lines, whose members become columns of the same name. See
 * kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "data/builder.h"
#include "store/input.h"

#define USER_BYTES_MAX ((size_t)64 << 20)
#define USER_ROWS_MAX 10000u

struct kit_user_data {
    struct value *rows; /* VALUE_MAP each */
    size_t n;
};

static sluice_status read_all(const char *path, struct buf *out, struct sluice_error *err)
{
    struct input *input = NULL;
    size_t got = 1;

    TRY(input_open(path, &input, err));
    while (got > 0 && out->size < USER_BYTES_MAX) {
        sluice_status status;
        if (!buf_reserve(out, 1u << 20)) {
            input_close(input);
            return error_nomem(err, "a file");
        }
        status = input_read(input, out->data + out->size, 1u << 20, &got, err);
        if (status != SLUICE_OK) {
            input_close(input);
            return status;
        }
        out->size += got;
    }
    input_close(input);
    return SLUICE_OK;
}

static sluice_status add_line(struct kit_user_data *data, const char *path, const char *line,
                              size_t n, struct sluice_error *err)
{
    struct value *rows;
    struct value row;
    sluice_status status = value_parse_json(line, n, &row, err);

    if (status == SLUICE_OK && row.kind != VALUE_MAP) {
        value_deinit(&row);
        status = error_set(err, SLUICE_E_CONFIG, "found no object");
    }
    if (status != SLUICE_OK) {
        return error_prefix(err, "--data %s, row %zu", path, data->n + 1);
    }
    rows = realloc(data->rows, (data->n + 1) * sizeof *rows);
    if (rows == NULL) {
        value_deinit(&row);
        return error_nomem(err, "the rows of --data");
    }
    data->rows = rows;
    rows[data->n++] = row;
    return SLUICE_OK;
}

sluice_status kit_user_open(const char *path, struct kit_user_data **out, struct sluice_error *err)
{
    struct kit_user_data *data = calloc(1, sizeof *data);
    struct buf text = BUF_INIT;
    sluice_status status;

    *out = NULL;
    if (data == NULL) {
        return error_nomem(err, "the rows of --data");
    }
    status = read_all(path, &text, err);
    for (size_t at = 0; status == SLUICE_OK && at < text.size && data->n < USER_ROWS_MAX;) {
        const char *line = text.data + at;
        const char *newline = memchr(line, '\n', text.size - at);
        size_t n = newline != NULL ? (size_t)(newline - line) : text.size - at;
        if (n > 0 && line[0] != '\r') {
            status = add_line(data, path, line, n, err);
        }
        at += n + 1;
    }
    buf_deinit(&text);
    if (status == SLUICE_OK && data->n == 0) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "--data %s holds no rows; expected JSON objects, one a line", path);
    }
    if (status != SLUICE_OK) {
        kit_user_close(data);
        return status;
    }
    *out = data;
    return SLUICE_OK;
}

void kit_user_close(struct kit_user_data *data)
{
    if (data == NULL) {
        return;
    }
    for (size_t k = 0; k < data->n; k++) {
        value_deinit(&data->rows[k]);
    }
    free(data->rows);
    free(data);
}

bool kit_user_column(const struct kit_user_data *data, size_t k, const char **name,
                     const char **type)
{
    const struct value *row = &data->rows[0];
    const struct value *value;

    if (k >= row->as.map.n) {
        return false;
    }
    *name = row->as.map.entries[k].key;
    value = &row->as.map.entries[k].value;
    *type = value->kind == VALUE_STRING  ? "utf8?"
            : value->kind == VALUE_INT   ? "int64?"
            : value->kind == VALUE_FLOAT ? "float64?"
            : value->kind == VALUE_BOOL  ? "bool?"
                                         : "json?";
    return true;
}

bool kit_user_value(const struct kit_user_data *data, const char *column, const struct type *type,
                    uint64_t id, struct builder *builder, bool *ok)
{
    const struct value *value = value_map_get(&data->rows[id % data->n], column);
    struct buf json = BUF_INIT;

    if (value == NULL) {
        return false;
    }
    if (value->kind == VALUE_NIL) {
        if (!type->nullable) {
            return false;
        }
        *ok = builder_null(builder);
        return true;
    }
    switch (type->kind) {
    case TYPE_UTF8:
    case TYPE_BINARY:
        if (value->kind != VALUE_STRING) {
            return false;
        }
        *ok = builder_bytes_add(builder, value->as.string.data, value->as.string.size);
        return true;
    case TYPE_JSON:
        value_print_json(value, &json);
        *ok = !json.failed && builder_bytes_add(builder, buf_str(&json), json.size);
        buf_deinit(&json);
        return true;
    case TYPE_INT64:
        if (value->kind != VALUE_INT) {
            return false;
        }
        *ok = builder_int(builder, value->as.integer);
        return true;
    case TYPE_FLOAT64:
        if (value->kind != VALUE_INT && value->kind != VALUE_FLOAT) {
            return false;
        }
        *ok = builder_float(builder, value->kind == VALUE_INT ? (double)value->as.integer
                                                              : value->as.number);
        return true;
    case TYPE_BOOL:
        if (value->kind != VALUE_BOOL) {
            return false;
        }
        *ok = builder_bool(builder, value->as.boolean);
        return true;
    default:
        return false;
    }
}

sluice_status kit_user_answers(const char *path, struct buf *out, struct sluice_error *err)
{
    TRY(read_all(path, out, err));
    if (out->size > 0 && out->data[out->size - 1] != '\n') {
        buf_putc(out, '\n');
    }
    return out->failed      ? error_nomem(err, "answers")
           : out->size == 0 ? error_set(err, SLUICE_E_CONFIG,
                                        "--answers %s is empty; expected bodies, one a line", path)
                            : SLUICE_OK;
}
