/* What a run would do, reuse and why the rest runs: see facts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/changes.h"
#include "run/facts/factsInt.h"
#include "run/facts/rebuild.h"
#include "run/source/survey.h"
#include "store/snapshot.h"
#include "store/store.h"

#define EXAMPLES 3u

struct planning {
    const struct run *run;
    struct facts_plan how;
    json_t *last; /* report of the last run, or NULL */
};

static const char *load_text(enum edge_load load)
{
    static const char *const names[] = { "same", "gather", "by key", "by split", "broadcast" };
    return names[load];
}

static const char *role_text(const struct op *op)
{
    static const char *const kinds[] = { "reader", "load", "stage", "union", "dropped", "store" };
    const char *role = facts_role(op);

    return role == NULL ? kinds[op->kind] : role;
}

/* Names of the columns of a schema, only those that are live (NULL = all); hidden ones begin with
 * '_'. */
static json_t *columns_json(const struct schema *schema, const bool *live, bool hidden)
{
    json_t *list = json_array();

    for (uint32_t k = 0; k < schema->n; k++) {
        if ((live == NULL || live[k]) && (hidden || schema->fields[k].name[0] != '_')) {
            json_array_append_new(list, json_string(schema->fields[k].name));
        }
    }
    return list;
}

/* What is known of the units of a reader's files, from an earlier run that surveyed them. */
static void units_json(const struct run *run, const struct lane *lane, const struct op *op,
                       json_t *json)
{
    struct survey_sums sums;

    if (splits_cut(op_declared(op)->cut) != SPLIT_CUT_OWN) {
        return;
    }
    survey_remembered(run->options.inputs, &lane->files, op_read(op)->stage_key, &sums);
    if (sums.files > 0) {
        json_object_set_new(json, "units",
                            json_pack("{s:I, s:I, s:I, s:I, s:I}", "files", (json_int_t)sums.files,
                                      "units", (json_int_t)sums.units, "bytes",
                                      (json_int_t)sums.bytes, "skipped",
                                      (json_int_t)sums.skipped_units, "skipped_bytes",
                                      (json_int_t)sums.skipped_bytes));
    }
}

static json_t *reader_json(const struct planning *planning, const struct phase *phase,
                           const struct op *op)
{
    const struct lane *lane = phase->lanes[op_read(op)->lane];
    json_t *json = json_object();
    json_t *files = json_array();
    json_t *patterns = json_array();
    const struct node *source = planning->run->plan->graph->nodes[op->node->inputs[0]];
    uint64_t bytes = 0;
    bool plain = true; /* all of them, by their names */

    for (size_t i = 0; i < lane->files.n; i++) {
        bytes += lane->files.files[i].version.size;
        plain = plain && !splits_compressed(lane->files.files[i].name);
        if (planning->how.files) {
            json_array_append_new(
                files, facts_text(lane->files.files[i].path, strlen(lane->files.files[i].path)));
        }
    }
    for (uint32_t i = 0; i < source->n_patterns; i++) {
        json_array_append_new(patterns,
                              facts_text(source->patterns[i], strlen(source->patterns[i])));
    }
    json_object_set_new(json, "name", json_string(op->name));
    json_object_set_new(json, "patterns", patterns);
    json_object_set_new(json, "files", json_integer((json_int_t)lane->files.n));
    json_object_set_new(json, "bytes", json_integer((json_int_t)bytes));
    if (plain) {
        json_object_set_new(json, "text_bytes", json_integer((json_int_t)bytes));
    }
    json_object_set_new(json, "splits", json_integer((json_int_t)lane->n_tasks));
    if (lane->n_left_out > 0) {
        json_object_set_new(json, "left_out", json_integer((json_int_t)lane->n_left_out));
    }
    units_json(planning->run, lane, op, json);
    if (op_isolated(op)) {
        json_object_set_new(json, "isolated", json_true());
    }
    json_object_set_new(json, "columns", columns_json(&op->out, op->live, false));
    if (planning->how.files) {
        json_object_set(json, "paths", files);
    }
    json_decref(files);
    return json;
}

static json_t *store_json(const struct op *op)
{
    const struct plan_edge *edge = op_store(op)->edge;
    return json_pack("{s:s, s:s, s:i, s:o, s:s*}", "name", op->name, "load", load_text(edge->load),
                     "partitions", (int)edge->n_partitions, "columns",
                     columns_json(&edge->schema, NULL, true), "moves", edge->why);
}

/* What becomes of what is there: the newest snapshot, 0 = there is none. One that can't be read is
 * for the run to complain of. */
static void dataset_json(const struct op *op, json_t *json)
{
    struct snapshot *newest = NULL;
    struct sluice_error ignored = ERROR_INIT;
    uint32_t number = 0; /* that it carries on by its own choice */
    bool appends =
        op_carries_on(op, &number) ? number > 0 : op->node != NULL && op->node->mode == MODE_APPEND;

    if (snapshot_open_newest(op_stage(op)->dataset, &newest, &ignored) != SLUICE_OK) {
        newest = NULL;
    }
    json_object_set_new(json, "dataset",
                        facts_text(op_stage(op)->dataset, strlen(op_stage(op)->dataset)));
    json_object_set_new(json, "mode", json_string(appends ? "append" : "rebuild"));
    json_object_set_new(json, "newest",
                        json_integer(number > 0       ? number
                                     : newest == NULL ? 0
                                                      : newest->number));
    snapshot_destroy(newest);
}

static json_t *stage_json(const struct phase *phase, const struct op *op)
{
    json_t *inputs = json_array();
    json_t *json = json_object();

    for (uint32_t k = 0; k < op_n_inputs(op); k++) {
        json_array_append_new(inputs, json_string(phase_input(phase, op, k)->name));
    }
    for (uint32_t k = 0; op->kind == OP_COLLECT && k < op_collect(op)->n_stages; k++) {
        json_array_append_new(inputs, json_string(phase->ops[op_collect(op)->stages[k].op]->name));
    }
    json_object_set_new(json, "name", json_string(op->name));
    json_object_set_new(
        json, "kind", json_string(op_declared(op) == NULL ? role_text(op) : op_declared(op)->name));
    json_object_set_new(json, "role", json_string(role_text(op)));
    json_object_set_new(json, "inputs", inputs);
    if (op_declared(op) == NULL && op->kind != OP_LOAD) {
        json_object_set_new(json, "columns", columns_json(&op->out, op->live, false));
    }
    if (op_isolated(op) && !op_reads_again(op)) {
        json_object_set_new(json, "isolated", json_true());
    }
    if (op_writes(op)) {
        dataset_json(op, json);
    }
    if (op->kind == OP_STAGE && op_stage(op)->n_notes > 0) {
        json_t *notes = json_object();
        for (uint32_t k = 0; k < op_stage(op)->n_notes; k++) {
            json_object_set_new(notes, op_stage(op)->notes[k].key,
                                json_loads(op_stage(op)->notes[k].json, JSON_DECODE_ANY, NULL));
        }
        json_object_set_new(json, "notes", notes);
    }
    return json;
}

/* The first stage of a phase that a reason ("stage 'good' changed; ...") names; NULL = none. */
static const struct op *first_named(const struct phase *phase, const char *reason)
{
    for (uint32_t i = 0; strncmp(reason, "stage", 5) == 0 && i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        size_t n = strlen(op->name);
        const char *at = op->kind == OP_STAGE ? strstr(reason, op->name) : NULL;
        if (at != NULL && at[-1] == '\'' && at[n] == '\'') {
            return op;
        }
    }
    return NULL;
}

#define WORTH_SECONDS 1.0 /* of work, and half of the phase's: what less is not worth a word */

/* What a checkpoint before the first changed stage would have saved of a phase that runs again:
 * {before, seconds, share}, after the times of the last run. NULL = nothing worth a word. */
static json_t *checkpoint_json(const struct planning *planning, const struct phase *phase,
                               const json_t *reasons, double predicted)
{
    const json_t *reason = json_object_get(json_array_get(reasons, 0), "reason");
    const struct op *changed =
        json_array_size(reasons) == 1 ? first_named(phase, json_string_value(reason)) : NULL;
    double sums[2] = { 0, 0 };
    size_t i;
    size_t k;
    json_t *last;
    json_t *stage;

    if (changed == NULL) {
        return NULL;
    }
    json_array_foreach(json_object_get(planning->last, "phases"), i, last)
    {
        const char *name = json_string_value(json_object_get(last, "name"));
        bool before = name != NULL && strcmp(name, phase->name) == 0;
        json_array_foreach(before ? json_object_get(last, "stages") : NULL, k, stage)
        {
            const char *of = json_string_value(json_object_get(stage, "name"));
            double seconds = json_number_value(json_object_get(stage, "seconds"));
            before = before && (of == NULL || strcmp(of, changed->name) != 0);
            sums[before] += seconds;
        }
    }
    if (sums[1] <= sums[0] || predicted * sums[1] / (sums[0] + sums[1]) < WORTH_SECONDS) {
        return NULL;
    }
    return json_pack("{s:s, s:f, s:f}", "before", changed->name, "seconds",
                     predicted * sums[1] / (sums[0] + sums[1]), "share",
                     sums[1] / (sums[0] + sums[1]));
}

/* Work of a task of this phase the last time, in core seconds; < 0 = not known. */
static double last_seconds(const struct planning *planning, const struct phase *phase)
{
    size_t i;
    size_t k;
    json_t *found;
    json_t *stage;

    json_array_foreach(json_object_get(planning->last, "phases"), i, found)
    {
        const char *name = json_string_value(json_object_get(found, "name"));
        json_int_t worked = json_integer_value(json_object_get(found, "done")) -
                            json_integer_value(json_object_get(found, "reused"));
        double seconds = json_real_value(json_object_get(found, "reading_seconds")) +
                         json_real_value(json_object_get(found, "commit_seconds"));
        json_int_t committed = json_integer_value(json_object_get(found, "committed"));
        if (name == NULL || strcmp(name, phase->name) != 0) {
            continue;
        }
        if (committed > 0) { /* by whatever process */
            return json_number_value(json_object_get(found, "committed_seconds")) /
                   (double)committed;
        }
        if (worked <= 0) {
            continue;
        }
        json_array_foreach(json_object_get(found, "stages"), k, stage)
        {
            seconds += json_real_value(json_object_get(stage, "seconds"));
        }
        return seconds / (double)worked;
    }
    return -1;
}

/* Counts a task under its reason; keeps the first names as examples. */
static void add_reason(json_t *reasons, const char *reason, const char *task)
{
    size_t i;
    json_t *found;
    json_t *examples;

    json_array_foreach(reasons, i, found)
    {
        if (strcmp(json_string_value(json_object_get(found, "reason")), reason) == 0) {
            json_t *count = json_object_get(found, "tasks");
            json_integer_set(count, json_integer_value(count) + 1);
            examples = json_object_get(found, "examples");
            if (json_array_size(examples) < EXAMPLES) {
                json_array_append_new(examples, facts_text(task, strlen(task)));
            }
            return;
        }
    }
    examples = json_array();
    json_array_append_new(examples, facts_text(task, strlen(task)));
    json_array_append_new(
        reasons, json_pack("{s:s, s:i, s:o}", "reason", reason, "tasks", 1, "examples", examples));
}

static sluice_status tasks_json(const struct planning *planning, uint32_t p, json_t *json,
                                struct sluice_error *err)
{
    const struct run *run = planning->run;
    const struct phase *phase = run->plan->phases[p];
    struct changes *changes = NULL;
    json_t *reasons = json_array();
    json_t *tasks = json_array();
    uint32_t counts[3] = { 0, 0, 0 }; /* reused, run, not known */
    struct buf reason = BUF_INIT;
    sluice_status status = SLUICE_OK;

    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        const struct task_state *state = &run->tasks[p][t];
        char buffer[SPLIT_NAME];
        const char *name = phase_task_name(phase, t, buffer);
        int which = state->done ? 0 : state->keyed || run_unread(run, p, t) ? 1 : 2;
        counts[which]++;
        buf_clear(&reason);
        if (which == 1 && run->options.fresh) {
            buf_puts(&reason, "--fresh");
        } else if (which == 1) {
            status = changes == NULL ? changes_open(run, p, &changes, err) : SLUICE_OK;
            if (status == SLUICE_OK) {
                status = changes_describe(changes, run, p, t, &reason, err);
            }
        }
        if (which == 1 && status == SLUICE_OK) {
            add_reason(reasons, buf_str(&reason), name);
        }
        if (planning->how.tasks) {
            json_t *task = json_pack("{s:i, s:o, s:s}", "number",
                                     (int)plan_task_number(run->plan, (struct task_id){ p, t }),
                                     "name", facts_text(name, strlen(name)), "state",
                                     which == 0   ? "reused"
                                     : which == 1 ? "run"
                                                  : "unknown");
            if (which == 1) {
                json_object_set_new(task, "reason", json_string(buf_str(&reason)));
            }
            json_array_append_new(tasks, task);
        }
    }
    changes_close(changes);
    buf_deinit(&reason);
    json_object_set_new(json, "reused", json_integer(counts[0]));
    json_object_set_new(json, "run", json_integer(counts[1]));
    json_object_set_new(json, "unknown", json_integer(counts[2]));
    json_object_set_new(json, "reasons", reasons);
    if (planning->how.tasks) {
        json_object_set(json, "list", tasks);
    }
    json_decref(tasks);
    if (status == SLUICE_OK && counts[1] + counts[2] > 0 && last_seconds(planning, phase) >= 0) {
        double predicted = last_seconds(planning, phase) * (counts[1] + counts[2]);
        json_t *checkpoint = checkpoint_json(planning, phase, reasons, predicted);
        json_object_set_new(json, "predicted_core_seconds", json_real(predicted));
        if (checkpoint != NULL) {
            json_object_set_new(json, "checkpoint", checkpoint);
        }
    }
    return status;
}

static sluice_status phase_json(const struct planning *planning, uint32_t p, json_t **out,
                                struct sluice_error *err)
{
    const struct phase *phase = planning->run->plan->phases[p];
    json_t *json = json_object();
    json_t *readers = json_array();
    json_t *stages = json_array();
    json_t *stores = json_array();
    json_t *depends = json_array();

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        json_array_append_new(op->kind == OP_STORE ? stores : stages,
                              op->kind == OP_STORE ? store_json(op) : stage_json(phase, op));
        if (op_reads_first(op)) {
            json_array_append_new(readers, reader_json(planning, phase, op));
        }
    }
    for (uint32_t k = 0; k < phase->n_depends; k++) {
        json_array_append_new(depends, json_integer((json_int_t)phase->depends[k] + 1));
    }
    json_object_set_new(json, "number", json_integer((json_int_t)p + 1));
    json_object_set_new(json, "name", json_string(phase->name));
    json_object_set_new(
        json, "first_task",
        json_integer(plan_task_number(planning->run->plan, (struct task_id){ p, 0 })));
    json_object_set_new(json, "tasks", json_integer(phase->n_tasks));
    json_object_set_new(json, "depends", depends);
    json_object_set_new(json, "readers", readers);
    json_object_set_new(json, "stages", stages);
    json_object_set_new(json, "stores", stores);
    *out = json;
    return tasks_json(planning, p, json, err);
}

static sluice_status collect(const struct planning *planning, json_t **out,
                             struct sluice_error *err)
{
    const struct plan *plan = planning->run->plan;
    json_t *phases = json_array();
    json_t *json = json_object();
    uint64_t sums[3] = { 0, 0, 0 };
    double seconds = 0;
    bool predicted = true;
    sluice_status status = SLUICE_OK;

    for (uint32_t p = 0; status == SLUICE_OK && p < plan->n_phases; p++) {
        json_t *phase = NULL;
        json_t *guess;
        status = phase_json(planning, p, &phase, err);
        for (int k = 0; k < 3; k++) {
            static const char *const names[] = { "reused", "run", "unknown" };
            sums[k] += (uint64_t)json_integer_value(json_object_get(phase, names[k]));
        }
        guess = json_object_get(phase, "predicted_core_seconds");
        seconds += json_real_value(guess);
        predicted =
            predicted && (guess != NULL || json_integer_value(json_object_get(phase, "reused")) ==
                                               plan->phases[p]->n_tasks);
        json_array_append_new(phases, phase);
    }
    json_object_set_new(json, "name", json_string(plan->graph->name));
    json_object_set_new(
        json, "run_dir",
        facts_text(planning->run->options.run_dir, strlen(planning->run->options.run_dir)));
    json_object_set_new(json, "tasks", json_integer(plan->n_tasks));
    json_object_set_new(json, "reused", json_integer((json_int_t)sums[0]));
    json_object_set_new(json, "run", json_integer((json_int_t)sums[1]));
    json_object_set_new(json, "unknown", json_integer((json_int_t)sums[2]));
    json_object_set_new(json, "workers", json_integer((json_int_t)planning->how.workers));
    json_object_set_new(json, "phases", phases);
    if (status == SLUICE_OK) {
        json_t *rebuilds = json_array();
        status = rebuild_json(plan, rebuilds, err);
        if (json_array_size(rebuilds) > 0) {
            json_object_set(json, "rebuilds", rebuilds);
        }
        json_decref(rebuilds);
    }
    if (predicted && sums[1] + sums[2] > 0) {
        json_object_set_new(json, "predicted_core_seconds", json_real(seconds));
    }
    *out = json;
    return status;
}

static json_t *read_last(const char *run_dir)
{
    char *path = store_join(run_dir, "last.json");
    struct buf text = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    bool found = false;
    json_t *json = NULL;

    if (path != NULL && store_read_all(path, 256u << 20, &text, &found, &err) == SLUICE_OK &&
        found) {
        json = json_loadb(text.data, text.size, 0, NULL);
    }
    buf_deinit(&text);
    free(path);
    return json;
}

sluice_status facts_plan(const struct run *run, const struct facts_plan *how, json_t **out,
                         struct sluice_error *err)
{
    struct planning planning = { .run = run,
                                 .how = *how,
                                 .last = how->predict ? read_last(run->options.run_dir) : NULL };
    sluice_status status = collect(&planning, out, err);

    if (status != SLUICE_OK) {
        json_decref(*out);
        *out = NULL;
    }
    json_decref(planning.last);
    return status;
}
