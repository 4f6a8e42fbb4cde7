/* join: see join.h. */
#include "join.h"

#include <sluice_simple.h>
#include <sluice_stage.h>
#include <sluice_verdicts.h>
#include <stddef.h>
#include <stdio.h>

enum missing { MISSING_NULL, MISSING_DROP, MISSING_FAIL };

struct config {
    struct sluice_list on;
    struct sluice_list table_on;
    struct sluice_list columns;
    const char *prefix;
    int32_t missing;
};

static const struct sluice_option options[] = {
    { .name = "on",
      .doc = "Columns whose values name the row of the table.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, on) },
    { .name = "table_on",
      .doc = "What those columns are called in the table, where that is not the same.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, table_on) },
    { .name = "columns",
      .doc = "Columns of the table that are added; all others by default.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, columns) },
    { .name = "prefix",
      .doc = "What stands before the names of added columns.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, prefix) },
    { .name = "missing",
      .doc = "What becomes of a row that has none in the table: its new columns are null, it is "
             "dropped, or the run ends.",
      .def = "null",
      .choices = "null|drop|fail",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, missing) },
};

/* A column: of the key, on either side, or one that is added. */
struct join_column {
    const char *name; /* in the table */
    struct layout layout;
    int32_t left, right; /* among the columns of port 0 and of port 1 */
};

struct shared {
    const struct config *config;
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct join_column *on;    /* owned */
    struct join_column *added; /* owned */
    uint64_t n_on, n_added;
};

static void forget(struct shared *shared)
{
    for (uint64_t k = 0; k < shared->n_on; k++) {
        layout_deinit(&shared->on[k].layout);
    }
    for (uint64_t k = 0; k < shared->n_added; k++) {
        layout_deinit(&shared->added[k].layout);
    }
    free(shared->on);
    free(shared->added);
    shared->on = shared->added = NULL;
    shared->n_on = shared->n_added = 0;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *options_given, void **out, struct sluice_error *err)
{
    const struct config *config = options_given;
    struct shared *shared;
    sluice_status status;

    if (config->on.n == 0) {
        return sluice_fail(err, SLUICE_E_CONFIG, "on",
                           "found no column, expected those whose values name the row of the "
                           "table, such as on = \"domain\"");
    }
    if (config->table_on.n != 0 && config->table_on.n != config->on.n) {
        return sluice_fail(err, SLUICE_E_CONFIG, "table_on",
                           "expected as many columns as `on` has, in its order");
    }
    status = sluice_shared_new(config, sizeof *shared, out, err);
    if (status == SLUICE_OK) {
        shared = *out;
        shared->api = api;
        shared->host = host;
    }
    return status;
}

static void stage_close(void *shared)
{
    forget(shared);
    free(shared);
}

/* ---- columns ---- */

/* A column of a port by its name: where process() finds it, and its type. */
static sluice_status find(struct sluice_plan *plan, uint32_t port, const char *name, int32_t *index,
                          const char **type, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, port, name, "", 0, index, err);

    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        const char *found;
        status = plan->column(plan, port, k, &found, type);
        if (status != SLUICE_OK || found[0] == '\0' || strcmp(found, name) == 0) {
            break;
        }
    }
    return status;
}

static sluice_status parse(const char *name, const char *type, struct layout *layout,
                           struct sluice_error *err)
{
    char message[300];
    sluice_status status = layout_parse(type, layout);

    if (status == SLUICE_E_NOMEM) {
        return sluice_nomem(err);
    }
    if (status != SLUICE_OK) {
        snprintf(message, sizeof message,
                 "the column '%.100s' has the type %.100s, which can't be "
                 "joined",
                 name, type);
        return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    return SLUICE_OK;
}

/* Types that differ in whether they have nulls are the same. */
static bool same_type(const char *a, const char *b)
{
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);

    n_a -= n_a > 0 && a[n_a - 1] == '?';
    n_b -= n_b > 0 && b[n_b - 1] == '?';
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static sluice_status prepare_key(struct shared *shared, struct sluice_plan *plan,
                                 struct sluice_error *err)
{
    const struct config *config = shared->config;

    shared->on = calloc(config->on.n, sizeof *shared->on);
    if (shared->on == NULL) {
        return sluice_nomem(err);
    }
    for (uint64_t k = 0; k < config->on.n; k++) {
        struct join_column *column = &shared->on[k];
        const char *left = "";
        const char *right = "";
        sluice_status status;
        column->name = config->table_on.n > 0 ? config->table_on.items[k] : config->on.items[k];
        status = find(plan, 0, config->on.items[k], &column->left, &left, err);
        if (status == SLUICE_OK) {
            status = find(plan, 1, column->name, &column->right, &right, err);
        }
        if (status == SLUICE_OK && !same_type(left, right)) {
            char message[400];
            snprintf(message, sizeof message,
                     "the column '%.60s' has the type %.60s, and '%.60s' of the table %.60s: they "
                     "must be of one type",
                     config->on.items[k], left, column->name, right);
            status = sluice_fail(err, SLUICE_E_SCHEMA, config->on.items[k], message);
        }
        if (status == SLUICE_OK) {
            status = parse(column->name, right, &column->layout, err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
        shared->n_on++;
    }
    return SLUICE_OK;
}

/* The rows have no column of this name yet. */
static sluice_status check_new(struct sluice_plan *plan, const char *name, struct sluice_error *err)
{
    char message[400];

    for (uint32_t k = 0;; k++) {
        const char *found;
        const char *type;
        sluice_status status = plan->column(plan, 0, k, &found, &type);
        if (status != SLUICE_OK || found[0] == '\0') {
            return status;
        }
        if (strcmp(found, name) == 0) {
            snprintf(message, sizeof message,
                     "the rows have a column '%.100s' already; give a prefix, such as prefix = "
                     "\"table_\", or name the columns that are to be added",
                     name);
            return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
        }
    }
}

static sluice_status add_column(struct shared *shared, struct sluice_plan *plan, const char *name,
                                struct sluice_error *err)
{
    const char *prefix = shared->config->prefix != NULL ? shared->config->prefix : "";
    struct join_column *more =
        realloc(shared->added, (shared->n_added + 1) * sizeof *shared->added);
    struct join_column *column;
    struct sluice_bytes text = { 0 };
    const char *type = "";
    const char *metadata;
    sluice_status status;
    int ok;

    if (more == NULL) {
        return sluice_nomem(err);
    }
    shared->added = more;
    column = &more[shared->n_added];
    memset(column, 0, sizeof *column);
    column->name = name;
    status = find(plan, 1, name, &column->right, &type, err);
    if (status == SLUICE_OK) {
        status = parse(name, type, &column->layout, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    shared->n_added++;
    /* The name, then the type, in one buffer. */
    ok = sluice_bytes_add(&text, prefix, strlen(prefix)) &&
         sluice_bytes_add(&text, name, strlen(name) + 1) &&
         sluice_bytes_add(&text, type, strlen(type));
    if (ok && shared->config->missing == MISSING_NULL && !column->layout.nullable) {
        column->layout.nullable = true;
        ok = sluice_bytes_add(&text, "?", 1);
    }
    ok = ok && sluice_bytes_add(&text, "", 1);
    status = ok ? check_new(plan, text.data, err) : sluice_nomem(err);
    if (status == SLUICE_OK) {
        metadata = plan->metadata(plan, 1, column->right, "");
        status = plan->add(plan, text.data, text.data + strlen(text.data) + 1, metadata, err);
    }
    sluice_bytes_free(&text);
    return status;
}

static bool is_key(const struct shared *shared, const char *name)
{
    for (uint64_t k = 0; k < shared->n_on; k++) {
        if (strcmp(shared->on[k].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status stage_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    struct shared *shared = state;
    const struct sluice_list *columns = &shared->config->columns;
    sluice_status status;

    forget(shared);
    status = prepare_key(shared, plan, err);
    for (uint64_t k = 0; status == SLUICE_OK && k < columns->n; k++) {
        status = add_column(shared, plan, columns->items[k], err);
    }
    for (uint32_t k = 0; status == SLUICE_OK && columns->n == 0; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 1, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            break;
        }
        if (!is_key(shared, name)) {
            status = add_column(shared, plan, name, err);
        }
    }
    return status;
}

/* ---- rows ---- */

struct worker {
    struct shared *shared;
    struct join_table table;
    struct sluice_bytes key, values; /* of the row in hand */
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    sluice_status status = sluice_worker_new(shared, sizeof(struct worker), out, err);

    if (status == SLUICE_OK) {
        struct worker *worker = *out;
        join_table_init(&worker->table, worker->shared->api, worker->shared->host);
    }
    return status;
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    join_table_deinit(&worker->table);
    sluice_bytes_free(&worker->key);
    sluice_bytes_free(&worker->values);
    free(worker);
}

/* The row's key; *named is false where a part of it is null. 0 = out of memory. */
static int read_key(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                    bool *named)
{
    const struct shared *shared = worker->shared;

    worker->key.size = 0;
    *named = true;
    for (uint64_t k = 0; k < shared->n_on; k++) {
        const struct join_column *column = &shared->on[k];
        const struct ArrowArray *array =
            batch->array->children[batch->port == 0 ? column->left : column->right];
        *named = *named && !sluice_is_null(array, row);
        if (!layout_write(&column->layout, array, row, &worker->key)) {
            return 0;
        }
    }
    return 1;
}

/* What a key says to people: of texts and numbers the value of its first part. */
static void say_key(const struct worker *worker, const struct sluice_batch *batch, int64_t row,
                    char *out, size_t size)
{
    const struct join_column *column = &worker->shared->on[0];
    const struct ArrowArray *array =
        batch->array->children[batch->port == 0 ? column->left : column->right];
    size_t n;
    const char *text;

    out[0] = '\0';
    if (sluice_is_null(array, row)) {
        return;
    }
    if (column->layout.kind == LAYOUT_TEXT) {
        text = sluice_text(array, row, &n);
        /* Cut between characters. */
        if (n > 60) {
            for (n = 60; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80; n--) {
            }
        }
        snprintf(out, size, ": '%.*s'", (int)n, text);
    } else if (column->layout.kind == LAYOUT_FIXED && column->layout.width == 8) {
        snprintf(out, size, ": %lld", (long long)sluice_int64(array, row));
    }
}

static sluice_status fail_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                              const char *what, const char *remedy, struct sluice_error *err)
{
    char key[100];
    char message[500];

    say_key(worker, batch, row, key, sizeof key);
    snprintf(message, sizeof message, "%s%s; %s", what, key, remedy);
    return sluice_fail(err, SLUICE_E_DATA, worker->shared->config->on.items[0], message);
}

static sluice_status take_table(struct worker *worker, const struct sluice_batch *batch,
                                struct sluice_error *err)
{
    const struct shared *shared = worker->shared;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        bool named;
        bool there = false;
        int ok = read_key(worker, batch, row, &named);
        if (ok && !named) {
            return fail_row(worker, batch, row, "the table has a row whose key is null",
                            "drop it before the join", err);
        }
        worker->values.size = 0;
        for (uint64_t i = 0; ok && i < shared->n_added; i++) {
            const struct join_column *column = &shared->added[i];
            ok = layout_write(&column->layout, batch->array->children[column->right], row,
                              &worker->values);
        }
        status = !ok ? SLUICE_E_NOMEM
                     : join_table_add(&worker->table, worker->key.data, worker->key.size,
                                      worker->values.data, worker->values.size, &there);
        if (there) {
            return fail_row(worker, batch, row, "the table has more than one row of a key",
                            "put s.exact { over = ... } over the key before the join, if any of "
                            "them will do",
                            err);
        }
    }
    return status == SLUICE_E_NOMEM ? sluice_nomem(err) : status;
}

/* Puts the row's new values behind those of the rows before it; 0 = out of memory. values: NULL =
 * there are none. */
static int add_values(const struct shared *shared, struct layout_column *columns,
                      const char *values)
{
    for (uint64_t i = 0; i < shared->n_added; i++) {
        if (!(values != NULL ? layout_column_read(&columns[i], &values)
                             : layout_column_null(&columns[i]))) {
            return 0;
        }
    }
    return 1;
}

static sluice_status join_rows(struct worker *worker, const struct sluice_batch *batch,
                               struct layout_column *columns, struct sluice_verdict *verdicts,
                               int64_t *n_without, struct sluice_error *err)
{
    const struct shared *shared = worker->shared;

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *values;
        bool named;
        if (!read_key(worker, batch, row, &named)) {
            return sluice_nomem(err);
        }
        values = named ? join_table_find(&worker->table, worker->key.data, worker->key.size) : NULL;
        if (values == NULL) {
            (*n_without)++;
            verdicts[k].reason = shared->config->missing == MISSING_DROP;
            if (shared->config->missing == MISSING_FAIL) {
                return fail_row(worker, batch, row,
                                named ? "the table has no row of this key" : "the key is null",
                                "missing = \"null\" and missing = \"drop\" allow that", err);
            }
        }
        if (!add_values(shared, columns, values)) {
            return sluice_nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status give(const struct shared *shared, struct layout_column *columns, int64_t n,
                          struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray *arrays = calloc(shared->n_added + 1, sizeof *arrays);
    struct ArrowArray out;
    sluice_status status = arrays == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < shared->n_added; i++) {
        status = layout_column_end(&columns[i], &arrays[i]);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, n, (int64_t)shared->n_added, arrays);
        if (status == SLUICE_OK) {
            free(arrays);
            return emit->batch(emit, &out);
        }
    }
    for (uint64_t i = 0; arrays != NULL && i < shared->n_added; i++) {
        if (arrays[i].release != NULL) {
            arrays[i].release(&arrays[i]);
        }
    }
    free(arrays);
    return sluice_nomem(err);
}

static sluice_status join_batch(struct worker *worker, const struct sluice_batch *batch,
                                struct sluice_emit *emit, struct sluice_error *err)
{
    const struct shared *shared = worker->shared;
    struct layout_column *columns = calloc(shared->n_added + 1, sizeof *columns);
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int64_t n_without = 0;
    sluice_status status = columns == NULL || verdicts == NULL ? sluice_nomem(err) : SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < shared->n_added; i++) {
        if (layout_column_init(&columns[i], &shared->added[i].layout) != SLUICE_OK) {
            status = sluice_nomem(err);
        }
    }
    if (status == SLUICE_OK) {
        status = join_rows(worker, batch, columns, verdicts, &n_without, err);
    }
    if (status == SLUICE_OK && batch->n > 0) {
        status = give(shared, columns, batch->n, emit, err);
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    if (status == SLUICE_OK && n_without > 0) {
        status = emit->measure(emit, "unmatched", n_without);
    }
    for (uint64_t i = 0; columns != NULL && i < shared->n_added; i++) {
        if (columns[i].layout != NULL) {
            layout_column_deinit(&columns[i]);
        }
    }
    free(columns);
    free(verdicts);
    return status;
}

static sluice_status stage_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return batch->port == 1 ? take_table(worker, batch, err) : join_batch(worker, batch, emit, err);
}

static const struct sluice_stage join_stage = {
    .size = sizeof join_stage,
    .name = "join_table",
    .version = "1.0",
    .summary = "Adds the columns of a table's row to the rows that name it (part of `join`)",
    .doc = "The table is the side input: every worker holds all of it. A key stands there once "
           "and is not null, or the run ends and says which. Keys are compared by type and value; "
           "a row whose own key is null has none in the table. `unmatched` counts those rows.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "not_in_table",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .worker_close = stage_worker_close,
    .close = stage_close,
};

SLUICE_PLUGIN("join", "1.0", "MIT", &join_stage);
