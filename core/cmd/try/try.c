/* sluice try: a stage on a sample, while it is being written. This file reads the command line and
 * drives; see try.h for the parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/try/try.h"
#include "cmd/view/view.h"
#include "run/metrics.h"

static const struct arg_spec specs[] = {
    { "--stage", "NAME", "which stage, where the file has several, or a stage of its pipeline" },
    { "--option", "NAME=VALUE", "an option of the stage (may be repeated)" },
    { "--by", "COLUMN", "count by the values of a column" },
    { "--examples", "N", "examples of each kind (default 5)" },
    { "--watch", NULL, "run again whenever the file is saved, and show what changed" },
    { "--compare", "OLD", "only what changed against OLD.lua, or git:REV: this file then" },
    { "--sweep", "OPTION=A..B[:N]", "what each of N thresholds keeps (default 9)" },
    PAGE_SPEC("the results"),
    { "--labels", "FILE", "what people said: precision and recall" },
    { "--label", NULL, "ask at the terminal, nearest to the limit first; adds to --labels FILE" },
    { "--workers", "N", "threads (default: the processors granted)" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "allow plugins from outside the install tree" },
    { "--json", NULL, "results as JSON lines" },
};
#define N_SPECS (sizeof specs / sizeof specs[0])

static const char usage[] = "sluice try FILE.lua SAMPLE.jsonl [name=value ...] [options]\n"
                            "       sluice try STAGE SAMPLE.jsonl [options]";
static const char text[] =
    "Runs one stage on a sample (see `sluice sample`): what it keeps and drops with the value that "
    "decided, how often and why,\n"
    "and how fast. FILE.lua defines a heuristic, filter or annotator, or is a pipeline (name=value "
    "are its arguments); STAGE is\n"
    "a stage by name, such as gopher_quality. Members of the sample's records are columns: "
    "doc.lang "
    "reads what the pipeline\nhas to declare in its reader.";

struct trying {
    struct args args;
    struct trial_source source;
    const char *options[ARGS_MAX], *plugins[ARGS_MAX];
    const char *sample_path, *by, *compare, *sweep, *html, *labels;
    bool watch, label, json;
    uint64_t examples;
    struct sample sample;
    int32_t by_column;
};

static sluice_status read_args(struct trying *trying, struct sluice_error *err)
{
    const struct args *args = &trying->args;
    uint64_t workers;

    if (args->n_words < 2) {
        return error_set(err, SLUICE_E_CONFIG, "found %zu of 2 arguments, expected %s",
                         args->n_words, "a Lua file and a sample; see sluice try --help");
    }
    TRY(args_number(args, "--examples", 0, 1000000, 5, &trying->examples, err));
    TRY(args_number(args, "--workers", 1, 1024, 0, &workers, err));
    trying->source.n_options = args_all(args, "--option", trying->options);
    trying->source.n_plugins = args_all(args, "--plugin", trying->plugins);
    trying->source.script = args->words[0];
    trying->source.stage = args_get(args, "--stage");
    trying->source.words = args->words + 2;
    trying->source.n_words = args->n_words - 2;
    trying->source.options = trying->options;
    trying->source.plugins = trying->plugins;
    trying->source.trust = args_get(args, "--trust") != NULL;
    trying->source.workers = (uint32_t)workers;
    trying->sample_path = args->words[1];
    trying->by = args_get(args, "--by");
    trying->compare = args_get(args, "--compare");
    trying->sweep = args_get(args, "--sweep");
    trying->html = args_get(args, "--html");
    trying->labels = args_get(args, "--labels");
    trying->watch = args_get(args, "--watch") != NULL;
    trying->label = args_get(args, "--label") != NULL;
    trying->json = args_get(args, "--json") != NULL;
    if (trying->label && trying->labels == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--label needs a file to add to: give --labels FILE");
    }
    if (trying->watch && access(trying->source.script, F_OK) != 0) {
        return error_set(err, SLUICE_E_CONFIG, "--watch needs a file to watch, and %s is none",
                         trying->source.script);
    }
    if (trying->watch && (trying->label || trying->compare != NULL)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--watch shows what changed since the last run; give it without %s",
                         trying->label ? "--label" : "--compare");
    }
    return SLUICE_OK;
}

/* ---- one run ---- */

/* What a run is shown with; everything in it is remade by the next. */
struct extras {
    struct groups groups;
    struct labels labels;
    struct sweep sweep;
    struct changes changes;
    bool has_labels;
};

static void extras_deinit(struct extras *extras)
{
    groups_deinit(&extras->groups);
    labels_deinit(&extras->labels);
    sweep_deinit(&extras->sweep);
    changes_deinit(&extras->changes);
}

static sluice_status make_extras(struct trying *trying, struct trial *trial,
                                 struct outcome *outcome, const struct outcome *before,
                                 struct extras *extras, struct sluice_error *err)
{
    memset(extras, 0, sizeof *extras);
    if (trying->by != NULL) {
        TRY(groups_make(&trying->sample, outcome, trying->by_column, &extras->groups, err));
    }
    if (trying->labels != NULL) {
        TRY(labels_read(trying->labels, &trying->sample, trying->label, &extras->labels, err));
        extras->has_labels = true;
    }
    if (trying->label) {
        TRY(labels_ask(trying->labels, &trying->sample, outcome, &extras->labels, err));
    }
    if (trying->sweep != NULL) {
        TRY(sweep_make(trial, &trying->sample, outcome, trying->sweep,
                       trying->by == NULL ? NULL : &extras->groups,
                       extras->has_labels ? &extras->labels : NULL, &extras->sweep, err));
    }
    return before == NULL ? SLUICE_OK : changes_make(before, outcome, &extras->changes, err);
}

/* Shows a run; before may be NULL. since: when the file was saved, 0 = nobody waits. */
static sluice_status show(struct trying *trying, struct trial *trial, struct outcome *outcome,
                          const struct outcome *before, const char *before_name, uint64_t since,
                          struct sluice_error *err)
{
    struct extras extras;
    struct try_view view = { .sample = &trying->sample,
                             .trial = trial,
                             .outcome = outcome,
                             .by = trying->by,
                             .examples = trying->examples,
                             .columns = look_columns() };
    sluice_status status = make_extras(trying, trial, outcome, before, &extras, err);

    view.groups = trying->by == NULL ? NULL : &extras.groups;
    view.labels = extras.has_labels ? &extras.labels : NULL;
    view.sweep = trying->sweep == NULL ? NULL : &extras.sweep;
    view.changes = before == NULL ? NULL : &extras.changes;
    view.before = before;
    view.before_name = before_name;
    view.quiet = since > 0 && before != NULL && trying->sweep == NULL;
    if (status == SLUICE_OK) {
        view.total = since > 0 ? (double)(clock_ns() - since) / 1e9 : 0;
        if (!trying->json) {
            try_print(&view);
        } else if (!try_print_json(&view)) {
            status = error_nomem(err, "the results");
        }
    }
    if (status == SLUICE_OK && trying->html != NULL) {
        json_t *facts = try_facts(&view);
        status = facts == NULL ? error_nomem(err, "a page")
                               : view_page("try_page", trying->html, facts, NULL, err);
        json_decref(facts);
    }
    extras_deinit(&extras);
    return status;
}

static sluice_status run_source(struct trying *trying, const struct trial_source *source,
                                struct trial *trial, struct outcome *outcome,
                                struct sluice_error *err)
{
    memset(outcome, 0, sizeof *outcome);
    TRY(trial_open(source, trial, err));
    return trial_run(trial, &trying->sample, outcome, err);
}

/* ---- compare ---- */

static sluice_status run_old(struct trying *trying, struct trial *trial, struct outcome *outcome,
                             struct sluice_error *err)
{
    struct trial_source source = trying->source;
    char *old = NULL;
    sluice_status status = SLUICE_OK;

    if (strncmp(trying->compare, "git:", 4) == 0) {
        status = change_git(source.script, trying->compare + 4, &old, err);
        source.script_text = old;
    } else {
        source.script = trying->compare;
    }
    if (status == SLUICE_OK) {
        status = run_source(trying, &source, trial, outcome, err);
        if (status != SLUICE_OK) {
            error_prefix(err, "--compare %s", trying->compare);
        }
    }
    free(old);
    return status;
}

static sluice_status try_once(struct trying *trying, struct sluice_error *err)
{
    struct trial trial = { 0 };
    struct trial old_trial = { 0 };
    struct outcome outcome = { 0 };
    struct outcome old = { 0 };
    sluice_status status = run_source(trying, &trying->source, &trial, &outcome, err);

    if (status == SLUICE_OK && trying->compare != NULL) {
        status = run_old(trying, &old_trial, &old, err);
    }
    if (status == SLUICE_OK) {
        status = show(trying, &trial, &outcome, trying->compare == NULL ? NULL : &old,
                      trying->compare, 0, err);
    }
    outcome_deinit(&outcome);
    outcome_deinit(&old);
    trial_close(&trial);
    trial_close(&old_trial);
    return status;
}

/* ---- watch ---- */

static sluice_status watch_scripts(struct watch *watch, const struct trial *trial,
                                   const struct trying *trying, struct sluice_error *err)
{
    size_t n = 0;
    const struct script_file *files =
        trial->session.script == NULL ? NULL : script_files(trial->session.script, &n);

    TRY(watch_file(watch, trying->source.script, err));
    for (size_t i = 0; i < n; i++) {
        TRY(watch_file(watch, files[i].path, err));
    }
    return trying->labels == NULL ? SLUICE_OK : watch_file(watch, trying->labels, err);
}

/* An error of the script is shown, and the next save is waited for; the last good run stays what is
 * compared with. */
static sluice_status try_watch(struct trying *trying, struct sluice_error *err)
{
    struct watch *watch = NULL;
    struct outcome last = { 0 };
    uint64_t saved = 0;
    bool stopped = false;
    sluice_status status = watch_open(&watch, err);

    if (status == SLUICE_OK) {
        status = watch_file(watch, trying->source.script, err);
    }
    while (status == SLUICE_OK && !stopped) {
        struct trial trial = { 0 };
        struct outcome outcome = { 0 };
        struct sluice_error failure = ERROR_INIT;
        sluice_status ran = run_source(trying, &trying->source, &trial, &outcome, &failure);

        if (ran == SLUICE_OK) {
            ran = show(trying, &trial, &outcome, last.fates == NULL ? NULL : &last, "the last run",
                       saved, &failure);
        }
        if (ran == SLUICE_OK) {
            outcome_deinit(&last);
            last = outcome;
        } else {
            outcome_deinit(&outcome);
        }
        if (ran != SLUICE_OK && atomic_load(&session_drain) == 0) {
            (void)session_fail(&failure, trying->json);
        }
        status = watch_scripts(watch, &trial, trying, err);
        trial_close(&trial);
        if (status == SLUICE_OK) {
            if (!trying->json) {
                say("\n-- waiting for %s to be saved; Ctrl-C ends --\n", trying->source.script);
                fflush(stdout);
            }
            status = watch_wait(watch, &stopped, &saved, err);
        }
    }
    outcome_deinit(&last);
    watch_close(watch);
    return status;
}

int cmd_try(int argc, char **argv)
{
    struct trying trying;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    memset(&trying, 0, sizeof trying);
    if (args_parse(argc, argv, specs, N_SPECS, &trying.args, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (trying.args.help) {
        args_help(usage, text, specs, N_SPECS);
        return 0;
    }
    if (read_args(&trying, &err) != SLUICE_OK) {
        return session_fail(&err, args_get(&trying.args, "--json") != NULL);
    }
    session_signals();
    status = sample_open(trying.sample_path, &trying.sample, &err);
    if (status == SLUICE_OK && trying.by != NULL) {
        status = sample_column(&trying.sample, trying.by, &trying.by_column, &err);
    }
    if (status == SLUICE_OK) {
        status = trying.watch ? try_watch(&trying, &err) : try_once(&trying, &err);
    }
    sample_close(&trying.sample);
    return status == SLUICE_OK ? 0 : session_fail(&err, trying.json);
}
