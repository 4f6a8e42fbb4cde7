/* sluice report: what a run did, as its last execution left it in last.json. */
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/session.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/disk.h"
#include "store/store.h"

static sluice_status read_report(const char *run, struct buf *text, struct sluice_error *err)
{
    char *dir = session_run_dir(run);
    char *path = dir == NULL ? NULL : store_join(dir, "last.json");
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, 256u << 20, text, &found, err);

    if (status == SLUICE_OK && !found) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "no run has ended in %s: last.json is not there; give a run directory or "
                      "the name of a pipeline that ran here",
                      dir);
    }
    free(dir);
    free(path);
    return status;
}

/* Adds "values" to a report: what was measured of dropped rows, as far as it is known of the run
 * as it is now. What can't be found out is left out, and the reason said. */
static void add_values(const char *run, json_t *report)
{
    struct look look;
    struct facts_query query = { .name = run, .most = 40, .nearest = 4, .text = 2000 };
    struct sluice_error why = ERROR_INIT;
    uint32_t old = 0;
    json_t *values = NULL;
    sluice_status status;

    memset(&look, 0, sizeof look);
    status = look_open_old(run, NULL, &look, &old, &why);
    if (status == SLUICE_OK) {
        query.run = look.run;
        status = facts_values(&query, &values, &why);
    }
    if (status == SLUICE_OK) {
        json_object_update_missing(report, values);
    } else {
        say_to(stderr, "sluice: note: the page has no dropped documents: %s\n", why.message);
    }
    json_decref(values);
    look_close(&look);
}

int cmd_report(int argc, char **argv)
{
    static const struct arg_spec specs[] = {
        { "--md", NULL, "Markdown" },
        { "--json", NULL, "one JSON object, over several lines" },
        PAGE_SPEC("the report"),
        VIEW_SPEC,
        { "--all", NULL, "every reason and measure, and the phases" },
        { "--price", "DOLLARS",
          "price of a core-hour: adds what the run and a million tokens cost" },
    };
    static const struct command command = {
        .usage =
            "sluice report RUN [--all] [--price DOLLARS] [--md|--json|--html FILE|--view FILE.lua]",
        .text = "What a run did: rows and reasons by stage, speed, what bounds it, duplicates, "
                "datasets. RUN is a run\ndirectory or the name of a pipeline that ran here.",
        .specs = specs,
        .n_specs = sizeof specs / sizeof specs[0],
        .least = 1,
        .most = 1,
    };
    struct args args;
    int ended;
    struct sluice_error err = ERROR_INIT;
    struct buf text = BUF_INIT;
    const char *text_price;
    double price = 0;
    int status = 0;

    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    text_price = args_get(&args, "--price");
    if (text_price != NULL) {
        char *end;
        price = strtod(text_price, &end);
        if (end == text_price || *end != '\0' || !(price > 0 && price < 1e6)) {
            error_set(&err, SLUICE_E_CONFIG,
                      "--price: found '%s', expected dollars for an hour of one core, such as 0.04",
                      text_price);
            return session_fail(&err, false);
        }
    }
    if (read_report(args.words[0], &text, &err) != SLUICE_OK) {
        status = session_fail(&err, false);
    } else if (args_get(&args, "--json") != NULL) {
        say_json_line(buf_str(&text));
    } else {
        json_t *report = json_loadb(text.data, text.size, 0, NULL);
        json_t *style = json_pack("{s:b, s:b, s:f}", "markdown", args_get(&args, "--md") != NULL,
                                  "all", args_get(&args, "--all") != NULL, "price", price);
        if (report == NULL) {
            error_set(&err, SLUICE_E_DATA,
                      "the report of %s is damaged; the next run writes it anew", args.words[0]);
            json_decref(style);
            status = session_fail(&err, false);
        } else if (args_get(&args, "--html") != NULL) {
            add_values(args.words[0], report);
            if (view_page("report_page", args_get(&args, "--html"), report, style, &err) !=
                SLUICE_OK) {
                status = session_fail(&err, false);
            }
        } else if (view_once("report", args_get(&args, "--view"), report, style, &err) !=
                   SLUICE_OK) {
            status = session_fail(&err, false);
        }
        json_decref(report);
    }
    buf_deinit(&text);
    return status;
}
