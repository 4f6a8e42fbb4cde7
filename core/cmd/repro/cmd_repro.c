/* sluice repro: a run that was, once more from its frozen plan, apart from it, and what it makes
 * compared with what was recorded. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/dataset/dataset.h"
#include "cmd/freeze/freeze.h"
#include "cmd/progress.h"
#include "cmd/repro/reproInt.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/store.h"
#include "store/temp.h"

static const struct arg_spec specs[] = {
    { "--into", "DIR",
      "keep what is made in this folder, which must be new or empty: datasets/WRITER and the state "
      "of the run; without it nothing stays" },
    { "--any-program", NULL,
      "also where this program or a plugin of the installation is another one than the run's" },
    { "--workers", "N", "worker threads" },
    { "--memory", "SIZE", "memory of this process" },
    { "--scratch", "DIR",
      "where stages spill, and without --into all else (default: RUN/scratch)" },
    { "--trust", NULL, "run plugins from outside the install tree in this process, not isolated" },
    { "--quiet", NULL, "no progress" },
    { "--json", NULL, "one JSON object, and events of the run before it" },
    VIEW_SPEC,
};

struct repro {
    const struct args *args;
    bool json, other_program;
    char *run_dir;
    char *work; /* a folder of this machine */
    bool temporary;
    json_t *missing; /* [{kind, path, message}] */
    json_t *writers; /* of repro_compare */
    bool equal;
    struct progress progress;
};

/* ---- what is missing ---- */

static void note_missing(void *ctx, const char *kind, const char *path, const char *message)
{
    struct repro *repro = ctx;

    if (strcmp(kind, "program") != 0 || !repro->other_program) {
        json_array_append_new(repro->missing, json_pack("{s:s, s:o, s:o}", "kind", kind, "path",
                                                        facts_text(path, strlen(path)), "message",
                                                        facts_text(message, strlen(message))));
    }
}

static sluice_status refuse(const struct repro *repro, struct sluice_error *err)
{
    size_t n = json_array_size(repro->missing);

    return n == 0 ? SLUICE_OK
                  : error_set(err, SLUICE_E_CONFIG,
                              "%zu thing%s of the run in %s %s not there as %s; nothing was run. "
                              "Put back what it was made of, or run the pipeline anew",
                              n, n == 1 ? "" : "s", repro->run_dir, n == 1 ? "is" : "are",
                              n == 1 ? "it was" : "they were");
}

/* Before anything of the plan is loaded. */
static sluice_status look_plan(struct repro *repro, const struct session_options *options,
                               struct sluice_error *err)
{
    struct session session;
    sluice_status status = session_frozen(options, &session, err);

    if (status == SLUICE_OK) {
        repro->run_dir = str_copy(session.run_dir, strlen(session.run_dir));
        status = repro->run_dir == NULL ? error_nomem(err, "a path")
                                        : freeze_missing(&session, note_missing, repro, err);
    }
    if (status == SLUICE_OK) {
        status = refuse(repro, err);
    }
    if (status == SLUICE_OK && repro->temporary) {
        status = temp_folder(session.scratch, &repro->work, err);
    }
    session_close(&session);
    return status;
}

/* What the writers recorded; NULL = none is there. *n of them. */
static sluice_status find_recorded(struct repro *repro, const struct session *session,
                                   struct repro_writer *writers, struct sluice_error *err)
{
    const struct plan *plan = session->plan;
    uint32_t n = 0;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            char why[600];
            if (!op_writes(op)) {
                continue;
            }
            writers[n].op = op;
            TRY(repro_find(&writers[n], freeze_key(session), why, err));
            if (why[0] != '\0') {
                note_missing(repro, "snapshot", op_stage(op)->said, why);
            }
            n++;
        }
    }
    return refuse(repro, err);
}

/* ---- running ---- */

static sluice_status compare(struct repro *repro, struct repro_writer *writer,
                             const struct run_published *list, size_t n, struct sluice_error *err)
{
    json_t *facts;
    bool equal;

    for (size_t i = 0; i < n && writer->made == NULL; i++) {
        if (strcmp(list[i].op, writer->op->name) == 0) {
            TRY(snapshot_open(list[i].dataset, list[i].number, &writer->made, err));
        }
    }
    if (writer->made == NULL) {
        return error_set(err, SLUICE_E_INTERNAL, "'%s' made no snapshot", writer->op->name);
    }
    facts = repro_compare(writer, &equal);
    repro->equal = repro->equal && equal;
    return facts == NULL || json_array_append_new(repro->writers, facts) != 0
               ? error_nomem(err, "facts")
               : SLUICE_OK;
}

static sluice_status run_again(struct repro *repro, struct session *session,
                               struct sluice_error *err)
{
    uint32_t n_writers = session->graph->n_sinks;
    struct repro_writer *writers = calloc(n_writers + 1u, sizeof *writers);
    struct run_published *list = NULL;
    size_t n = 0;
    sluice_status status = writers == NULL ? error_nomem(err, "the datasets")
                                           : find_recorded(repro, session, writers, err);

    if (status == SLUICE_OK) {
        status = run_all(session->run, &list, &n, err);
    }
    progress_end(&repro->progress);
    for (uint32_t i = 0; i < n_writers && writers != NULL; i++) {
        if (status == SLUICE_OK && writers[i].op != NULL) {
            status = compare(repro, &writers[i], list, n, err);
        }
        repro_writer_deinit(&writers[i]);
    }
    run_published_free(list, n);
    free(writers);
    return status;
}

/* ---- the command ---- */

static sluice_status make_folder(struct repro *repro, const char *path, struct sluice_error *err)
{
    struct disk_names names = { 0 };
    char *cwd = path[0] == '/' ? str_copy("", 0) : realpath(".", NULL);
    sluice_status status;

    repro->work = cwd == NULL ? NULL : store_absolute(cwd, path);
    free(cwd);
    if (repro->work == NULL) {
        return error_nomem(err, "a path");
    }
    if (!store_is_local(repro->work)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--into: found %s, expected a folder of this machine", path);
    }
    TRY(disk_list(repro->work, &names, err));
    status = names.n == 0
                 ? store_make_folder(repro->work, false, err)
                 : error_set(err, SLUICE_E_CONFIG,
                             "--into: found files in %s, expected a new or empty folder", path);
    disk_names_deinit(&names);
    return status;
}

static sluice_status read_args(struct repro *repro, struct session_options *options,
                               struct sluice_error *err)
{
    const struct args *args = repro->args;
    const char *into = args_get(args, "--into");
    uint64_t workers;

    repro->json = args_get(args, "--json") != NULL;
    repro->other_program = args_get(args, "--any-program") != NULL;
    repro->temporary = into == NULL;
    TRY(args_number(args, "--workers", 1, 1024, 0, &workers, err));
    TRY(args_size(args, "--memory", &options->memory, err));
    if (repro->json && args_get(args, "--view") != NULL) {
        return error_set(err, SLUICE_E_CONFIG, ARGS_TWO_SHOWS);
    }
    options->workers = (uint32_t)workers;
    options->trust = args_get(args, "--trust") != NULL;
    options->scratch = args_get(args, "--scratch");
    options->run_dir = args->words[0];
    options->other_program = repro->other_program;
    return into == NULL ? SLUICE_OK : make_folder(repro, into, err);
}

static json_t *facts_of(const struct repro *repro, double seconds)
{
    json_t *kept = repro->temporary || repro->work == NULL
                       ? json_null()
                       : facts_text(repro->work, strlen(repro->work));

    return json_pack("{s:o, s:b, s:O, s:O, s:f, s:o}", "run_dir",
                     facts_text(repro->run_dir, strlen(repro->run_dir)), "equal", repro->equal,
                     "missing", repro->missing, "writers", repro->writers, "seconds", seconds,
                     "kept", kept);
}

static sluice_status execute(struct repro *repro, struct session_options *options,
                             struct sluice_error *err)
{
    struct session session;
    sluice_status status;

    TRY(look_plan(repro, options, err));
    options->apart = repro->work;
    options->lock = true;
    options->kind = "run";
    repro->progress.mode =
        args_get(repro->args, "--quiet") != NULL ? PROGRESS_QUIET : progress_mode_for(repro->json);
    options->events = (struct run_events){ .ctx = &repro->progress,
                                           .progress = progress_tick,
                                           .warn = progress_warn };
    status = session_open(options, SESSION_RUN, &session, err);
    if (status == SLUICE_OK) {
        status = run_again(repro, &session, err);
    }
    session_close(&session);
    return status;
}

/* What was found goes out also where nothing was run, and then the error behind it. */
static int finish(struct repro *repro, sluice_status code, struct sluice_error *err, double seconds)
{
    bool told = code == SLUICE_OK || json_array_size(repro->missing) > 0;
    int status = 0;

    repro->equal = repro->equal && code == SLUICE_OK;
    if (told) {
        status = dataset_show("repro", repro->args, facts_of(repro, seconds));
    }
    if (code != SLUICE_OK) {
        return session_fail(err, repro->json);
    }
    return status != 0 ? status : repro->equal ? 0 : 1;
}

int cmd_repro(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice repro RUN [--into DIR] [options]",
        .text =
            "Runs what a run did once more, from the plan, script, plugins and models that it "
            "keeps, into a folder of its own, and compares\n"
            "what comes out with the snapshots that were recorded then. Answers of servers are the "
            "recorded ones. What is not there as\n"
            "it was (inputs, kept files, the program, a snapshot) is named before anything runs. "
            "The exit status is 0 if every byte is\n"
            "the same, 1 if not: the files are named.",
        .specs = specs,
        .n_specs = sizeof specs / sizeof specs[0],
        .least = 1,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct sluice_error removal = ERROR_INIT;
    struct session_options options = { .log = common_log };
    struct args args;
    struct repro repro = { .args = &args, .equal = true };
    uint64_t start = clock_ns();
    sluice_status code;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    session_signals();
    repro.missing = json_array();
    repro.writers = json_array();
    code = read_args(&repro, &options, &err);
    if (code == SLUICE_OK) {
        code = execute(&repro, &options, &err);
    }
    progress_end(&repro.progress);
    status = finish(&repro, code, &err, (double)(clock_ns() - start) / 1e9);
    if (repro.temporary && repro.work != NULL && temp_remove(repro.work, &removal) != SLUICE_OK) {
        progress_warn(&repro.progress, removal.message);
    }
    json_decref(repro.missing);
    json_decref(repro.writers);
    free(repro.run_dir);
    free(repro.work);
    return status;
}
