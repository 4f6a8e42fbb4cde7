/* write_attributes - a line of attributes for each document, in the documents' order, as Dolma's
 * attribute files have them.
 *
 * A file of the dataset holds lines of one input file, or of one piece of it: it ends where the
 * input file ends. So the files of one input file, in the order of their names, are its attribute
 * file. A line is missing when a row was dropped on the way: then the stage fails, since nobody
 * could join such files by lines. */
#include <sluice_state.h>
#include <sluice_files.h>
#include <sluice_stage.h>
#include <stdio.h>

#include "attribute_text.h"
#include "dolma.h"

struct config {
    const char *path;
    const char *column;
    int64_t level;
    int32_t compression;
    uint8_t aligned;
};

static const struct sluice_option options[] = {
    SLUICE_FILES_PATH(struct config, path),
    { .name = "column",
      .doc = "JSON column of the attributes.",
      .def = "attributes",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, column) },
    SLUICE_FILES_COMPRESSION(struct config, compression, "gzip",
                             "Codec of the files; Dolma reads gzip and zstd."),
    SLUICE_FILES_LEVEL(struct config, level),
    { .name = "aligned",
      .doc =
          "A row of the input that is missing, dropped or set aside on the way, ends the run: the "
          "lines would no longer belong to those of the documents.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, aligned) },
};

struct worker {
    const struct config *config;
    struct sluice_bytes out;
    uint64_t next; /* the row that must come */
    uint32_t file; /* of the open file's rows */
    int64_t rows;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for attribute lines");
}

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    sluice_status status = plan->need(plan, 0, config->column, "json|json?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8?", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_FILE, "uint32", 0, NULL, err);
    }
    return status == SLUICE_OK
               ? sluice_files_output(plan, ".json", config->compression, config->level, err)
               : status;
}

static sluice_status write_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void write_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->out);
    free(worker);
}

static sluice_status flush_lines(struct worker *worker, struct sluice_emit *emit, bool roll)
{
    sluice_status status = SLUICE_OK;

    if (worker->out.size > 0) {
        status = emit->write(emit, 0, worker->out.data, worker->out.size);
    }
    worker->out.size = 0;
    if (status == SLUICE_OK && roll) {
        status = emit->roll(emit, worker->rows);
        worker->rows = 0;
    }
    return status;
}

static sluice_status write_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray **columns = batch->array->children;
    const uint64_t *rows = columns[2]->buffers[1];
    const uint32_t *files = columns[3]->buffers[1];
    sluice_status status = SLUICE_OK;

    worker->out.size = 0;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        size_t json_n;
        const char *text;
        const char *json;
        char message[300];
        if (rows[row] != worker->next && worker->config->aligned != 0) {
            snprintf(
                message, sizeof message,
                "row %llu of the input is missing before row %llu: attribute files need a line "
                "for each document; write them before any filter",
                (unsigned long long)worker->next, (unsigned long long)rows[row]);
            return sluice_fail(err, SLUICE_E_SCHEMA, "", message);
        }
        worker->next = rows[row] + 1;
        if (worker->rows > 0 && files[row] != worker->file) {
            status = flush_lines(worker, emit, true);
        }
        worker->file = files[row];
        worker->rows++;
        text = sluice_text(columns[1], row, &n);
        json = sluice_text(columns[0], row, &json_n);
        if (!attribute_text_add(&worker->out, text, n, json, json_n)) {
            return nomem(err);
        }
    }
    if (status == SLUICE_OK) {
        status = flush_lines(worker, emit, false);
    }
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "documents", batch->n);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

/* Between two batches all lines are given. */
static sluice_status write_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    const uint64_t head[3] = { worker->next, worker->file, (uint64_t)worker->rows };

    (void)err;
    return io->write(io, head, sizeof head);
}

static sluice_status write_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[3] = { 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    (void)err;
    worker->next = head[0];
    worker->file = (uint32_t)head[1];
    worker->rows = (int64_t)head[2];
    return status;
}

const struct sluice_stage write_attributes_stage = {
    .size = sizeof write_attributes_stage,
    .name = "write_attributes",
    .version = "1.0",
    .summary = "Attributes as Dolma's attribute files: a line for each document, in order",
    .doc =
        "Lines are {\"id\": ..., \"attributes\": {...}}. A file of the dataset holds lines of one "
        "input file or of one piece of a large one, and names sort in the order of the input: the "
        "files of one input file, one behind the other (gzip and zstd files may be put together "
        "as they are), are its attribute file. `sluice trace DATASET 0` tells of which. A row that "
        "is missing ends the run (`aligned`). `attribute_files` writes one file for each input "
        "file, under its name.",
    .example = "docs | s.dolma_tag { { \"gopher_v2\" } } | s.write_attributes { "
               "\"out/attributes/gopher\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = sluice_open_config,
    .prepare = write_prepare,
    .worker_open = write_worker_open,
    .process = write_process,
    .save = write_save,
    .load = write_load,
    .state_version = 1,
    .worker_close = write_worker_close,
};
