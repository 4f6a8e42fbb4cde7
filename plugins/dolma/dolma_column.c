#include "dolma_column.h"

#include <stdio.h>

#include "dolma_names.h"

sluice_status dolma_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for attributes");
}

sluice_status dolma_column_need(struct dolma_column *column, struct sluice_plan *plan,
                                const char *name, struct sluice_error *err)
{
    static const char key[] = DOLMA_NAMES_KEY "=";
    sluice_status status = plan->need(plan, 0, name, "json|json?", 1, &column->at, err);

    if (status != SLUICE_OK) {
        return status;
    }
    column->name = name;
    column->present = column->at >= 0 ? plan->metadata(plan, 0, column->at, DOLMA_NAMES_KEY) : NULL;
    /* Beside attributes that nobody declared, anything may be in the column. */
    column->declared = column->at < 0 || column->present != NULL;
    column->names.size = 0;
    return sluice_bytes_add(&column->names, key, sizeof key - 1) &&
                   (column->present == NULL ||
                    sluice_bytes_add(&column->names, column->present, strlen(column->present)))
               ? SLUICE_OK
               : dolma_nomem(err);
}

sluice_status dolma_column_declare(struct dolma_column *column, const char *prefix,
                                   const char *type, size_t n, const char *option,
                                   struct sluice_error *err)
{
    struct sluice_bytes *names = &column->names;
    uint64_t begin;

    if (names->data[names->size - 1] != '=' && !sluice_bytes_add(names, "|", 1)) {
        return dolma_nomem(err);
    }
    begin = names->size;
    if (!sluice_bytes_add(names, prefix, strlen(prefix)) || !sluice_bytes_add(names, type, n)) {
        return dolma_nomem(err);
    }
    if (column->present != NULL &&
        dolma_name_in(column->present, names->data + begin, (size_t)(names->size - begin))) {
        char message[300];
        snprintf(message, sizeof message,
                 "the attribute '%.*s' is in the column already; expected another `%s`",
                 (int)(names->size - begin), names->data + begin, option);
        return sluice_fail(err, SLUICE_E_CONFIG, option, message);
    }
    return SLUICE_OK;
}

sluice_status dolma_column_add(struct dolma_column *column, struct sluice_plan *plan,
                               sluice_status status, struct sluice_error *err)
{
    if (status == SLUICE_OK && !sluice_bytes_add(&column->names, "", 1)) {
        status = dolma_nomem(err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, column->name, "json", column->declared ? column->names.data : NULL,
                           err);
    }
    sluice_bytes_free(&column->names);
    column->present = NULL;
    return status;
}

/* Appends the object of one document; 0 when memory is used up. */
static int dolma_rows_add(struct dolma_rows *rows, const struct dolma_out *out)
{
    return sluice_bytes_add(&rows->data, "{", 1) &&
           sluice_bytes_add(&rows->data, out->json.data, out->json.size) &&
           sluice_bytes_add_text(&rows->offsets, &rows->data, "}", 1);
}

sluice_status dolma_rows_emit(struct dolma_rows *rows, int64_t n, sluice_status status,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray array;
    struct ArrowArray made;

    if (status == SLUICE_OK && n > 0) {
        status = sluice_make_text(&array, n, &rows->offsets, &rows->data, NULL, 0);
        if (status == SLUICE_OK) {
            status = sluice_make_struct(&made, n, 1, &array);
        }
        return status == SLUICE_OK ? emit->batch(emit, &made) : dolma_nomem(err);
    }
    sluice_bytes_free(&rows->offsets);
    sluice_bytes_free(&rows->data);
    return status;
}

/* The members that the row had before the stage. */
static sluice_status keep_members(const struct dolma_column *column,
                                  const struct sluice_batch *batch, int64_t row,
                                  struct dolma_out *out, struct sluice_error *err)
{
    size_t n;
    const char *json = sluice_text(batch->array->children[column->at], row, &n);

    return dolma_out_members(out, json, n)
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_DATA, column->name, "the attributes are no JSON object");
}

sluice_status dolma_column_emit(const struct dolma_column *column, const struct sluice_batch *batch,
                                struct sluice_emit *emit, dolma_make_row *make, void *ctx,
                                struct dolma_out *out, struct sluice_error *err)
{
    struct dolma_rows rows = { 0 };
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        dolma_out_reset(out);
        status = column->at >= 0 ? keep_members(column, batch, row, out, err) : SLUICE_OK;
        if (status == SLUICE_OK) {
            status = make(ctx, batch, row, out, err);
        }
        if (status != SLUICE_OK && err != NULL) {
            err->row = row;
        }
        if (status == SLUICE_OK && (out->failed || !dolma_rows_add(&rows, out))) {
            status = dolma_nomem(err);
        }
    }
    return dolma_rows_emit(&rows, batch->n, status, emit, err);
}
