/* The columns of a stage that hands on whole rows: see shuffle_columns.h. */
#include "shuffle_columns.h"

#include <stdio.h>

#include "shuffle.h"

#define ROW_BITS 40 /* of _pos: the rest is the number of the task */
#define COLUMNS_MAX 200

static sluice_status add_column(struct whole_rows *rows, struct sluice_plan *plan, const char *name,
                                const char *as, const char *type, struct sluice_error *err)
{
    struct whole_column *more = realloc(rows->columns, (rows->n + 1u) * sizeof *more);
    struct whole_column *column;
    sluice_status status;

    if (more == NULL) {
        return shuffle_nomem(err);
    }
    rows->columns = more;
    column = &more[rows->n];
    memset(column, 0, sizeof *column);
    status = plan->need(plan, 0, name, "", 0, &column->index, err);
    if (status != SLUICE_OK) {
        return status;
    }
    status = layout_parse(type, &column->layout);
    if (status != SLUICE_OK) {
        return status == SLUICE_E_NOMEM
                   ? shuffle_nomem(err)
                   : shuffle_fail(err, SLUICE_E_SCHEMA, name,
                                  "the column '%.100s' has the type %.100s, which can't be handed "
                                  "on",
                                  name, type);
    }
    rows->n++;
    column->id = strcmp(as, "id") == 0 && column->layout.kind == LAYOUT_TEXT;
    return plan->add(plan, as, type, plan->metadata(plan, 0, column->index, ""), err);
}

/* The rows may say what they were made of (packed rows do, and shuffled ones): that is handed on,
 * behind an exchange with the number of the task before it in front, unless an earlier exchange has
 * put one there. */
static sluice_status prepare_origin(struct whole_rows *rows, struct sluice_plan *plan, bool behind,
                                    struct sluice_error *err)
{
    char metadata[40];
    bool whole = true; /* rows are handed on as they were */
    sluice_status status =
        plan->need(plan, 0, behind ? SLUICE_POS : SLUICE_ROW, "uint64", 0, &rows->place, err);

    rows->origin = rows->span = -1;
    rows->composed = false;
    rows->behind = behind;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ORIGIN, "uint64|list<uint64>", 1, &rows->origin, err);
    }
    if (status == SLUICE_OK && rows->origin >= 0) {
        status = plan->need(plan, 0, SLUICE_SPAN, "list<uint64>", 1, &rows->span, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (rows->origin < 0) {
        return plan->add(plan, SLUICE_ORIGIN, "uint64", behind ? "exchange=1" : "through=1", err);
    }
    rows->composed = plan->metadata(plan, 0, rows->origin, "exchange") != NULL;
    whole = (rows->composed || plan->metadata(plan, 0, rows->origin, "through") != NULL) &&
            plan->metadata(plan, 0, rows->origin, "parts") == NULL;
    snprintf(metadata, sizeof metadata, "%s%s",
             behind || rows->composed ? "exchange=1" : "through=1", whole ? "" : "\nparts=1");
    status = plan->add(plan, SLUICE_ORIGIN, "list<uint64>", metadata, err);
    return status == SLUICE_OK && rows->span >= 0
               ? plan->add(plan, SLUICE_SPAN, "list<uint64>", NULL, err)
               : status;
}

sluice_status whole_rows_prepare(struct whole_rows *rows, struct sluice_plan *plan,
                                 const struct whole_choice *choice, bool behind,
                                 struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    whole_rows_deinit(rows);
    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        const char *name;
        const char *type;
        const char *as;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            break;
        }
        as = choice == NULL ? name : choice->as(choice->ctx, name);
        if (as == NULL) {
            continue;
        }
        if (rows->n == COLUMNS_MAX) {
            return shuffle_fail(err, SLUICE_E_SCHEMA, name,
                                "the rows have more than %d columns; drop some of them before",
                                COLUMNS_MAX);
        }
        status = add_column(rows, plan, name, as, type, err);
    }
    return status == SLUICE_OK ? prepare_origin(rows, plan, behind, err) : status;
}

void whole_rows_deinit(struct whole_rows *rows)
{
    for (uint32_t k = 0; k < rows->n; k++) {
        layout_deinit(&rows->columns[k].layout);
    }
    free(rows->columns);
    memset(rows, 0, sizeof *rows);
}

uint64_t whole_rows_size(const struct whole_rows *rows, const struct sluice_batch *batch,
                         int64_t row)
{
    uint64_t size = 0;

    for (uint32_t k = 0; k < rows->n; k++) {
        const struct whole_column *column = &rows->columns[k];
        size += layout_size(&column->layout, batch->array->children[column->index], row);
    }
    return size;
}

/* ---- rows ---- */

/* The ids of copies: "#2" behind the second one. */
static sluice_status copy_ids(const struct ArrowArray *array, const struct layout_run *runs,
                              size_t n_runs, const uint32_t *copies, struct ArrowArray *out)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct sluice_bytes validity = { 0 };
    struct sluice_bytes id = { 0 };
    int64_t at = 0;
    int64_t nulls = 0;
    int ok = 1;

    for (size_t i = 0; ok && i < n_runs; i++) {
        for (int64_t row = runs[i].first; ok && row < runs[i].first + runs[i].n; row++) {
            char tail[16];
            size_t n;
            const char *text = sluice_text(array, row, &n);
            int null = sluice_is_null(array, row);
            int n_tail =
                copies[at] > 1 && !null ? snprintf(tail, sizeof tail, "#%u", copies[at]) : 0;
            id.size = 0;
            nulls += null;
            ok = sluice_bytes_add(&id, text, n) && sluice_bytes_add(&id, tail, (uint64_t)n_tail) &&
                 sluice_bytes_add_text(&offsets, &data, id.data, id.size) &&
                 sluice_bytes_add_bit(&validity, at, !null);
            at++;
        }
    }
    sluice_bytes_free(&id);
    if (nulls == 0) {
        sluice_bytes_free(&validity);
    }
    if (!ok) {
        sluice_bytes_free(&offsets);
        sluice_bytes_free(&data);
        sluice_bytes_free(&validity);
        return SLUICE_E_NOMEM;
    }
    return sluice_make_text(out, at, &offsets, &data, &validity, nulls);
}

/* The origins of one row. */
static int add_origins(const struct whole_rows *rows, const struct ArrowArray *array, int64_t row,
                       uint64_t place, struct sluice_bytes *ends, struct sluice_bytes *items)
{
    uint64_t task = rows->composed || !rows->behind ? 0 : place >> ROW_BITS << ROW_BITS;
    uint64_t alone;
    const uint64_t *from = &alone;
    size_t n = 1;
    int32_t end;

    if (array->n_children == 1) {
        from = sluice_list_u64(array, row, &n);
    } else {
        alone = sluice_uint64(array, row);
    }
    for (size_t k = 0; k < n; k++) {
        uint64_t origin = (from[k] & SLUICE_ORIGIN_POS) != 0 ? from[k] : task | from[k];
        if (!sluice_bytes_add(items, &origin, sizeof origin)) {
            return 0;
        }
    }
    if (items->size / sizeof alone > INT32_MAX) {
        return 0;
    }
    end = (int32_t)(items->size / sizeof alone);
    return sluice_bytes_add(ends, &end, sizeof end);
}

static sluice_status make_origins(const struct whole_rows *rows, const struct sluice_batch *batch,
                                  const struct layout_run *runs, size_t n_runs,
                                  struct ArrowArray *out)
{
    const struct ArrowArray *places = batch->array->children[rows->place];
    const struct layout number = { .kind = LAYOUT_FIXED, .width = 8 };
    const struct ArrowArray *origins;
    struct sluice_bytes ends = { 0 };
    struct sluice_bytes items = { 0 };
    int32_t zero = 0;
    int64_t n = 0;
    int ok;

    if (rows->origin < 0) {
        return layout_copy(&number, places, runs, n_runs, out);
    }
    origins = batch->array->children[rows->origin];
    ok = sluice_bytes_add(&ends, &zero, sizeof zero);
    for (size_t i = 0; ok && i < n_runs; i++) {
        for (int64_t row = runs[i].first; ok && row < runs[i].first + runs[i].n; row++) {
            ok = add_origins(rows, origins, row, sluice_uint64(places, row), &ends, &items);
            n++;
        }
    }
    if (!ok) {
        sluice_bytes_free(&ends);
        sluice_bytes_free(&items);
        return SLUICE_E_NOMEM;
    }
    return sluice_make_list(out, n, &ends, &items, (int64_t)(items.size / sizeof(uint64_t)));
}

sluice_status whole_rows_give(const struct whole_rows *rows, const struct sluice_batch *batch,
                              const struct layout_run *runs, size_t n_runs, const uint32_t *copies,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    struct layout number = { .kind = LAYOUT_FIXED, .width = 8 };
    const struct layout numbers = { .kind = LAYOUT_LIST, .n_children = 1, .children = &number };
    uint32_t n_columns = rows->n + (rows->span >= 0 ? 2 : 1);
    struct ArrowArray *columns = calloc(rows->n + 2u, sizeof *columns);
    struct ArrowArray out;
    sluice_status status = columns == NULL ? SLUICE_E_NOMEM : SLUICE_OK;
    bool made = false;

    for (uint32_t k = 0; status == SLUICE_OK && k < rows->n; k++) {
        const struct whole_column *column = &rows->columns[k];
        const struct ArrowArray *from = batch->array->children[column->index];
        status = column->id && copies != NULL
                     ? copy_ids(from, runs, n_runs, copies, &columns[k])
                     : layout_copy(&column->layout, from, runs, n_runs, &columns[k]);
    }
    if (status == SLUICE_OK) {
        status = make_origins(rows, batch, runs, n_runs, &columns[rows->n]);
    }
    if (status == SLUICE_OK && rows->span >= 0) {
        status = layout_copy(&numbers, batch->array->children[rows->span], runs, n_runs,
                             &columns[rows->n + 1]);
    }
    if (status == SLUICE_OK) {
        int64_t n = columns[rows->n].length;
        status = sluice_make_struct(&out, n, n_columns, columns);
        made = status == SLUICE_OK;
    }
    for (uint32_t k = 0; columns != NULL && k < n_columns; k++) {
        if (columns[k].release != NULL) {
            columns[k].release(&columns[k]);
        }
    }
    free(columns);
    if (made) {
        return emit->batch(emit, &out);
    }
    return status == SLUICE_E_NOMEM ? shuffle_nomem(err) : status;
}

/* Selected rows as runs of neighbours. 0 = out of memory. */
static int runs_of(const struct sluice_batch *batch, struct layout_run **out, size_t *n)
{
    struct layout_run *runs = malloc(((size_t)batch->n + 1) * sizeof *runs);

    *out = runs;
    *n = 0;
    if (runs == NULL) {
        return 0;
    }
    if (batch->rows == NULL) {
        runs[(*n)++] = (struct layout_run){ 0, batch->n };
        return 1;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = batch->rows[k];
        if (*n > 0 && runs[*n - 1].first + runs[*n - 1].n == row) {
            runs[*n - 1].n++;
        } else {
            runs[(*n)++] = (struct layout_run){ row, 1 };
        }
    }
    return 1;
}

sluice_status whole_rows_give_all(const struct whole_rows *rows, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct layout_run *runs;
    size_t n;
    sluice_status status;

    if (batch->n == 0) {
        return SLUICE_OK;
    }
    if (!runs_of(batch, &runs, &n)) {
        return shuffle_nomem(err);
    }
    status = whole_rows_give(rows, batch, runs, n, NULL, emit, err);
    free(runs);
    return status;
}
