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

/* Columns of the input as Arrow has them; those of other types are not among them. */
struct columns {
    struct ArrowSchema *items;   /* n of them */
    struct ArrowSchema **places; /* to each */
    size_t n, room;
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

static void columns_free(struct columns *columns)
{
    for (size_t k = 0; k < columns->n; k++) {
        free((char *)(uintptr_t)columns->items[k].name);
    }
    free(columns->items);
    free(columns->places);
}

static int columns_add(struct columns *columns, const char *name, const char *format)
{
    const size_t size = strlen(name) + 1;
    char *copy = malloc(size);

    if (columns->n == columns->room) {
        size_t room = columns->room * 2 + 16;
        struct ArrowSchema *items = realloc(columns->items, room * sizeof *items);
        struct ArrowSchema **places =
            items == NULL ? NULL : realloc(columns->places, room * sizeof *places);
        columns->items = items == NULL ? columns->items : items;
        columns->places = places == NULL ? columns->places : places;
        if (places == NULL) {
            free(copy);
            return 0;
        }
        columns->room = room;
    }
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, name, size);
    columns->items[columns->n++] =
        (struct ArrowSchema){ .format = format, .name = copy, .flags = ARROW_FLAG_NULLABLE };
    return 1;
}

static sluice_status bind(const struct where *where, struct columns *columns,
                          struct where_bound **bound, struct sluice_error *err)
{
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = (int64_t)columns->n, .children = columns->places
    };

    for (size_t k = 0; k < columns->n; k++) {
        columns->places[k] = &columns->items[k];
    }
    return where_bind(where, &schema, 0, bound, err);
}

/* Asks for a column that the expression names. */
static sluice_status ask(struct sluice_plan *plan, const char *name, const char *type,
                         struct columns *asked, struct sluice_error *err)
{
    char message[400];

    if (format_of(type) == NULL) {
        (void)snprintf(message, sizeof message,
                       "column '%.100s' is %.100s, expected one of texts, numbers or booleans; "
                       "its members can be declared as columns in the reader",
                       name, type);
        return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    if (!columns_add(asked, name, format_of(type))) {
        return sluice_nomem(err);
    }
    return plan->need(plan, 0, name, "", 0, NULL, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct state *state = shared;
    struct columns all = { 0 };
    struct columns asked = { 0 };
    struct where_bound *bound = NULL;
    const char *name;
    const char *type;
    sluice_status status = plan->column(plan, 0, 0, &name, &type);

    for (uint32_t k = 1; status == SLUICE_OK && name[0] != '\0'; k++) {
        if (where_names(state->where, name, NULL)) {
            status = ask(plan, name, type, &asked, err);
        }
        if (status == SLUICE_OK && format_of(type) != NULL &&
            !columns_add(&all, name, format_of(type))) {
            status = sluice_nomem(err);
        }
        if (status == SLUICE_OK) {
            status = plan->column(plan, 0, k, &name, &type);
        }
    }
    /* All of them say what is missing, and what was meant. */
    if (status == SLUICE_OK) {
        status = bind(state->where, &all, &bound, err);
        where_unbind(bound);
    }
    if (status == SLUICE_OK) {
        where_unbind(state->bound);
        state->bound = NULL;
        status = bind(state->where, &asked, &state->bound, err);
    }
    columns_free(&all);
    columns_free(&asked);
    return status;
}

/* ---- rows ---- */

static sluice_status stage_process(void *shared, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct state *state = shared;
    size_t rows = (size_t)batch->array->length;
    uint8_t *keep = calloc(rows + 1, 1);
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status = keep == NULL || verdicts == NULL
                               ? sluice_nomem(err)
                               : where_eval(state->bound, batch->array, keep, err);

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        verdicts[k].reason = keep[sluice_row(batch, k)] ? 0 : 1;
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(keep);
    free(verdicts);
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
