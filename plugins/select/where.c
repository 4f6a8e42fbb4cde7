/* where - keeps the rows for which an expression holds (sdk/where): numbers, texts and booleans of
 * columns, as `head --where` and read_parquet's option have it. */
#include <stdio.h>
#include <sluice_stage.h>
#include <sluice_verdicts.h>
#include <stddef.h>

#include "select.h"
#include "where/where.h"

struct config {
    const char *expression;
};

static const struct sluice_option options[] = {
    { .name = "expression",
      .doc = "Rows for which this does not hold are dropped: lang == 'en' and n_words > 50. With = "
             "== != < <= > >=, in (…), is null, like 'a%', and, or, not, ( ); texts in either "
             "quotes. What is compared with null does not hold.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, expression) },
};

struct state {
    const struct config *config;
    struct where *where;
    struct where_bound *bound; /* to the columns that were asked for, in their order */
};

static void stage_close(void *shared)
{
    struct state *state = shared;

    where_unbind(state->bound);
    where_destroy(state->where);
    free(state);
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    sluice_status status = sluice_shared_new(config, sizeof(struct state), shared, err);
    struct state *state = status == SLUICE_OK ? *shared : NULL;

    (void)api;
    (void)host;
    if (status == SLUICE_OK) {
        status = where_parse(state->config->expression, &state->where, err);
    }
    if (status != SLUICE_OK && state != NULL) {
        stage_close(state);
    }
    return status;
}

/* ---- columns ---- */

/* Columns of the input as Arrow has them; names are the plan's. */
struct columns {
    struct ArrowSchema *items;
    struct ArrowSchema **all, **asked; /* whose values can be compared; that are asked for */
    int64_t n_all, n_asked;
};

/* Arrow's letter for one of our types; NULL: its values are not compared. */
static const char *format_of(const char *type)
{
    static const char *const formats[][2] = {
        { "bool", "b" },   { "int8", "c" },    { "uint8", "C" },   { "int16", "s" },
        { "uint16", "S" }, { "int32", "i" },   { "uint32", "I" },  { "int64", "l" },
        { "uint64", "L" }, { "float32", "f" }, { "float64", "g" }, { "utf8", "u" },
        { "json", "u" },
    };
    size_t n = strcspn(type, "?");

    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        if (strlen(formats[k][0]) == n && strncmp(type, formats[k][0], n) == 0) {
            return formats[k][1];
        }
    }
    return NULL;
}

static sluice_status count_columns(struct sluice_plan *plan, size_t *n)
{
    const char *name;
    const char *type;
    sluice_status status = plan->column(plan, 0, 0, &name, &type);

    *n = 0;
    while (status == SLUICE_OK && name[0] != '\0') {
        status = plan->column(plan, 0, (uint32_t)++ * n, &name, &type);
    }
    return status;
}

static void columns_free(struct columns *columns)
{
    free(columns->items);
    free(columns->all);
    free(columns->asked);
}

/* Takes a column, and asks for it where the expression names it. */
static sluice_status take_column(struct columns *columns, const struct where *where,
                                 struct sluice_plan *plan, uint32_t k, struct sluice_error *err)
{
    struct ArrowSchema *item = &columns->items[k];
    const char *type;
    char message[400];
    sluice_status status = plan->column(plan, 0, k, &item->name, &type);

    if (status != SLUICE_OK) {
        return status;
    }
    item->format = format_of(type);
    item->flags = ARROW_FLAG_NULLABLE;
    if (item->format != NULL) {
        columns->all[columns->n_all++] = item;
    }
    if (!where_names(where, item->name, NULL)) {
        return SLUICE_OK;
    }
    if (item->format == NULL) {
        (void)snprintf(message, sizeof message,
                       "column '%.100s' is %.100s, expected one of texts, numbers or booleans; "
                       "its members can be declared as columns in the reader",
                       item->name, type);
        return sluice_fail(err, SLUICE_E_SCHEMA, item->name, message);
    }
    columns->asked[columns->n_asked++] = item;
    return plan->need(plan, 0, item->name, "", 0, NULL, err);
}

static sluice_status bind(struct state *state, struct ArrowSchema **columns, int64_t n,
                          struct sluice_error *err)
{
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = n, .children = columns
    };

    where_unbind(state->bound);
    state->bound = NULL;
    return where_bind(state->where, &schema, 0, &state->bound, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct state *state = shared;
    struct columns columns = { 0 };
    size_t n;
    sluice_status status = count_columns(plan, &n);

    if (status == SLUICE_OK) {
        columns.items = calloc(n + 1, sizeof *columns.items);
        columns.all = calloc(n + 1, sizeof(struct ArrowSchema *));
        columns.asked = calloc(n + 1, sizeof(struct ArrowSchema *));
        if (columns.items == NULL || columns.all == NULL || columns.asked == NULL) {
            status = sluice_nomem(err);
        }
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = take_column(&columns, state->where, plan, (uint32_t)k, err);
    }
    /* All of them say what is missing, and what was meant; rows have those that were asked for. */
    if (status == SLUICE_OK) {
        status = bind(state, columns.all, columns.n_all, err);
    }
    if (status == SLUICE_OK) {
        status = bind(state, columns.asked, columns.n_asked, err);
    }
    columns_free(&columns);
    return status;
}

/* ---- rows ---- */

static sluice_status judge(void *keep, const struct sluice_batch *batch, int64_t row,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    (void)batch;
    (void)err;
    verdict->reason = ((const uint8_t *)keep)[row] == 0;
    return SLUICE_OK;
}

static sluice_status stage_process(void *shared, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct state *state = shared;
    uint8_t *keep = calloc((size_t)batch->array->length + 1, 1);
    sluice_status status =
        keep == NULL ? sluice_nomem(err) : where_eval(state->bound, batch->array, keep, err);

    if (status == SLUICE_OK) {
        status = sluice_judge_rows(batch, emit, judge, keep, err);
    }
    free(keep);
    return status;
}

const struct sluice_stage select_where_stage = {
    .size = sizeof select_where_stage,
    .name = "where",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "Keeps the rows for which an expression on their columns holds",
    .doc = "The language of `head --where` and of read_parquet's option `where`, which also leaves "
           "out what it need not read: that one where the input is Parquet, this one anywhere "
           "behind. Columns are texts, numbers and booleans; what a reader does not give unless "
           "it is told, such as members of JSON, is to be declared there.",
    .example = "docs | s.where \"id like 'a%' or id is null\"",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = 1,
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "where",
    .open = stage_open,
    .prepare = stage_prepare,
    .process = stage_process,
    .close = stage_close,
};
