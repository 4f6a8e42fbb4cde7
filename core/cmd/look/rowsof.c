/* Rows of columnar files: see rowsof.h. */
#include "cmd/look/rowsof.h"

#include <stdlib.h>
#include <string.h>

#include "run/facts/facts.h"

#define READER "rows"

const char *rowsof_reader(const char *path)
{
    static const struct {
        const char *end, *reader;
    } kinds[] = { { ".parquet", "read_parquet" }, { ".arrow", "read_arrow" },
                  { ".arrows", "read_arrow" },    { ".feather", "read_arrow" },
                  { ".ipc", "read_arrow" },       { ".csv", "read_csv" },
                  { ".csv.gz", "read_csv" },      { ".csv.zst", "read_csv" },
                  { ".tsv", "read_csv" } };
    size_t n = strlen(path);

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        size_t m = strlen(kinds[k].end);
        if (n > m && strcmp(path + n - m, kinds[k].end) == 0) {
            return kinds[k].reader;
        }
    }
    return NULL;
}

json_t *rowsof_row(const struct schema *schema, const struct batch *batch, int64_t row)
{
    json_t *json = json_object();

    for (uint32_t k = 0; k < schema->n; k++) {
        const struct field *field = &schema->fields[k];
        const struct ArrowArray *array =
            batch->columns[k] == NULL ? NULL : &batch->columns[k]->array;
        if (!field->hidden && array != NULL && !array_is_null(array, row)) {
            json_object_set_new(json, field->name, facts_value(field->type, array, row));
        }
    }
    return json;
}

static sluice_status make_graph(struct rowsof *rows, bool dataset, const char *reader,
                                const struct value *options, struct sluice_error *err)
{
    struct graph *graph = rows->plan.graph;
    struct node *files;
    struct node *node;

    TRY(graph_add(graph, dataset ? NODE_DATASET : NODE_FILES, "files", rows->pattern, &files, err));
    files->patterns = &rows->pattern;
    files->n_patterns = 1;
    TRY(graph_add(graph, NODE_STAGE, READER, "", &node, err));
    TRY(registry_find(rows->session.registry, reader, &node->entry, err));
    TRY(graph_connect(graph, node, files->id, err));
    value_map_init(&node->named);
    if (options != NULL && !value_copy(&node->named, options)) {
        return error_nomem(err, "options");
    }
    graph->max_bad_share = -1; /* what is left out is said */
    return SLUICE_OK;
}

sluice_status rowsof_begin(struct rowsof *rows, struct sluice_error *err)
{
    const struct session_options options = { 0 };

    return rows->session.registry != NULL ? SLUICE_OK
                                          : session_registry(&options, &rows->session, err);
}

static void close_plan(struct rowsof *rows)
{
    try_plan_close(&rows->plan);
    memset(&rows->plan, 0, sizeof rows->plan);
    free(rows->pattern);
    rows->pattern = NULL;
}

sluice_status rowsof_open(struct rowsof *rows, const char *pattern, bool dataset,
                          const char *reader, const struct value *options, struct sluice_error *err)
{
    struct session *session = &rows->session;
    struct plan_options terms = { .base_dir = session->cwd,
                                  .services = &session->services,
                                  .open = true };
    struct try_plan *plan = &rows->plan;

    close_plan(rows);
    session_services(session);
    session_describes(session, &terms);
    session->services.scratch_dir = NULL; /* there is no run */
    session->services.budget = NULL;
    rows->pattern = str_copy(pattern, strlen(pattern));
    plan->graph = graph_create();
    if (plan->graph == NULL || rows->pattern == NULL) {
        return error_nomem(err, "a graph");
    }
    TRY(make_graph(rows, dataset, reader, options, err));
    TRY(plan_build(plan->graph, session->registry, &terms, &plan->plan, err));
    plan->op = plan_find_op(plan->plan, READER, &plan->phase);
    return metrics_init(&plan->metrics, plan->plan, err);
}

sluice_status rowsof_open_file(struct rowsof *rows, const char *path, struct sluice_error *err)
{
    const char *reader = rowsof_reader(path);
    const bool parquet = strcmp(reader, "read_parquet") == 0;
    struct value options = VALUE_INIT;
    sluice_status status = rowsof_begin(rows, err);

    value_map_init(&options);
    if (status == SLUICE_OK &&
        ((strcmp(reader, "read_csv") != 0 && !value_map_set(&options, "as_is", value_bool(true))) ||
         (parquet && !value_map_set(&options, "partitions", value_bool(false))))) {
        status = error_nomem(err, "options");
    }
    if (status == SLUICE_OK) {
        status = rowsof_open(rows, path, false, reader, &options, err);
    }
    value_deinit(&options);
    return status;
}

/* ---- reading ---- */

struct reading {
    const char *name;
    const struct chain_observer *observer;
};

static sluice_status given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                           struct sluice_error *err)
{
    const struct reading *reading = ctx;

    *held = true;
    return reading->observer->given(reading->observer->ctx, op, batch, held, err);
}

static sluice_status refused(void *ctx, const struct op *op, const struct bad_record *bad,
                             struct sluice_error *err)
{
    const struct reading *reading = ctx;

    (void)op;
    return error_set(err, SLUICE_E_DATA, "%s: a row can't be read: %s: %s; see sluice verify",
                     reading->name, bad->reason, bad->detail);
}

sluice_status rowsof_read(struct rowsof *rows, const char *name,
                          const struct chain_observer *observer, struct sluice_error *err)
{
    struct reading reading = { name, observer };
    const struct chain_observer own = { .ctx = &reading, .given = given, .refused = refused };
    const struct rows_pass pass = { .plan = &rows->plan, .observer = &own, .workers = 1 };
    struct rows none = { 0 };
    sluice_status status = rows_pass(&pass, &none, err);

    rows_deinit(&none);
    return status;
}

struct lines {
    lines_fn *take;
    void *ctx;
};

static sluice_status give_lines(void *ctx, const struct op *op, struct batch *batch, bool *held,
                                struct sluice_error *err)
{
    const struct lines *lines = ctx;
    bool stop = false;

    (void)held;
    for (int64_t k = 0; k < batch->n_rows && !stop; k++) {
        int64_t row = batch->rows == NULL ? k : (int64_t)batch->rows[k];
        json_t *json = rowsof_row(&op->out, batch, row);
        char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
        sluice_status status = text == NULL
                                   ? error_nomem(err, "a row")
                                   : lines->take(lines->ctx, text, strlen(text), &stop, err);
        free(text);
        json_decref(json);
        TRY(status);
    }
    return SLUICE_OK;
}

sluice_status rowsof_lines(struct rowsof *rows, const char *path, lines_fn *take, void *ctx,
                           struct sluice_error *err)
{
    struct lines lines = { take, ctx };
    const struct chain_observer observer = { .ctx = &lines, .given = give_lines };

    TRY(rowsof_open_file(rows, path, err));
    return rowsof_read(rows, path, &observer, err);
}

void rowsof_end(struct rowsof *rows)
{
    close_plan(rows);
    session_close(&rows->session);
}
