/* Columns and batches: counted references over arrays. See column.h. */
#include "data/column.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/columnInt.h"

static void ref_take(int32_t *refs)
{
    __atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

/* True when the last reference went. */
static bool ref_drop(int32_t *refs)
{
    return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

/* ---- columns ---- */

struct column *column_create(struct ArrowArray *array)
{
    struct column *column = malloc(sizeof *column);

    if (column == NULL) {
        array_release(array);
        return NULL;
    }
    column->refs = 1;
    column->array = *array;
    array->release = NULL;
    return column;
}

struct column *column_ref(struct column *column)
{
    ref_take(&column->refs);
    return column;
}

void column_unref(struct column *column)
{
    if (column != NULL && ref_drop(&column->refs)) {
        array_release(&column->array);
        free(column);
    }
}

static sluice_status gather_column(const struct column *column, const struct type *type,
                                   const struct runs *runs, struct column **out,
                                   struct sluice_error *err)
{
    struct ArrowArray array;

    *out = NULL;
    TRY(array_gather(column != NULL ? &column->array : NULL, type, runs, &array, err));
    *out = column_create(&array);
    return *out != NULL ? SLUICE_OK : error_nomem(err, "a column");
}

sluice_status column_gather(const struct column *column, const struct type *type,
                            const uint32_t *rows, int64_t n, struct column **out,
                            struct sluice_error *err)
{
    struct runs runs = { 0 };
    sluice_status status;

    *out = NULL;
    if (n > COLUMN_ROWS_MAX) {
        return error_set(err, SLUICE_E_DATA,
                         "found %lld rows to gather, expected at most %d: use smaller batches",
                         (long long)n, COLUMN_ROWS_MAX);
    }
    for (int64_t i = 0; i < n; i++) {
        assert(rows[i] < (uint64_t)column->array.length);
    }
    status = runs_of_rows(&runs, rows, n) ? gather_column(column, type, &runs, out, err)
                                          : error_nomem(err, "a column");
    runs_deinit(&runs);
    return status;
}

sluice_status column_nulls(const struct type *type, int64_t n, struct column **out,
                           struct sluice_error *err)
{
    struct runs runs = { 0 };
    sluice_status status;

    *out = NULL;
    if (n > COLUMN_ROWS_MAX) {
        return error_set(err, SLUICE_E_DATA,
                         "found %lld rows of nulls, expected at most %d: use smaller batches",
                         (long long)n, COLUMN_ROWS_MAX);
    }
    status = runs_add(&runs, RUN_NULL, n) ? gather_column(NULL, type, &runs, out, err)
                                          : error_nomem(err, "a column");
    runs_deinit(&runs);
    return status;
}

struct column *column_count(const struct type *type, uint64_t first, uint64_t step, int64_t n)
{
    size_t width = type_width(type);
    struct ArrowArray array;
    char *values;

    if (!array_init(&array, type, n)) {
        return NULL;
    }
    values = array_alloc(&array, 1, (size_t)n * width);
    if (values == NULL) {
        array_release(&array);
        return NULL;
    }
    for (int64_t k = 0; k < n; k++) {
        uint64_t value = first + step * (uint64_t)k;
        memcpy(values + (size_t)k * width, &value, width); /* little-endian: the low bytes */
    }
    return column_create(&array);
}

sluice_status column_repeat(const struct type *type, const char *text, size_t size, int64_t n,
                            struct column **out, struct sluice_error *err)
{
    struct ArrowArray array;
    int32_t *offsets;
    char *bytes;

    *out = NULL;
    if (size > 0 && (uint64_t)n > INT32_MAX / size) {
        return error_set(err, SLUICE_E_DATA,
                         "found %lld rows of a text of %zu bytes, expected at most %d bytes in "
                         "all: use smaller batches",
                         (long long)n, size, INT32_MAX);
    }
    if (!array_init(&array, type, n)) {
        return error_nomem(err, "a column");
    }
    offsets = array_alloc(&array, 1, ((size_t)n + 1) * sizeof *offsets);
    bytes = array_alloc(&array, 2, (size_t)n * size);
    if (offsets == NULL || bytes == NULL) {
        array_release(&array);
        return error_nomem(err, "a column");
    }
    for (int64_t k = 0; k <= n; k++) {
        offsets[k] = (int32_t)((size_t)k * size);
        if (k < n && size > 0) {
            memcpy(bytes + (size_t)k * size, text, size);
        }
    }
    *out = column_create(&array);
    return *out == NULL ? error_nomem(err, "a column") : SLUICE_OK;
}

uint64_t column_bytes(const struct column *column, const struct type *type)
{
    return column == NULL ? 0 : sizeof *column + array_bytes_held(&column->array, type);
}

/* ---- batches ---- */

static void unref_all(struct column **columns, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        column_unref(columns[k]);
    }
}

struct batch *batch_create(int64_t length, uint32_t n_columns, struct column **columns)
{
    struct batch *batch = malloc(sizeof *batch + n_columns * sizeof batch->columns[0]);

    if (batch == NULL) {
        unref_all(columns, n_columns);
        return NULL;
    }
    batch->refs = 1;
    batch->n_columns = n_columns;
    batch->length = length;
    batch->rows = NULL;
    batch->n_rows = length;
    for (uint32_t k = 0; k < n_columns; k++) {
        assert(columns[k] == NULL || columns[k]->array.length == length);
        batch->columns[k] = columns[k];
    }
    return batch;
}

struct batch *batch_ref(struct batch *batch)
{
    ref_take(&batch->refs);
    return batch;
}

void batch_unref(struct batch *batch)
{
    if (batch != NULL && ref_drop(&batch->refs)) {
        unref_all(batch->columns, batch->n_columns);
        free(batch->rows);
        free(batch);
    }
}

/* A batch with references to the same columns and all rows selected. */
static struct batch *share(const struct batch *from)
{
    struct batch *batch = malloc(sizeof *batch + from->n_columns * sizeof batch->columns[0]);

    if (batch == NULL) {
        return NULL;
    }
    batch->refs = 1;
    batch->n_columns = from->n_columns;
    batch->length = from->length;
    batch->rows = NULL;
    batch->n_rows = from->length;
    for (uint32_t k = 0; k < from->n_columns; k++) {
        batch->columns[k] = from->columns[k] == NULL ? NULL : column_ref(from->columns[k]);
    }
    return batch;
}

/* Room for a selection of n rows; false = out of memory, and the batch is gone. */
static bool select_room(struct batch *batch, int64_t n)
{
    batch->rows = malloc((size_t)(n > 0 ? n : 1) * sizeof *batch->rows);
    batch->n_rows = n;
    if (batch->rows == NULL) {
        batch_unref(batch);
        return false;
    }
    return true;
}

struct batch *batch_select(const struct batch *from, const uint32_t *rows, int64_t n)
{
    struct batch *batch = share(from);

    assert(n >= 0 && n <= from->length);
    /* Ascending row numbers, as many as there are rows, are all rows. */
    if (batch == NULL || n == from->length) {
        return batch;
    }
    if (!select_room(batch, n)) {
        return NULL;
    }
    if (n > 0) {
        assert(rows[n - 1] < (uint64_t)from->length);
        memcpy(batch->rows, rows, (size_t)n * sizeof *rows);
    }
    return batch;
}

struct batch *batch_slice(const struct batch *from, int64_t first, int64_t n)
{
    struct batch *batch;

    assert(first >= 0 && n >= 0 && first <= from->n_rows && n <= from->n_rows - first);
    if (from->rows != NULL) {
        return batch_select(from, from->rows + first, n);
    }
    batch = share(from);
    if (batch == NULL || n == from->length) {
        return batch;
    }
    if (!select_room(batch, n)) {
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        batch->rows[i] = (uint32_t)(first + i);
    }
    return batch;
}

sluice_status batch_compact(struct batch *batch, const struct type *const *types,
                            struct batch **out, struct sluice_error *err)
{
    struct runs runs = { 0 };
    struct batch *made;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (batch->rows == NULL) {
        *out = batch_ref(batch);
        return SLUICE_OK;
    }
    made = calloc(1, sizeof *made + batch->n_columns * sizeof made->columns[0]);
    if (made == NULL || !runs_of_rows(&runs, batch->rows, batch->n_rows)) {
        free(made);
        return error_nomem(err, "a batch");
    }
    made->refs = 1;
    made->n_columns = batch->n_columns;
    made->length = batch->n_rows;
    made->n_rows = batch->n_rows;
    for (uint32_t k = 0; k < batch->n_columns && status == SLUICE_OK; k++) {
        if (batch->columns[k] != NULL) {
            status = gather_column(batch->columns[k], types[k], &runs, &made->columns[k], err);
        }
    }
    runs_deinit(&runs);
    if (status != SLUICE_OK) {
        batch_unref(made);
        return status;
    }
    *out = made;
    return SLUICE_OK;
}

uint64_t batch_bytes(const struct batch *batch, const struct type *const *types)
{
    uint64_t bytes = sizeof *batch + batch->n_columns * sizeof batch->columns[0];

    bytes += batch->rows != NULL ? (uint64_t)batch->n_rows * sizeof *batch->rows : 0;
    for (uint32_t k = 0; k < batch->n_columns; k++) {
        bytes += batch->columns[k] == NULL ? 0 : column_bytes(batch->columns[k], types[k]);
    }
    return bytes;
}
