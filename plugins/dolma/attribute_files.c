/* write_attribute_files - one attribute file for each file of documents, under the same name, as
 * Dolma's mixer looks for it.
 *
 * Keyed by file: all lines of one come in the documents' order, whatever splits they were read in.
 * The composite `attribute_files` puts it together with dolma_line_keys. */
#include <sluice_state.h>
#include <sluice_files.h>
#include <sluice_stage.h>

#include "attribute_text.h"
#include "dolma.h"

struct config {
    const char *path;
    const char *suffix;
    int64_t level;
    int32_t compression;
};

static const struct sluice_option options[] = {
    SLUICE_FILES_PATH(struct config, path),
    { .name = "suffix",
      .doc = "What stands behind a file's name, as behind that of the documents.",
      .def = ".json.gz",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, suffix) },
    SLUICE_FILES_COMPRESSION(struct config, compression, "gzip",
                             "Codec of the files; Dolma's mixer reads gzip."),
    SLUICE_FILES_LEVEL(struct config, level),
};

struct worker {
    const struct config *config;
    char key[16];
    bool begun;
    int64_t rows; /* of the open file */
    struct sluice_bytes out;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for attribute lines");
}

static sluice_status files_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const needed[][2] = {
        { "key", "fixed[16]" }, { "file", "utf8" }, { "id", "utf8" }, { "line", "json" }
    };
    const struct config *config = shared;
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 0, needed[i][0], needed[i][1], 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = sluice_files_output(plan, ".json", config->compression, config->level, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".name", "none", 0, err);
    }
    return status == SLUICE_OK ? plan->note(plan, "names", "\".name\"", err) : status;
}

static sluice_status files_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void files_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->out);
    free(worker);
}

static sluice_status flush_lines(struct worker *worker, struct sluice_emit *emit)
{
    sluice_status status = SLUICE_OK;

    if (worker->out.size > 0) {
        status = emit->write(emit, 0, worker->out.data, worker->out.size);
    }
    worker->out.size = 0;
    return status;
}

/* Ends the open file, if there is one, and begins that of the row. */
static sluice_status next_file(struct worker *worker, const char *key, const char *file, size_t n,
                               struct sluice_emit *emit)
{
    sluice_status status = flush_lines(worker, emit);

    if (status == SLUICE_OK && worker->begun) {
        status = emit->roll(emit, worker->rows);
    }
    worker->begun = true;
    worker->rows = 0;
    memcpy(worker->key, key, 16);
    if (status == SLUICE_OK) {
        status = emit->write(emit, 1, file, n);
    }
    if (status == SLUICE_OK) {
        status = emit->write(emit, 1, worker->config->suffix, strlen(worker->config->suffix));
    }
    return status;
}

static sluice_status files_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    sluice_status status = SLUICE_OK;

    worker->out.size = 0;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = (const char *)columns[0]->buffers[1] + 16 * row;
        size_t id_n;
        size_t line_n;
        size_t file_n;
        const char *file = sluice_text(columns[1], row, &file_n);
        const char *id = sluice_text(columns[2], row, &id_n);
        const char *line = sluice_text(columns[3], row, &line_n);
        if (!worker->begun || memcmp(worker->key, key, 16) != 0) {
            status = next_file(worker, key, file, file_n, emit);
        }
        worker->rows++;
        if (status == SLUICE_OK && !attribute_text_add(&worker->out, id, id_n, line, line_n)) {
            return nomem(err);
        }
    }
    if (status == SLUICE_OK) {
        status = flush_lines(worker, emit);
    }
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "documents", batch->n);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

/* Between two batches all lines are given. */
static sluice_status files_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    const uint64_t head[2] = { worker->begun, (uint64_t)worker->rows };
    sluice_status status = io->write(io, head, sizeof head);

    (void)err;
    return status == SLUICE_OK ? io->write(io, worker->key, sizeof worker->key) : status;
}

static sluice_status files_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[2] = { 0, 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    (void)err;
    worker->begun = head[0] != 0;
    worker->rows = (int64_t)head[1];
    return status == SLUICE_OK ? io->read(io, worker->key, sizeof worker->key) : status;
}

const struct sluice_stage write_attribute_files_stage = {
    .size = sizeof write_attribute_files_stage,
    .name = "write_attribute_files",
    .version = "1.0",
    .summary = "An attribute file for each file of documents (part of `attribute_files`)",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = sluice_open_config,
    .prepare = files_prepare,
    .worker_open = files_worker_open,
    .process = files_process,
    .save = files_save,
    .load = files_load,
    .state_version = 1,
    .worker_close = files_worker_close,
};
