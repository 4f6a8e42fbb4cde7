/* sluice prepare: a plan frozen, and nothing run. */
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "run/facts/facts.h"

static sluice_status prepared(struct session *session, bool json, struct sluice_error *err)
{
    const struct plan *plan = session->plan;
    size_t files = 0;
    json_t *event;
    char *text;

    for (uint32_t i = 0; i < plan->n_lanes; i++) {
        files += plan->lanes[i]->files.n;
    }
    if (!json) {
        say("%s: %zu file%s, %u task%s in %u phase%s; the plan is in %s\n", session->graph->name,
            files, files == 1 ? "" : "s", plan->n_tasks, plan->n_tasks == 1 ? "" : "s",
            plan->n_phases, plan->n_phases == 1 ? "" : "s", session->run_dir);
        return SLUICE_OK;
    }
    event =
        json_pack("{s:s, s:o, s:I, s:i, s:i}", "event", "prepared", "run_dir",
                  facts_text(session->run_dir, strlen(session->run_dir)), "files",
                  (json_int_t)files, "tasks", (int)plan->n_tasks, "phases", (int)plan->n_phases);
    text = event == NULL ? NULL : json_dumps(event, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(event);
    if (text == NULL) {
        return error_nomem(err, "the plan");
    }
    say_json_line(text);
    free(text);
    return SLUICE_OK;
}

int cmd_prepare(int argc, char **argv)
{
    static const char *const usage = "sluice prepare PIPELINE.lua [name=value ...] [options]";
    static const char *const text =
        "Freezes the plan of a pipeline in its run directory and runs nothing: the list of input "
        "files with their sizes and times,\n"
        "the script and its modules, arguments, and copies (of large ones hard links) of plugins "
        "and of files that options name.\n"
        "`run`, `work`, `task`, `plan` and all others of that RUN load it: they list and hash "
        "nothing, see the same inputs, and need\n"
        "no paths but those of the run directory, the inputs and the outputs. `sluice run "
        "PIPELINE.lua` prepares anew.";
    struct common common;
    struct session session;
    struct sluice_error err = ERROR_INIT;
    int status;

    memset(&session, 0, sizeof session);
    if (common_script(argc, argv, usage, text, &common, &status, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (status >= 0) {
        return status;
    }
    session_signals();
    common.options.freeze = true;
    common.options.log = common_log;
    status = session_open(&common.options, SESSION_PLAN, &session, &err) != SLUICE_OK ||
                     prepared(&session, common.json, &err) != SLUICE_OK
                 ? session_fail(&err, common.json)
                 : 0;
    session_close(&session);
    return status;
}
