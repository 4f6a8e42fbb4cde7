/* sluice plan: what a run would do, what it would reuse, and why the rest runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/look/look.h"
#include "cmd/plan/plan_facts.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "run/floor.h"

/* Takes a switch out of the command line; true when it was there. */
static bool take_switch(int *argc, char **argv, const char *name)
{
    int kept = 0;
    bool found = false;

    for (int i = 0; i < *argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            found = true;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    return found;
}

/* Takes "NAME VALUE" or "NAME=VALUE" out of the command line: *value, or NULL. */
static sluice_status take_value(int *argc, char **argv, const char *name, const char **value,
                                struct sluice_error *err)
{
    size_t n = strlen(name);
    int kept = 0;

    *value = NULL;
    for (int i = 0; i < *argc; i++) {
        if (strncmp(argv[i], name, n) != 0 || (argv[i][n] != '\0' && argv[i][n] != '=')) {
            argv[kept++] = argv[i];
        } else if (argv[i][n] == '=') {
            *value = argv[i] + n + 1;
        } else if (++i < *argc) {
            *value = argv[i];
        } else {
            return error_set(err, SLUICE_E_CONFIG, "%s needs a value: %s FILE.lua", name, name);
        }
    }
    *argc = kept;
    return SLUICE_OK;
}

/* As run_all begins: what `sluice run` with these options would refuse. */
static sluice_status check_memory(const struct session *session, struct sluice_error *err)
{
    const struct session_options *options = &session->options;
    const struct floor_found nothing = { .decodes = false };

    return floor_check(session->plan, &nothing, options->workers,
                       options->batch_bytes > 0 ? options->batch_bytes : SOURCE_CHUNK,
                       options->memory, err);
}

sluice_status plan_facts(const char *run_dir, json_t **out, struct sluice_error *err)
{
    struct session_options options = { .run_dir = run_dir, .read_only = true };
    struct session session;
    struct run *run = NULL;
    sluice_status status = session_open(&options, SESSION_PLAN, &session, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        status = look_at(&session, &run, err);
    }
    if (status == SLUICE_OK) {
        status = facts_plan(
            run, &(struct facts_plan){ .tasks = true, .workers = session.options.workers }, out,
            err);
    }
    run_close(run);
    session_close(&session);
    return status;
}

int cmd_plan(int argc, char **argv)
{
    static const char *const usage = "sluice plan PIPELINE.lua|RUN [name=value ...] [options]";
    static const char *const text =
        "Shows what `sluice run` with the same arguments would do: phases, their stages and tasks, "
        "what is reused and why the\n"
        "rest runs. Reads inputs' names and sizes (and contents where they changed), runs nothing "
        "and writes nothing.\n\n"
        "  --view FILE.lua        show the facts, which are those of --json, by this view of "
        "yours\n"
        "  --tasks                every task with its number (for `sluice task`), name and state\n"
        "  --files                every input file";
    struct common common;
    struct session session;
    struct facts_plan how = { .predict = true };
    struct run *run = NULL;
    struct sluice_error err = ERROR_INIT;
    json_t *json = NULL;
    const char *view;
    int status;

    memset(&session, 0, sizeof session);
    how.tasks = take_switch(&argc, argv, "--tasks");
    how.files = take_switch(&argc, argv, "--files");
    if (take_value(&argc, argv, "--view", &view, &err) != SLUICE_OK ||
        common_script(argc, argv, usage, text, &common, &status, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (status >= 0) {
        return status;
    }
    if (common.json && view != NULL) {
        error_set(&err, SLUICE_E_CONFIG, ARGS_TWO_SHOWS);
        return session_fail(&err, true);
    }
    session_signals();
    common_frozen(&common);
    common.options.read_only = true;
    status = 0;
    if (session_open(&common.options, SESSION_PLAN, &session, &err) != SLUICE_OK ||
        check_memory(&session, &err) != SLUICE_OK || look_at(&session, &run, &err) != SLUICE_OK) {
        status = session_fail(&err, common.json);
    } else {
        how.workers = session.options.workers;
        if (facts_plan(run, &how, &json, &err) != SLUICE_OK) {
            status = session_fail(&err, common.json);
        } else if (common.json) {
            look_print("plan", json_incref(json));
        } else if (view_once("plan", view, json, NULL, &err) != SLUICE_OK) {
            status = session_fail(&err, false);
        }
    }
    json_decref(json);
    run_close(run);
    session_close(&session);
    return status;
}
