/* NAME_HERE - a writer: documents as lines of an id, a tab and a text.
 *
 * The writer turns rows into bytes; the host compresses them, owns the files and publishes them as
 * a dataset. Where a file ends may depend on the rows alone, never on how they are cut into
 * batches.
 *
 * To make it yours, change struct config and its option table, and put_row(). <sluice.h> explains
 * every field and function. */
#include <sluice_simple.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    const char *path;
    int64_t rows_per_file;
    int32_t compression;
};

static const char *const codecs[] = { "none", "gzip", "zstd" };

static const struct sluice_option options[] = {
    { .name = "path",
      .doc = "Dataset folder that is written.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, path) },
    SLUICE_OPTION_INT(struct config, rows_per_file, "1000000", 1, 1e12,
                      "Rows after which a file is ended."),
    SLUICE_OPTION_ENUM(struct config, compression, "zstd", "none|gzip|zstd", "Codec of the files."),
};

/* ---- rows ---- */

/* Adds text with tabs and line ends turned into spaces, so that a row is a line; 0 = out of
 * memory. */
static int put_field(struct sluice_bytes *out, const char *text, size_t n, char end)
{
    if (!sluice_bytes_reserve(out, n + 1)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        out->data[out->size++] =
            text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    }
    out->data[out->size++] = end;
    return 1;
}

static int put_row(struct sluice_bytes *out, const struct ArrowArray *id,
                   const struct ArrowArray *text, int64_t row)
{
    size_t id_n;
    size_t text_n;
    const char *id_text = sluice_text(id, row, &id_n);
    const char *body = sluice_text(text, row, &text_n);

    return put_field(out, id_text, id_n, '\t') && put_field(out, body, text_n, '\n');
}

/* ---- the stage ---- */

/* One configured use of the stage. Read-only once `prepare` is done: many threads use it. */
struct stage {
    struct config config;
    int32_t id, text; /* places of the columns among those that process() is given */
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    if (stage == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    stage->config = *(const struct config *)config;
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = plan->need(plan, 0, "id", "utf8?", 0, &stage->id, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "text", "utf8?", 0, &stage->text, err);
    }
    return status == SLUICE_OK
               ? plan->output(plan, ".tsv", codecs[stage->config.compression], 0, err)
               : status;
}

/* One thread's place in the open file. */
struct worker {
    const struct stage *stage;
    struct sluice_bytes out;
    int64_t rows;
};

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->stage = shared;
    *out = worker;
    return SLUICE_OK;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    const struct ArrowArray *id = batch->array->children[stage->id];
    const struct ArrowArray *text = batch->array->children[stage->text];
    sluice_status status = SLUICE_OK;

    worker->out.size = 0;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        if (!put_row(&worker->out, id, text, sluice_row(batch, k))) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for lines");
        }
        if (++worker->rows == stage->config.rows_per_file) {
            status = emit->write(emit, 0, worker->out.data, worker->out.size);
            if (status == SLUICE_OK) {
                status = emit->roll(emit, worker->rows);
            }
            worker->out.size = 0;
            worker->rows = 0;
        }
    }
    if (status == SLUICE_OK && worker->out.size > 0) {
        status = emit->write(emit, 0, worker->out.data, worker->out.size);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

static void worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->out);
    free(worker);
}

static void stage_close(void *shared)
{
    free(shared);
}

static const struct sluice_stage stage = {
    .size = sizeof stage,
    .name = "NAME_HERE",
    .version = "0.1.0",
    .summary = "Lines of an id, a tab and a text",
    .doc = "Tabs and line ends inside a field become spaces.",
    .example = "docs | NAME_HERE { \"out/lines\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    SLUICE_OPTIONS(struct config, options),
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = worker_open,
    .process = stage_process,
    .worker_close = worker_close,
    .close = stage_close,
};

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &stage);
