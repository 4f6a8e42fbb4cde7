/* The report of a run: see report.h. */
#include "run/facts/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/chain/ledger.h"
#include "run/facts/factsInt.h"
#include "run/facts/tally.h"

static const char *role_name(const struct op *op)
{
    const char *role = facts_role(op);
    return role == NULL ? "" : role;
}

static const char *kind_name(const struct op *op)
{
    switch (op->kind) {
    case OP_LOAD:
        return "load";
    case OP_STORE:
        return "store";
    case OP_UNION:
        return "union";
    case OP_COLLECT:
        return "dropped";
    case OP_READ:
    case OP_STAGE:
        break;
    }
    return op_declared(op)->name;
}

static double work_of(const struct time_spent *time)
{
    return (double)METRIC_GET(time->work_ns) / 1e9;
}

static double wait_of(const struct time_spent *time)
{
    return (double)METRIC_GET(time->wait_ns) / 1e9;
}

static void add_seconds(json_t *object, const char *name, double seconds)
{
    json_object_set_new(object, name,
                        json_real(json_number_value(json_object_get(object, name)) + seconds));
}

/* What a stage asked servers, or nothing. */
static json_t *asks_report(const struct ask_metrics *asks)
{
    if (METRIC_GET(asks->answered) + METRIC_GET(asks->known) == 0) {
        return NULL;
    }
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "answered", (json_int_t)METRIC_GET(asks->answered),
        "refused", (json_int_t)METRIC_GET(asks->refused), "retries",
        (json_int_t)METRIC_GET(asks->retries), "hedges", (json_int_t)METRIC_GET(asks->hedges),
        "bytes_out", (json_int_t)METRIC_GET(asks->bytes_out), "bytes_in",
        (json_int_t)METRIC_GET(asks->bytes_in), "known", (json_int_t)METRIC_GET(asks->known));
}

/* ---- by phase ---- */

static json_t *op_report(const struct run *run, uint32_t p, uint32_t i)
{
    const struct op *op = run->plan->phases[p]->ops[i];
    const struct op_metrics *metrics = &run->metrics.phases[p].ops[i];
    json_t *ledger = run->ledgers[p] == NULL ? NULL : json_object_get(run->ledgers[p], op->name);
    json_t *asks = asks_report(&metrics->asks);
    json_t *json = json_object();

    json_object_set_new(json, "name", json_string(op->name));
    json_object_set_new(json, "role", json_string(role_name(op)));
    json_object_set_new(json, "kind", json_string(kind_name(op)));
    json_object_set_new(json, "seconds", json_real(work_of(&metrics->time)));
    json_object_set_new(json, "wait_seconds", json_real(wait_of(&metrics->time)));
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
    json_object_set_new(json, "reading_seconds", json_real(work_of(&metrics->source)));
    json_object_set_new(json, "reading_wait_seconds", json_real(wait_of(&metrics->source)));
    json_object_set_new(json, "commit_seconds", json_real(work_of(&metrics->commit)));
    json_object_set_new(json, "commit_wait_seconds", json_real(wait_of(&metrics->commit)));
    json_object_set_new(json, "idle_seconds",
                        json_real((double)METRIC_GET(metrics->idle_ns) / 1e9));
    json_object_set_new(json, "raw_bytes",
                        json_integer((json_int_t)METRIC_GET(metrics->raw_bytes)));
    json_object_set_new(json, "text_bytes",
                        json_integer((json_int_t)METRIC_GET(metrics->text_bytes)));
    json_object_set_new(json, "stages", ops);
    return json;
}

/* ---- the funnel ---- */

/* A row in the making: what stands in one group, or one node, or one provider (which has no
 * node). */
struct funnel_row {
    const struct op *only; /* the provider, or NULL */
    uint32_t group;        /* 0 = none */
    uint32_t first, last;  /* node ids; a provider's is that of its first consumer */
    json_t *json;
};

struct funnel {
    struct funnel_row *rows;
    uint32_t n;
};

/* The first node that a provider's column goes to. */
static uint32_t first_consumer(const struct phase *phase, const struct op *op)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t k = 0; k < op->n_consumers; k++) {
        const struct op *to = phase->ops[op->consumers[k].op];
        uint32_t id = to->node != NULL       ? to->node->id
                      : to->kind == OP_STAGE ? first_consumer(phase, to)
                                             : UINT32_MAX;
        least = id < least ? id : least;
    }
    return least;
}

static struct funnel_row *funnel_find(struct funnel *funnel, const struct phase *phase,
                                      const struct op *op)
{
    uint32_t group = op->node == NULL ? 0 : op->node->group;
    struct funnel_row *row;

    for (uint32_t k = 0; k < funnel->n; k++) {
        row = &funnel->rows[k];
        if (group > 0 ? row->group == group
            : op->node == NULL
                ? row->only == op
                : row->only == NULL && row->group == 0 && row->first == op->node->id) {
            return row;
        }
    }
    row = &funnel->rows[funnel->n++];
    *row = (struct funnel_row){ .only = op->node == NULL ? op : NULL,
                                .group = group,
                                .json = json_object() };
    row->first = op->node == NULL ? first_consumer(phase, op) : op->node->id;
    return row;
}

static void add_integer(json_t *object, const char *name, int64_t n)
{
    if (n != 0) {
        json_object_set_new(object, name,
                            json_integer(json_integer_value(json_object_get(object, name)) + n));
    }
}

/* Adds the integers of a ledger's member to the row's. */
static void add_counts(json_t *row, const char *name, const json_t *counts)
{
    json_t *sum = json_object_get(row, name);
    const char *key;
    json_t *value;

    if (json_object_size(counts) == 0) {
        return;
    }
    if (sum == NULL) {
        sum = json_object();
        json_object_set_new(row, name, sum);
    }
    json_object_foreach((json_t *)(uintptr_t)counts, key, value)
    {
        add_integer(sum, key, json_integer_value(value));
    }
}

static void funnel_add(struct funnel_row *row, const struct run *run, uint32_t p,
                       const struct op *op)
{
    const struct op_metrics *metrics = &run->metrics.phases[p].ops[op->index];
    const json_t *sum = run->ledgers[p];
    uint32_t id = op->node == NULL ? row->first : op->node->id;
    bool reader = op->kind == OP_READ;
    int64_t emitted = ledger_get(sum, op->name, "emitted");
    int64_t bad = ledger_get(sum, op->name, "quarantined");
    json_t *asks = asks_report(&metrics->asks);
    json_t *json = row->json;

    if (json_object_size(json) == 0 || id <= row->first) {
        row->first = id;
        json_object_set_new(json, "in",
                            json_integer(reader ? emitted + bad : ledger_get(sum, op->name, "in")));
        json_object_set_new(json, "text_bytes",
                            json_integer((json_int_t)METRIC_GET(metrics->bytes_in)));
    }
    if (id >= row->last) {
        row->last = id;
        json_object_set_new(json, "name", json_string(op->name));
        json_object_set_new(json, "kind", json_string(kind_name(op)));
        json_object_set_new(json, "role",
                            json_string(op->node == NULL ? "provider" : role_name(op)));
        json_object_set_new(
            json, "out",
            json_integer(op_writes(op) ? ledger_get(sum, op->name, "written") : emitted));
    }
    add_seconds(json, "seconds", work_of(&metrics->time));
    add_seconds(json, "wait_seconds", wait_of(&metrics->time));
    add_integer(json, "quarantined", bad);
    if (asks != NULL) {
        add_counts(json, "asks", asks);
        json_decref(asks);
    }
    add_counts(json, "dropped", json_object_get(json_object_get(sum, op->name), "dropped"));
    add_counts(json, "measures", json_object_get(json_object_get(sum, op->name), "measures"));
    if (json_object_get(json_object_get(sum, op->name), "skipped") != NULL) {
        json_object_set_new(
            json, "skipped",
            json_deep_copy(json_object_get(json_object_get(sum, op->name), "skipped")));
    }
}

/* What a composite ends in may be a union of its stages: that is what comes out of it. */
static void funnel_union(struct funnel *funnel, const struct run *run, uint32_t p,
                         const struct op *op)
{
    for (uint32_t k = 0; op->node != NULL && op->node->group > 0 && k < funnel->n; k++) {
        struct funnel_row *row = &funnel->rows[k];
        if (row->group == op->node->group && op->node->id > row->last) {
            row->last = op->node->id;
            json_object_set_new(row->json, "out",
                                json_integer(ledger_get(run->ledgers[p], op->name, "in")));
        }
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct funnel_row *x = a;
    const struct funnel_row *y = b;

    if (x->last != y->last) {
        return x->last < y->last ? -1 : 1;
    }
    return (x->only == NULL) - (y->only == NULL);
}

/* What no stage did: work and waits by what it was for, each with their sum. */
struct upkeep {
    json_t *work, *waits;
    double work_sum, wait_sum;
};

static void upkeep_add(struct upkeep *upkeep, const char *name, const struct time_spent *time)
{
    if (strcmp(name, "stages") != 0) { /* the funnel has their work */
        add_seconds(upkeep->work, name, work_of(time));
    }
    add_seconds(upkeep->waits, name, wait_of(time));
    upkeep->work_sum += work_of(time);
    upkeep->wait_sum += wait_of(time);
}

static void add_funnel(json_t *report, const struct run *run)
{
    struct funnel funnel = { 0 };
    struct upkeep upkeep = { json_object(), json_object(), 0, 0 };
    json_t *rows = json_array();
    double idle = 0;
    uint32_t n_ops = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        n_ops += run->plan->phases[p]->n_ops;
    }
    funnel.rows = calloc(n_ops + 1u, sizeof *funnel.rows);
    for (uint32_t p = 0; funnel.rows != NULL && p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        bool reads = false;
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            bool stage = (op_reads_first(op)) || op->kind == OP_STAGE;
            reads = reads || (op_reads_first(op));
            if (stage) {
                funnel_add(funnel_find(&funnel, phase, op), run, p, op);
            }
            upkeep_add(&upkeep, stage ? "stages" : "carrying", &run->metrics.phases[p].ops[i].time);
            if (op->kind == OP_UNION) {
                funnel_union(&funnel, run, p, op);
            }
        }
        upkeep_add(&upkeep, reads ? "reading" : "carrying", &run->metrics.phases[p].source);
        upkeep_add(&upkeep, "committing", &run->metrics.phases[p].commit);
        idle += (double)METRIC_GET(run->metrics.phases[p].idle_ns) / 1e9;
    }
    qsort(funnel.rows, funnel.n, sizeof *funnel.rows, compare_rows);
    for (uint32_t k = 0; k < funnel.n; k++) {
        json_array_append_new(rows, funnel.rows[k].json);
    }
    free(funnel.rows);
    json_object_set_new(report, "funnel", rows);
    json_object_set_new(report, "upkeep", upkeep.work);
    json_object_set_new(report, "waits", upkeep.waits);
    json_object_set_new(report, "work_seconds", json_real(upkeep.work_sum));
    json_object_set_new(report, "wait_seconds", json_real(upkeep.wait_sum));
    json_object_set_new(report, "idle_seconds", json_real(idle));
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
    add_funnel(json, run);
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
