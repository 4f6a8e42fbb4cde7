/* write_jsonl - rows as JSON objects, one a line.
 *
 * A file is ended at the first record that takes its uncompressed bytes to shard_size, so the cuts
 * depend on the rows alone, never on how they are cut into batches. */
#include <math.h>
#include <sluice_files.h>
#include <sluice_stage.h>
#include <stdbool.h>
#include <stdio.h>

#include "jsonl_layout.h"
#include "sluice_simple.h"

struct config {
    const char *path;
    struct sluice_list columns;
    int64_t level;
    uint64_t shard_size;
    uint64_t join;
    struct sluice_list partition_by;
    int64_t max_partitions;
    int32_t compression;
    int32_t layout;
};

static const struct sluice_option options[] = {
    SLUICE_FILES_PATH(struct config, path),
    SLUICE_FILES_COMPRESSION(struct config, compression, "zstd", "Codec of the files."),
    SLUICE_FILES_LEVEL(struct config, level),
    SLUICE_FILES_SHARD_SIZE(
        struct config, shard_size, "256MiB",
        "Uncompressed bytes after which a file is ended, at the end of a record."),
    { .name = "join",
      .doc = "Stored bytes to which the small files of the tasks are joined when the dataset is "
             "published; 0: they stay as they are.",
      .def = "0",
      .type = SLUICE_OPT_SIZE,
      .max = 1e15,
      .offset = offsetof(struct config, join) },
    SLUICE_FILES_PARTITION_BY(struct config, partition_by),
    SLUICE_FILES_MAX_PARTITIONS(struct config, max_partitions),
    { .name = "columns",
      .doc = "Columns to write, in this order; none given: all, `text` and `id` first.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, columns) },
    { .name = "layout",
      .doc =
          "flat: columns are members of the object. datatrove: text and id are, all else is in "
          "the object `metadata`, as its JsonlWriter has it. dolma: id, text, source, added, "
          "created, version and attributes are, all else is in `metadata`. In these two a column "
          "`metadata.url` is the member `url` there.",
      .def = "flat",
      .choices = "flat|datatrove|dolma",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, layout) },
};

struct stage {
    const struct config *config;
    struct jsonl_column *columns;
    const char **names; /* of all columns but the spliced one, as they are written */
    size_t n, n_names, capacity;
    int floats; /* a column holds floats, which may be inf or nan */
};

#define OUT_KEPT ((uint64_t)16 << 20) /* bytes of a batch, above which their memory goes back */

struct worker {
    const struct stage *stage;
    struct sluice_bytes out;
    uint64_t bytes; /* in the open file */
    int64_t rows;
};

/* ---- prepare ---- */

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for JSON lines");
}

static sluice_status add_column(struct stage *stage, struct sluice_plan *plan, const char *name,
                                const char *type, struct sluice_error *err)
{
    struct jsonl_column column = { 0 };
    struct sluice_bytes prefix = { 0 };
    int32_t index;
    sluice_status status;

    if (!jsonl_column_type(type, &column)) {
        char message[400];
        snprintf(message, sizeof message,
                 "the column '%.100s' is %.100s, which JSON lines don't hold; expected a scalar, a "
                 "list of scalars, or `columns` without it",
                 name, type);
        return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    status = plan->need(plan, 0, name, "", 0, &index, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if ((size_t)index < stage->n) {
        return SLUICE_OK; /* named twice in `columns` */
    }
    if (stage->n == stage->capacity) {
        size_t capacity = stage->capacity * 2 + 8;
        struct jsonl_column *columns = realloc(stage->columns, capacity * sizeof *columns);
        const char **names;
        if (columns == NULL) {
            return nomem(err);
        }
        stage->columns = columns;
        names = realloc(stage->names, capacity * sizeof *names);
        if (names == NULL) {
            return nomem(err);
        }
        stage->names = names;
        stage->capacity = capacity;
    }
    column.spliced = column.kind == JSONL_JSON && !column.list && strcmp(name, JSONL_METADATA) == 0;
    name = jsonl_layout_place(stage->config->layout, name, &column.inner);
    column.name = strdup(name);
    if (column.name == NULL || !sluice_bytes_add(&prefix, ",", 1) ||
        !jsonl_string(&prefix, name, strlen(name)) || !sluice_bytes_add(&prefix, ":", 1)) {
        free(column.name);
        sluice_bytes_free(&prefix);
        return nomem(err);
    }
    column.prefix = prefix.data;
    column.prefix_n = (size_t)prefix.size;
    stage->columns[stage->n++] = column;
    stage->floats |= column.kind == JSONL_FLOAT32 || column.kind == JSONL_FLOAT64;
    if (!column.spliced) {
        stage->names[stage->n_names++] = column.name;
    }
    return SLUICE_OK;
}

/* "" = there is no such column. Borrowed until prepare returns. */
static sluice_status type_of(struct sluice_plan *plan, const char *wanted, const char **type)
{
    for (uint32_t k = 0;; k++) {
        const char *name;
        sluice_status status = plan->column(plan, 0, k, &name, type);
        if (status != SLUICE_OK || name[0] == '\0' || strcmp(name, wanted) == 0) {
            return status;
        }
    }
}

static sluice_status add_named(struct stage *stage, struct sluice_plan *plan, const char *name,
                               bool optional, struct sluice_error *err)
{
    const char *type;
    int32_t index;
    sluice_status status = type_of(plan, name, &type);

    if (status != SLUICE_OK) {
        return sluice_fail(err, status, "columns", "the columns of the input can't be listed");
    }
    if (type[0] == '\0') {
        /* need() says what there is instead; it also knows hidden columns. */
        status = optional ? SLUICE_OK : plan->need(plan, 0, name, "", 0, &index, err);
        return optional || status != SLUICE_OK
                   ? status
                   : sluice_fail(err, SLUICE_E_CONFIG, "columns",
                                 "found the name of a hidden or derived column, which is not "
                                 "written; give it another name first");
    }
    return add_column(stage, plan, name, type, err);
}

static void forget_columns(struct stage *stage)
{
    for (size_t k = 0; k < stage->n; k++) {
        free(stage->columns[k].name);
        free(stage->columns[k].prefix);
    }
    stage->n = stage->n_names = 0;
}

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = SLUICE_OK;

    forget_columns(stage);
    for (uint64_t i = 0; status == SLUICE_OK && i < stage->config->columns.n; i++) {
        status = add_named(stage, plan, stage->config->columns.items[i], false, err);
    }
    if (stage->config->columns.n == 0) {
        status = add_named(stage, plan, "text", true, err);
        if (status == SLUICE_OK) {
            status = add_named(stage, plan, "id", true, err);
        }
        for (uint32_t k = 0; status == SLUICE_OK; k++) {
            const char *name;
            const char *type;
            status = plan->column(plan, 0, k, &name, &type);
            if (status != SLUICE_OK) {
                return sluice_fail(err, status, "", "the columns of the input can't be listed");
            }
            if (name[0] == '\0') {
                break;
            }
            if (name[0] != '_' && strcmp(name, "text") != 0 && strcmp(name, "id") != 0) {
                status = add_column(stage, plan, name, type, err);
            }
        }
    }
    if (status == SLUICE_OK && stage->n == 0) {
        status = sluice_fail(err, SLUICE_E_SCHEMA, "columns", "found no column to write");
    }
    if (status == SLUICE_OK && stage->config->join > 0) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)stage->config->join);
        status = plan->note(plan, "join", text, err);
    }
    if (status == SLUICE_OK) {
        status = sluice_files_partition(plan, &stage->config->partition_by,
                                        stage->config->max_partitions, err);
    }
    return status == SLUICE_OK ? sluice_files_output(plan, ".jsonl", stage->config->compression,
                                                     stage->config->level, err)
                               : status;
}

/* ---- rows ---- */

/* One member, or several of a spliced column; *first is cleared when something was written. */
static int put_member(const struct stage *stage, struct sluice_bytes *out,
                      const struct jsonl_column *column, const struct ArrowArray *array,
                      int64_t row, bool *first)
{
    if (column->spliced && !sluice_is_null(array, row)) {
        size_t n;
        size_t written;
        const char *json = sluice_text(array, row, &n);
        int done = jsonl_members(out, json, n, stage->names, stage->n_names, !*first, &written);
        if (done >= 0) {
            *first = *first && written == 0;
            return done;
        }
    }
    return jsonl_column_member(out, column, array, row, first);
}

static int put_row(const struct stage *stage, struct sluice_bytes *out,
                   const struct ArrowArray *array, int64_t row)
{
    bool first = true;
    int ok;

    if (stage->config->layout > 0) {
        return jsonl_layout_put(stage->config->layout, stage->columns, stage->n, out, array, row);
    }
    ok = sluice_bytes_add(out, "{", 1);

    for (size_t k = 0; ok && k < stage->n; k++) {
        ok = put_member(stage, out, &stage->columns[k], array->children[k], row, &first);
    }
    return ok && sluice_bytes_add(out, "}\n", 2);
}

/* Floats of the rows of one column that JSON has no number for. */
static int64_t not_finite(const struct jsonl_column *column, const struct ArrowArray *array,
                          const struct sluice_batch *batch)
{
    const struct ArrowArray *values = column->list ? array->children[0] : array;
    const int32_t *offsets = column->list ? array->buffers[1] : NULL;
    int64_t n = 0;

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        int64_t end = offsets == NULL ? row + 1 : offsets[row + 1];
        if (sluice_is_null(array, row)) {
            continue;
        }
        for (int64_t i = offsets == NULL ? row : offsets[row]; i < end; i++) {
            double value = column->kind == JSONL_FLOAT32
                               ? (double)((const float *)values->buffers[1])[i]
                               : ((const double *)values->buffers[1])[i];
            n += !sluice_is_null(values, i) && !isfinite(value);
        }
    }
    return n;
}

/* What is written as null and was none is counted, in the report and the manifest. */
static sluice_status count_not_finite(const struct stage *stage, const struct sluice_batch *batch,
                                      struct sluice_emit *emit)
{
    int64_t n = 0;

    for (size_t k = 0; k < stage->n; k++) {
        if (stage->columns[k].kind == JSONL_FLOAT32 || stage->columns[k].kind == JSONL_FLOAT64) {
            n += not_finite(&stage->columns[k], batch->array->children[k], batch);
        }
    }
    return n == 0 ? SLUICE_OK : emit->measure(emit, "not_finite_as_null", n);
}

static sluice_status write_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = SLUICE_OK;

    worker->out.size = 0;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        uint64_t before = worker->out.size;
        if (!put_row(worker->stage, &worker->out, batch->array, sluice_row(batch, k))) {
            return nomem(err);
        }
        worker->bytes += worker->out.size - before;
        worker->rows++;
        if (worker->bytes >= worker->stage->config->shard_size) {
            status = emit->write(emit, 0, worker->out.data, worker->out.size);
            if (status == SLUICE_OK) {
                status = emit->roll(emit, worker->rows);
            }
            worker->out.size = 0;
            worker->bytes = 0;
            worker->rows = 0;
        }
    }
    if (status == SLUICE_OK && worker->out.size > 0) {
        status = emit->write(emit, 0, worker->out.data, worker->out.size);
    }
    if (worker->out.size > OUT_KEPT) {
        sluice_bytes_free(&worker->out); /* one huge row is no reason to keep so much */
    }
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "documents", batch->n);
    }
    if (status == SLUICE_OK && worker->stage->floats) {
        status = count_not_finite(worker->stage, batch, emit);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

/* ---- life ---- */

static sluice_status write_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void write_close(void *shared)
{
    struct stage *stage = shared;

    forget_columns(stage);
    free(stage->columns);
    free(stage->names);
    free(stage);
}

static sluice_status write_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static sluice_status write_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->bytes, sizeof worker->bytes);

    (void)err;
    return status == SLUICE_OK ? io->write(io, &worker->rows, sizeof worker->rows) : status;
}

static sluice_status write_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = io->read(io, &worker->bytes, sizeof worker->bytes);

    (void)version;
    (void)err;
    return status == SLUICE_OK ? io->read(io, &worker->rows, sizeof worker->rows) : status;
}

static void write_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->out);
    free(worker);
}

static const struct sluice_stage write_jsonl_stage = {
    .size = sizeof write_jsonl_stage,
    .name = "write_jsonl",
    .version = "1.0",
    .summary = "JSON objects, one a line, into the files of a dataset",
    .doc = "Members in the order `text`, `id`, then the columns in their order. The members of a "
           "json column called `metadata` stand in the object itself (a column "
           "of the same name wins). A null column is left out. Binary columns are base64; inf and "
           "nan are null (the measure not_finite_as_null counts them); floats are the shortest "
           "text that reads "
           "back equal. In the layouts datatrove and dolma members that no column has stand in "
           "`metadata` beside those that were there; of two of one name a column's, then that of "
           "`metadata`, is written.",
    .example = "docs | s.write_jsonl { \"out/kept\", compression = \"zstd\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .state_version = 1,
    .bytes_per_batch = 13, /* control characters take six bytes, here and with the host */
    .open = write_open,
    .prepare = write_prepare,
    .worker_open = write_worker_open,
    .process = write_process,
    .save = write_save,
    .load = write_load,
    .worker_close = write_worker_close,
    .close = write_close,
};

SLUICE_PLUGIN("write_jsonl", "1.0", "MIT", &write_jsonl_stage);
