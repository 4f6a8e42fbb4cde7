/* write_stats - the statistics of a corpus as files: one JSON object with datatrove's values, and a
 * page for people. */
#include <sluice_files.h>

#include "report.h"
#include "stats.h"

struct config {
    const char *path;
    int64_t top_k, rows;
};

enum { OUTPUT_JSON, OUTPUT_MARKDOWN };

static const struct sluice_option options[] = {
    SLUICE_FILES_PATH(struct config, path),
    { .name = "top_k",
      .doc = "Groups by a column's values that are kept: those with the most documents.",
      .def = "100000",
      .min = 1,
      .max = 1e9,
      .type = SLUICE_OPT_INT,
      .offset = offsetof(struct config, top_k) },
    { .name = "rows",
      .doc = "Groups of a column in the page for people.",
      .def = "20",
      .min = 1,
      .max = 100000,
      .type = SLUICE_OPT_INT,
      .offset = offsetof(struct config, rows) },
};

struct stage {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct config *config;
    struct stats_names names;
};

struct worker {
    const struct stage *stage;
    struct table table;
    int64_t rows;
};

static sluice_status write_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    if (stage == NULL) {
        return stats_nomem(err);
    }
    stage->api = api;
    stage->host = host;
    stage->config = config;
    *shared = stage;
    return SLUICE_OK;
}

static void write_close(void *shared)
{
    struct stage *stage = shared;

    stats_names_deinit(&stage->names);
    free(stage);
}

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = stats_rows_need(plan, err);

    if (status == SLUICE_OK) {
        stats_names_deinit(&stage->names);
        status = stats_names_read(&stage->names, plan->metadata(plan, 0, 3, "stats"), err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".stats.json", "none", 0, err);
    }
    return status == SLUICE_OK ? plan->output(plan, ".report.md", "none", 0, err) : status;
}

static sluice_status write_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    const struct stage *stage = shared;
    sluice_status status;

    if (worker == NULL) {
        return stats_nomem(err);
    }
    worker->stage = stage;
    status = table_open(&worker->table, &stage->names, stage->api->scratch_dir(stage->host), err);
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static void write_worker_close(void *state)
{
    struct worker *worker = state;

    table_close(&worker->table);
    free(worker);
}

static sluice_status write_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct stats_bad bad = { 0 };
    sluice_status status = stats_bad_init(&bad, batch->n, err);

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *text[4];
        size_t n[4];
        for (int i = 0; i < 4; i++) {
            text[i] = sluice_text(batch->array->children[i], row, &n[i]);
        }
        bool none = false;
        status = table_add(&worker->table, text, n, &none, err);
        if (none) {
            stats_bad_mark(&bad, k);
        }
        worker->rows += !none;
    }
    status = status == SLUICE_OK ? stats_bad_emit(&bad, emit) : status;
    free(bad.verdicts);
    return status;
}

static sluice_status write_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->stage->config;
    struct report_out json = { .emit = emit, .output = OUTPUT_JSON };
    struct report_out page = { .emit = emit, .output = OUTPUT_MARKDOWN };
    sluice_status status = table_finish(&worker->table, (uint64_t)config->top_k, err);

    if (status == SLUICE_OK) {
        report_json(&json, &worker->table);
        status = report_end(&json, err);
    }
    if (status == SLUICE_OK) {
        report_markdown(&page, &worker->table, config->rows);
        status = report_end(&page, err);
    }
    if (status == SLUICE_OK) {
        status = emit->roll(emit, worker->rows);
    }
    return status;
}

const struct sluice_stage write_stats_stage = {
    .size = sizeof write_stats_stage,
    .name = "write_stats",
    .version = "1.0",
    .summary = "The statistics of a corpus as JSON and as a page for people",
    .doc =
        "`*.stats.json` holds `{group: {statistic: {key: {total, n, mean, variance, std_dev, min, "
        "max, unit}}}}`: under a group and a statistic stands what datatrove's `StatsMerger` "
        "writes to `GROUP/STATISTIC/metric.json`, with all members always, and "
        "`MetricStats.from_dict` reads it. The key of a summary is `summary`, of a histogram "
        "the value as Python writes it, rounded; the statistic `documents` is 1 for each one; "
        "`STATISTIC__chars` and `STATISTIC__tokens` "
        "are the characters and tokens of the documents in a bin. Of groups by a column's "
        "values the `top_k` with the most documents stay (equal ones: the first by name); all "
        "partial counts are exact, unlike datatrove's, which cuts in each task. "
        "`*.report.md` is the same for people.",
    .example = "docs | s.statistics { groups = { \"summary\", \"histogram\" } } | "
               "s.write_stats { \"out/statistics\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_GLOBAL,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 64 << 20,
    .open = write_open,
    .prepare = write_prepare,
    .worker_open = write_worker_open,
    .process = write_process,
    .flush = write_flush,
    .worker_close = write_worker_close,
    .close = write_close,
};
