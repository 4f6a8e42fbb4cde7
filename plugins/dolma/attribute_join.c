/* dolma_line_join - gives each document the attributes that its side input has for its row: all of
 * its attribute files in one object. */
#include <sluice_state.h>
#include <stdio.h>

#include "attribute_lines.h"

#include <sluice_stage.h>
#include "dolma.h"
#include "dolma_column.h"

#define SOURCES_MOST 1000

struct config {
    int64_t sources;
    uint8_t aligned;
};

static const struct sluice_option options[] = {
    { .name = "sources",
      .doc = "Attribute files that each document has a line in.",
      .def = "1",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = SOURCES_MOST,
      .offset = offsetof(struct config, sources) },
    { .name = "aligned",
      .doc = "A document without a line in one of them ends the run; false: it has what there is.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, aligned) },
};

struct shared {
    const struct config *config;
    int32_t own; /* the documents' own attributes, or -1 */
};

/* A line; its text ends where `end` says. */
struct line {
    uint64_t row, from, end;
};

struct worker {
    const struct shared *shared;
    struct sluice_bytes lines; /* struct line, ascending by row */
    struct sluice_bytes text;
    uint64_t at;
    const char *objects[SOURCES_MOST + 1];
    size_t sizes[SOURCES_MOST + 1];
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory for a split's attributes; give a larger --memory");
}

static sluice_status join_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **out, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct shared), out, err);
}

static sluice_status join_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const side[][2] = { { SLUICE_ROW, "uint64" },
                                           { "from", "uint64" },
                                           { "line", "json" } };
    struct shared *shared = state;
    sluice_status status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "attributes", "json|json?", 1, &shared->own, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->need(plan, 1, side[i][0], side[i][1], 0, NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "attributes", "json", NULL, err) : status;
}

static sluice_status join_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void join_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->lines);
    sluice_bytes_free(&worker->text);
    free(worker);
}

static sluice_status take_lines(struct worker *worker, const struct sluice_batch *batch,
                                struct sluice_error *err)
{
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct line line = { .row = sluice_uint64(batch->array->children[0], row),
                             .from = sluice_uint64(batch->array->children[1], row) };
        const struct line *last =
            worker->lines.size == 0
                ? NULL
                : (const struct line *)(const void *)(worker->lines.data + worker->lines.size) - 1;
        size_t n;
        const char *text = sluice_text(batch->array->children[2], row, &n);
        if (last != NULL && last->row > line.row) {
            return sluice_fail(err, SLUICE_E_INTERNAL, "",
                               "the lines of attributes are not sorted by row");
        }
        line.end = worker->text.size + n;
        if (!sluice_bytes_add(&worker->text, text, n) ||
            !sluice_bytes_add(&worker->lines, &line, sizeof line)) {
            return nomem(err);
        }
    }
    return SLUICE_OK;
}

static sluice_status bad_row(struct sluice_error *err, int64_t row, const char *what)
{
    sluice_fail(err, SLUICE_E_DATA, "attributes", what);
    if (err != NULL) {
        err->row = row;
    }
    return SLUICE_E_DATA;
}

/* Gathers the objects of one row, in the order of their files, behind its own; their number in
 * *n. */
static sluice_status gather(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                            size_t *n, struct sluice_error *err)
{
    const struct line *lines = (const struct line *)(const void *)worker->lines.data;
    uint64_t n_lines = worker->lines.size / sizeof *lines;
    uint64_t number = sluice_uint64(batch->array->children[0], row);
    size_t sources = (size_t)worker->shared->config->sources;
    size_t found = 0;

    *n = 0;
    if (worker->shared->own >= 0) {
        worker->objects[0] =
            sluice_text(batch->array->children[worker->shared->own], row, &worker->sizes[0]);
        *n = worker->sizes[0] > 0 && worker->objects[0][0] == '{'; /* else they count as none */
    }
    while (worker->at < n_lines && lines[worker->at].row < number) {
        worker->at++;
    }
    for (size_t k = 0; k < sources; k++) {
        worker->sizes[*n + k] = SIZE_MAX;
    }
    for (uint64_t i = worker->at; i < n_lines && lines[i].row == number; i++) {
        uint64_t begin = i == 0 ? 0 : lines[i - 1].end;
        size_t k = *n + (size_t)lines[i].from - 1;
        if (lines[i].from >= 1 && lines[i].from <= sources && worker->sizes[k] == SIZE_MAX &&
            lines[i].end > begin && worker->text.data[begin] == '{') {
            worker->objects[k] = worker->text.data + begin;
            worker->sizes[k] = (size_t)(lines[i].end - begin);
            found++;
        }
    }
    if (found != sources && worker->shared->config->aligned != 0) {
        return bad_row(err, row,
                       "an attribute file has no line for this document; is there one file of "
                       "attributes for each file of documents?");
    }
    for (size_t k = *n, end = *n + sources; k < end; k++) {
        if (worker->sizes[k] != SIZE_MAX) {
            worker->objects[*n] = worker->objects[k];
            worker->sizes[(*n)++] = worker->sizes[k];
        }
    }
    return SLUICE_OK;
}

static sluice_status join_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct dolma_rows rows = { 0 };
    sluice_status status = SLUICE_OK;

    if (batch->port == 1) {
        return take_lines(worker, batch, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct sluice_bytes merged = { 0 };
        size_t n;
        status = gather(worker, batch, row, &n, err);
        if (status == SLUICE_OK &&
            !(line_objects_merge(worker->objects, worker->sizes, n, &merged) &&
              sluice_bytes_add_text(&rows.offsets, &rows.data, merged.data, merged.size))) {
            status = nomem(err);
        }
        sluice_bytes_free(&merged);
    }
    return dolma_rows_emit(&rows, batch->n, status, emit, err);
}

static sluice_status join_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct sluice_state_list lists[] = { { &worker->lines, sizeof(struct line) },
                                               { &worker->text, 1 } };
    sluice_status status = io->write(io, &worker->at, sizeof worker->at);

    (void)err;
    return status == SLUICE_OK ? sluice_state_put_lists(io, lists, 2) : status;
}

static sluice_status join_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;
    const struct sluice_state_list lists[] = { { &worker->lines, sizeof(struct line) },
                                               { &worker->text, 1 } };
    sluice_status status = io->read(io, &worker->at, sizeof worker->at);
    const struct line *items;
    uint64_t n;

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_get_lists(io, lists, 2);
    }
    items = (const struct line *)(const void *)worker->lines.data;
    n = worker->lines.size / sizeof *items;
    for (uint64_t k = 0; status == SLUICE_OK && k < n; k++) {
        if (items[k].end > worker->text.size || (k > 0 && items[k].end < items[k - 1].end)) {
            return SLUICE_E_DATA;
        }
    }
    return status;
}

static void join_close(void *shared)
{
    free(shared);
}

const struct sluice_stage dolma_line_join_stage = {
    .size = sizeof dolma_line_join_stage,
    .name = "dolma_line_join",
    .version = "1.0",
    .summary = "The lines of attribute files as a column of the documents (part of `dolma_join`)",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .bytes_per_input = 2,
    .open = join_open,
    .prepare = join_prepare,
    .worker_open = join_worker_open,
    .process = join_process,
    .save = join_save,
    .load = join_load,
    .state_version = 1,
    .worker_close = join_worker_close,
    .close = join_close,
};
