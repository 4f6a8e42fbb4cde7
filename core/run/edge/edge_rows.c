/* Accumulated rows, and small helpers: see edgeInt.h. */
#include <stdlib.h>
#include <string.h>

#include "data/draft.h"
#include "run/edge/edgeInt.h"

#define KEPT_MAX ((uint64_t)8 << 20) /* more memory than this is given back after a frame */

struct edge_rows {
    uint32_t n;
    int64_t length;
    struct builder *columns[];
};

sluice_status edge_rows_create(uint32_t n_columns, const struct type *const *types,
                               struct edge_rows **out, struct sluice_error *err)
{
    struct edge_rows *rows = calloc(1, sizeof *rows + n_columns * sizeof rows->columns[0]);
    sluice_status status = rows == NULL ? error_nomem(err, "rows to store") : SLUICE_OK;

    for (uint32_t k = 0; status == SLUICE_OK && k < n_columns; k++) {
        rows->n++;
        status = builder_create(types[k], &rows->columns[k], err);
    }
    if (status != SLUICE_OK) {
        edge_rows_destroy(rows);
        rows = NULL;
    }
    *out = rows;
    return status;
}

void edge_rows_destroy(struct edge_rows *rows)
{
    if (rows != NULL) {
        for (uint32_t k = 0; k < rows->n; k++) {
            builder_destroy(rows->columns[k]);
        }
        free(rows);
    }
}

int64_t edge_rows_length(const struct edge_rows *rows)
{
    return rows->length;
}

uint64_t edge_rows_memory(const struct edge_rows *rows)
{
    uint64_t memory = 0;

    for (uint32_t k = 0; k < rows->n; k++) {
        memory += builder_memory(rows->columns[k]);
    }
    return memory;
}

sluice_status edge_rows_add(struct edge_rows *rows, const struct ArrowArray *const *arrays,
                            const uint32_t *selection, int64_t first, int64_t n,
                            struct sluice_error *err)
{
    for (uint32_t k = 0; k < rows->n; k++) {
        if (!builder_rows(rows->columns[k], arrays[k], selection, first, n)) {
            return error_nomem(err, "rows to store");
        }
    }
    rows->length += n;
    return SLUICE_OK;
}

sluice_status edge_rows_batch(struct edge_rows *rows, struct batch **out, struct sluice_error *err)
{
    struct draft draft;

    draft_init(&draft, rows->n);
    for (uint32_t k = 0; draft_ok(&draft) && k < rows->n; k++) {
        struct ArrowArray view = builder_view(rows->columns[k]);
        draft_move(&draft, k, &view);
    }
    return draft_end(&draft, rows->length, out, err);
}

void edge_rows_clear(struct edge_rows *rows)
{
    bool large = edge_rows_memory(rows) > KEPT_MAX;

    rows->length = 0;
    for (uint32_t k = 0; k < rows->n; k++) {
        if (large) {
            builder_release(rows->columns[k]);
        } else {
            builder_truncate(rows->columns[k], 0);
        }
    }
}

/* ---- helpers ---- */

static void fixed_release(struct ArrowArray *array)
{
    free((void *)(uintptr_t)array->buffers[1]);
    free(array->buffers);
    array->release = NULL;
}

sluice_status edge_array_fixed(void *values, int64_t n, struct ArrowArray *out,
                               struct sluice_error *err)
{
    const void **buffers = calloc(2, sizeof *buffers);

    memset(out, 0, sizeof *out);
    if (buffers == NULL || values == NULL) {
        free(buffers);
        free(values);
        return error_nomem(err, "a column");
    }
    buffers[1] = values;
    out->length = n;
    out->n_buffers = 2;
    out->buffers = buffers;
    out->release = fixed_release;
    return SLUICE_OK;
}

const struct type **edge_types(const struct schema *schema)
{
    const struct type **types = calloc((size_t)schema->n + 1, sizeof *types);

    for (uint32_t k = 0; types != NULL && k < schema->n; k++) {
        types[k] = schema->fields[k].type;
    }
    return types;
}

int32_t edge_find_word(const struct schema *schema, const char *name)
{
    int32_t k = schema_find(schema, name);

    return k >= 0 && schema->fields[k].type->kind == TYPE_UINT64 ? k : -1;
}
