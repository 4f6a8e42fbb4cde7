/* NAME_HERE - a reader that reads at random: files with an index, of which no more is read than is
 * asked for.
 *
 * A shelf is lines of an id, a tab and a text; then a line for each unit of them, of where it
 * begins and ends (two numbers of ten digits); then a line of where those lines begin. The host
 * opens the files and reads them: `survey` and `scan` ask for bytes, `resume` goes on when they are
 * there. Units are read by any worker, in any order. What is asked for must depend on the file and
 * the options alone.
 *
 * To make it yours, change struct config and its option table, survey_index(), record(), and the
 * columns. <sluice.h> explains every field and function ("Readers that read at random"). */
#include <sluice_rows.h>
#include <sluice_simple.h>
#include <text/text_utf8.h>

#define NUMBER ((uint64_t)11) /* ten digits and what ends them */
#define ENTRY (2 * NUMBER)    /* of the index */
#define BATCH ((uint64_t)1 << 20)

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t least;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, least, "0", 0, 1e12,
                      "Units of fewer bytes are not read: they are skipped."),
};

/* ---- one configured use of the stage (read-only once `prepare` is done), and its workers ---- */

struct stage {
    struct config config;
    const struct sluice_host_api *api;
    struct sluice_host *host;
};

struct worker {
    const struct stage *stage;
    const struct sluice_file *file; /* of the survey at hand */
    uint64_t index;                 /* where its index begins; 0 = not known yet */
    char *unit;                     /* the bytes of the unit at hand */
    uint64_t size, at;
    struct sluice_rows rows;
};

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    if (stage == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    stage->config = *(const struct config *)config;
    stage->api = api;
    stage->host = host;
    *shared = stage;
    return SLUICE_OK;
}

/* `_begin` and `_end` are where a record stands in its file, so that it can be traced; without them
 * rows are traced to their unit. */
static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = {
        { "text", "utf8" }, { "id", "utf8" }, { "_begin", "uint64" }, { "_end", "uint64" }
    };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int k = 0; status == SLUICE_OK && k < 4; k++) {
        status = plan->add(plan, columns[k][0], columns[k][1], NULL, err);
    }
    return status;
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->stage = shared;
    worker->rows = sluice_rows_begin("ttff");
    *out = worker;
    return SLUICE_OK;
}

static void drop_unit(struct worker *worker)
{
    worker->stage->api->free(worker->stage->host, worker->unit);
    worker->unit = NULL;
}

static void worker_close(void *state)
{
    struct worker *worker = state;

    drop_unit(worker);
    sluice_rows_drop(&worker->rows);
    free(worker);
}

static void stage_close(void *shared)
{
    free(shared);
}

static sluice_status ask(struct sluice_emit *emit, uint64_t offset, uint64_t n)
{
    struct sluice_extent extent = { offset, n };
    struct sluice_ask ask = {
        .size = sizeof ask, .kind = SLUICE_ASK_BYTES, .payload = &extent, .n = sizeof extent
    };

    return emit->ask(emit, &ask);
}

/* ---- the survey: of what units the file consists ---- */

static sluice_status survey(void *state, const struct sluice_file *file, struct sluice_emit *emit,
                            struct sluice_error *err)
{
    struct worker *worker = state;

    worker->file = file;
    worker->index = 0;
    if (file->bytes < NUMBER) {
        return sluice_fail(err, SLUICE_E_DATA, "", "the file ends before its last line");
    }
    return ask(emit, file->bytes - NUMBER, NUMBER);
}

/* Ten digits and `end`; 0 = it is something else. */
static int number(const char *at, char end, uint64_t *out)
{
    *out = 0;
    for (uint64_t k = 0; k + 1 < NUMBER; k++) {
        if (at[k] < '0' || at[k] > '9') {
            return 0;
        }
        *out = *out * 10 + (uint64_t)(at[k] - '0');
    }
    return at[NUMBER - 1] == end;
}

static sluice_status survey_last(struct worker *worker, const char *data, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    uint64_t end = worker->file->bytes - NUMBER;

    if (!number(data, '\n', &worker->index) || worker->index == 0 || worker->index >= end ||
        (end - worker->index) % ENTRY != 0) {
        return sluice_fail(err, SLUICE_E_DATA, "",
                           "the last line is damaged, expected where the index begins");
    }
    return ask(emit, worker->index, end - worker->index);
}

static sluice_status survey_index(struct worker *worker, const char *data, uint64_t n,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t least = (uint64_t)worker->stage->config.least;
    uint64_t behind = 0;
    sluice_status status = SLUICE_OK;

    for (uint64_t at = 0; status == SLUICE_OK && at < n; at += ENTRY) {
        struct sluice_unit unit = { .size = sizeof unit, .rows = -1 };
        if (!number(data + at, ' ', &unit.begin) || !number(data + at + NUMBER, '\n', &unit.end) ||
            unit.begin < behind || unit.end <= unit.begin || unit.end > worker->index) {
            return sluice_fail(err, SLUICE_E_DATA, "",
                               "a line of the index is damaged, expected begin and end of a unit");
        }
        unit.skip = unit.end - unit.begin < least ? "small" : NULL;
        behind = unit.end;
        status = emit->unit(emit, &unit);
    }
    return status;
}

/* ---- a unit: all of its bytes, then rows, about a mebibyte a call ---- */

/* One line without its end, at bytes begin to end of the file. */
static sluice_status record(struct sluice_rows *rows, const char *line, size_t n, uint64_t begin,
                            uint64_t end, struct sluice_emit *emit)
{
    const char *tab = memchr(line, '\t', n);

    if (!text_utf8_valid(line, n, NULL)) {
        return emit->bad(emit, begin, end, "invalid_utf8", "the line is not UTF-8");
    }
    if (tab == NULL) {
        return emit->bad(emit, begin, end, "no_tab", "the line has no tab between id and text");
    }
    sluice_rows_add(rows, 0, tab + 1, n - (size_t)(tab - line) - 1);
    sluice_rows_add(rows, 1, line, (size_t)(tab - line));
    sluice_rows_add(rows, 2, &begin, sizeof begin);
    sluice_rows_add(rows, 3, &end, sizeof end);
    return sluice_rows_next(rows) ? SLUICE_OK : SLUICE_E_NOMEM;
}

static sluice_status give_rows(struct worker *worker, struct sluice_scan *scan,
                               struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t stop = worker->size - worker->at > BATCH ? worker->at + BATCH : worker->size;
    sluice_status status = SLUICE_OK;

    while (status == SLUICE_OK && worker->at < stop) {
        const char *line = worker->unit + worker->at;
        const char *newline = memchr(line, '\n', (size_t)(worker->size - worker->at));
        size_t n = newline == NULL ? (size_t)(worker->size - worker->at) : (size_t)(newline - line);
        uint64_t begin = scan->begin + worker->at;
        status = record(&worker->rows, line, n, begin, begin + n, emit);
        worker->at += n + (newline != NULL ? 1 : 0);
    }
    scan->more = worker->at < worker->size;
    return sluice_rows_emit(&worker->rows, status, emit, err);
}

static sluice_status scan(void *state, struct sluice_scan *scan, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    return scan->call > 0 ? give_rows(state, scan, emit, err)
                          : ask(emit, scan->begin, scan->end - scan->begin);
}

/* What was asked for is lent for one call, and there may be more rows than go into one. */
static sluice_status take_unit(struct worker *worker, const struct sluice_answer *answer,
                               struct sluice_error *err)
{
    drop_unit(worker);
    worker->unit = worker->stage->api->alloc(worker->stage->host, answer->n);
    if (worker->unit == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "a unit does not fit in memory");
    }
    memcpy(worker->unit, answer->data, (size_t)answer->n);
    worker->size = answer->n;
    worker->at = 0;
    return SLUICE_OK;
}

/* ---- answers: of a survey, or of a scan ---- */

static sluice_status resume(void *state, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct sluice_answer *answer = answers->items;
    sluice_status status;

    if (answers->scan == NULL) {
        return worker->index == 0 ? survey_last(worker, answer->data, emit, err)
                                  : survey_index(worker, answer->data, answer->n, emit, err);
    }
    status = take_unit(worker, answer, err);
    return status == SLUICE_OK ? give_rows(worker, answers->scan, emit, err) : status;
}

/* ---- the stage and the plugin ---- */

static const struct sluice_stage stage = {
    .size = sizeof stage,
    .name = "NAME_HERE",
    .version = "0.1.0",
    .summary = "Shelves: lines of an id, a tab and a text, with an index",
    .doc = "Columns: `text` and `id`. Lines without a tab, or that are not UTF-8, are quarantined: "
           "no_tab, invalid_utf8.",
    .example = "s.files \"data/*.shelf\" | NAME_HERE { least = 1000 }",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    SLUICE_OPTIONS(struct config, options),
    .cut = "own",
    .bytes_worker = 4 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .close = stage_close,
    .bytes_per_batch = 3,
    .resume = resume,
    .survey = survey,
    .scan = scan,
};

static const struct sluice_stage *const stages[] = { &stage, NULL };
static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .abi_minor_needed = 1, /* readers that read at random */
    .verdict_stride = sizeof(struct sluice_verdict),
    .name = "NAME_HERE",
    .version = "0.1.0",
    .license = "MIT",
    .stages = stages,
};

SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
