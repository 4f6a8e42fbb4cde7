/* sluice why: why a document is where it is, which ones were dropped for what, what is quarantined,
 * why a task runs again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/plan/changes.h"
#include "cmd/commands.h"
#include "cmd/progress.h"
#include "cmd/look/whyInt.h"
#include "run/chain/ledger.h"

static const struct arg_spec why_specs[] = {
    { "--id", "ID",
      "the way of the document with this id: where it lies, which stage kept or dropped it and "
      "why, where it was written" },
    { "--reason", "NAME", "documents dropped for this reason" },
    { "--near", NULL, "with --reason: those nearest to the limit first" },
    { "--text", NULL, "with --reason: the records themselves" },
    { "--dropped", NULL, "how many rows every stage dropped for which reason" },
    { "--stage", "NAME", "with --reason, --dropped or --quarantine: this stage only" },
    { "--quarantine", NULL, "records that can't be read or judged" },
    { "--task", "N", "why task N runs, or that it is done" },
    { "--row", "N", "with --task: the way of row N of that task's input" },
    { "-n", "N", "how many to list (default 10)" },
    { "--json", NULL, "one JSON object" },
};
#define N_WHY_SPECS (sizeof why_specs / sizeof why_specs[0])

static sluice_status check_stage(const struct why *why, struct sluice_error *err)
{
    const struct plan *plan = why->look.run->plan;
    const char *names[256];
    const char *near;
    size_t n = 0;

    for (uint32_t p = 0; why->stage != NULL && p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const char *name = plan->phases[p]->ops[i]->name;
            if (strcmp(name, why->stage) == 0) {
                return SLUICE_OK;
            }
            if (n < 256 && plan->phases[p]->ops[i]->kind == OP_STAGE) {
                names[n++] = name;
            }
        }
    }
    if (why->stage == NULL) {
        return SLUICE_OK;
    }
    near = error_suggest(why->stage, names, n);
    return error_set(err, SLUICE_E_CONFIG,
                     "--stage: no stage '%s' in this run%s%s%s; sluice plan %s lists them",
                     why->stage, near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                     near == NULL ? "" : "'?", why->run_text);
}

/* ---- counts ---- */

static void print_counts(const char *op, const json_t *dropped, int64_t quarantined, int64_t in)
{
    const char *reason;
    json_t *count;
    int64_t sum = quarantined;
    char a[24];
    char b[24];

    json_object_foreach((json_t *)(uintptr_t)dropped, reason, count)
    {
        sum += json_integer_value(count);
    }
    say("%-36s %10s of %s\n", op, human_count((uint64_t)sum, a), human_count((uint64_t)in, b));
    json_object_foreach((json_t *)(uintptr_t)dropped, reason, count)
    {
        say("  %-34s %10s\n", reason, human_count((uint64_t)json_integer_value(count), a));
    }
    if (quarantined > 0) {
        say("  %-34s %10s\n", "(quarantined)", human_count((uint64_t)quarantined, a));
    }
}

static sluice_status why_dropped(struct why *why, struct sluice_error *err)
{
    struct run *run = why->look.run;
    json_t *stages = json_array();

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        sluice_status status = runview_sum(run, p, err);
        if (status != SLUICE_OK) {
            json_decref(stages);
            return status;
        }
        for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
            const struct op *op = run->plan->phases[p]->ops[i];
            json_t *dropped =
                json_object_get(json_object_get(run->ledgers[p], op->name), "dropped");
            int64_t quarantined = ledger_get(run->ledgers[p], op->name, "quarantined");
            int64_t in = ledger_get(run->ledgers[p], op->name, "in");
            json_t *json;
            if ((dropped == NULL && quarantined == 0) ||
                (why->stage != NULL && strcmp(why->stage, op->name) != 0)) {
                continue;
            }
            if (op->kind == OP_READ) {
                in = quarantined + ledger_get(run->ledgers[p], op->name, "emitted");
            }
            if (!why->json) {
                print_counts(op->name, dropped, quarantined, in);
            }
            json = json_pack("{s:s, s:I, s:I}", "stage", op->name, "in", (json_int_t)in,
                             "quarantined", (json_int_t)quarantined);
            if (dropped != NULL) {
                json_object_set(json, "dropped", dropped);
            }
            json_array_append_new(stages, json);
        }
    }
    if (why->json) {
        look_print("why", json_pack("{s:O}", "stages", stages));
    } else if (json_array_size(stages) == 0) {
        say("nothing was dropped%s%s\n", why->stage == NULL ? "" : " by ",
            why->stage == NULL ? "" : why->stage);
    }
    json_decref(stages);
    why_incomplete(why);
    return SLUICE_OK;
}

/* ---- tasks ---- */

static sluice_status why_task(struct why *why, uint64_t number, struct sluice_error *err)
{
    struct run *run = why->look.run;
    struct changes *changes = NULL;
    struct task_id id;
    struct buf text = BUF_INIT;
    struct buf safe = BUF_INIT;
    const char *state;
    const char *name;
    char buffer[64];
    sluice_status status = SLUICE_OK;

    if (number >= run->plan->n_tasks) {
        return error_set(err, SLUICE_E_CONFIG, "found task %llu, the run has tasks 0 to %u",
                         (unsigned long long)number, run->plan->n_tasks - 1);
    }
    id = plan_task(run->plan, (uint32_t)number);
    name = phase_task_name(run->plan->phases[id.phase], id.task, buffer);
    if (run->tasks[id.phase][id.task].done) {
        state = "done, unchanged";
    } else if (run->tasks[id.phase][id.task].keyed) {
        state = "runs";
        status = changes_open(run, id.phase, &changes, err);
        if (status == SLUICE_OK) {
            status = changes_describe(changes, run, id.phase, id.task, &text, err);
        }
        changes_close(changes);
    } else {
        state = "not known yet";
        for (uint32_t d = 0; d < run->plan->phases[id.phase]->n_depends; d++) {
            uint32_t phase = run->plan->phases[id.phase]->depends[d];
            buf_printf(&text, "%sdepends on phase %u (%s)", d == 0 ? "" : ", ", phase + 1,
                       run->plan->phases[phase]->name);
        }
    }
    if (status == SLUICE_OK && why->json) {
        look_print("why", json_pack("{s:I, s:o, s:s, s:s, s:s}", "task", (json_int_t)number, "name",
                                    look_string(name, strlen(name)), "phase",
                                    run->plan->phases[id.phase]->name, "state", state, "reason",
                                    buf_str(&text)));
    } else if (status == SLUICE_OK) {
        look_excerpt(&safe, name, strlen(name), 0);
        say("task %llu (%s of %s): %s%s%s\n", (unsigned long long)number, buf_str(&safe),
            run->plan->phases[id.phase]->name, state, text.size > 0 ? ": " : "", buf_str(&text));
    }
    buf_deinit(&text);
    buf_deinit(&safe);
    return status;
}

/* ---- the command ---- */

static sluice_status answer(struct why *why, const struct args *args, struct sluice_error *err)
{
    static const char *const questions[] = { "--id", "--reason", "--dropped", "--quarantine",
                                             "--task" };
    uint64_t task = 0;
    uint64_t row = 0;
    size_t asked = 0;

    for (size_t k = 0; k < sizeof questions / sizeof questions[0]; k++) {
        asked += args_get(args, questions[k]) != NULL;
    }
    if (asked > 1) {
        return error_set(err, SLUICE_E_CONFIG,
                         "give one of --id, --reason, --dropped, --quarantine and --task");
    }
    if (args_get(args, "--row") != NULL && args_get(args, "--task") == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "--row needs --task: --task N --row N");
    }
    TRY(look_number(args, "-n", 1, 1000000, 10, &why->n, err));
    TRY(look_number(args, "--task", 0, UINT32_MAX, 0, &task, err));
    TRY(look_number(args, "--row", 0, INT64_MAX, 0, &row, err));
    /* Why a task runs again needs what it is now; documents are looked for where they were. */
    if (args_get(args, "--task") != NULL && args_get(args, "--row") == NULL) {
        TRY(look_open(why->run_text, &why->look, err));
    } else {
        TRY(look_open_old(why->run_text, NULL, &why->look, &why->old, err));
    }
    TRY(check_stage(why, err));
    if (args_get(args, "--id") != NULL) {
        return why_id(why, args_get(args, "--id"), err);
    }
    if (args_get(args, "--reason") != NULL) {
        return why_reason(why, args_get(args, "--reason"), err);
    }
    if (args_get(args, "--quarantine") != NULL) {
        return why_quarantine(why, err);
    }
    if (args_get(args, "--row") != NULL) {
        return why_row(why, task, row, err);
    }
    return args_get(args, "--task") != NULL ? why_task(why, task, err) : why_dropped(why, err);
}

int cmd_why(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice why RUN [--id ID | --reason NAME | --dropped | --quarantine | --task N] "
                 "[options]",
        .text =
            "Answers why: a document is missing, rows were dropped (the default: how many, by "
            "stage "
            "and reason), records are quarantined,\n"
            "a task runs again. RUN is a run directory or the name of a pipeline that ran here.",
        .specs = why_specs,
        .n_specs = N_WHY_SPECS,
        .least = 1,
        .most = 1,
    };
    struct args args;
    int ended;
    struct why why;
    struct sluice_error err = ERROR_INIT;
    int status = 0;

    memset(&why, 0, sizeof why);
    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    why.run_text = args.words[0];
    why.stage = args_get(&args, "--stage");
    why.json = args_get(&args, "--json") != NULL;
    why.near = args_get(&args, "--near") != NULL;
    why.text = args_get(&args, "--text") != NULL;
    why.columns = look_columns();
    if (answer(&why, &args, &err) != SLUICE_OK) {
        status = session_fail(&err, why.json);
    }
    look_close(&why.look);
    return status;
}
