/* sluice head of Parquet, Arrow and CSV: a dataset's files or a single one, read by their reader as
 * a pipeline reads them, in order and no further than the rows that are shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/say.h"
#include "cmd/look/headInt.h"
#include "cmd/look/rowsof.h"
#include "run/facts/facts.h"
#include "store/store.h"

struct showing {
    const struct head *head;
    const struct conditions *conditions;
    const struct op *reader;
    const uint64_t *rows; /* those that are chosen at random; NULL: the first */
    size_t n_rows, at;
    uint64_t row, shown;
    bool done;
};

bool head_is_file(const char *path)
{
    struct stat info;

    return rowsof_reader(path) != NULL && store_is_local(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* ---- rows ---- */

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
    json = rowsof_row(&showing->reader->out, batch, row);
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
    struct rowsof rows = { 0 };
    char *pattern;
    sluice_status status;

    if (head->random && (head->snapshot == NULL || conditions->n > 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--random is for datasets, whose number of rows is known, and not beside "
                         "--where where rows are columns");
    }
    TRY(rowsof_begin(&rows, err));
    pattern = head->dir == NULL ? store_absolute(rows.session.cwd, path)
                                : str_printf("%s@%u", head->dir, (unsigned)head->snapshot->number);
    status = pattern == NULL ? error_nomem(err, "a path")
                             : rowsof_open(&rows, pattern, head->dir != NULL, reader, NULL, err);
    if (status == SLUICE_OK) {
        status = head->schema ? show_schema(head, &rows.plan.op->out, err)
                              : show_rows(head, conditions, &rows.plan, err);
    }
    rowsof_end(&rows);
    free(pattern);
    return status;
}
