/* sluice test: the examples of filters and heuristics, kept and dropped, run as tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/common.h"
#include "lua/luastage.h"

static const char usage[] = "sluice test FILE.lua [name=value ...]";
static const char text[] =
    "Runs the examples of every heuristic and filter that FILE.lua defines: { \"text\", keep = "
    "true } must be kept,\n"
    "{ \"text\", keep = false } dropped, with the default options. FILE.lua is a pipeline, or a "
    "module that returns a\n"
    "heuristic. A heuristic needs one example of each kind. Exit status 1: an example failed.";

struct reporter {
    const char *stage;
};

static void report(void *ctx, uint32_t number, bool passed, const char *message)
{
    const struct reporter *reporter = ctx;

    if (!passed) {
        printf("FAIL  %s: example %u %s\n", reporter->stage, number, message);
    }
}

/* Loads the script alone: no plan, no data. */
static sluice_status load(const struct common *common, struct session *session, char **path,
                          struct sluice_error *err)
{
    struct script_arg args[ARGS_MAX];
    struct script_options options = { .args = args, .testing = true };
    sluice_status status = session_registry(&common->options, session, err);

    if (status != SLUICE_OK) {
        return status;
    }
    *path = common->options.script[0] == '/'
                ? str_printf("%s", common->options.script)
                : str_printf("%s/%s", session->cwd, common->options.script);
    session->base_dir =
        *path == NULL ? NULL : str_copy(*path, (size_t)(strrchr(*path, '/') - *path));
    if (session->base_dir == NULL) {
        return error_nomem(err, "paths");
    }
    options.path = *path;
    options.base_dir = session->base_dir;
    options.cwd = session->cwd;
    options.module_dir = session->module_dir;
    options.registry = session->registry;
    for (size_t i = 0; i < common->options.n_words && i < ARGS_MAX && status == SLUICE_OK; i++) {
        const char *word = common->options.words[i];
        const char *equals = strchr(word, '=');
        if (equals == NULL || equals == word) {
            status =
                error_set(err, SLUICE_E_CONFIG,
                          "found '%s', expected name=value for an argument of the script", word);
        } else {
            args[options.n_args++] =
                (struct script_arg){ str_copy(word, (size_t)(equals - word)), equals + 1 };
        }
    }
    if (status == SLUICE_OK) {
        status = script_load(&options, &session->script, &session->graph, err);
    }
    for (size_t i = 0; i < options.n_args; i++) {
        free((char *)(uintptr_t)args[i].name);
    }
    return status;
}

static sluice_status run_stage(struct script *script, uint32_t k, uint32_t *n, uint32_t *failed,
                               struct sluice_error *err)
{
    struct reporter reporter = { .stage = script_stage_name(script, k) };
    struct luastage_examples found;
    bool heuristic = strcmp(luastage_role(script, k), "heuristic") == 0;

    TRY(luastage_run_examples(script, k, report, &reporter, &found, err));
    if (heuristic && (found.kept == 0 || found.dropped == 0)) {
        printf("FAIL  %s: a heuristic needs an example that is kept and one that is dropped; found "
               "%u and %u\n",
               reporter.stage, found.kept, found.dropped);
        found.failed++;
    }
    printf("%s  %s %s: %u example%s\n",
           found.failed > 0                 ? "FAIL"
           : found.kept + found.dropped > 0 ? "ok  "
                                            : "none",
           luastage_role(script, k), reporter.stage, found.kept + found.dropped,
           found.kept + found.dropped == 1 ? "" : "s");
    *n += found.kept + found.dropped;
    *failed += found.failed;
    return SLUICE_OK;
}

int cmd_test(int argc, char **argv)
{
    struct common common;
    struct session session;
    struct sluice_error err = ERROR_INIT;
    char *path = NULL;
    uint32_t n = 0;
    uint32_t failed = 0;
    int exit_status;
    sluice_status status;

    memset(&session, 0, sizeof session);
    status = common_script(argc, argv, usage, text, &common, &exit_status, &err);
    if (status != SLUICE_OK || exit_status >= 0) {
        return status != SLUICE_OK ? session_fail(&err, false) : exit_status;
    }
    status = load(&common, &session, &path, &err);
    for (uint32_t k = 0; status == SLUICE_OK && k < script_n_stages(session.script); k++) {
        status = run_stage(session.script, k, &n, &failed, &err);
    }
    if (status == SLUICE_OK && script_n_stages(session.script) == 0) {
        status = error_set(&err, SLUICE_E_CONFIG, "%s defines no heuristic and no filter",
                           common.options.script);
    }
    if (status == SLUICE_OK) {
        printf("%u example%s, %u failed\n", n, n == 1 ? "" : "s", failed);
    }
    session_close(&session);
    free(path);
    return status != SLUICE_OK ? session_fail(&err, common.json) : failed > 0 ? 1 : 0;
}
