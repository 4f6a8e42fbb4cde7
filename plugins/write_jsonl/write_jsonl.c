/* write_jsonl - rows as JSON objects, one a line.
 *
 * A file is ended at the first record that takes its uncompressed bytes to shard_size, so the cuts
 * depend on the rows alone, never on how they are cut into batches. */
#include <math.h>
#include <sluice_files.h>
#include <sluice_stage.h>
#include <stdbool.h>
#include <stdio.h>

#include "jsonl_text.h"
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
};

enum kind {
    KIND_BOOL,
    KIND_INT8,
    KIND_INT16,
    KIND_INT32,
    KIND_INT64,
    KIND_UINT8,
    KIND_UINT16,
    KIND_UINT32,
    KIND_UINT64,
    KIND_FLOAT32,
    KIND_FLOAT64,
    KIND_UTF8,
    KIND_BINARY,
    KIND_JSON,
    KIND_FIXED
};

static const char *const kind_names[] = { "bool",    "int8",   "int16",  "int32",  "int64",
                                          "uint8",   "uint16", "uint32", "uint64", "float32",
                                          "float64", "utf8",   "binary", "json" };

struct column {
    enum kind kind; /* of the items, if it is a list */
    bool list;
    bool spliced;  /* its members stand in the row's object */
    int32_t width; /* KIND_FIXED */
    char *name;
    char *prefix; /* ,"name": */
    size_t prefix_n;
};

struct stage {
    const struct config *config;
    struct column *columns;
    const char **names; /* of all columns but the spliced one */
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

/* Reads "utf8?", "fixed[16]", "list<uint32>", "spans"; false when there is no JSON form for it. */
static bool parse_type(const char *type, struct column *column)
{
    size_t n = strlen(type);

    n -= n > 0 && type[n - 1] == '?';
    if (n == 5 && memcmp(type, "spans", 5) == 0) {
        column->list = true;
        column->kind = KIND_UINT64;
        return true;
    }
    if (n > 6 && memcmp(type, "list<", 5) == 0 && type[n - 1] == '>') {
        column->list = true;
        type += 5;
        n -= 6;
        n -= n > 0 && type[n - 1] == '?';
    }
    if (n > 7 && memcmp(type, "fixed[", 6) == 0 && type[n - 1] == ']') {
        column->kind = KIND_FIXED;
        for (const char *p = type + 6; *p >= '0' && *p <= '9'; p++) {
            column->width = column->width * 10 + (*p - '0');
        }
        return true;
    }
    for (size_t k = 0; k < sizeof kind_names / sizeof kind_names[0]; k++) {
        if (strlen(kind_names[k]) == n && memcmp(kind_names[k], type, n) == 0) {
            column->kind = (enum kind)k;
            return true;
        }
    }
    return false;
}

static sluice_status add_column(struct stage *stage, struct sluice_plan *plan, const char *name,
                                const char *type, struct sluice_error *err)
{
    struct column column = { 0 };
    struct sluice_bytes prefix = { 0 };
    int32_t index;
    sluice_status status;

    if (!parse_type(type, &column)) {
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
        struct column *columns = realloc(stage->columns, capacity * sizeof *columns);
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
    column.spliced = column.kind == KIND_JSON && !column.list && strcmp(name, "metadata") == 0;
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
    stage->floats |= column.kind == KIND_FLOAT32 || column.kind == KIND_FLOAT64;
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

static int put_number(struct sluice_bytes *out, enum kind kind, const void *values, int64_t i)
{
    char *at;
    size_t n;

    if (!sluice_bytes_reserve(out, JSONL_NUMBER_MAX)) {
        return 0;
    }
    at = out->data + out->size;
    switch (kind) {
    case KIND_INT8:
        n = jsonl_int(((const int8_t *)values)[i], at);
        break;
    case KIND_INT16:
        n = jsonl_int(((const int16_t *)values)[i], at);
        break;
    case KIND_INT32:
        n = jsonl_int(((const int32_t *)values)[i], at);
        break;
    case KIND_INT64:
        n = jsonl_int(((const int64_t *)values)[i], at);
        break;
    case KIND_UINT8:
        n = jsonl_uint(((const uint8_t *)values)[i], at);
        break;
    case KIND_UINT16:
        n = jsonl_uint(((const uint16_t *)values)[i], at);
        break;
    case KIND_UINT32:
        n = jsonl_uint(((const uint32_t *)values)[i], at);
        break;
    case KIND_UINT64:
        n = jsonl_uint(((const uint64_t *)values)[i], at);
        break;
    case KIND_FLOAT32:
        n = jsonl_float(((const float *)values)[i], at);
        break;
    default:
        n = jsonl_double(((const double *)values)[i], at);
        break;
    }
    out->size += n;
    return 1;
}

static int put_value(struct sluice_bytes *out, const struct column *column,
                     const struct ArrowArray *array, int64_t i)
{
    const void *values = array->buffers[1];
    const char *text;
    size_t n;

    if (sluice_is_null(array, i)) {
        return sluice_bytes_add(out, "null", 4);
    }
    switch (column->kind) {
    case KIND_BOOL:
        return (((const uint8_t *)values)[i >> 3] >> (i & 7) & 1) != 0
                   ? sluice_bytes_add(out, "true", 4)
                   : sluice_bytes_add(out, "false", 5);
    case KIND_UTF8:
        text = sluice_text(array, i, &n);
        return jsonl_string(out, text, n);
    case KIND_BINARY:
        text = sluice_text(array, i, &n);
        return jsonl_base64(out, text, n);
    case KIND_JSON:
        text = sluice_text(array, i, &n);
        return jsonl_raw(out, text, n);
    case KIND_FIXED:
        return jsonl_base64(out, (const char *)values + i * column->width, (size_t)column->width);
    default:
        return put_number(out, column->kind, values, i);
    }
}

static int put_list(struct sluice_bytes *out, const struct column *column,
                    const struct ArrowArray *array, int64_t row)
{
    const int32_t *offsets = array->buffers[1];
    int ok = sluice_bytes_add(out, "[", 1);

    for (int32_t i = offsets[row]; ok && i < offsets[row + 1]; i++) {
        ok = (i == offsets[row] || sluice_bytes_add(out, ",", 1)) &&
             put_value(out, column, array->children[0], i);
    }
    return ok && sluice_bytes_add(out, "]", 1);
}

/* One member, or several of a spliced column; *first is cleared when something was written. */
static int put_member(const struct stage *stage, struct sluice_bytes *out,
                      const struct column *column, const struct ArrowArray *array, int64_t row,
                      bool *first)
{
    size_t skip = *first ? 1 : 0;

    if (sluice_is_null(array, row)) {
        return 1;
    }
    if (column->spliced) {
        size_t n;
        size_t written;
        const char *json = sluice_text(array, row, &n);
        int done = jsonl_members(out, json, n, stage->names, stage->n_names, !*first, &written);
        if (done >= 0) {
            *first = *first && written == 0;
            return done;
        }
    }
    *first = false;
    return sluice_bytes_add(out, column->prefix + skip, column->prefix_n - skip) &&
           (column->list ? put_list(out, column, array, row) : put_value(out, column, array, row));
}

static int put_row(const struct stage *stage, struct sluice_bytes *out,
                   const struct ArrowArray *array, int64_t row)
{
    bool first = true;
    int ok = sluice_bytes_add(out, "{", 1);

    for (size_t k = 0; ok && k < stage->n; k++) {
        ok = put_member(stage, out, &stage->columns[k], array->children[k], row, &first);
    }
    return ok && sluice_bytes_add(out, "}\n", 2);
}

/* Floats of the rows of one column that JSON has no number for. */
static int64_t not_finite(const struct column *column, const struct ArrowArray *array,
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
            double value = column->kind == KIND_FLOAT32
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
        if (stage->columns[k].kind == KIND_FLOAT32 || stage->columns[k].kind == KIND_FLOAT64) {
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
           "back equal.",
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
