/* sluice replay: one row that a stage refused in a run, given to that stage again: in a process of
 * its own, as in the run, or under a debugger. The row is the one that was kept with the run
 * (run/chain/quarantine.h); the stage is the pipeline's as it is now. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "plugin/batch_view.h"
#include "run/chain/quarantine.h"
#include "store/store.h"
#include "run/facts/facts.h"

static const struct arg_spec replay_specs[] = {
    { "--gdb", NULL, "run the stage inside gdb: this same command with --in-process" },
    { "--in-process", NULL,
      "run the stage in this process: trusts its plugin, and a crash ends it" },
    { "--json", NULL, "one JSON object" },
};
#define N_REPLAY_SPECS (sizeof replay_specs / sizeof replay_specs[0])

/* RUN of RUN/quarantine/K; gives. */
static sluice_status run_of(const char *path, char **out, struct sluice_error *err)
{
    /* Of a path, links in it are followed: the run's name is what stands in its records. */
    char *full = store_is_local(path) ? realpath(path, NULL) : str_copy(path, strlen(path));
    char *slash = full == NULL ? NULL : strrchr(full, '/');
    char *folder = NULL;

    *out = NULL;
    if (full == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is not there; `sluice why RUN --quarantine` lists the rows in "
                         "quarantine, and where each is kept",
                         path);
    }
    if (slash != NULL) {
        *slash = '\0';
        folder = strrchr(full, '/');
    }
    if (folder == NULL || strcmp(folder + 1, QUARANTINE_FOLDER) != 0) {
        free(full);
        return error_set(err, SLUICE_E_CONFIG,
                         "found %s, expected RUN/" QUARANTINE_FOLDER
                         "/K; `sluice why RUN --quarantine` lists them",
                         path);
    }
    *folder = '\0';
    *out = full;
    return SLUICE_OK;
}

/* Does the stage still see the columns that were kept? */
static sluice_status check_columns(const struct phase *phase, const struct op *op,
                                   const struct quarantined *row, struct sluice_error *err)
{
    bool same = op != NULL && op->kind == OP_STAGE && op_n_inputs(op) > 0 &&
                op_stage(op)->n_need[0] == row->n_columns;
    const struct schema *schema = same ? &phase_input(phase, op, 0)->out : NULL;

    for (uint32_t k = 0; same && k < row->n_columns; k++) {
        int32_t slot = op_stage(op)->need[0][k];
        same = slot < 0 ? row->types[k] == NULL
                        : row->types[k] != NULL &&
                              type_equal(schema->fields[slot].type, row->types[k], true);
    }
    return same ? SLUICE_OK
                : error_set(err, SLUICE_E_CONFIG,
                            "the pipeline changed since: it has no stage '%s' that takes the row's "
                            "columns; run it again and take a row of the new run",
                            row->stage);
}

/* The row as a batch with a place for each column that the stage asked for. Borrows from row.
 * *columns is given (free()). */
static sluice_status view_row(const struct quarantined *row, struct batch_view *view,
                              struct ArrowArray ***columns, struct sluice_error *err)
{
    uint32_t used = 0;

    *columns = calloc(row->n_columns + 1u, sizeof(struct ArrowArray *));
    if (*columns == NULL) {
        return error_nomem(err, "a row");
    }
    for (uint32_t k = 0; k < row->n_columns; k++) {
        (*columns)[k] = row->types[k] == NULL ? &view->absent : &row->batch->columns[used++]->array;
    }
    batch_view_init(view, *columns, row->n_columns, 1);
    return SLUICE_OK;
}

/* What the stage did: {"outcome": "kept" | "dropped" | "refused" | "gave", ...}. */
static json_t *outcome_json(const struct op *op, const struct stage_result *result)
{
    const struct sluice_verdict *verdict = result->has_verdicts ? result->verdicts : NULL;
    int64_t rows = 0;

    if (verdict != NULL && verdict->reason == SLUICE_VERDICT_BAD) {
        return json_pack("{s:s, s:o}", "outcome", "refused", "detail",
                         facts_text(verdict->dup_of == NULL ? "" : verdict->dup_of,
                                    (size_t)verdict->dup_of_length));
    }
    if (verdict != NULL && verdict->reason > 0) {
        return json_pack("{s:s, s:s, s:f, s:f}", "outcome", "dropped", "reason",
                         stage_reason(op_code(op)->stage, (uint32_t)verdict->reason), "value",
                         verdict->value, "limit", verdict->limit);
    }
    if (op_declared(op)->role == SLUICE_ROLE_TRANSFORM) {
        for (uint32_t k = 0; k < result->n_batches; k++) {
            rows += result->batches[k].length;
        }
        return json_pack("{s:s, s:I}", "outcome", "gave", "rows", (json_int_t)rows);
    }
    return json_pack("{s:s}", "outcome", "kept");
}

static json_t *run_row(const struct op *op, const struct quarantined *row)
{
    struct sluice_error err = ERROR_INIT;
    struct stage_worker *worker = NULL;
    struct stage_result result;
    struct batch_view view;
    struct ArrowArray **columns;
    json_t *json = NULL;
    sluice_status status = view_row(row, &view, &columns, &err);

    stage_result_init(&result);
    if (status == SLUICE_OK) {
        status = stage_worker_open(op_code(op)->stage, &worker, &err);
    }
    if (status == SLUICE_OK) {
        status = stage_process(worker, &view.batch, &result, &err);
    }
    if (status == SLUICE_OK) {
        json = outcome_json(op, &result);
    } else {
        json = json_pack("{s:s, s:o}", "outcome",
                         status == STAGE_TIMED_OUT ? "timed_out"
                         : stage_died(status)      ? "crashed"
                                                   : "failed",
                         "detail", facts_text(err.message, strlen(err.message)));
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    free(columns);
    return json;
}

static void print_outcome(const struct quarantined *row, const json_t *json)
{
    const char *outcome = json_string_value(json_object_get(json, "outcome"));
    const char *detail = json_string_value(json_object_get(json, "detail"));

    say("stage %s (%s), row %llu of %s\n  in the run  %s: %s\n  now         ", row->stage,
        row->kind, (unsigned long long)row->row, row->task, row->reason, row->detail);
    if (strcmp(outcome, "dropped") == 0) {
        say("dropped: %s, value %g, limit %g\n", json_string_value(json_object_get(json, "reason")),
            json_real_value(json_object_get(json, "value")),
            json_real_value(json_object_get(json, "limit")));
    } else if (strcmp(outcome, "gave") == 0) {
        say("taken, gave %lld rows\n",
            (long long)json_integer_value(json_object_get(json, "rows")));
    } else if (detail != NULL) {
        say("%s: %s\n", strcmp(outcome, "timed_out") == 0 ? "too slow" : outcome, detail);
    } else {
        say("%s\n", outcome);
    }
}

/* Replaces this process by gdb over the same command. */
static sluice_status become_gdb(const char *path, struct sluice_error *err)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char *const argv[] = { (char *)"gdb",           (char *)"--args",       exe, (char *)"replay",
                           (char *)(uintptr_t)path, (char *)"--in-process", NULL };

    if (n <= 0) {
        return error_errno(err, errno, "can't read /proc/self/exe");
    }
    exe[n] = '\0';
    fflush(stdout);
    execvp("gdb", argv);
    return errno == ENOENT
               ? error_set(err, SLUICE_E_CONFIG,
                           "gdb is not installed (apt-get install gdb); or take another debugger: "
                           "sluice replay %s --in-process",
                           path)
               : error_errno(err, errno, "can't start gdb");
}

static sluice_status replay(const char *path, const struct args *args, json_t **out,
                            struct quarantined *row, struct sluice_error *err)
{
    struct session_options options = { .read_only = true };
    struct session session = { 0 };
    const struct phase *phase = NULL;
    const struct op *op;
    char *run = NULL;
    sluice_status status = quarantine_read(path, false, row, err);

    options.in_process = args_get(args, "--in-process") != NULL;
    options.trust = options.in_process;
    if (status == SLUICE_OK) {
        status = run_of(path, &run, err);
    }
    if (status == SLUICE_OK) {
        options.run_dir = run;
        status = session_open(&options, SESSION_SCHEMAS, &session, err);
    }
    if (status == SLUICE_OK) {
        op = plan_find_op(session.plan, row->stage, &phase);
        status = check_columns(phase, op, row, err);
    }
    if (status == SLUICE_OK) {
        *out = run_row(op, row);
        status = *out == NULL ? error_nomem(err, "the outcome") : SLUICE_OK;
    }
    session_close(&session);
    free(run);
    return status;
}

int cmd_replay(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice replay RUN/quarantine/K [--gdb] [--json]",
        .text = "Gives one row that a stage refused to that stage again, and says what it does "
                "now. A stage that ran in a process of its own\n"
                "does so here. Exit status: 0 the row passes or is dropped, 1 it fails again, 2 "
                "there is no such row or stage.\n"
                "`sluice why RUN --quarantine` lists the rows, and where each is kept.",
        .specs = replay_specs,
        .n_specs = N_REPLAY_SPECS,
        .least = 1,
        .most = 1,
    };
    struct args args;
    int ended;
    struct sluice_error err = ERROR_INIT;
    struct quarantined row = { 0 };
    json_t *json = NULL;
    bool as_json;
    bool again;
    sluice_status status;

    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    as_json = args_get(&args, "--json") != NULL;
    status = args_get(&args, "--gdb") != NULL ? become_gdb(args.words[0], &err)
                                              : replay(args.words[0], &args, &json, &row, &err);
    if (status != SLUICE_OK) {
        quarantined_deinit(&row);
        return session_fail(&err, as_json);
    }
    again = json_object_get(json, "detail") != NULL;
    if (as_json) {
        json_object_set_new(json, "stage", facts_text(row.stage, strlen(row.stage)));
        json_object_set_new(json, "kind", facts_text(row.kind, strlen(row.kind)));
        json_object_set_new(json, "task", facts_text(row.task, strlen(row.task)));
        json_object_set_new(json, "row", json_integer((json_int_t)row.row));
        json_object_set_new(json, "was",
                            json_pack("{s:o, s:o}", "reason",
                                      facts_text(row.reason, strlen(row.reason)), "detail",
                                      facts_text(row.detail, strlen(row.detail))));
        look_print("replay", json);
    } else {
        print_outcome(&row, json);
        json_decref(json);
    }
    quarantined_deinit(&row);
    return again ? 1 : 0;
}
