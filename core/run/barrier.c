/* What is judged when a phase is complete: the ledger's sum, the quarantine against max_bad, gates,
 * and whoever asked to be called. */
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/runInt.h"
#include "run/edge/table.h"
#include "run/labels.h"
#include "run/runview.h"
#include "store/store.h"

/* The sum of a complete phase's ledgers becomes run->ledgers[p]: a copy with sorted members, as
 * they were added in the order in which tasks ended. */
static sluice_status sum_ledgers(struct run *run, uint32_t p, struct sluice_error *err)
{
    char *text = run->sums_lack[p]      ? NULL
                 : run->sums[p] == NULL ? str_copy("{}", 2)
                                        : json_dumps(run->sums[p], JSON_COMPACT | JSON_SORT_KEYS);
    json_t *sum = text == NULL ? NULL : json_loads(text, 0, NULL);

    free(text);
    if (sum == NULL) {
        return error_set(
            err, SLUICE_E_DATA,
            "the ledgers of phase %s can't be summed: a commit record is damaged; run with --fresh",
            run->plan->phases[p]->name);
    }
    json_decref(run->ledgers[p]);
    run->ledgers[p] = sum;
    return SLUICE_OK;
}

void run_quarantine_counts(const struct run *run, uint32_t p, uint64_t *bad, uint64_t *records)
{
    const struct phase *phase = run->plan->phases[p];

    *bad = 0;
    *records = 0;
    for (uint32_t i = 0; run->ledgers[p] != NULL && i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        uint64_t quarantined = (uint64_t)ledger_get(run->ledgers[p], op->name, "quarantined");
        *bad += quarantined;
        if (op->kind == OP_READ) {
            *records += quarantined + (uint64_t)ledger_get(run->ledgers[p], op->name, "emitted");
        } else if (op->kind == OP_LOAD && op_load(op)->edge->load == LOAD_SAME) {
            *records += (uint64_t)ledger_get(run->ledgers[p], op->name, "emitted");
        }
    }
}

/* The first record in quarantine of a phase, for the message. */
struct first_bad {
    const struct phase *phase;
    uint32_t task;
    char *text;
    size_t size;
};

static sluice_status note_bad(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct first_bad *first = ctx;
    const struct listing_file *file = runview_bad_file(first->phase, first->task, batch, row);
    size_t n_reason;
    size_t n_detail;
    const char *reason = runview_text(batch, BAD_REASON, row, &n_reason);
    const char *detail = runview_text(batch, BAD_DETAIL, row, &n_detail);
    char buffer[SPLIT_NAME];
    char place[40] = "";

    (void)err;
    if (file != NULL) {
        snprintf(place, sizeof place, " at byte %llu",
                 (unsigned long long)runview_u64(batch, BAD_BEGIN, row));
    }
    snprintf(first->text, first->size, "; the first is %.*s in %.200s%s: %.*s", (int)n_reason,
             reason, file != NULL ? file->name : phase_task_name(first->phase, first->task, buffer),
             place, n_detail > 200 ? 200 : (int)n_detail, detail);
    *stop = true;
    return SLUICE_OK;
}

static void find_first_bad(const struct run *run, uint32_t p, char *text, size_t size)
{
    struct first_bad first = { .phase = run->plan->phases[p], .text = text, .size = size };

    text[0] = '\0';
    for (; first.task < first.phase->n_tasks && text[0] == '\0'; first.task++) {
        if (runview_table(run, p, first.task, TABLE_BAD, note_bad, &first, NULL) != SLUICE_OK) {
            text[0] = '\0'; /* the message is as good without it */
        }
    }
}

static sluice_status judge_quarantine(struct run *run, uint32_t p, struct sluice_error *err)
{
    const struct graph *graph = run->plan->graph;
    uint64_t bad;
    uint64_t records;
    bool over;
    char example[512];

    run_quarantine_counts(run, p, &bad, &records);
    over = bad > 0 && ((graph->max_bad_count >= 0 && bad > (uint64_t)graph->max_bad_count) ||
                       (graph->max_bad_count < 0 && graph->max_bad_share >= 0 &&
                        (double)bad > graph->max_bad_share * (double)records));
    if (!over) {
        return SLUICE_OK;
    }
    find_first_bad(run, p, example, sizeof example);
    if (graph->max_bad_count >= 0) {
        return error_set(err, SLUICE_E_DATA,
                         "%llu of %llu records are quarantined, max_bad = %lld%s. See `sluice why "
                         "RUN --quarantine`; mend the input or raise max_bad",
                         (unsigned long long)bad, (unsigned long long)records,
                         (long long)graph->max_bad_count, example);
    }
    return error_set(err, SLUICE_E_DATA,
                     "%llu of %llu records (%.3g %%) are quarantined, max_bad = %.3g %%%s. See "
                     "`sluice why RUN --quarantine`; mend the input or raise max_bad",
                     (unsigned long long)bad, (unsigned long long)records,
                     100.0 * (double)bad / (double)(records > 0 ? records : 1),
                     100.0 * graph->max_bad_share, example);
}

/* "'a', 'b', 'c'"; names has them in order, as many as fit. */
static size_t list_names(json_t *there, const char **names, size_t max, struct buf *text)
{
    const char *name;
    json_t *value;
    size_t n = 0;

    json_object_foreach(there, name, value)
    {
        if (n < max) {
            names[n++] = name;
        }
        buf_printf(text, "%s'%s'", text->size > 0 ? ", " : "", name);
    }
    return n;
}

static sluice_status refuse_absent(const struct op *op, const char *name, json_t *absence,
                                   struct sluice_error *err)
{
    const char *names[64];
    struct buf text = BUF_INIT;
    size_t n = list_names(json_object_get(absence, "there"), names, 64, &text);
    const char *near = error_suggest(name, names, n);

    error_set(err, SLUICE_E_SCHEMA,
              "%s: stage '%s' reads '%s'%s%s%s, which none of %lld records has; the first has "
              "%.500s. If it should be so, say missing = \"allow\"",
              op->node->where, op->name, name, near == NULL ? "" : " (did you mean '",
              near == NULL ? "" : near, near == NULL ? "" : "'?)",
              (long long)json_integer_value(json_object_get(absence, "rows")),
              text.size == 0 ? "nothing" : buf_str(&text));
    buf_deinit(&text);
    return SLUICE_E_SCHEMA;
}

/* A column that no record of the whole input has is a name that changed, or was never right. */
static sluice_status judge_columns(struct run *run, uint32_t p, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        int64_t emitted = ledger_get(run->ledgers[p], op->name, "emitted");
        const char *name;
        json_t *absence;
        if (!op_reads_first(op)) {
            continue;
        }
        json_object_foreach(json_object_get(json_object_get(run->ledgers[p], op->name), "absent"),
                            name, absence)
        {
            if (json_integer_value(json_object_get(absence, "rows")) == emitted) {
                return refuse_absent(op, name, absence, err);
            }
        }
    }
    return SLUICE_OK;
}

struct count_ctx {
    struct run *run;
};

/* Rows that left a node, or -1 while its phase is not complete. */
static int64_t count_node(void *ctx, const char *node)
{
    struct count_ctx *count = ctx;
    const struct phase *phase = NULL;
    const struct op *op = plan_find_op(count->run->plan, node, &phase);

    if (op == NULL || count->run->ledgers[phase->index] == NULL) {
        return -1;
    }
    return ledger_get(count->run->ledgers[phase->index], op->name,
                      op_writes(op) ? "written" : "emitted");
}

static sluice_status judge_gate(struct run *run, uint32_t p, const struct op *op,
                                struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct count_ctx count = { run };
    struct stage_worker *worker = NULL;
    struct stage_judgement judgement;
    struct label label = label_gate(op);
    sluice_status status = stage_worker_open(op_code(op)->stage, &worker, err);

    /* States are merged in the order of tasks, never in that in which they ended: merging need
     * not commute. */
    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        const struct commit_state *state = commit_find_state(run->tasks[p][t].commit, label.text);
        if (state != NULL) {
            status = stage_merge(worker, state->data, state->size, err);
        }
    }
    if (status == SLUICE_OK) {
        status = stage_judge(worker, count_node, &count, &judgement, err);
    }
    stage_worker_close(worker);
    if (status != SLUICE_OK) {
        return status;
    }
    if (judgement.outcome == SLUICE_GATE_HALT) {
        return error_set(err, SLUICE_E_HALT, "gate '%s' halts the run: %.800s", op->name,
                         judgement.message);
    }
    if (judgement.outcome == SLUICE_GATE_WARN) {
        char warning[1200];
        snprintf(warning, sizeof warning, "gate '%s': %s", op->name, judgement.message);
        run_warn(run, warning);
    }
    return SLUICE_OK;
}

sluice_status run_barrier(struct run *run, uint32_t p, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];

    TRY(sum_ledgers(run, p, err));
    TRY(judge_quarantine(run, p, err));
    TRY(judge_columns(run, p, err));
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        if (op_is(op, SLUICE_ROLE_GATE)) {
            TRY(judge_gate(run, p, op, err));
        }
    }
    return run->options.events.barrier == NULL
               ? SLUICE_OK
               : run->options.events.barrier(run->options.events.ctx, run, p, err);
}
