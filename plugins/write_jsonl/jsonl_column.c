/* Values of columns: see jsonl_column.h. */
#include "jsonl_column.h"

#include <string.h>

static const char *const kind_names[] = { "bool",    "int8",   "int16",  "int32",  "int64",
                                          "uint8",   "uint16", "uint32", "uint64", "float32",
                                          "float64", "utf8",   "binary", "json" };

bool jsonl_column_type(const char *type, struct jsonl_column *column)
{
    size_t n = strlen(type);

    n -= n > 0 && type[n - 1] == '?';
    if (n == 5 && memcmp(type, "spans", 5) == 0) {
        column->list = true;
        column->kind = JSONL_UINT64;
        return true;
    }
    if (n > 6 && memcmp(type, "list<", 5) == 0 && type[n - 1] == '>') {
        column->list = true;
        type += 5;
        n -= 6;
        n -= n > 0 && type[n - 1] == '?';
    }
    if (n > 7 && memcmp(type, "fixed[", 6) == 0 && type[n - 1] == ']') {
        column->kind = JSONL_FIXED;
        for (const char *p = type + 6; *p >= '0' && *p <= '9'; p++) {
            column->width = column->width * 10 + (*p - '0');
        }
        return true;
    }
    for (size_t k = 0; k < sizeof kind_names / sizeof kind_names[0]; k++) {
        if (strlen(kind_names[k]) == n && memcmp(kind_names[k], type, n) == 0) {
            column->kind = (enum jsonl_kind)k;
            return true;
        }
    }
    return false;
}

static int put_number(struct sluice_bytes *out, enum jsonl_kind kind, const void *values, int64_t i)
{
    char *at;
    size_t n;

    if (!sluice_bytes_reserve(out, JSONL_NUMBER_MAX)) {
        return 0;
    }
    at = out->data + out->size;
    switch (kind) {
    case JSONL_INT8:
        n = jsonl_int(((const int8_t *)values)[i], at);
        break;
    case JSONL_INT16:
        n = jsonl_int(((const int16_t *)values)[i], at);
        break;
    case JSONL_INT32:
        n = jsonl_int(((const int32_t *)values)[i], at);
        break;
    case JSONL_INT64:
        n = jsonl_int(((const int64_t *)values)[i], at);
        break;
    case JSONL_UINT8:
        n = jsonl_uint(((const uint8_t *)values)[i], at);
        break;
    case JSONL_UINT16:
        n = jsonl_uint(((const uint16_t *)values)[i], at);
        break;
    case JSONL_UINT32:
        n = jsonl_uint(((const uint32_t *)values)[i], at);
        break;
    case JSONL_UINT64:
        n = jsonl_uint(((const uint64_t *)values)[i], at);
        break;
    case JSONL_FLOAT32:
        n = jsonl_float(((const float *)values)[i], at);
        break;
    default:
        n = jsonl_double(((const double *)values)[i], at);
        break;
    }
    out->size += n;
    return 1;
}

static int put_value(struct sluice_bytes *out, const struct jsonl_column *column,
                     const struct ArrowArray *array, int64_t i)
{
    const void *values = array->buffers[1];
    const char *text;
    size_t n;

    if (sluice_is_null(array, i)) {
        return sluice_bytes_add(out, "null", 4);
    }
    switch (column->kind) {
    case JSONL_BOOL:
        return (((const uint8_t *)values)[i >> 3] >> (i & 7) & 1) != 0
                   ? sluice_bytes_add(out, "true", 4)
                   : sluice_bytes_add(out, "false", 5);
    case JSONL_UTF8:
        text = sluice_text(array, i, &n);
        return jsonl_string(out, text, n);
    case JSONL_BINARY:
        text = sluice_text(array, i, &n);
        return jsonl_base64(out, text, n);
    case JSONL_JSON:
        text = sluice_text(array, i, &n);
        return jsonl_raw(out, text, n);
    case JSONL_FIXED:
        return jsonl_base64(out, (const char *)values + i * column->width, (size_t)column->width);
    default:
        return put_number(out, column->kind, values, i);
    }
}

static int put_list(struct sluice_bytes *out, const struct jsonl_column *column,
                    const struct ArrowArray *array, int64_t row)
{
    const int32_t *offsets = array->buffers[1];
    int ok = sluice_bytes_add(out, "[", 1);

    for (int32_t i = offsets[row]; ok && i < offsets[row + 1]; i++) {
        ok = (i == offsets[row] || sluice_bytes_add(out, ",", 1)) &&
             put_value(out, column, array->children[0], i);
    }
    return ok && sluice_bytes_add(out, "]", 1);
}

int jsonl_column_member(struct sluice_bytes *out, const struct jsonl_column *column,
                        const struct ArrowArray *array, int64_t row, bool *first)
{
    const size_t skip = *first ? 1 : 0;

    if (sluice_is_null(array, row)) {
        return 1;
    }
    *first = false;
    return sluice_bytes_add(out, column->prefix + skip, column->prefix_n - skip) &&
           (column->list ? put_list(out, column, array, row) : put_value(out, column, array, row));
}
