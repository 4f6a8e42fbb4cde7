/* stats_collect: gathers number columns of the documents of a split into groups. What it gives
 * holds exact moments (moments.h), so neither the cut into splits nor the places where groups are
 * given on early show in the result. */
#include <math.h>
#include <stdio.h>

#include "groups.h"

#include <sluice_stage.h>
#include <sluice_state.h>
#include "stats.h"

#define GROUPS_MEMORY \
    (32u << 20)            /* above it, groups are given on; a constant, as rows depend on it */
#define KINDS_MAX 32       /* columns by whose values documents are grouped */
#define HISTOGRAM 0x10000u /* + statistic: the kind of a bin */
#define BIN_MOMENTS 3      /* documents, characters, tokens */

struct config {
    struct sluice_list columns, groups;
    int64_t round;
    const char *chars, *tokens;
};

static const struct sluice_option options[] = {
    { .name = "columns",
      .doc = "Number columns to gather; none given: all there are.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, columns) },
    { .name = "groups",
      .doc = "summary (all documents), histogram (by the value of each statistic), and text "
             "columns by whose "
             "values documents are grouped.",
      .def = "summary,histogram",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, groups) },
    { .name = "round",
      .doc = "Digits behind the point to which values are rounded for histograms.",
      .def = "3",
      .min = 0,
      .max = 9,
      .type = SLUICE_OPT_INT,
      .offset = offsetof(struct config, round) },
    { .name = "chars",
      .doc = "Column with a document's characters, for histograms of them; left out where there is "
             "none.",
      .def = "length",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, chars) },
    { .name = "tokens",
      .doc =
          "Column with a document's tokens, for histograms of them; left out where there is none.",
      .def = "token_count",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, tokens) },
};

struct number_column {
    int32_t index;
    char kind; /* i, u, f; b: bool; 1: no column, but the number 1 for each document */
    uint8_t width;
};

struct stage {
    const struct config *config;
    bool summary, histogram;
    /* columns by whose values documents are grouped; [0] is "summary" */
    const char *kinds[KINDS_MAX + 1];
    int32_t kind_index[KINDS_MAX + 1];
    uint32_t n_kinds;
    struct sluice_bytes text; /* names of the statistics, as in the metadata */
    struct stats_names names;
    struct number_column columns[STATS_MAX];
    int chars, tokens; /* of columns, or -1 */
    double scale;      /* 10^round */
};

struct collector {
    const struct stage *stage;
    struct groups groups;
};

/* ---- open and prepare ---- */

static void collect_close(void *shared)
{
    struct stage *stage = shared;

    stats_names_deinit(&stage->names);
    sluice_bytes_free(&stage->text);
    free(stage);
}

static sluice_status collect_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    const struct sluice_list *groups;

    (void)api;
    (void)host;
    if (stage == NULL) {
        return stats_nomem(err);
    }
    stage->config = config;
    groups = &stage->config->groups;
    stage->kinds[0] = "summary";
    stage->n_kinds = 1;
    for (uint64_t i = 0; i < groups->n; i++) {
        if (strcmp(groups->items[i], "summary") == 0) {
            stage->summary = true;
        } else if (strcmp(groups->items[i], "histogram") == 0) {
            stage->histogram = true;
        } else if (stage->n_kinds <= KINDS_MAX) {
            stage->kinds[stage->n_kinds++] = groups->items[i];
        } else {
            free(stage);
            return sluice_fail(err, SLUICE_E_CONFIG, "groups", "expected at most 32 columns");
        }
    }
    stage->scale = 1;
    for (int64_t i = 0; i < stage->config->round; i++) {
        stage->scale *= 10;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* Whether a type such as "int64?" is of numbers, and how they are read. */
static bool number_type(const char *type, struct number_column *column)
{
    static const struct {
        const char *name;
        char kind;
        uint8_t width;
    } types[] = { { "int8", 'i', 1 },    { "int16", 'i', 2 },  { "int32", 'i', 4 },
                  { "int64", 'i', 8 },   { "uint8", 'u', 1 },  { "uint16", 'u', 2 },
                  { "uint32", 'u', 4 },  { "uint64", 'u', 8 }, { "float32", 'f', 4 },
                  { "float64", 'f', 8 }, { "bool", 'b', 0 } };
    size_t n = strlen(type);

    n -= n > 0 && type[n - 1] == '?';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == n && memcmp(types[i].name, type, n) == 0) {
            column->kind = types[i].kind;
            column->width = types[i].width;
            return true;
        }
    }
    return false;
}

static bool asked_for(const struct sluice_list *columns, const char *name)
{
    for (uint64_t i = 0; i < columns->n; i++) {
        if (strcmp(columns->items[i], name) == 0) {
            return true;
        }
    }
    return columns->n == 0;
}

/* Takes a column of the input as a statistic when it is one. */
static sluice_status take_column(struct stage *stage, struct sluice_plan *plan, const char *name,
                                 const char *type, int *n, struct sluice_error *err)
{
    struct number_column column;
    char message[200];
    const char *tail;
    sluice_status status;

    if (strcmp(name, "documents") == 0) {
        return sluice_fail(
            err, SLUICE_E_SCHEMA, name,
            "the number of documents is a statistic of this name; give the column another one");
    }
    if (!asked_for(&stage->config->columns, name)) {
        return SLUICE_OK;
    }
    if (!number_type(type, &column)) {
        (void)snprintf(message, sizeof message, "the column is of %.60s, expected numbers", type);
        return stage->config->columns.n == 0 ? SLUICE_OK
                                             : sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    if (*n == STATS_MAX || strchr(name, ',') != NULL) {
        return sluice_fail(err, SLUICE_E_SCHEMA, name,
                           "expected at most 256 number columns, without a comma in the name");
    }
    status = plan->need(plan, 0, name, type, 0, &column.index, err);
    if (status != SLUICE_OK) {
        return status;
    }
    tail = column.kind == 'f' ? ":f" : ":i";
    stage->chars = strcmp(name, stage->config->chars) == 0 ? *n : stage->chars;
    stage->tokens = strcmp(name, stage->config->tokens) == 0 ? *n : stage->tokens;
    stage->columns[(*n)++] = column;
    return sluice_bytes_add(&stage->text, ",", 1) &&
                   sluice_bytes_add(&stage->text, name, strlen(name)) &&
                   sluice_bytes_add(&stage->text, tail, 2)
               ? SLUICE_OK
               : stats_nomem(err);
}

static sluice_status find_columns(struct stage *stage, struct sluice_plan *plan,
                                  struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    int n = 0;

    stage->chars = stage->tokens = -1;
    stage->text.size = 0;
    stage->columns[n++].kind = '1';
    if (!sluice_bytes_add(&stage->text, "stats=documents:i", 17)) {
        return stats_nomem(err);
    }
    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            break;
        }
        status = take_column(stage, plan, name, type, &n, err);
    }
    if (status == SLUICE_OK && !sluice_bytes_add(&stage->text, "", 1)) {
        status = stats_nomem(err);
    }
    stats_names_deinit(&stage->names);
    if (status == SLUICE_OK) {
        status = stats_names_read(&stage->names, stage->text.data + 6, err);
    }
    if (status == SLUICE_OK && n == 1 && stage->n_kinds == 1) {
        status = sluice_fail(
            err, SLUICE_E_SCHEMA, "columns",
            "there are no number columns to gather; expected some, which doc_stats adds");
    }
    /* A column that is asked for and missing: the host says so, with a suggestion. */
    for (uint64_t i = 0; status == SLUICE_OK && i < stage->config->columns.n; i++) {
        status = plan->need(plan, 0, stage->config->columns.items[i], "", 0, NULL, err);
    }
    return status;
}

static sluice_status collect_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = find_columns(stage, plan, err);

    for (uint32_t i = 1; status == SLUICE_OK && i < stage->n_kinds; i++) {
        status = plan->need(plan, 0, stage->kinds[i], "utf8?", 0, &stage->kind_index[i], err);
    }
    return status == SLUICE_OK ? stats_rows_declare(plan, stage->text.data, err) : status;
}

/* ---- work ---- */

static sluice_status collect_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct collector), out, err);
}

static void collect_worker_close(void *state)
{
    struct collector *worker = state;

    groups_deinit(&worker->groups);
    free(worker);
}

/* The number in a row; false for none: a null, an infinity. */
static bool number_at(const struct sluice_batch *batch, const struct number_column *column,
                      int64_t row, double *value)
{
    const struct ArrowArray *array;
    const char *at;
    int64_t i64 = 0;
    uint64_t u64 = 0;
    float f32;

    if (column->kind == '1') {
        *value = 1;
        return true;
    }
    array = batch->array->children[column->index];
    at = (const char *)array->buffers[1] + (size_t)row * column->width;
    if (sluice_is_null(array, row)) {
        return false;
    }
    if (column->kind == 'b') {
        *value = sluice_bool(array, row);
    } else if (column->kind == 'f' && column->width == 8) {
        memcpy(value, at, 8);
    } else if (column->kind == 'f') {
        memcpy(&f32, at, 4);
        *value = (double)f32;
    } else if (column->kind == 'u') {
        memcpy(&u64, at, column->width); /* little-endian, as all hosts are */
        *value = (double)u64;
    } else {
        memcpy(&i64, at, column->width);
        i64 = column->width == 8 ? i64
                                 : (int64_t)((uint64_t)i64 << (64 - 8 * column->width)) >>
                                       (64 - 8 * column->width);
        *value = (double)i64;
    }
    return moments_takes(*value);
}

/* The bin of a value, as a number. */
static double bin_of(const struct stage *stage, double value)
{
    double scaled = value * stage->scale;
    double near = nearbyint(scaled);
    char text[NUMBER_ROOM];

    if (fabs(scaled) < 1e12 && fabs(scaled - near) < 0.499) {
        return near / stage->scale + 0.0;
    }
    number_bin(value, false, (int)stage->config->round, text);
    return strtod(text, NULL) + 0.0;
}

static bool add_all(struct collector *worker, uint32_t kind, const char *name, size_t name_size,
                    const double *values, const bool *there)
{
    int n = worker->stage->names.n;
    struct group *group = groups_meet(&worker->groups, kind, name, (uint32_t)name_size, n);
    bool ok = group != NULL;

    for (int i = 0; ok && i < n; i++) {
        ok = !there[i] || moments_add(&group->moments[i], values[i]);
    }
    return ok;
}

static bool add_bins(struct collector *worker, const double *values, const bool *there)
{
    const struct stage *stage = worker->stage;
    const int extra[2] = { stage->chars, stage->tokens };
    bool ok = true;

    for (int i = 1; ok && i < stage->names.n; i++) { /* 0 is the documents */
        double bin;
        struct group *group;
        if (!there[i]) {
            continue;
        }
        bin = stage->names.whole[i] ? values[i] : bin_of(stage, values[i]);
        group =
            groups_meet(&worker->groups, HISTOGRAM + (uint32_t)i, &bin, sizeof bin, BIN_MOMENTS);
        ok = group != NULL && moments_add(&group->moments[0], 1);
        for (int k = 0; ok && k < 2; k++) {
            if (extra[k] >= 0 && there[extra[k]]) {
                ok = moments_add(&group->moments[k + 1], values[extra[k]]);
            }
        }
    }
    return ok;
}

/* Gives all groups on. */
static sluice_status give(struct collector *worker, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    struct sluice_rows rows = sluice_rows_begin(STATS_ROWS);
    sluice_status status = SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < worker->groups.n; i++) {
        const struct group *group = worker->groups.list[i];
        bool bin = group->kind >= HISTOGRAM;
        uint32_t stat = bin ? group->kind - HISTOGRAM : 0;
        char text[NUMBER_ROOM];
        bool ok = true;
        for (int k = 0; ok && k < group->n; k++) {
            ok = moments_write(&group->moments[k], &rows.data[STATS_MOMENTS]);
        }
        if (bin) {
            double value;
            memcpy(&value, group->name, sizeof value);
            number_bin(value, stage->names.whole[stat], (int)stage->config->round, text);
        }
        ok = ok && stats_rows_add(&rows, bin ? "histogram" : stage->kinds[group->kind],
                                  bin ? stage->names.name[stat] : "", bin ? text : group->name,
                                  bin ? strlen(text) : group->name_size);
        status = ok ? SLUICE_OK : stats_nomem(err);
        if (status == SLUICE_OK && rows.n == 4096) {
            status = sluice_rows_emit(&rows, status, emit, err);
        }
    }
    status = sluice_rows_emit(&rows, status, emit, err);
    groups_deinit(&worker->groups);
    return status;
}

static sluice_status collect_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct collector *worker = state;
    const struct stage *stage = worker->stage;
    double values[STATS_MAX];
    bool there[STATS_MAX];
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        bool ok = true;
        for (int i = 0; i < stage->names.n; i++) {
            there[i] = number_at(batch, &stage->columns[i], row, &values[i]);
        }
        if (stage->summary) {
            ok = add_all(worker, 0, "summary", 7, values, there);
        }
        for (uint32_t i = 1; ok && i < stage->n_kinds; i++) {
            size_t n;
            const char *name = sluice_text(batch->array->children[stage->kind_index[i]], row, &n);
            ok = add_all(worker, i, name, n, values, there);
        }
        ok = ok && (!stage->histogram || add_bins(worker, values, there));
        status = ok ? SLUICE_OK : stats_nomem(err);
        if (status == SLUICE_OK && worker->groups.bytes > GROUPS_MEMORY) {
            status = give(worker, emit, err);
        }
    }
    return status;
}

static sluice_status collect_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    return give(state, emit, err);
}

/* ---- saved states: the groups, in their order ---- */

static sluice_status collect_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct groups *groups = &((const struct collector *)state)->groups;
    const uint64_t count = groups->n;
    sluice_status status = io->write(io, &count, sizeof count);

    (void)err;
    for (uint32_t i = 0; status == SLUICE_OK && i < groups->n; i++) {
        const struct group *group = groups->list[i];
        const uint64_t kind = group->kind;
        status = io->write(io, &kind, sizeof kind);
        if (status == SLUICE_OK) {
            status = sluice_state_put(io, group->name, group->name_size);
        }
        if (status == SLUICE_OK) {
            status = stats_moments_save(group->moments, group->n, io);
        }
    }
    return status;
}

/* How many moments a group of that kind has; -1: there is no such kind. */
static int moments_of(const struct stage *stage, uint64_t kind, uint64_t name_size)
{
    if (kind < HISTOGRAM) {
        return kind < stage->n_kinds && name_size <= INT32_MAX ? stage->names.n : -1;
    }
    return kind - HISTOGRAM < (uint64_t)stage->names.n && name_size == sizeof(double) ? BIN_MOMENTS
                                                                                      : -1;
}

static sluice_status load_group(struct collector *worker, struct sluice_bytes *name,
                                struct sluice_io *io)
{
    uint32_t before = worker->groups.n;
    struct group *group;
    uint64_t kind = 0;
    sluice_status status = io->read(io, &kind, sizeof kind);
    int n;

    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 1, name);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    n = moments_of(worker->stage, kind, name->size);
    if (n < 0) {
        return SLUICE_E_DATA;
    }
    group = groups_meet(&worker->groups, (uint32_t)kind, name->size > 0 ? name->data : "",
                        (uint32_t)name->size, n);
    if (group == NULL || worker->groups.n == before) {
        return group == NULL ? SLUICE_E_NOMEM : SLUICE_E_DATA;
    }
    return stats_moments_load(group->moments, n, io);
}

static sluice_status collect_load(void *state, struct sluice_io *io, uint64_t version,
                                  struct sluice_error *err)
{
    struct sluice_bytes name = { 0 };
    uint64_t count = 0;
    sluice_status status = io->read(io, &count, sizeof count);

    (void)version;
    (void)err;
    for (uint64_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = load_group(state, &name, io);
    }
    sluice_bytes_free(&name);
    return status;
}

const struct sluice_stage stats_collect_stage = {
    .size = sizeof stats_collect_stage,
    .name = "stats_collect",
    .version = "1.0",
    .summary = "Moments of number columns by groups of documents (part of `statistics`)",
    .doc = "Nulls, infinities and numbers of a magnitude of 2^64 and more are left out.",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 2 * GROUPS_MEMORY,
    .open = collect_open,
    .prepare = collect_prepare,
    .worker_open = collect_worker_open,
    .process = collect_process,
    .save = collect_save,
    .load = collect_load,
    .state_version = 1,
    .flush = collect_flush,
    .worker_close = collect_worker_close,
    .close = collect_close,
};
