/* A row that is traced to a unit of a file: its reader gives it again. See places.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/factsInt.h"
#include "run/source/scanner.h"

static json_t *integer_of(const struct type *type, const void *values, int64_t row)
{
    switch (type->kind) {
    case TYPE_INT8:
        return json_integer(((const int8_t *)values)[row]);
    case TYPE_INT16:
        return json_integer(((const int16_t *)values)[row]);
    case TYPE_INT32:
        return json_integer(((const int32_t *)values)[row]);
    case TYPE_INT64:
        return json_integer((json_int_t)((const int64_t *)values)[row]);
    case TYPE_UINT8:
        return json_integer(((const uint8_t *)values)[row]);
    case TYPE_UINT16:
        return json_integer(((const uint16_t *)values)[row]);
    case TYPE_UINT32:
        return json_integer(((const uint32_t *)values)[row]);
    default:
        return json_integer((json_int_t)((const uint64_t *)values)[row]);
    }
}

/* What JSON has no number for is text. */
static json_t *real_of(double value)
{
    return isfinite(value) ? json_real(value)
                           : json_string(isnan(value) ? "nan"
                                         : value > 0  ? "inf"
                                                      : "-inf");
}

/* With as few digits as tell it from other float32. */
static json_t *single_of(float value)
{
    char text[32];
    bool same = false;

    for (int digits = 6; digits <= 9 && !same; digits++) {
        float back;
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        back = strtof(text, NULL);
        same = memcmp(&back, &value, sizeof back) == 0;
    }
    return real_of(isfinite(value) ? strtod(text, NULL) : (double)value);
}

static json_t *list_of(const struct type *type, const struct ArrowArray *array, int64_t row)
{
    const int32_t *offsets = array->buffers[1];
    json_t *list = json_array();

    for (int32_t k = offsets[row]; k < offsets[row + 1]; k++) {
        json_array_append_new(list, facts_value(type->children[0], array->children[0], k));
    }
    return list;
}

static json_t *struct_of(const struct type *type, const struct ArrowArray *array, int64_t row)
{
    json_t *object = json_object();

    for (uint32_t k = 0; k < type->n_children; k++) {
        json_object_set_new(object, type->names[k],
                            facts_value(type->children[k], array->children[k], row));
    }
    return object;
}

json_t *facts_value(const struct type *type, const struct ArrowArray *array, int64_t row)
{
    const void *values = array->n_buffers > 1 ? array->buffers[1] : NULL;
    const char *text;
    char *name;
    json_t *json;
    size_t n;

    if (array_is_null(array, row)) {
        return json_null();
    }
    switch (type->kind) {
    case TYPE_UTF8:
    case TYPE_JSON:
        text = array_bytes(array, row, &n);
        return facts_text(text, n);
    case TYPE_FLOAT64:
        return real_of(((const double *)values)[row]);
    case TYPE_FLOAT32:
        return single_of(((const float *)values)[row]);
    case TYPE_BOOL:
        return json_boolean((((const uint8_t *)values)[row >> 3] >> (row & 7)) & 1);
    case TYPE_INT8:
    case TYPE_INT16:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_UINT8:
    case TYPE_UINT16:
    case TYPE_UINT32:
    case TYPE_UINT64:
        return integer_of(type, values, row);
    case TYPE_LIST:
        return list_of(type, array, row);
    case TYPE_STRUCT:
        return struct_of(type, array, row);
    default:
        name = type_print(type);
        json = json_sprintf("(%s)", name == NULL ? "a value" : name);
        free(name);
        return json;
    }
}

static sluice_status print_row(const struct type *columns, const struct ArrowArray *batch,
                               int64_t row, struct buf *out, struct sluice_error *err)
{
    json_t *json = json_object();
    char *text;

    for (uint32_t k = 0; k < columns->n_children && (int64_t)k < batch->n_children; k++) {
        json_object_set_new(json, columns->names[k],
                            facts_value(columns->children[k], batch->children[k], row));
    }
    text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (text == NULL) {
        return error_nomem(err, "a record");
    }
    buf_puts(out, text);
    free(text);
    return buf_status(out, err);
}

static sluice_status find_row(const struct place *place, struct scanner *scanner,
                              struct stage_result *result, struct buf *out,
                              struct sluice_error *err)
{
    uint64_t first = 0;

    for (;;) {
        struct scanned scanned;
        bool more;
        TRY(scanner_next(scanner, result, &scanned, &more, err));
        if (!more) {
            return error_set(err, SLUICE_E_DATA,
                             "%s gives no row %llu in bytes %llu to %llu any more; it was changed "
                             "after the run",
                             place->file->path, (unsigned long long)place->unit_row,
                             (unsigned long long)place->begin, (unsigned long long)place->end);
        }
        for (uint32_t k = 0; k < result->n_batches; k++) {
            const struct ArrowArray *batch = &result->batches[k];
            if (place->unit_row < first + (uint64_t)batch->length) {
                return print_row(stage_output(op_code(place->reader)->stage), batch,
                                 (int64_t)(place->unit_row - first), out, err);
            }
            first += (uint64_t)batch->length;
        }
    }
}

sluice_status place_scan(const struct place *place, struct buf *out, struct sluice_error *err)
{
    const struct op *reader = place->reader;
    struct scanner_options options = { .cut = splits_cut(op_declared(reader)->cut),
                                       .key = op_read(reader)->stage_key };
    /* The first byte of a unit tells which one it is. */
    const struct split_range range = { .begin = place->begin,
                                       .end = options.cut == SPLIT_CUT_OWN ? place->begin + 1
                                                                           : place->end };
    const struct split split = { .ranges = &range, .n_ranges = 1 };
    struct scanner *scanner = NULL;
    struct stage_result result;
    sluice_status status;

    TRY(stage_worker_open(op_code(reader)->stage, &options.worker, err));
    stage_result_init(&result);
    status = scanner_open(place->source, &split, &options, &scanner, err);
    if (status == SLUICE_OK) {
        status = find_row(place, scanner, &result, out, err);
    }
    scanner_close(scanner);
    stage_result_deinit(&result);
    stage_worker_close(options.worker);
    return status;
}
