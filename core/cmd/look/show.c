/* sluice show: the state of a run: who works on it, how far its phases are, what it published, what
 * it did before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/snapshot.h"
#include "store/store.h"

static const struct arg_spec show_specs[] = {
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
    { "--plan", NULL, "build the plan again for exact counts, also when the run has ended" },
};

static sluice_status read_json(const char *dir, const char *name, json_t **out,
                               struct sluice_error *err)
{
    char *path = store_join(dir, name);
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, 256u << 20, &text, &found, err);

    *out = NULL;
    if (status == SLUICE_OK && found) {
        *out = json_loadb(text.data, text.size, 0, NULL);
        if (*out == NULL) {
            status = error_set(err, SLUICE_E_DATA,
                               "%s is damaged; run the pipeline again to write it anew", path);
        }
    }
    buf_deinit(&text);
    free(path);
    return status;
}

/* When a report was written; of one that does not say so, the time of its file. */
static json_t *time_json(const json_t *report, const char *dir, const char *name)
{
    const char *said = json_string_value(json_object_get(report, "ended"));
    char *path = store_join(dir, name);
    struct stat info;
    struct tm tm;
    char text[32];
    json_t *json = NULL;

    if (said != NULL) {
        json = json_string(said);
    } else if (path != NULL && stat(path, &info) == 0 && gmtime_r(&info.st_mtime, &tm) != NULL &&
               strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0) {
        json = json_string(text);
    }
    free(path);
    return json;
}

/* Phases with exact numbers: the plan is built again. */
static sluice_status phases_of_plan(const char *run, json_t *phases, struct sluice_error *err)
{
    struct look look;
    json_t *list = NULL;
    sluice_status status = look_open(run, &look, err);

    if (status == SLUICE_OK) {
        status = facts_phases(look.run, &list, err);
    }
    json_array_extend(phases, list);
    json_decref(list);
    look_close(&look);
    return status;
}

/* Records in the folders of phases: all that is known when the plan can't be built. */
static sluice_status phases_of_records(const char *dir, json_t *phases, struct sluice_error *err)
{
    char *tasks = store_join(dir, "tasks");
    struct disk_names names = { NULL, 0 };
    sluice_status status =
        tasks == NULL ? error_nomem(err, "a path") : store_names(tasks, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *path = store_join(tasks, names.names[i]);
        struct hash128 *keys = NULL;
        size_t n = 0;
        status = path == NULL ? error_nomem(err, "a path") : commit_list(path, &keys, &n, err);
        if (status == SLUICE_OK) {
            json_array_append_new(phases,
                                  json_pack("{s:o, s:i}", "name",
                                            facts_text(names.names[i], strlen(names.names[i])),
                                            "records", (int)n));
        }
        free(keys);
        free(path);
    }
    disk_names_deinit(&names);
    free(tasks);
    return status;
}

static void phases_of_report(const json_t *last, json_t *phases)
{
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(last, "phases"), i, phase)
    {
        json_array_append_new(phases, json_pack("{s:O, s:O, s:O, s:O}", "name",
                                                json_object_get(phase, "name"), "tasks",
                                                json_object_get(phase, "tasks"), "done",
                                                json_object_get(phase, "done"), "reused",
                                                json_object_get(phase, "reused")));
    }
}

/* Names of the stages that asked servers, by what the manifest notes; NULL: none did. */
static json_t *recorded_json(const char *path, uint32_t number)
{
    static const char suffix[] = ".recorded";
    struct snapshot *snapshot = NULL;
    struct sluice_error err = ERROR_INIT;
    json_t *list = json_array();
    const char *key;
    json_t *value;

    if (snapshot_open(path, number, &snapshot, &err) == SLUICE_OK) {
        json_object_foreach(snapshot->notes, key, value)
        {
            size_t n = strlen(key);
            if (n >= sizeof suffix && strcmp(key + n - (sizeof suffix - 1), suffix) == 0 &&
                json_is_true(value)) {
                json_array_append_new(list, facts_text(key, n - (sizeof suffix - 1)));
            }
        }
    }
    snapshot_destroy(snapshot);
    if (json_array_size(list) == 0) {
        json_decref(list);
        list = NULL;
    }
    return list;
}

/* [{name, asks}] of stages that asked servers in the run that ended. */
static json_t *asked_json(const json_t *last)
{
    json_t *list = json_array();
    size_t i;
    json_t *stage;

    json_array_foreach(json_object_get(last, "funnel"), i, stage)
    {
        if (json_object_get(stage, "asks") != NULL) {
            json_array_append_new(list,
                                  json_pack("{s:O, s:O}", "name", json_object_get(stage, "name"),
                                            "asks", json_object_get(stage, "asks")));
        }
    }
    return list;
}

static json_t *datasets_json(const json_t *last)
{
    json_t *list = json_array();
    size_t i;
    json_t *dataset;

    json_array_foreach(json_object_get(last, "datasets"), i, dataset)
    {
        json_t *copy = json_copy(dataset);
        const char *path = json_string_value(json_object_get(dataset, "path"));
        uint32_t *numbers = NULL;
        size_t n = 0;
        struct sluice_error err = ERROR_INIT;
        if (path != NULL && snapshot_list(path, &numbers, &n, &err) == SLUICE_OK && n > 0) {
            json_t *recorded = recorded_json(
                path, (uint32_t)json_integer_value(json_object_get(copy, "snapshot")));
            json_object_set_new(copy, "newest", json_integer((json_int_t)numbers[n - 1]));
            if (recorded != NULL) {
                json_object_set_new(copy, "recorded", recorded);
            }
        }
        free(numbers);
        json_array_append_new(list, copy);
    }
    return list;
}

static json_t *report_json(const json_t *report, uint32_t number, json_t *ended)
{
    json_int_t tasks = 0;
    json_int_t reused = 0;
    json_int_t rows = 0;
    size_t k;
    json_t *item;

    json_array_foreach(json_object_get(report, "phases"), k, item)
    {
        tasks += json_integer_value(json_object_get(item, "tasks"));
        reused += json_integer_value(json_object_get(item, "reused"));
    }
    json_array_foreach(json_object_get(report, "datasets"), k, item)
    {
        rows += json_integer_value(json_object_get(item, "rows"));
    }
    return json_pack("{s:i, s:O?, s:O?, s:I, s:I, s:I, s:o}", "number", (int)number, "state",
                     json_object_get(report, "state"), "seconds",
                     json_object_get(report, "seconds"), "tasks", tasks, "reused", reused, "rows",
                     rows, "ended", ended);
}

static sluice_status history_json(const char *dir, json_t *list, struct sluice_error *err)
{
    char *folder = store_join(dir, "history");
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status =
        folder == NULL ? error_nomem(err, "a path") : run_history(dir, &numbers, &n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        json_t *report = NULL;
        char name[32];
        snprintf(name, sizeof name, "%06u.json", numbers[i]);
        status = read_json(folder, name, &report, err);
        if (report != NULL) {
            json_array_append_new(list,
                                  report_json(report, numbers[i], time_json(report, folder, name)));
        }
        json_decref(report);
    }
    free(numbers);
    free(folder);
    return status;
}

/* Who works on it, as far as that can be told from here. */
static sluice_status workers_json(const char *dir, json_t **out, struct sluice_error *err)
{
    char *workers = disk_join(dir, "workers");
    struct member_file *list = NULL;
    size_t n = 0;
    sluice_status status =
        workers == NULL ? error_nomem(err, "a path") : member_files(workers, &list, &n, err);

    *out = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(
            *out, json_pack("{s:s, s:o, s:o}", "kind", list[i].kind, "host",
                            facts_text(list[i].holder.host, strlen(list[i].holder.host)), "words",
                            facts_text(list[i].holder.words, strlen(list[i].holder.words))));
    }
    free(list);
    free(workers);
    return status;
}

static sluice_status collect(const char *run, const char *dir, bool exact, json_t **out,
                             struct sluice_error *err)
{
    json_t *json = json_object();
    json_t *phases = json_array();
    json_t *history = json_array();
    json_t *workers = NULL;
    json_t *plan = NULL;
    json_t *last = NULL;
    bool held = false;
    char holder[256] = "";
    struct sluice_error failed = ERROR_INIT;
    sluice_status status = read_json(dir, "plan.json", &plan, err);

    if (status == SLUICE_OK && plan == NULL) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "no run in %s: plan.json is not there; give a run directory or the name "
                           "of a pipeline that ran here",
                           dir);
    }
    if (status == SLUICE_OK) {
        status = read_json(dir, "last.json", &last, err);
    }
    if (status == SLUICE_OK) {
        status = crew_led(dir, &held, holder, err);
    }
    if (status == SLUICE_OK) {
        status = workers_json(dir, &workers, err);
        held = held || json_array_size(workers) > 0;
    }
    if (status == SLUICE_OK && (held || last == NULL || exact)) {
        if (phases_of_plan(run, phases, &failed) != SLUICE_OK) {
            json_array_clear(phases);
            json_object_set_new(json, "plan_error",
                                facts_text(failed.message, strlen(failed.message)));
            status = phases_of_records(dir, phases, err);
        }
    } else if (status == SLUICE_OK) {
        phases_of_report(last, phases);
    }
    if (status == SLUICE_OK) {
        status = history_json(dir, history, err);
    }
    if (status == SLUICE_OK) {
        const json_t *state = json_object_get(last, "state");
        json_object_set(json, "name", json_object_get(plan, "name"));
        json_object_set(json, "script", json_object_get(plan, "script"));
        json_object_set(json, "args", json_object_get(plan, "args"));
        json_object_set_new(json, "run_dir", facts_text(dir, strlen(dir)));
        json_object_set_new(json, "state",
                            json_string(held            ? "running"
                                        : state == NULL ? "interrupted"
                                                        : json_string_value(state)));
        if (held && holder[0] != '\0') {
            json_object_set_new(json, "held_by", facts_text(holder, strlen(holder)));
        }
        if (json_array_size(workers) > 0) {
            json_object_set(json, "workers", workers);
        }
        if (json_object_get(last, "failures") != NULL) {
            json_object_set(json, "failures", json_object_get(last, "failures"));
        }
        if (!held && last != NULL) {
            json_object_set(json, "seconds", json_object_get(last, "seconds"));
            json_object_set_new(json, "ended", time_json(last, dir, "last.json"));
            if (json_object_get(last, "error") != NULL) {
                json_object_set(json, "error", json_object_get(last, "error"));
            }
            json_object_set(json, "quarantined", json_object_get(last, "quarantined"));
            json_object_set_new(json, "asked", asked_json(last));
        }
        json_object_set(json, "phases", phases);
        json_object_set_new(json, "datasets", datasets_json(last));
        json_object_set(json, "history", history);
    }
    json_decref(workers);
    json_decref(phases);
    json_decref(history);
    json_decref(plan);
    json_decref(last);
    *out = json;
    return status;
}

int cmd_show(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice show RUN [--plan] [--json|--view FILE.lua]",
        .text = "Shows a run: who works on it, how far each phase is, the datasets it published, "
                "its history. RUN is a run directory\n"
                "or the name of a pipeline that ran here.",
        .specs = show_specs,
        .n_specs = sizeof show_specs / sizeof show_specs[0],
        .least = 1,
        .most = 1,
    };
    struct args args;
    int ended;
    struct sluice_error err = ERROR_INIT;
    json_t *json = NULL;
    char *dir;
    bool as_json;
    int status = 0;

    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    as_json = args_get(&args, "--json") != NULL;
    dir = session_run_dir(args.words[0]);
    if (dir == NULL) {
        return 5;
    }
    if (collect(args.words[0], dir, args_get(&args, "--plan") != NULL, &json, &err) != SLUICE_OK) {
        status = session_fail(&err, as_json);
    } else if (as_json) {
        look_print("show", json_incref(json));
    } else if (view_once("show", args_get(&args, "--view"), json, NULL, &err) != SLUICE_OK) {
        status = session_fail(&err, false);
    }
    json_decref(json);
    free(dir);
    return status;
}
