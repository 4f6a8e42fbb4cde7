/* sluice run, check, work, task: what executes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/policies.h"
#include "cmd/progress.h"
#include "cmd/view/view.h"
#include "cmd/look/look.h"
#include "run/facts/report.h"
#include "run/facts/tally.h"

/* What events are told. */
struct barrier_ctx {
    struct progress progress; /* the first: events of progress find it at the same place */
    struct session *session;
    struct policies policies;
    uint64_t started_ns;
};

static sluice_status on_barrier(void *ctx, struct run *run, uint32_t phase,
                                struct sluice_error *err)
{
    struct barrier_ctx *barrier = ctx;
    return policies_judge(&barrier->policies, run, phase,
                          (double)(clock_ns() - barrier->started_ns) / 1e9, err);
}

static sluice_status on_retry(void *ctx, const char *facts, double *seconds,
                              struct sluice_error *err)
{
    struct barrier_ctx *barrier = ctx;
    return policies_retry(&barrier->policies, facts, seconds, err);
}

static sluice_status on_speculate(void *ctx, const char *facts, bool *wanted,
                                  struct sluice_error *err)
{
    struct barrier_ctx *barrier = ctx;
    return policies_speculate(&barrier->policies, facts, wanted, err);
}

static void on_stop(void *ctx, bool now)
{
    (void)ctx;
    session_stop(now);
}

/* The report is written by the process that finishes the run; a run prints its own. */
static void finish(struct session *session, struct barrier_ctx *barrier,
                   const struct run_published *list, size_t n, const struct sluice_error *failure,
                   const struct common *common)
{
    bool worker = !common->options.lock;
    bool quiet = failure != NULL || args_get(&common->args, "--quiet") != NULL;
    bool mine = false;
    struct sluice_error err = ERROR_INIT;
    struct tally tally;
    json_t *report;

    progress_end(&barrier->progress);
    if (session->run == NULL ||
        (worker && failure != NULL && failure->code == SLUICE_E_CANCELLED)) {
        return; /* others may go on */
    }
    if (tally_open(session->run, &tally, &err) != SLUICE_OK) {
        progress_warn(&barrier->progress,
                      err.message); /* then the report tells of this process alone */
    }
    report = report_collect(session->run, list, n, (double)(clock_ns() - barrier->started_ns) / 1e9,
                            tally.phases == NULL ? NULL : &tally, failure);
    tally_deinit(&tally);
    if (report == NULL) {
        return;
    }
    if ((run_finish(session->run, &mine, &err) != SLUICE_OK && err.code != SLUICE_E_CANCELLED) ||
        (mine && run_report(session->run, report, failure == NULL, &err) != SLUICE_OK)) {
        progress_warn(&barrier->progress, err.message);
    }
    run_finished(session->run);
    if (worker && !mine) {
        json_decref(report);
        return;
    }
    if (common->json) {
        json_t *event = json_pack("{s:s, s:O}", "event", "report", "report", report);
        char *text = event == NULL ? NULL : json_dumps(event, JSON_COMPACT | JSON_SORT_KEYS);
        if (text != NULL) {
            say_json_line(text);
        }
        free(text);
        json_decref(event);
    } else if (!quiet && view_once("report", NULL, report, NULL, &err) != SLUICE_OK) {
        progress_warn(&barrier->progress, err.message);
    }
    json_decref(report);
}

static void prepare_events(struct common *common, struct barrier_ctx *barrier,
                           struct session *session)
{
    memset(barrier, 0, sizeof *barrier);
    barrier->session = session;
    barrier->started_ns = clock_ns();
    barrier->policies =
        (struct policies){ .session = session, .warn = progress_warn, .ctx = barrier };
    barrier->progress.mode = args_get(&common->args, "--quiet") != NULL
                                 ? PROGRESS_QUIET
                                 : progress_mode_for(common->json);
    common->options.events = (struct run_events){
        .ctx = barrier,
        .progress = progress_tick,
        .warn = progress_warn,
        .barrier = on_barrier,
        .retry = on_retry,
        .speculate = on_speculate,
        .stop = on_stop,
    };
    common->options.log = common_log;
}

/* A run or a part of one, from the session to the exit status. */
static int execute(struct common *common)
{
    struct session session;
    struct barrier_ctx barrier;
    struct sluice_error err = ERROR_INIT;
    struct run_published *list = NULL;
    size_t n = 0;
    int status = 0;

    memset(&session, 0, sizeof session);
    session_signals();
    prepare_events(common, &barrier, &session);
    if (session_open(&common->options, SESSION_RUN, &session, &err) != SLUICE_OK ||
        run_all(session.run, &list, &n, &err) != SLUICE_OK) {
        if (err.code == SLUICE_E_INTERNAL && err.message[0] == '\0') {
            error_set(&err, SLUICE_E_INTERNAL, "failed without a message");
        }
        if (atomic_load(&session_drain) != 0) {
            err.code = SLUICE_E_CANCELLED; /* also where the signal ended a child first */
        }
        finish(&session, &barrier, NULL, 0, &err, common);
        status = session_fail(&err, common->json);
    } else {
        finish(&session, &barrier, list, n, NULL, common);
    }
    run_published_free(list, n);
    policies_close(&barrier.policies);
    session_close(&session);
    return status;
}

int cmd_run(int argc, char **argv)
{
    static const char *const usage = "sluice run PIPELINE.lua|RUN [name=value ...] [options]";
    static const char *const text = "Runs the pipeline that the script returns. Finished tasks are "
                                    "kept in the run directory: the same command\n"
                                    "resumes after a stop or crash, and runs only what changed "
                                    "after a change of inputs or script.\n"
                                    "RUN, a run directory or name, runs its frozen plan: see "
                                    "`sluice prepare`.\n"
                                    "SIGINT and SIGTERM end it within about a second, with 130 "
                                    "unless everything was published before.";
    struct common common;
    struct sluice_error err = ERROR_INIT;
    int status;

    if (common_script(argc, argv, usage, text, &common, &status, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (status >= 0) {
        return status;
    }
    common_frozen(&common);
    common.options.lock = true;
    common.options.kind = "run";
    return execute(&common);
}

int cmd_check(int argc, char **argv)
{
    struct common common;
    struct session session;
    struct sluice_error err = ERROR_INIT;
    int status;

    memset(&session, 0, sizeof session);
    if (common_script(
            argc, argv, "sluice check PIPELINE.lua [name=value ...]",
            "Validates options, columns and wiring of a pipeline without reading any data.",
            &common, &status, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (status >= 0) {
        return status;
    }
    if (session_open(&common.options, SESSION_SCHEMAS, &session, &err) != SLUICE_OK) {
        status = session_fail(&err, common.json);
    } else {
        uint32_t stages = 0;
        for (uint32_t p = 0; p < session.plan->n_phases; p++) {
            for (uint32_t i = 0; i < session.plan->phases[p]->n_ops; i++) {
                const struct op *op = session.plan->phases[p]->ops[i];
                stages += op_code(op) != NULL && !op_reads_again(op);
            }
        }
        if (common.json) {
            say("{\"event\":\"check\",\"ok\":true,\"stages\":%u,\"phases\":%u}\n", stages,
                session.plan->n_phases);
        } else {
            say("%s: fine, %u stages in %u phase%s\n", session.graph->name, stages,
                session.plan->n_phases, session.plan->n_phases == 1 ? "" : "s");
        }
        status = 0;
    }
    session_close(&session);
    return status;
}

static const struct arg_spec worker_specs[] = {
    { "--workers", "N", "worker threads" },
    { "--memory", "SIZE", "memory of this process" },
    { "--trust", NULL, "run plugins from outside the install tree in this process, not isolated" },
    { "--json", NULL, "events as JSON lines" },
    { "--quiet", NULL, "no progress" },
};
#define N_WORKER_SPECS (sizeof worker_specs / sizeof worker_specs[0])

static sluice_status worker_options(struct common *common, struct sluice_error *err)
{
    uint64_t workers;

    common->json = args_get(&common->args, "--json") != NULL;
    common->options.trust = args_get(&common->args, "--trust") != NULL;
    TRY(args_number(&common->args, "--workers", 1, 1024, 0, &workers, err));
    TRY(args_size(&common->args, "--memory", &common->options.memory, err));
    common->options.workers = (uint32_t)workers;
    common->options.run_dir = common->args.words[0];
    return SLUICE_OK;
}

int cmd_work(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice work RUN [options]",
        .text = "Takes tasks of a run until none are left, beside any number of other processes, "
                "then judges and publishes like\n`run`. The one that finishes writes the report.",
        .specs = worker_specs,
        .n_specs = N_WORKER_SPECS,
        .least = 1,
        .most = 1,
    };
    struct common common;
    int ended;
    struct sluice_error err = ERROR_INIT;

    memset(&common, 0, sizeof common);
    ended = command_args(&command, argc, argv, &common.args);
    if (ended >= 0) {
        return ended;
    }
    if (worker_options(&common, &err) != SLUICE_OK) {
        return session_fail(&err, args_get(&common.args, "--json") != NULL);
    }
    common.options.kind = "work";
    return execute(&common);
}

/* Runs tasks first to last alone; earlier phases must be complete where they need them. *reused: of
 * so many nothing was to be done. */
static sluice_status some_tasks(struct session *session, uint32_t first, uint32_t last,
                                uint32_t *reused, struct sluice_error *err)
{
    struct run *run = session->run;

    if (last >= run->plan->n_tasks) {
        return error_set(err, SLUICE_E_CONFIG, "found task %u, the run has tasks 0 to %u", last,
                         run->plan->n_tasks - 1);
    }
    TRY(run_check_memory(run, err));
    while (first <= last) {
        struct task_id id = plan_task(run->plan, first);
        uint32_t left = run->plan->phases[id.phase]->n_tasks - id.task;
        uint32_t n = last - first < left ? last - first + 1 : left;
        struct task_range range = { id.phase, id.task, id.task + n };
        TRY(run_prepare_tasks(run, range, err));
        for (uint32_t t = range.first; t < range.end; t++) {
            *reused += run->tasks[range.phase][t].done;
        }
        TRY(run_tasks(run, range, err));
        first += n;
    }
    return run_heed(run, err);
}

/* "7" or "7..12". */
static sluice_status parse_range(const char *text, uint64_t *first, uint64_t *last,
                                 struct sluice_error *err)
{
    const char *dots = strstr(text, "..");
    char *begin = dots == NULL ? NULL : str_copy(text, (size_t)(dots - text));
    sluice_status status;

    if (dots == NULL) {
        status = args_word_number(text, "N", UINT32_MAX, first, err);
        *last = *first;
        return status;
    }
    status = begin == NULL ? error_nomem(err, "a number")
                           : args_word_number(begin, "N of N..M", UINT32_MAX, first, err);
    free(begin);
    if (status == SLUICE_OK) {
        status = args_word_number(dots + 2, "M of N..M", UINT32_MAX, last, err);
    }
    return status != SLUICE_OK || *first <= *last
               ? status
               : error_set(err, SLUICE_E_CONFIG,
                           "found the tasks '%s', expected N..M with N not above M", text);
}

static void tell_tasks(uint64_t first, uint64_t last, uint32_t reused, bool json)
{
    unsigned long long n = last - first + 1;

    if (first == last) {
        say(json ? "{\"event\":\"task\",\"number\":%llu,\"reused\":%s}\n" : "task %llu: %s\n",
            (unsigned long long)first,
            json ? (reused > 0 ? "true" : "false") : (reused > 0 ? "was done" : "done"));
    } else if (json) {
        say("{\"event\":\"tasks\",\"first\":%llu,\"last\":%llu,\"done\":%llu,\"reused\":%u}\n",
            (unsigned long long)first, (unsigned long long)last, n - reused, reused);
    } else {
        say("tasks %llu to %llu: %llu done, %u %s\n", (unsigned long long)first,
            (unsigned long long)last, n - reused, reused, reused == 1 ? "was done" : "were done");
    }
}

int cmd_task(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice task RUN N|N..M [options]",
        .text = "Runs task N of a run, or tasks N to M (see `sluice plan`), commits them and ends; "
                "needs no coordinator.\nReads the records of earlier tasks that these need, and no "
                "others.",
        .specs = worker_specs,
        .n_specs = N_WORKER_SPECS,
        .least = 2,
        .most = 2,
    };
    struct common common;
    int ended;
    struct session session;
    struct barrier_ctx barrier;
    struct sluice_error err = ERROR_INIT;
    uint64_t first = 0;
    uint64_t last = 0;
    uint32_t reused = 0;
    int status = 0;

    memset(&session, 0, sizeof session);
    memset(&common, 0, sizeof common);
    ended = command_args(&command, argc, argv, &common.args);
    if (ended >= 0) {
        return ended;
    }
    if (worker_options(&common, &err) != SLUICE_OK ||
        parse_range(common.args.words[1], &first, &last, &err) != SLUICE_OK) {
        return session_fail(&err, args_get(&common.args, "--json") != NULL);
    }
    session_signals();
    common.options.kind = "task";
    prepare_events(&common, &barrier, &session);
    barrier.progress.mode = PROGRESS_QUIET;
    if (session_open(&common.options, SESSION_RUN, &session, &err) != SLUICE_OK ||
        some_tasks(&session, (uint32_t)first, (uint32_t)last, &reused, &err) != SLUICE_OK) {
        status = session_fail(&err, common.json);
    } else {
        tell_tasks(first, last, reused, common.json);
    }
    policies_close(&barrier.policies);
    session_close(&session);
    return status;
}
