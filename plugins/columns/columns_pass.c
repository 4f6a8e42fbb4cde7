/* keep_columns, drop_columns, rename_columns: rows go on whole, with some of their columns, or with
 * other names. What a row came from goes on with it. */
#include "columns.h"

#include <sluice_stage.h>
#include <stddef.h>
#include <stdio.h>

#include "shuffle_columns.h"

struct list_config {
    struct sluice_list columns;
};
struct map_config {
    struct sluice_map names;
};

static const struct sluice_option keep_options[] = {
    { .name = "columns",
      .doc = "Columns that go on; all others end here.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct list_config, columns) },
};
static const struct sluice_option drop_options[] = {
    { .name = "columns",
      .doc = "Columns that end here; all others go on.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct list_config, columns) },
};
static const struct sluice_option rename_options[] = {
    { .name = "names",
      .doc = "The new name of each column that gets one: { response = \"text\" }.",
      .type = SLUICE_OPT_MAP,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct map_config, names) },
};

struct stage {
    const void *config;
    struct whole_rows rows;
};

static sluice_status pass_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void pass_close(void *shared)
{
    struct stage *stage = shared;

    whole_rows_deinit(&stage->rows);
    free(stage);
}

/* Refuses a name that no column has. A column that is only named must not be asked for: it would be
 * read. */
static sluice_status check_there(struct sluice_plan *plan, const char *wanted,
                                 struct sluice_error *err)
{
    char message[300];
    int32_t index;
    sluice_status status;

    for (uint32_t k = 0;; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK) {
            return sluice_fail(err, status, wanted, "the columns of the input can't be listed");
        }
        if (strcmp(name, wanted) == 0 && name[0] != '\0') {
            return SLUICE_OK;
        }
        if (name[0] == '\0') {
            break;
        }
    }
    status = plan->need(plan, 0, wanted, "", 0, &index, err); /* its message has a suggestion */
    if (status != SLUICE_OK) {
        return status;
    }
    (void)snprintf(
        message, sizeof message,
        "'%.100s' is a hidden or derived column, which can't be kept, dropped or renamed", wanted);
    return sluice_fail(err, SLUICE_E_SCHEMA, wanted, message);
}

static sluice_status check_list(struct sluice_plan *plan, const struct sluice_list *list,
                                struct sluice_error *err)
{
    sluice_status status =
        list->n > 0 ? SLUICE_OK
                    : sluice_fail(err, SLUICE_E_CONFIG, "columns",
                                  "found no column, expected one or more, such as { \"text\" }");

    for (uint64_t i = 0; status == SLUICE_OK && i < list->n; i++) {
        status = check_there(plan, list->items[i], err);
    }
    return status;
}

static bool listed(const struct sluice_list *list, const char *name)
{
    for (uint64_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *if_listed(const void *ctx, const char *name)
{
    return listed(ctx, name) ? name : NULL;
}

static const char *unless_listed(const void *ctx, const char *name)
{
    return listed(ctx, name) ? NULL : name;
}

static const char *renamed(const void *ctx, const char *name)
{
    const struct sluice_map *names = ctx;

    for (uint64_t i = 0; i < names->n; i++) {
        if (strcmp(names->keys[i], name) == 0) {
            return names->values[i];
        }
    }
    return name;
}

static sluice_status keep_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct list_config *config = stage->config;
    const struct whole_choice choice = { if_listed, &config->columns };
    sluice_status status = check_list(plan, &config->columns, err);

    return status == SLUICE_OK ? whole_rows_prepare(&stage->rows, plan, &choice, false, err)
                               : status;
}

static sluice_status drop_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct list_config *config = stage->config;
    const struct whole_choice choice = { unless_listed, &config->columns };
    sluice_status status = check_list(plan, &config->columns, err);

    if (status == SLUICE_OK) {
        status = whole_rows_prepare(&stage->rows, plan, &choice, false, err);
    }
    return status == SLUICE_OK && stage->rows.n == 0
               ? sluice_fail(err, SLUICE_E_SCHEMA, "columns",
                             "every column of the rows is dropped; leave one at least")
               : status;
}

/* Two columns of one name. */
static sluice_status check_distinct(struct sluice_plan *plan, const struct sluice_map *names,
                                    struct sluice_error *err)
{
    for (uint32_t k = 0;; k++) {
        const char *name;
        const char *type;
        sluice_status status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            return status;
        }
        for (uint64_t i = 0; i < names->n; i++) {
            char message[400];
            if (strcmp(names->keys[i], name) == 0 ||
                strcmp(names->values[i], renamed(names, name)) != 0) {
                continue;
            }
            (void)snprintf(message, sizeof message,
                           "'%.100s' is to be called '%.100s', as %s'%.100s'; drop that one, or "
                           "choose another name",
                           names->keys[i], names->values[i],
                           strcmp(renamed(names, name), name) == 0 ? "there is a column " : "also ",
                           name);
            return sluice_fail(err, SLUICE_E_SCHEMA, names->keys[i], message);
        }
    }
}

static sluice_status rename_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct map_config *config = stage->config;
    const struct whole_choice choice = { renamed, &config->names };
    sluice_status status =
        config->names.n > 0
            ? SLUICE_OK
            : sluice_fail(err, SLUICE_E_CONFIG, "names",
                          "found no name, expected one or more, such as { response = \"text\" }");

    for (uint64_t i = 0; status == SLUICE_OK && i < config->names.n; i++) {
        status = check_there(plan, config->names.keys[i], err);
    }
    if (status == SLUICE_OK) {
        status = check_distinct(plan, &config->names, err);
    }
    return status == SLUICE_OK ? whole_rows_prepare(&stage->rows, plan, &choice, false, err)
                               : status;
}

static sluice_status pass_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct stage *stage = worker;

    return whole_rows_give_all(&stage->rows, batch, emit, err);
}

#define PASS(stage_name, about, docs, shown, of, config)                                           \
    .size = sizeof(struct sluice_stage), .name = stage_name, .version = "1.0", .summary = (about), \
    .doc = (docs), .example = (shown), .role = SLUICE_ROLE_TRANSFORM,                              \
    .mode = SLUICE_MODE_STATELESS, .options = (of), .n_options = 1,                                \
    .option_stride = sizeof(of)[0], .config_size = sizeof(config), .bytes_per_batch = 1,           \
    .open = pass_open, .process = pass_process, .close = pass_close

const struct sluice_stage columns_keep_stage = {
    PASS("keep_columns", "Rows with some of their columns",
         "The columns keep their order, types and metadata. What is not named here is not read, "
         "where the reader can leave it out.",
         "docs | s.keep_columns { \"id\", \"text\" }", keep_options, struct list_config),
    .prepare = keep_prepare,
};

const struct sluice_stage columns_drop_stage = {
    PASS("drop_columns", "Rows without some of their columns",
         "A column that is not there is an error, with the nearest name that is.",
         "docs | s.drop_columns { \"metadata\" }", drop_options, struct list_config),
    .prepare = drop_prepare,
};

const struct sluice_stage columns_rename_stage = {
    PASS("rename_columns", "Rows with other names for some of their columns",
         "Names may be exchanged: { { a = \"b\", b = \"a\" } }. Two columns of one name are an "
         "error. Derived columns (words, sentences) are made anew where a stage wants them.",
         "docs | s.rename_columns { { response = \"answer\" } }", rename_options,
         struct map_config),
    .prepare = rename_prepare,
};
