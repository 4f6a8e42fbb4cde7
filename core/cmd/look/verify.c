/* sluice verify: reads everything again and compares it with what was recorded: a dataset against
 * its manifest, a run against its commit records and ledgers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/dataset/absent.h"
#include "cmd/look/look.h"
#include "cmd/view/view.h"
#include "run/facts/audit.h"
#include "run/facts/facts.h"
#include "store/snapshot.h"

static const struct arg_spec verify_specs[] = {
    { "--all", NULL, "all snapshots of a dataset instead of one" },
    { "--quick", NULL, "sizes only, no hashes" },
    { "--absent", "FILE",
      "instead: whether none of these ids, one a line, is left in the dataset, all its snapshots "
      "and what its run keeps; status 1 if any is" },
    { "--column", "NAME", "of --absent: the field that has them (default id)" },
    { "--run", "RUN", "of --absent: the run that wrote it (default: that of its pipeline's name)" },
    { "--in", "DIR",
      "of --absent: where datasets that were made of it are looked for (default: the folder that "
      "it "
      "is in)" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};
#define N_VERIFY_SPECS (sizeof verify_specs / sizeof verify_specs[0])

/* What is found is shown at once, one fact a call: {fault}, {snapshot: {...}} or {run: {...}}. */
struct verification {
    struct audit audit;
    struct look look;
    struct view *view; /* NULL: JSON, at the end */
    json_t *faults;
    sluice_status status; /* of the view */
    struct sluice_error *err;
};

/* Takes value. */
static void show(struct verification *v, const char *name, json_t *value)
{
    json_t *facts = json_pack("{s:o}", name, value);

    if (v->view != NULL && v->status == SLUICE_OK) {
        v->status =
            facts == NULL ? error_nomem(v->err, "facts") : view_show(v->view, facts, NULL, v->err);
    }
    json_decref(facts);
}

static void on_fault(void *ctx, const char *message)
{
    struct verification *v = ctx;

    if (v->view != NULL) {
        show(v, "fault", facts_text(message, strlen(message)));
    } else {
        json_array_append_new(v->faults, facts_text(message, strlen(message)));
    }
}

static sluice_status verify_snapshot(struct verification *v, const char *dir, uint32_t number,
                                     struct sluice_error *err)
{
    struct audit_snapshot found;

    TRY(audit_snapshot(&v->audit, dir, number, &found, err));
    if (found.number > 0) {
        show(v, "snapshot",
             json_pack("{s:o, s:i, s:I, s:I, s:b, s:b}", "dataset", facts_text(dir, strlen(dir)),
                       "number", (int)found.number, "files", (json_int_t)found.files, "bytes",
                       (json_int_t)found.bytes, "ok", found.faults == 0, "deep", v->audit.deep));
    }
    return v->status;
}

static sluice_status verify_dataset(struct verification *v, const char *reference, bool all,
                                    struct sluice_error *err)
{
    char *dir = NULL;
    uint32_t number = 0;
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = look_dataset(reference, &dir, &number, err);

    if (status == SLUICE_OK) {
        status = snapshot_list(dir, &numbers, &n, err);
    }
    if (status == SLUICE_OK && n == 0) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "'%s' is neither a dataset (no snapshots in %s) nor a run (no plan.json)",
                      reference, dir);
    }
    if (status == SLUICE_OK && !all) {
        status = verify_snapshot(v, dir, number > 0 ? number : numbers[n - 1], err);
    }
    for (size_t i = 0; status == SLUICE_OK && all && i < n; i++) {
        status = verify_snapshot(v, dir, numbers[i], err);
    }
    free(numbers);
    free(dir);
    return status;
}

static sluice_status verify_run(struct verification *v, const char *name, struct sluice_error *err)
{
    const struct audit *audit = &v->audit;

    TRY(look_open_silent(name, &v->look, err)); /* what it would warn of is a fault here */
    v->audit.run = v->look.run;
    TRY(audit_run(&v->audit, err));
    show(v, "run",
         json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "name", name, "run_dir",
                   facts_text(v->look.session.run_dir, strlen(v->look.session.run_dir)), "tasks",
                   (json_int_t)audit->tasks, "missing", (json_int_t)facts_missing(v->look.run),
                   "records", (json_int_t)audit->records, "files", (json_int_t)audit->files,
                   "bytes", (json_int_t)audit->bytes, "equations", (json_int_t)audit->equations,
                   "ok", audit->faults == 0));
    return v->status;
}

int cmd_verify(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice verify DATASET[@N]|RUN [options]",
        .text =
            "Reads every file again and compares size and hash with what was recorded. A run: also "
            "that all records are whole, that its\n"
            "files are right in the snapshots that name them, and that the ledgers balance, row by "
            "row from readers to files. Faults are listed; the exit "
            "status "
            "is 4 when there are any.",
        .specs = verify_specs,
        .n_specs = N_VERIFY_SPECS,
        .least = 1,
        .most = 1,
    };
    struct args args;
    struct sluice_error err = ERROR_INIT;
    struct verification v = { .err = &err };
    const struct audit *audit = &v.audit;
    bool json;
    sluice_status code = SLUICE_OK;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    if (args_get(&args, "--absent") != NULL) {
        return absent_show(&args);
    }
    json = args_get(&args, "--json") != NULL;
    v.audit =
        (struct audit){ .deep = args_get(&args, "--quick") == NULL, .fault = on_fault, .ctx = &v };
    v.faults = json_array();
    if (!json) {
        code = view_find("verify", args_get(&args, "--view"), &v.view, &err);
    }
    if (code == SLUICE_OK) {
        code = look_is_run(args.words[0])
                   ? verify_run(&v, args.words[0], &err)
                   : verify_dataset(&v, args.words[0], args_get(&args, "--all") != NULL, &err);
    }
    if (code != SLUICE_OK) {
        status = session_fail(&err, json);
    } else {
        status = audit->faults > 0 ? 4 : 0;
        if (json) {
            look_print("verify",
                       json_pack("{s:b, s:I, s:I, s:I, s:I, s:O}", "ok", audit->faults == 0,
                                 "files", (json_int_t)audit->files, "bytes",
                                 (json_int_t)audit->bytes, "records", (json_int_t)audit->records,
                                 "equations", (json_int_t)audit->equations, "faults", v.faults));
        }
    }
    json_decref(v.faults);
    view_close(v.view);
    look_close(&v.look);
    return status;
}
