/* What is known of a run: see facts.h. Here are its counts and its tasks. */
#include "run/facts/factsInt.h"

#include <string.h>

#include "base/buf.h"
#include "base/excerpt.h"
#include "base/utf8.h"
#include "run/chain/ledger.h"
#include "run/facts/changes.h"

bool facts_consumes(const struct op *op)
{
    const struct sluice_stage *stage = op_declared(op);

    return stage != NULL && stage->role == SLUICE_ROLE_FILTER &&
           (stage->flags & SLUICE_STAGE_CONSUMES) != 0;
}

const char *facts_role(const struct op *op)
{
    static const char *const roles[] = { "",          "reader", "filter", "annotator",
                                         "transform", "gate",   "writer" };
    const struct sluice_stage *declared = op_declared(op);

    return op_reads_again(op)                       ? "again"
           : declared == NULL || declared->role > 6 ? NULL
                                                    : roles[declared->role];
}

json_t *facts_text(const char *text, size_t n)
{
    struct buf valid = BUF_INIT;
    json_t *string;

    if (utf8_valid(text, n)) {
        return json_stringn(n == 0 ? "" : text, n);
    }
    excerpt_valid(&valid, text, n);
    string = valid.failed ? NULL : json_stringn(buf_str(&valid), valid.size);
    buf_deinit(&valid);
    return string;
}

sluice_status facts_check_stage(const struct facts_query *query, struct sluice_error *err)
{
    const struct plan *plan = query->run->plan;
    const char *names[256];
    const char *near;
    size_t n = 0;

    for (uint32_t p = 0; query->stage != NULL && p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const char *name = plan->phases[p]->ops[i]->name;
            if (strcmp(name, query->stage) == 0) {
                return SLUICE_OK;
            }
            if (n < 256 && plan->phases[p]->ops[i]->kind == OP_STAGE) {
                names[n++] = name;
            }
        }
    }
    if (query->stage == NULL) {
        return SLUICE_OK;
    }
    near = error_suggest(query->stage, names, n);
    return error_set(err, SLUICE_E_CONFIG,
                     "--stage: no stage '%s' in this run%s%s%s; sluice plan %s lists them",
                     query->stage, near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                     near == NULL ? "" : "'?", query->name);
}

static void add_stage(json_t *stages, const struct op *op, const json_t *ledger)
{
    json_t *dropped =
        facts_consumes(op) ? NULL : json_object_get(json_object_get(ledger, op->name), "dropped");
    int64_t quarantined = ledger_get(ledger, op->name, "quarantined");
    int64_t in = op->kind == OP_READ ? quarantined + ledger_get(ledger, op->name, "emitted")
                                     : ledger_get(ledger, op->name, "in");

    if (dropped != NULL || quarantined > 0) {
        json_array_append_new(stages, json_pack("{s:s, s:I, s:I, s:O*}", "stage", op->name, "in",
                                                (json_int_t)in, "quarantined",
                                                (json_int_t)quarantined, "dropped", dropped));
    }
}

sluice_status facts_dropped(struct run *run, const char *stage, json_t **out,
                            struct sluice_error *err)
{
    json_t *stages = json_array();
    sluice_status status = SLUICE_OK;

    *out = NULL;
    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        status = runview_sum(run, p, err);
        for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
            if (stage == NULL || strcmp(stage, phase->ops[i]->name) == 0) {
                add_stage(stages, phase->ops[i], run->ledgers[p]);
            }
        }
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:O}", "stages", stages);
        status = *out == NULL ? error_nomem(err, "counts") : SLUICE_OK;
    }
    json_decref(stages);
    return status;
}

/* Why a task that is not done runs, or what it waits for. */
static sluice_status reason_of(const struct run *run, struct task_id id, struct buf *out,
                               struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[id.phase];
    struct changes *changes = NULL;
    sluice_status status;

    if (run->tasks[id.phase][id.task].keyed || run_unread(run, id.phase, id.task)) {
        status = changes_open(run, id.phase, &changes, err);
        if (status == SLUICE_OK) {
            status = changes_describe(changes, run, id.phase, id.task, out, err);
        }
        changes_close(changes);
        return status;
    }
    for (uint32_t d = 0; d < phase->n_depends; d++) {
        buf_printf(out, "%sdepends on phase %u (%s)", d == 0 ? "" : ", ", phase->depends[d] + 1,
                   run->plan->phases[phase->depends[d]]->name);
    }
    return buf_status(out, err);
}

sluice_status facts_task(const struct run *run, uint64_t number, json_t **out,
                         struct sluice_error *err)
{
    const struct task_state *state;
    const char *name;
    struct task_id id;
    struct buf reason = BUF_INIT;
    char buffer[SPLIT_NAME];
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (number >= run->plan->n_tasks) {
        return error_set(err, SLUICE_E_CONFIG, "found task %llu, the run has tasks 0 to %u",
                         (unsigned long long)number, run->plan->n_tasks - 1);
    }
    id = plan_task(run->plan, (uint32_t)number);
    state = &run->tasks[id.phase][id.task];
    name = phase_task_name(run->plan->phases[id.phase], id.task, buffer);
    if (!state->done) {
        status = reason_of(run, id, &reason, err);
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:I, s:o, s:s, s:s, s:s}", "task", (json_int_t)number, "name",
                         facts_text(name, strlen(name)), "phase", run->plan->phases[id.phase]->name,
                         "state",
                         state->done                                          ? "done, unchanged"
                         : state->keyed || run_unread(run, id.phase, id.task) ? "runs"
                                                                              : "not known yet",
                         "reason", buf_str(&reason));
        status = *out == NULL ? error_nomem(err, "a task") : SLUICE_OK;
    }
    buf_deinit(&reason);
    return status;
}

uint32_t facts_missing(const struct run *run)
{
    uint32_t missing = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            missing += !run->tasks[p][t].done;
        }
    }
    return missing;
}

sluice_status facts_phases(const struct run *run, json_t **out, struct sluice_error *err)
{
    *out = json_array();
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        uint32_t done = 0;
        for (uint32_t t = 0; t < phase->n_tasks; t++) {
            done += run->tasks[p][t].done;
        }
        json_array_append_new(*out, json_pack("{s:s, s:i, s:i}", "name", phase->name, "tasks",
                                              (int)phase->n_tasks, "done", (int)done));
    }
    return *out == NULL ? error_nomem(err, "phases") : SLUICE_OK;
}

/* ---- progress ---- */

static uint64_t time_all(const struct time_spent *time)
{
    return METRIC_GET(time->work_ns) + METRIC_GET(time->wait_ns);
}

/* What took most of a phase's time, with its share. */
static const char *busiest(const struct run *run, uint32_t p, double *share)
{
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    const char *name = "reading";
    uint64_t most = time_all(&metrics->source);
    uint64_t total = most + time_all(&metrics->commit);

    if (time_all(&metrics->commit) > most) {
        most = time_all(&metrics->commit);
        name = "committing";
    }
    for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
        uint64_t ns = time_all(&metrics->ops[i].time);
        total += ns;
        if (ns > most) {
            most = ns;
            name = run->plan->phases[p]->ops[i]->name;
        }
    }
    *share = total == 0 ? 0 : (double)most / (double)total;
    return name;
}

static json_t *stage_progress(const struct op *op, const struct op_metrics *metrics)
{
    bool inner = op->kind != OP_STAGE && op->kind != OP_READ;

    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:b}", "name", op->name, "rows_in",
                     (json_int_t)METRIC_GET(metrics->rows_in), "rows_out",
                     (json_int_t)METRIC_GET(metrics->rows_out), "seconds",
                     (double)METRIC_GET(metrics->time.work_ns) / 1e9, "wait_seconds",
                     (double)METRIC_GET(metrics->time.wait_ns) / 1e9, "inner", inner);
}

json_t *facts_progress(const struct run *run, uint32_t p)
{
    const struct phase *phase = run->plan->phases[p];
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    json_t *stages = json_array();
    double share;
    const char *bottleneck = busiest(run, p, &share);

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        json_array_append_new(stages, stage_progress(phase->ops[i], &metrics->ops[i]));
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:o}", "phase",
                     phase->name, "number", (json_int_t)p + 1, "phases",
                     (json_int_t)run->plan->n_phases, "tasks", (json_int_t)phase->n_tasks, "done",
                     (json_int_t)(METRIC_GET(metrics->done) + METRIC_GET(metrics->ahead)), "reused",
                     (json_int_t)METRIC_GET(metrics->reused), "others",
                     (json_int_t)(METRIC_GET(metrics->others) + METRIC_GET(metrics->ahead)),
                     "running", (json_int_t)METRIC_GET(metrics->running), "text_bytes",
                     (json_int_t)METRIC_GET(metrics->text_bytes), "raw_bytes",
                     (json_int_t)METRIC_GET(metrics->raw_bytes), "bottleneck", bottleneck, "share",
                     share, "stages", stages);
}
