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

    return session_registry(&options, &rows->session, err);
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

void rowsof_end(struct rowsof *rows)
{
    close_plan(rows);
    session_close(&rows->session);
}
