/* dolma_line_match - puts the lines of attribute files to the documents' lines of the same file, in
 * order, and checks that their ids are equal.
 *
 * Keyed by file: the documents come first, in their order, then the lines of each attribute file in
 * theirs. Held in memory: ids and positions of one file's documents. A line too many or too few,
 * another id, or no attributes ends the run (`aligned`): whoever joins by line must not guess. */
#include <sluice_state.h>
#include <stdio.h>

#include "attribute_lines.h"

#include <sluice_stage.h>
#include "dolma.h"

#define SOURCES_MOST 1000

struct config {
    struct sluice_list names;
    uint8_t aligned;
};

static const struct sluice_option options[] = {
    { .name = "names",
      .doc = "What messages call the attribute files, in the order of their numbers.",
      .def = "",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, names) },
    { .name = "aligned",
      .doc = "A line that is not that of the document at its place ends the run; false: it is left "
             "out.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, aligned) },
};

struct worker {
    const struct config *config;
    char key[16];
    bool begun;
    uint64_t from;             /* whose lines come now */
    uint64_t at;               /* lines of them so far */
    uint64_t n;                /* documents of the file */
    struct sluice_bytes where; /* uint64_t: their positions */
    struct sluice_bytes ends;  /* uint64_t: ends of their ids */
    struct sluice_bytes ids;
    struct sluice_bytes file;
    int64_t unused;   /* lines of files without documents, not yet told */
    int64_t left_out; /* lines of other documents than those at their places, not yet told */
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory for the ids of a file's documents; give a larger --memory");
}

static sluice_status match_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const needed[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { "from", "uint64" },    { "file", "utf8" }, { "id", "utf8" },
        { "line", "json" },          { SLUICE_POS, "uint64" }
    };
    static const char *const added[][2] = { { SLUICE_POS, "uint64" },
                                            { "from", "uint64" },
                                            { "line", "json" } };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 6; i++) {
        status = plan->need(plan, 0, needed[i][0], needed[i][1], 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

static sluice_status match_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void match_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->where);
    sluice_bytes_free(&worker->ends);
    sluice_bytes_free(&worker->ids);
    sluice_bytes_free(&worker->file);
    free(worker);
}

static const char *attribute_name(const struct worker *worker, uint64_t from, char number[32])
{
    if (from >= 1 && from <= worker->config->names.n) {
        return worker->config->names.items[from - 1];
    }
    snprintf(number, 32, "attributes %llu", (unsigned long long)from);
    return number;
}

static sluice_status misaligned(const struct worker *worker, uint64_t from, const char *what,
                                struct sluice_error *err)
{
    char number[32];
    char message[900];

    snprintf(message, sizeof message,
             "%.200s, file '%.*s': %.400s; attribute files have one line for each document, in the "
             "same order: join them before any filter, and give the documents they were made of",
             attribute_name(worker, from, number),
             (int)(worker->file.size < 200 ? worker->file.size : 200),
             worker->file.data == NULL ? "" : worker->file.data, what);
    return sluice_fail(err, SLUICE_E_DATA, "attributes", message);
}

/* The lines of `from` are all there: as many as documents. */
static sluice_status end_lines(struct worker *worker, uint64_t from, uint64_t lines,
                               struct sluice_error *err)
{
    char what[200];

    if (worker->n == 0 || lines == worker->n || worker->config->aligned == 0) {
        return SLUICE_OK;
    }
    snprintf(what, sizeof what, "found %llu lines for %llu documents", (unsigned long long)lines,
             (unsigned long long)worker->n);
    return misaligned(worker, from, what, err);
}

/* A file ends, or the lines of some of its attribute files do: those up to `next` have come. */
static sluice_status end_until(struct worker *worker, uint64_t next, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (worker->from > 0 && next > worker->from) {
        status = end_lines(worker, worker->from, worker->at, err);
    }
    for (uint64_t from = worker->from + 1; status == SLUICE_OK && from < next; from++) {
        status = end_lines(worker, from, 0, err);
    }
    worker->from = next;
    worker->at = 0;
    return status;
}

static sluice_status end_file(struct worker *worker, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (worker->begun) {
        status = end_until(worker, worker->config->names.n + 1, err);
    }
    worker->begun = false;
    worker->from = 0;
    worker->at = worker->n = 0;
    worker->where.size = worker->ends.size = worker->ids.size = worker->file.size = 0;
    return status;
}

static int add_document(struct worker *worker, uint64_t position, const char *id, size_t n)
{
    uint64_t end = worker->ids.size + n;

    worker->n++;
    return sluice_bytes_add(&worker->where, &position, sizeof position) &&
           sluice_bytes_add(&worker->ids, id, n) &&
           sluice_bytes_add(&worker->ends, &end, sizeof end);
}

/* The line that comes now belongs to the document at its place; *position is the document's. */
static sluice_status match_line(struct worker *worker, const char *id, size_t n, const char *line,
                                size_t line_n, uint64_t *position, struct sluice_error *err)
{
    const uint64_t *ends = (const uint64_t *)(const void *)worker->ends.data;
    uint64_t k = worker->at++;
    uint64_t begin;
    char what[400];

    if (k >= worker->n) {
        snprintf(what, sizeof what, "line %llu, of '%.*s', is one more than there are documents",
                 (unsigned long long)k + 1, (int)(n < 100 ? n : 100), id);
        return misaligned(worker, worker->from, what, err);
    }
    begin = k == 0 ? 0 : ends[k - 1];
    if (ends[k] - begin != n || (n > 0 && memcmp(worker->ids.data + begin, id, n) != 0)) {
        uint64_t own = ends[k] - begin;
        snprintf(what, sizeof what, "line %llu has the id '%.*s', and the document there '%.*s'",
                 (unsigned long long)k + 1, (int)(n < 100 ? n : 100), id,
                 (int)(own < 100 ? own : 100), worker->ids.data + begin);
        return misaligned(worker, worker->from, what, err);
    }
    if (line_n == 0 || line[0] != '{') {
        snprintf(what, sizeof what, "line %llu, of '%.*s', has no object of attributes",
                 (unsigned long long)k + 1, (int)(n < 100 ? n : 100), id);
        return misaligned(worker, worker->from, what, err);
    }
    *position = ((const uint64_t *)(const void *)worker->where.data)[k];
    return SLUICE_OK;
}

static sluice_status match_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                               struct sluice_rows *rows, int *ok, struct sluice_error *err)
{
    struct ArrowArray *const *columns = batch->array->children;
    const char *key = (const char *)columns[0]->buffers[1] + 16 * row;
    uint64_t from = sluice_uint64(columns[1], row);
    uint64_t position = sluice_uint64(columns[5], row);
    size_t id_n;
    size_t line_n;
    const char *id = sluice_text(columns[3], row, &id_n);
    const char *line = sluice_text(columns[4], row, &line_n);
    sluice_status status = SLUICE_OK;

    if (!worker->begun || memcmp(worker->key, key, 16) != 0) {
        size_t n;
        const char *file = sluice_text(columns[2], row, &n);
        status = end_file(worker, err);
        worker->begun = true;
        memcpy(worker->key, key, 16);
        *ok = sluice_bytes_add(&worker->file, file, n);
    }
    if (status != SLUICE_OK || !*ok) {
        return status;
    }
    if (from == 0 && worker->from == 0) {
        *ok = add_document(worker, position, id, id_n);
        return SLUICE_OK;
    }
    if (from < worker->from || from > SOURCES_MOST) {
        /* not what the exchange gives; the document has no line then, and says so */
        worker->left_out++;
        return SLUICE_OK;
    }
    if (from > worker->from) {
        status = end_until(worker, from, err);
    }
    if (status == SLUICE_OK && worker->n == 0) {
        worker->unused++; /* documents that this run does not read */
        return SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        struct sluice_error *told = worker->config->aligned != 0 ? err : NULL;
        status = match_line(worker, id, id_n, line, line_n, &position, told);
    }
    if (status == SLUICE_E_DATA && worker->config->aligned == 0) {
        worker->left_out++;
        return SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        sluice_rows_add(rows, 0, &position, 8);
        sluice_rows_add(rows, 1, &from, 8);
        sluice_rows_add(rows, 2, line, line_n);
        *ok = sluice_rows_next(rows);
    }
    return status;
}

static sluice_status match_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_rows rows = sluice_rows_begin("fft");
    sluice_status status = SLUICE_OK;
    int ok = 1;

    for (int64_t k = 0; ok && status == SLUICE_OK && k < batch->n; k++) {
        status = match_row(worker, batch, sluice_row(batch, k), &rows, &ok, err);
    }
    if (status == SLUICE_OK && ok && worker->unused > 0) {
        status = emit->measure(emit, "lines_without_document", worker->unused);
        worker->unused = 0;
    }
    if (status == SLUICE_OK && ok && worker->left_out > 0) {
        status = emit->measure(emit, "lines_left_out", worker->left_out);
        worker->left_out = 0;
    }
    if (status == SLUICE_OK && !ok) {
        status = nomem(err);
    }
    return sluice_rows_emit(&rows, status, emit, err);
}

static sluice_status match_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)emit;
    return end_file(state, err);
}

/* ---- saved states ---- */

#define HEAD 4
#define LISTS 4

static void lists_of(struct worker *worker, struct sluice_state_list lists[LISTS])
{
    lists[0] = (struct sluice_state_list){ &worker->where, 8 };
    lists[1] = (struct sluice_state_list){ &worker->ends, 8 };
    lists[2] = (struct sluice_state_list){ &worker->ids, 1 };
    lists[3] = (struct sluice_state_list){ &worker->file, 1 };
}

static sluice_status match_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct worker *worker = state;
    const uint64_t head[HEAD] = { worker->begun, worker->from, worker->at, worker->n };
    struct sluice_state_list lists[LISTS];
    sluice_status status = io->write(io, head, sizeof head);

    (void)err;
    lists_of(worker, lists);
    if (status == SLUICE_OK) {
        status = io->write(io, worker->key, sizeof worker->key);
    }
    return status == SLUICE_OK ? sluice_state_put_lists(io, lists, LISTS) : status;
}

/* Whether each document has a position and an id. */
static bool documents_valid(const struct worker *worker)
{
    const uint64_t *ends = (const uint64_t *)(const void *)worker->ends.data;
    uint64_t last = 0;

    if (worker->where.size / 8 != worker->n || worker->ends.size / 8 != worker->n) {
        return false;
    }
    for (uint64_t k = 0; k < worker->n; k++) {
        if (ends[k] < last) {
            return false;
        }
        last = ends[k];
    }
    return last == worker->ids.size;
}

static sluice_status match_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[HEAD] = { 0 };
    struct sluice_state_list lists[LISTS];
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    (void)err;
    worker->begun = head[0] != 0;
    worker->from = head[1];
    worker->at = head[2];
    worker->n = head[3];
    lists_of(worker, lists);
    if (status == SLUICE_OK) {
        status = io->read(io, worker->key, sizeof worker->key);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get_lists(io, lists, LISTS);
    }
    return status == SLUICE_OK && !documents_valid(worker) ? SLUICE_E_DATA : status;
}

const struct sluice_stage dolma_line_match_stage = {
    .size = sizeof dolma_line_match_stage,
    .name = "dolma_line_match",
    .version = "1.0",
    .summary = "Attribute lines put to their documents, ids compared (part of `dolma_join`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = sluice_open_config,
    .prepare = match_prepare,
    .worker_open = match_worker_open,
    .process = match_process,
    .save = match_save,
    .load = match_load,
    .state_version = 1,
    .flush = match_flush,
    .worker_close = match_worker_close,
};
