/* NAME_HERE - a transform: makes a row of each line of a document that has `min_bytes` or more.
 *
 * A transform gives whole rows: the columns that `prepare` adds are all there are. The column
 * `_origin` tells the host from which input row each one came, so that it can be traced.
 *
 * To make it yours, change struct config and its option table, what is cut, and the columns.
 * <sluice.h> explains every field and function. */
#include <sluice_simple.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t min_bytes;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, min_bytes, "10", 1, 1000000,
                      "Fewest bytes of a line that becomes a row."),
};

/* ---- rows ---- */

struct rows {
    struct sluice_bytes text_ends, text, line, origin;
    int64_t n;
};

static void rows_free(struct rows *rows)
{
    sluice_bytes_free(&rows->text_ends);
    sluice_bytes_free(&rows->text);
    sluice_bytes_free(&rows->line);
    sluice_bytes_free(&rows->origin);
}

/* Adds the lines of one document; 0 = out of memory. */
static int rows_add(struct rows *rows, const struct config *config, const char *text, size_t n,
                    uint64_t origin)
{
    int64_t line = 0;

    for (size_t begin = 0; begin < n;) {
        const char *end = memchr(text + begin, '\n', n - begin);
        size_t length = end == NULL ? n - begin : (size_t)(end - text) - begin;
        line++;
        if ((int64_t)length >= config->min_bytes) {
            if (!sluice_bytes_add_text(&rows->text_ends, &rows->text, text + begin, length) ||
                !sluice_bytes_add(&rows->line, &line, sizeof line) ||
                !sluice_bytes_add(&rows->origin, &origin, sizeof origin)) {
                return 0;
            }
            rows->n++;
        }
        begin += length + 1;
    }
    return 1;
}

/* Gives them to the host, and starts again. */
static sluice_status rows_emit(struct rows *rows, struct sluice_emit *emit)
{
    struct ArrowArray columns[3] = { { 0 } };
    struct ArrowArray out;
    int64_t n = rows->n;
    sluice_status status;

    rows->n = 0;
    status = sluice_make_text(&columns[0], n, &rows->text_ends, &rows->text, NULL, 0);
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[1], n, &rows->line, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[2], n, &rows->origin, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, n, 3, columns);
    }
    if (status == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int k = 0; k < 3; k++) {
        if (columns[k].release != NULL) {
            columns[k].release(&columns[k]);
        }
    }
    return status;
}

/* ---- the stage ---- */

/* One configured use of the stage. Read-only once `prepare` is done: many threads use it. */
struct stage {
    struct config config;
    int32_t text, row; /* places of the columns among those that process() is given */
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
    sluice_status status = plan->need(plan, 0, "text", "utf8?", 0, &stage->text, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_row", "uint64", 0, &stage->row, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "text", "utf8", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "line", "int64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_origin", "uint64", NULL, err) : status;
}

static sluice_status stage_process(void *shared, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct stage *stage = shared;
    const struct ArrowArray *text = batch->array->children[stage->text];
    const struct ArrowArray *row = batch->array->children[stage->row];
    struct rows rows = { 0 };
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t at = sluice_row(batch, k);
        size_t n;
        const char *document = sluice_text(text, at, &n);
        if (!rows_add(&rows, &stage->config, document, n, sluice_uint64(row, at))) {
            status = SLUICE_E_NOMEM;
        }
    }
    if (status == SLUICE_OK && rows.n > 0) {
        status = rows_emit(&rows, emit);
    }
    rows_free(&rows);
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the rows can't be given back");
}

static void stage_close(void *shared)
{
    free(shared);
}

static const struct sluice_stage stage = {
    .size = sizeof stage,
    .name = "NAME_HERE",
    .version = "0.1.0",
    .summary = "A row for each line of a document",
    .doc = "Columns: `text`, and `line`, its number from 1. Lines end at a newline.",
    .example = "docs | NAME_HERE { min_bytes = 10 }",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_CONSUMES, /* documents without a long line give no row */
    SLUICE_OPTIONS(struct config, options),
    .open = stage_open,
    .prepare = stage_prepare,
    .process = stage_process,
    .close = stage_close,
};

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &stage);
