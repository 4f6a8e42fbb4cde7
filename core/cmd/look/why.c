/* sluice why: why a document is where it is, which ones were dropped for what, what is quarantined,
 * why a task runs again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

#define EXCERPT 160u /* columns of a record in a list, unless the terminal says otherwise */

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
    VIEW_SPEC,
};
#define N_WHY_SPECS (sizeof why_specs / sizeof why_specs[0])

struct why {
    struct look look;
    struct facts_query query;
    uint32_t old; /* tasks looked at as they were before a change */
    bool json;
};

/* Says on standard error which part of the run has no records yet. */
static void say_incomplete(const struct why *why)
{
    const struct run *run = why->look.run;
    uint32_t missing = facts_missing(run);

    if (why->old > 0) {
        say_to(stderr,
               "sluice: note: stages of %u of %u tasks changed since they ran; this is what they "
               "did then (sluice plan %s says what changed)\n",
               why->old, run->plan->n_tasks, why->query.name);
    }
    if (missing > 0) {
        say_to(stderr,
               "sluice: note: %u of %u tasks are not done, or their input changed; nothing is "
               "known of them (sluice plan %s says why)\n",
               missing, run->plan->n_tasks, why->query.name);
    }
}

/* The one question that is asked; NULL = the command line is wrong. */
static const char *question_of(const struct args *args, struct sluice_error *err)
{
    static const char *const questions[] = { "--id", "--reason", "--quarantine", "--task",
                                             "--dropped" };
    const char *asked = NULL;

    for (size_t k = 0; k < sizeof questions / sizeof questions[0]; k++) {
        if (args_get(args, questions[k]) != NULL && asked != NULL) {
            error_set(err, SLUICE_E_CONFIG,
                      "give one of --id, --reason, --dropped, --quarantine and --task");
            return NULL;
        }
        asked = args_get(args, questions[k]) != NULL ? questions[k] : asked;
    }
    if (args_get(args, "--row") != NULL && args_get(args, "--task") == NULL) {
        error_set(err, SLUICE_E_CONFIG, "--row needs --task: --task N --row N");
        return NULL;
    }
    return args_get(args, "--row") != NULL ? "--row" : asked == NULL ? "--dropped" : asked;
}

static sluice_status fetch(struct why *why, const char *question, const struct args *args,
                           json_t **out, struct sluice_error *err)
{
    uint64_t task = 0;
    uint64_t row = 0;
    sluice_status status;

    TRY(args_number(args, "-n", 1, 1000000, 10, &why->query.most, err));
    TRY(args_number(args, "--task", 0, UINT32_MAX, 0, &task, err));
    TRY(args_number(args, "--row", 0, INT64_MAX, 0, &row, err));
    /* Why a task runs again needs what it is now; documents are looked for where they were. */
    if (strcmp(question, "--task") == 0) {
        TRY(look_open(why->query.name, &why->look, err));
    } else {
        TRY(look_open_old(why->query.name, NULL, &why->look, &why->old, err));
    }
    why->query.run = why->look.run;
    TRY(facts_check_stage(&why->query, err));
    if (strcmp(question, "--id") == 0) {
        status = facts_document(&why->query, args_get(args, "--id"), out, err);
        if (status == SLUICE_E_CONFIG) { /* there may be such a document in what is not done */
            say_incomplete(why);
        }
        return status;
    }
    return strcmp(question, "--reason") == 0
               ? facts_reason(&why->query, args_get(args, "--reason"), out, err)
           : strcmp(question, "--quarantine") == 0 ? facts_quarantine(&why->query, out, err)
           : strcmp(question, "--row") == 0        ? facts_row(&why->query, task, row, out, err)
           : strcmp(question, "--task") == 0
               ? facts_task(why->look.run, task, out, err)
               : facts_dropped(why->look.run, why->query.stage, out, err);
}

static sluice_status answer(struct why *why, const struct args *args, struct sluice_error *err)
{
    const char *question = question_of(args, err);
    size_t columns = look_columns();
    json_t *facts = NULL;
    sluice_status status = question == NULL ? SLUICE_E_CONFIG : SLUICE_OK;

    if (status == SLUICE_OK) {
        status = fetch(why, question, args, &facts, err);
    }
    if (status == SLUICE_OK && why->json) {
        look_print("why", json_incref(facts));
    } else if (status == SLUICE_OK) {
        json_t *style = json_pack("{s:s, s:s*, s:b, s:i}", "question", question + 2, "stage",
                                  why->query.stage, "near", why->query.near, "columns",
                                  (int)(columns > 4 ? columns - 4 : EXCERPT));
        status = view_once("why", args_get(args, "--view"), facts, style, err);
    }
    if (status == SLUICE_OK && strcmp(question, "--task") != 0) {
        say_incomplete(why);
    }
    json_decref(facts);
    return status;
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
    why.json = args_get(&args, "--json") != NULL;
    why.query = (struct facts_query){ .name = args.words[0],
                                      .stage = args_get(&args, "--stage"),
                                      .near = args_get(&args, "--near") != NULL,
                                      .names = !why.json };
    if (args_get(&args, "--text") != NULL) {
        why.query.text = why.json ? UINT64_C(1) << 30 : 4 * EXCERPT;
    }
    if (answer(&why, &args, &err) != SLUICE_OK) {
        status = session_fail(&err, why.json);
    }
    look_close(&why.look);
    return status;
}
