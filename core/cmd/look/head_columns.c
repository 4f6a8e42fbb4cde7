/* sluice head of Parquet, Arrow and CSV: a dataset's files or a single one, read by their reader as
 * a pipeline reads them, in order and no further than the rows that are shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/say.h"
#include "cmd/look/headInt.h"
#include "cmd/try/try.h"
#include "run/facts/facts.h"
#include "store/store.h"

#define READER "rows"

struct showing {
    const struct head *head;
    const struct conditions *conditions;
    const struct op *reader;
    const uint64_t *rows; /* those that are chosen at random; NULL: the first */
    size_t n_rows, at;
    uint64_t row, shown;
    bool done;
};

const char *head_reader(const char *path)
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

bool head_is_file(const char *path)
{
    struct stat info;

    return head_reader(path) != NULL && store_is_local(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* ---- rows ---- */

static json_t *row_json(const struct schema *schema, const struct batch *batch, int64_t row)
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

/* Numbers with no more digits than tell them. NULL = out of memory. Gives. */
static char *row_text(const json_t *json)
{
    char *text = NULL;
    bool same = false;

    for (size_t digits = 15; digits <= 17 && !same; digits++) {
        json_t *back;
        free(text);
        text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(digits));
        back = text == NULL ? NULL : json_loads(text, JSON_ALLOW_NUL, NULL);
        same = json_equal(json, back);
        json_decref(back);
    }
    return text;
}

static sluice_status show_row(struct showing *showing, const struct batch *batch, int64_t row,
                              struct sluice_error *err)
{
    uint64_t number = showing->row++;
    json_t *json;
    char *text;

    if (showing->rows != NULL &&
        (showing->at == showing->n_rows || showing->rows[showing->at] != number)) {
        return SLUICE_OK;
    }
    showing->at++;
    json = row_json(&showing->reader->out, batch, row);
    if (json != NULL && !conditions_hold(showing->conditions, json)) {
        json_decref(json);
        return SLUICE_OK;
    }
    text = json == NULL ? NULL : row_text(json);
    json_decref(json);
    if (text == NULL) {
        return error_nomem(err, "a row");
    }
    head_print(showing->head, number, text, strlen(text));
    free(text);
    showing->shown++;
    return SLUICE_OK;
}

static sluice_status given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                           struct sluice_error *err)
{
    struct showing *showing = ctx;

    *held = op == showing->reader;
    for (int64_t k = 0; *held && k < batch->n_rows; k++) {
        if (showing->shown >= showing->head->n) {
            showing->done = true;
            return error_set(err, SLUICE_E_CANCELLED, "all rows are shown");
        }
        TRY(show_row(showing, batch, batch->rows == NULL ? k : (int64_t)batch->rows[k], err));
    }
    return SLUICE_OK;
}

static sluice_status refused(void *ctx, const struct op *op, const struct bad_record *bad,
                             struct sluice_error *err)
{
    struct showing *showing = ctx;

    (void)op;
    (void)err;
    showing->row++;
    say_to(stderr, "sluice: warning: a row is left out: %s: %s\n", bad->reason, bad->detail);
    return SLUICE_OK;
}

/* ---- the plan: files | reader ---- */

static sluice_status make_graph(struct session *session, const struct head *head,
                                char *const *pattern, const char *reader, struct graph *graph,
                                struct sluice_error *err)
{
    struct node *files;
    struct node *node;

    TRY(graph_add(graph, head->dir != NULL ? NODE_DATASET : NODE_FILES, "files", *pattern, &files,
                  err));
    files->patterns = (char **)(uintptr_t)pattern;
    files->n_patterns = 1;
    TRY(graph_add(graph, NODE_STAGE, READER, "", &node, err));
    TRY(registry_find(session->registry, reader, &node->entry, err));
    TRY(graph_connect(graph, node, files->id, err));
    value_map_init(&node->named);
    graph->max_bad_share = -1; /* what is left out is said */
    return SLUICE_OK;
}

static sluice_status open_plan(struct session *session, const struct head *head,
                               char *const *pattern, const char *reader, struct try_plan *out,
                               struct sluice_error *err)
{
    struct plan_options options = { .base_dir = session->cwd,
                                    .services = &session->services,
                                    .open = true };

    session_services(session);
    session_describes(session, &options);
    session->services.scratch_dir = NULL; /* there is no run */
    session->services.budget = NULL;
    out->graph = graph_create();
    if (out->graph == NULL) {
        return error_nomem(err, "a graph");
    }
    TRY(make_graph(session, head, pattern, reader, out->graph, err));
    TRY(plan_build(out->graph, session->registry, &options, &out->plan, err));
    out->op = plan_find_op(out->plan, READER, &out->phase);
    return metrics_init(&out->metrics, out->plan, err);
}

static sluice_status show_schema(const struct head *head, const struct schema *schema,
                                 struct sluice_error *err)
{
    json_t *list = json_array();

    for (uint32_t k = 0; k < schema->n; k++) {
        const struct field *field = &schema->fields[k];
        char *type = field->hidden ? NULL : type_print(field->type);
        if (type != NULL && head->json) {
            json_array_append_new(list, json_pack("{s:s, s:s}", "name", field->name, "type", type));
        } else if (type != NULL) {
            say("%-24s %s\n", field->name, type);
        }
        free(type);
    }
    if (!head->json) {
        json_decref(list);
        return SLUICE_OK;
    }
    return look_print("schema", json_pack("{s:o}", "columns", list)) ? SLUICE_OK
                                                                     : error_nomem(err, "columns");
}

static sluice_status show_rows(const struct head *head, const struct conditions *conditions,
                               const struct try_plan *plan, struct sluice_error *err)
{
    struct showing showing = { .head = head, .conditions = conditions, .reader = plan->op };
    const struct chain_observer observer = { .ctx = &showing, .given = given, .refused = refused };
    const struct rows_pass pass = { .plan = plan, .observer = &observer, .workers = 1 };
    uint64_t *rows = NULL;
    struct rows none = { 0 };
    sluice_status status = SLUICE_OK;

    if (head->random) {
        status = head_rows(head, head->snapshot->rows, &rows, &showing.n_rows, err);
        showing.rows = rows;
    }
    if (status == SLUICE_OK && head->n > 0) {
        status = rows_pass(&pass, &none, err);
        status = showing.done ? SLUICE_OK : status;
    }
    rows_deinit(&none);
    free(rows);
    return status;
}

sluice_status head_columns(const struct head *head, const char *path, const char *reader,
                           const struct conditions *conditions, struct sluice_error *err)
{
    const struct session_options options = { 0 };
    struct session session = { 0 };
    struct try_plan plan = { 0 };
    char *pattern;
    sluice_status status;

    if (head->random && (head->snapshot == NULL || conditions->n > 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--random is for datasets, whose number of rows is known, and not beside "
                         "--where where rows are columns");
    }
    TRY(session_registry(&options, &session, err));
    pattern = head->dir == NULL ? store_absolute(session.cwd, path)
                                : str_printf("%s@%u", head->dir, (unsigned)head->snapshot->number);
    status = pattern == NULL ? error_nomem(err, "a path")
                             : open_plan(&session, head, &pattern, reader, &plan, err);
    if (status == SLUICE_OK) {
        status = head->schema ? show_schema(head, &plan.op->out, err)
                              : show_rows(head, conditions, &plan, err);
    }
    try_plan_close(&plan);
    session_close(&session);
    free(pattern);
    return status;
}
