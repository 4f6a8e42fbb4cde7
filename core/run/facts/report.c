/* The report of a run: see report.h. */
#include "run/facts/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/chain/ledger.h"
#include "run/facts/factsInt.h"
#include "run/facts/reportInt.h"
#include "run/facts/tally.h"

/* ---- by phase ---- */

static json_t *op_report(const struct run *run, uint32_t p, uint32_t i)
{
    const struct op *op = run->plan->phases[p]->ops[i];
    const struct op_metrics *metrics = &run->metrics.phases[p].ops[i];
    json_t *ledger = run->ledgers[p] == NULL ? NULL : json_object_get(run->ledgers[p], op->name);
    json_t *asks = report_asks(&metrics->asks);
    json_t *json = json_object();

    json_object_set_new(json, "name", json_string(op->name));
    json_object_set_new(json, "role", json_string(report_role(op)));
    json_object_set_new(json, "kind", json_string(report_kind(op)));
    json_object_set_new(json, "seconds", json_real(report_work(&metrics->time)));
    json_object_set_new(json, "wait_seconds", json_real(report_wait(&metrics->time)));
    json_object_set_new(json, "worked_rows",
                        json_integer((json_int_t)METRIC_GET(metrics->rows_in)));
    json_object_set_new(json, "worked_bytes",
                        json_integer((json_int_t)METRIC_GET(metrics->bytes_in)));
    if (ledger != NULL) {
        json_object_set(json, "ledger", ledger);
    }
    if (asks != NULL) {
        json_object_set_new(json, "asks", asks);
    }
    return json;
}

static json_t *phase_report(const struct run *run, uint32_t p)
{
    const struct phase *phase = run->plan->phases[p];
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    json_t *ops = json_array();
    json_t *json = json_object();

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        json_array_append_new(ops, op_report(run, p, i));
    }
    json_object_set_new(json, "name", json_string(phase->name));
    json_object_set_new(json, "tasks", json_integer(phase->n_tasks));
    json_object_set_new(json, "done", json_integer((json_int_t)METRIC_GET(metrics->done)));
    json_object_set_new(json, "reused", json_integer((json_int_t)METRIC_GET(metrics->reused)));
    json_object_set_new(json, "others", json_integer((json_int_t)METRIC_GET(metrics->others)));
    json_object_set_new(json, "reading_seconds", json_real(report_work(&metrics->source)));
    json_object_set_new(json, "reading_wait_seconds", json_real(report_wait(&metrics->source)));
    json_object_set_new(json, "commit_seconds", json_real(report_work(&metrics->commit)));
    json_object_set_new(json, "commit_wait_seconds", json_real(report_wait(&metrics->commit)));
    json_object_set_new(json, "idle_seconds",
                        json_real((double)METRIC_GET(metrics->idle_ns) / 1e9));
    json_object_set_new(json, "raw_bytes",
                        json_integer((json_int_t)METRIC_GET(metrics->raw_bytes)));
    json_object_set_new(json, "text_bytes",
                        json_integer((json_int_t)METRIC_GET(metrics->text_bytes)));
    json_object_set_new(json, "stages", ops);
    return json;
}

/* ---- the whole ---- */

static void add_inputs(json_t *report, const struct run *run)
{
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t read = 0;
    int64_t text = 0;
    bool random = false;

    for (uint32_t k = 0; k < run->plan->n_lanes; k++) {
        const struct lane *lane = run->plan->lanes[k];
        for (size_t i = 0; lane->kind == LANE_SPLITS && i < lane->files.n; i++) {
            bytes += lane->files.files[i].version.size;
            files++;
        }
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
            const struct op *op = run->plan->phases[p]->ops[i];
            if (op->kind == OP_READ) {
                text += ledger_get(run->ledgers[p], op->name, "text_bytes");
                random = random || splits_random(splits_cut(op_declared(op)->cut));
            }
        }
        read += METRIC_GET(run->metrics.phases[p].raw_bytes);
    }
    json_object_set_new(report, "input",
                        json_pack("{s:I, s:I, s:I}", "files", (json_int_t)files, "bytes",
                                  (json_int_t)bytes, "decoded_bytes", (json_int_t)text));
    if (random) { /* else what is read is the files */
        json_object_set_new(json_object_get(report, "input"), "read_bytes",
                            json_integer((json_int_t)read));
    }
}

/* What all processes did; seconds: of this one. */
static void add_tally(json_t *report, json_t *phases, const struct run *run,
                      const struct tally *tally, double seconds)
{
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct tally_phase *phase = &tally->phases[p];
        json_t *json = json_array_get(phases, p);
        json_object_set_new(json, "attempts", json_integer((json_int_t)phase->attempts));
        json_object_set_new(json, "committed", json_integer((json_int_t)phase->committed));
        json_object_set_new(json, "failed", json_integer((json_int_t)phase->failed));
        json_object_set_new(json, "lost", json_integer((json_int_t)phase->lost));
        json_object_set_new(json, "twins", json_integer((json_int_t)phase->twins));
        json_object_set_new(json, "resumed", json_integer((json_int_t)phase->resumed));
        json_object_set_new(json, "committed_seconds", json_real(phase->cpu_seconds));
    }
    json_object_set_new(report, "processes", json_integer(tally->processes));
    json_object_set_new(report, "hosts", json_integer(tally->hosts));
    json_object_set_new(report, "peak_bytes", json_integer((json_int_t)tally->peak_bytes));
    json_object_set_new(report, "possible_seconds",
                        json_real(tally->core_seconds + seconds * run->options.workers));
}

/* The time, in UTC, for people: what a store says of a file need not have one. */
static json_t *now_json(void)
{
    time_t now = time(NULL);
    struct tm tm;
    char text[32];

    return gmtime_r(&now, &tm) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0
               ? json_string(text)
               : NULL;
}

json_t *report_collect(const struct run *run, const struct run_published *published, size_t n,
                       double seconds, const struct tally *tally, const struct sluice_error *error)
{
    json_t *json = json_object();
    json_t *phases = json_array();
    json_t *datasets = json_array();
    uint64_t bad = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        uint64_t phase_bad;
        uint64_t phase_records;
        json_array_append_new(phases, phase_report(run, p));
        run_quarantine_counts(run, p, &phase_bad, &phase_records);
        bad += phase_bad;
    }
    for (size_t i = 0; i < n; i++) {
        json_t *dataset = json_pack(
            "{s:s, s:s, s:i, s:b, s:b, s:I, s:I, s:I, s:I}", "writer", published[i].op, "path",
            published[i].dataset, "snapshot", (int)published[i].number, "new",
            published[i].fresh ? 1 : 0, "appended", published[i].appended ? 1 : 0, "rows",
            (json_int_t)published[i].rows, "bytes", (json_int_t)published[i].bytes, "shards",
            (json_int_t)published[i].shards, "mended", (json_int_t)published[i].mended);
        if (published[i].skew != NULL) {
            json_object_set(dataset, "partitions", published[i].skew);
        }
        json_array_append_new(datasets, dataset);
    }
    json_object_set_new(json, "name", json_string(run->plan->graph->name));
    json_object_set_new(json, "run_dir", json_string(run->options.run_dir));
    json_object_set_new(json, "workers", json_integer((json_int_t)run->options.workers));
    json_object_set_new(json, "memory", json_integer((json_int_t)run->options.memory));
    json_object_set_new(json, "seconds", json_real(seconds));
    json_object_set_new(json, "ended", now_json());
    json_object_set_new(json, "quarantined", json_integer((json_int_t)bad));
    if (tally != NULL) {
        add_tally(json, phases, run, tally, seconds);
    }
    json_object_set_new(json, "phases", phases);
    json_object_set_new(json, "datasets", datasets);
    if (json_array_size(run->failures) > 0) {
        json_object_set(json, "failures", run->failures);
    }
    add_inputs(json, run);
    report_funnel(json, run);
    if (published != NULL) {
        json_t *example = example_of(run);
        if (example != NULL) {
            json_object_set_new(json, "duplicate_example", example);
        }
    }
    json_object_set_new(json, "state",
                        json_string(error == NULL                       ? "finished"
                                    : error->code == SLUICE_E_HALT      ? "halted"
                                    : error->code == SLUICE_E_CANCELLED ? "interrupted"
                                                                        : "failed"));
    if (error != NULL) {
        json_object_set_new(json, "error", json_string(error->message));
    }
    return json;
}
