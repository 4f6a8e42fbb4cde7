/* NAME_HERE - a reader: lines of an id, a tab and a text become documents.
 *
 * The host finds, opens, decompresses and cuts the files; with `cut` = "newline" each chunk holds
 * whole lines. A line that is no record is reported with its bytes, and the run goes on. `_begin`
 * and `_end` are where a record stands in its file, so that it can be traced.
 *
 * To make it yours, change struct config and its option table, record(), and the columns.
 * <sluice.h> explains every field and function. */
#include <sluice_simple.h>
#include <text/text_utf8.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t max_id_bytes;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, max_id_bytes, "200", 1, 10000,
                      "Longest id; a line with a longer one is no record."),
};

/* ---- records ---- */

#define COLUMNS 4
struct rows {
    struct sluice_bytes text_ends, text, id_ends, id, begin, end;
    int64_t n;
};

static void rows_free(struct rows *rows)
{
    sluice_bytes_free(&rows->text_ends);
    sluice_bytes_free(&rows->text);
    sluice_bytes_free(&rows->id_ends);
    sluice_bytes_free(&rows->id);
    sluice_bytes_free(&rows->begin);
    sluice_bytes_free(&rows->end);
}

/* One line without its end, at bytes begin to end of the file. */
static sluice_status record(struct rows *rows, const struct config *config, const char *line,
                            size_t n, uint64_t begin, uint64_t end, struct sluice_emit *emit)
{
    const char *tab = memchr(line, '\t', n);
    size_t id = tab == NULL ? 0 : (size_t)(tab - line);

    if (!text_utf8_valid(line, n, NULL)) {
        return emit->bad(emit, begin, end, "invalid_utf8", "the line is not UTF-8");
    }
    if (tab == NULL) {
        return emit->bad(emit, begin, end, "no_tab", "the line has no tab between id and text");
    }
    if ((int64_t)id > config->max_id_bytes) {
        return emit->bad(emit, begin, end, "long_id", "the id is longer than max_id_bytes");
    }
    if (!sluice_bytes_add_text(&rows->text_ends, &rows->text, tab + 1, n - id - 1) ||
        !sluice_bytes_add_text(&rows->id_ends, &rows->id, line, id) ||
        !sluice_bytes_add(&rows->begin, &begin, sizeof begin) ||
        !sluice_bytes_add(&rows->end, &end, sizeof end)) {
        return SLUICE_E_NOMEM;
    }
    rows->n++;
    return SLUICE_OK;
}

/* Gives them to the host, and starts again. */
static sluice_status rows_emit(struct rows *rows, struct sluice_emit *emit)
{
    struct ArrowArray columns[COLUMNS] = { { 0 } };
    struct ArrowArray out;
    int64_t n = rows->n;
    sluice_status status;

    rows->n = 0;
    status = sluice_make_text(&columns[0], n, &rows->text_ends, &rows->text, NULL, 0);
    if (status == SLUICE_OK) {
        status = sluice_make_text(&columns[1], n, &rows->id_ends, &rows->id, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[2], n, &rows->begin, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[3], n, &rows->end, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, n, COLUMNS, columns);
    }
    if (status == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int k = 0; k < COLUMNS; k++) {
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
    static const char *const columns[COLUMNS][2] = {
        { "text", "utf8" }, { "id", "utf8" }, { "_begin", "uint64" }, { "_end", "uint64" }
    };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int k = 0; status == SLUICE_OK && k < COLUMNS; k++) {
        status = plan->add(plan, columns[k][0], columns[k][1], NULL, err);
    }
    return status;
}

static sluice_status stage_read(void *shared, struct sluice_chunk *chunk, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    const struct stage *stage = shared;
    struct rows rows = { 0 };
    sluice_status status = SLUICE_OK;

    for (uint64_t at = 0; status == SLUICE_OK && at < chunk->n;) {
        const char *line = chunk->data + at;
        const char *newline = memchr(line, '\n', (size_t)(chunk->n - at));
        size_t n = newline == NULL ? (size_t)(chunk->n - at) : (size_t)(newline - line);
        uint64_t begin = chunk->offset + at;
        if (n > 0) {
            status = record(&rows, &stage->config, line, n, begin, begin + n, emit);
        }
        at += n + (newline != NULL ? 1 : 0);
    }
    if (status == SLUICE_OK && rows.n > 0) {
        status = rows_emit(&rows, emit);
    }
    rows_free(&rows);
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the documents can't be given back");
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
    .doc =
        "Columns: `text` and `id`. Empty lines are skipped. Other lines are quarantined: no_tab, "
        "long_id, invalid_utf8.",
    .example = "s.files \"data/*.tsv.zst\" | NAME_HERE {}",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    SLUICE_OPTIONS(struct config, options),
    .cut = "newline",
    .open = stage_open,
    .prepare = stage_prepare,
    .read = stage_read,
    .close = stage_close,
};

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &stage);
