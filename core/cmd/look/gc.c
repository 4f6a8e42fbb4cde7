/* sluice gc: removes what no later run can use (run/sweep.h). Leads the run meanwhile, and nobody
 * else may work on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/freeze/freeze.h"
#include "cmd/look/look.h"
#include "cmd/view/view.h"
#include "run/sweep.h"
#include "store/content.h"
#include "run/work/crew.h"

static const struct arg_spec gc_specs[] = {
    { "--dry-run", NULL, "only say what would be removed" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};
#define N_GC_SPECS (sizeof gc_specs / sizeof gc_specs[0])

static sluice_status open_run(const char *name, bool dry, struct look *look, struct crew **crew,
                              struct sluice_error *err)
{
    char *dir = session_run_dir(name);
    bool led = false;
    char holder[256];
    sluice_status status;

    if (dir == NULL) {
        return error_nomem(err, "a path");
    }
    if (!look_is_run(name)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "no run in %s: plan.json is not there; give a run directory or the name "
                           "of a pipeline that ran here",
                           dir);
    } else if (dry) {
        status = crew_led(dir, &led, holder, err);
        if (status == SLUICE_OK && led) {
            status = crew_refuse(dir, holder, err);
        }
    } else {
        status = look_alone(dir, "gc", crew, err);
    }
    free(dir);
    TRY(status);
    return look_open(name, look, err);
}

static bool is_named(void *ctx, const char *sha256)
{
    return freeze_names(ctx, sha256);
}

/* Also what earlier plans kept. */
static sluice_status sweep(struct look *look, bool dry, struct swept *swept,
                           struct sluice_error *err)
{
    uint64_t copies[2];

    TRY(sweep_run(look->run, dry, swept, err));
    if (!store_is_local(look->session.run_dir)) {
        TRY(content_sweep(look->session.local_dir, is_named, &look->session, dry, &copies[0],
                          &copies[1], err));
    }
    return content_sweep(look->session.run_dir, is_named, &look->session, dry,
                         &swept->files[SWEEP_CONTENT], &swept->bytes[SWEEP_CONTENT], err);
}

/* {dry_run, records, spill, data, quarantine, temporary, content, attempts, saved: {files,
 * bytes}} */
static json_t *facts_of(const struct swept *swept, bool dry)
{
    static const char *const fields[SWEEP_KINDS] = { "records",    "spill",     "data",
                                                     "quarantine", "temporary", "content",
                                                     "attempts",   "saved" };
    json_t *json = json_pack("{s:b}", "dry_run", dry);

    for (int k = 0; k < SWEEP_KINDS; k++) {
        json_object_set_new(json, fields[k],
                            json_pack("{s:I, s:I}", "files", (json_int_t)swept->files[k], "bytes",
                                      (json_int_t)swept->bytes[k]));
    }
    return json;
}

int cmd_gc(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice gc RUN [--dry-run]",
        .text = "Removes what later runs can't use: records and spilled rows of earlier versions "
                "of the "
                "pipeline or its inputs, files that\n"
                "crashes left, scripts, plugins and models of earlier plans, and files of its "
                "datasets that no snapshot has. Snapshots are never "
                "touched. Going back to an earlier version\n"
                "of the script then computes again what was removed.",
        .specs = gc_specs,
        .n_specs = N_GC_SPECS,
        .least = 1,
        .most = 1,
    };
    struct look look;
    struct crew *crew = NULL;
    struct swept swept;
    struct args args;
    struct sluice_error err = ERROR_INIT;
    bool dry;
    bool json;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&look, 0, sizeof look);
    dry = args_get(&args, "--dry-run") != NULL;
    json = args_get(&args, "--json") != NULL;
    status = 0;
    if (open_run(args.words[0], dry, &look, &crew, &err) != SLUICE_OK ||
        sweep(&look, dry, &swept, &err) != SLUICE_OK) {
        status = session_fail(&err, json);
    } else if (json) {
        look_print("gc", facts_of(&swept, dry));
    } else {
        json_t *facts = facts_of(&swept, dry);
        if (view_once("gc", args_get(&args, "--view"), facts, NULL, &err) != SLUICE_OK) {
            status = session_fail(&err, false);
        }
        json_decref(facts);
    }
    look_close(&look);
    crew_leave(crew);
    return status;
}
