/* sluice test: the examples of stages in Lua, run as tests, in any number of files and folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/test/test_apart.h"
#include "cmd/test/test_place.h"
#include "lua/stage/luastage.h"
#include "run/facts/facts.h"
#include "store/disk.h"

static const struct arg_spec specs[] = {
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "allow plugins from outside the install tree" },
    { "--json", NULL, "results as JSON lines" },
};
#define N_SPECS (sizeof specs / sizeof specs[0])

static const char usage[] = "sluice test FILE.lua|FOLDER ... [name=value ...]";
static const char text[] =
    "Runs the examples of every stage that the files define, with the default options: { \"text\", "
    "keep = true } must be kept,\n"
    "{ \"text\", keep = false } dropped; stages of other roles have examples of their own form. A "
    "file is a pipeline (name=value are\n"
    "its arguments) or a module that returns a stage; of a folder all .lua files in it and below "
    "are tested. A heuristic needs one\n"
    "example that is kept and one that is dropped. Exit status 1: an example failed; 2: a file "
    "can't be loaded.";

struct testing {
    struct session_options options; /* of every file */
    const char *plugins[ARGS_MAX], *words[ARGS_MAX];
    bool json, several;
    uint32_t files, examples, failed;
    int broken; /* exit status of a file that can't be loaded, or 0 */
};

/* What a stage's examples are reported with. */
struct reporter {
    const struct testing *testing;
    const struct session *session;
    const char *file, *stage, *role;
};

/* "h.lua:12", in the file of the script that has the example, or only the file. */
static const char *place_of(const struct reporter *reporter, uint32_t number, const char **file,
                            uint32_t *line, char *buffer, size_t size)
{
    size_t n;
    const struct script_file *files = script_files(reporter->session->script, &n);

    *file = reporter->file;
    *line = 0;
    for (size_t i = 0; i < n && *line == 0; i++) {
        *line = test_example_line(files[i].text, files[i].size, reporter->stage, number);
        if (*line > 0 && i > 0) {
            *file = files[i].path;
        }
    }
    if (*line > 0) {
        snprintf(buffer, size, "%s:%u", *file, *line);
    } else {
        snprintf(buffer, size, "%s", *file);
    }
    return buffer;
}

static void report(void *ctx, uint32_t number, bool passed, const char *message)
{
    const struct reporter *reporter = ctx;
    const char *file;
    uint32_t line;
    char place[4200];

    place_of(reporter, number, &file, &line, place, sizeof place);
    if (reporter->testing->json) {
        json_t *json = json_pack("{s:o, s:s, s:s, s:i, s:b}", "file",
                                 facts_text(file, strlen(file)), "stage", reporter->stage, "role",
                                 reporter->role, "example", (int)number, "passed", passed ? 1 : 0);
        if (json != NULL && line > 0) {
            json_object_set_new(json, "line", json_integer(line));
        }
        if (json != NULL && !passed) {
            json_object_set_new(json, "message", facts_text(message, strlen(message)));
        }
        look_print("example", json);
    } else if (!passed) {
        say("FAIL  %s: %s: example %u %s\n", place, reporter->stage, number, message);
    }
}

static sluice_status test_stage(struct testing *testing, const struct session *session,
                                const char *file, uint32_t k, struct sluice_error *err)
{
    struct reporter reporter = { .testing = testing,
                                 .session = session,
                                 .file = file,
                                 .stage = script_stage_name(session->script, k),
                                 .role = luastage_role(session->script, k) };
    struct luastage_examples found;
    uint32_t n;
    bool few;

    TRY(luastage_run_examples(session->script, k, report, &reporter, &found, err));
    n = found.kept + found.dropped + found.others;
    few = strcmp(reporter.role, "heuristic") == 0 && (found.kept == 0 || found.dropped == 0);
    found.failed += few;
    testing->examples += n;
    testing->failed += found.failed;
    if (testing->json) {
        look_print("stage", json_pack("{s:o, s:s, s:s, s:i, s:i, s:b}", "file",
                                      facts_text(file, strlen(file)), "stage", reporter.stage,
                                      "role", reporter.role, "examples", (int)n, "failed",
                                      (int)found.failed, "too_few", few ? 1 : 0));
        return SLUICE_OK;
    }
    if (few) {
        say("FAIL  %s: %s: a heuristic needs an example that is kept and one that is dropped; "
            "found %u and %u\n",
            file, reporter.stage, found.kept, found.dropped);
    }
    say("%s  %s%s%s %s: %u example%s\n",
        found.failed > 0 ? "FAIL"
        : n > 0          ? "ok  "
                         : "none",
        testing->several ? file : "", testing->several ? ": " : "", reporter.role, reporter.stage,
        n, plural(n));
    return SLUICE_OK;
}

static void test_file(struct testing *testing, const char *path, bool found);

/* What a child process does with a file, and counts. */
struct apart {
    struct testing *testing;
    const char *path;
    bool found;
    uint32_t examples, failed;
    int broken;
};

static void test_in_child(void *ctx)
{
    struct apart *apart = ctx;
    struct testing testing = *apart->testing;

    testing.options.contained = true;
    testing.examples = testing.failed = 0;
    testing.broken = 0;
    test_file(&testing, apart->path, apart->found);
    apart->examples = testing.examples;
    apart->failed = testing.failed;
    apart->broken = testing.broken;
}

/* A file with functions of foreign libraries, which are loaded in a child process only. */
static void test_file_apart(struct testing *testing, const char *path, bool found)
{
    struct apart apart = { .testing = testing, .path = path, .found = found };
    struct sluice_error err = ERROR_INIT;

    testing->files++;
    if (test_apart(test_in_child, &apart, sizeof apart, &err) != SLUICE_OK) {
        error_prefix(&err, "%s", path);
        testing->broken = session_fail(&err, testing->json);
        return;
    }
    testing->examples += apart.examples;
    testing->failed += apart.failed;
    testing->broken = apart.broken != 0 ? apart.broken : testing->broken;
}

/* Every stage of a file. found: the file was found in a folder, and may have no stages. */
static void test_file(struct testing *testing, const char *path, bool found)
{
    struct session session;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    memset(&session, 0, sizeof session);
    testing->options.script = path;
    testing->options.testing = true;
    status = session_open(&testing->options, SESSION_GRAPH, &session, &err);
    if (status == SLUICE_OK && script_library(session.script, 0) != NULL &&
        !testing->options.contained) {
        session_close(&session);
        test_file_apart(testing, path, found);
        return;
    }
    if (status == SLUICE_OK && script_n_stages(session.script) == 0 && !found) {
        status = error_set(&err, SLUICE_E_CONFIG, "%s defines no stage", path);
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < script_n_stages(session.script); k++) {
        status = test_stage(testing, &session, path, k, &err);
    }
    testing->files++;
    session_close(&session);
    if (status != SLUICE_OK) {
        if (found) {
            error_prefix(&err, "%s", path);
        }
        fflush(stdout);
        testing->broken = session_fail(&err, testing->json);
    }
}

static bool is_lua(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".lua") == 0;
}

/* A file, or all Lua files in a folder and below, in the order of their names. */
static void test_path(struct testing *testing, const char *path, bool found)
{
    struct sluice_error err = ERROR_INIT;
    struct disk_names names;
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        test_file(testing, path, found);
        return;
    }
    if (disk_list(path, &names, &err) != SLUICE_OK) {
        testing->broken = session_fail(&err, testing->json);
        return;
    }
    for (size_t i = 0; i < names.n; i++) {
        char *inner = disk_join(path, names.names[i]);
        bool folder = inner != NULL && names.names[i][0] != '.' && lstat(inner, &info) == 0 &&
                      S_ISDIR(info.st_mode);
        if (inner != NULL && (folder || is_lua(names.names[i]))) {
            test_path(testing, inner, true);
        }
        free(inner);
    }
    disk_names_deinit(&names);
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

int cmd_test(int argc, char **argv)
{
    struct args args;
    struct testing testing;
    struct sluice_error err = ERROR_INIT;
    const char *paths[ARGS_MAX];
    size_t n_paths = 0;
    struct stat info;

    memset(&testing, 0, sizeof testing);
    if (args_parse(argc, argv, specs, N_SPECS, &args, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (args.help) {
        args_help(usage, text, specs, N_SPECS);
        return 0;
    }
    for (size_t i = 0; i < args.n_words; i++) {
        if (strchr(args.words[i], '=') != NULL && !is_there(args.words[i])) {
            testing.words[testing.options.n_words++] = args.words[i];
        } else {
            paths[n_paths++] = args.words[i];
        }
    }
    testing.options.n_plugins = args_all(&args, "--plugin", testing.plugins);
    testing.options.words = testing.words;
    testing.options.plugins = testing.plugins;
    testing.options.trust = args_get(&args, "--trust") != NULL;
    testing.json = args_get(&args, "--json") != NULL;
    if (n_paths == 0) {
        error_set(&err, SLUICE_E_CONFIG, "no file is given: %s", usage);
        return session_fail(&err, testing.json);
    }
    testing.several = n_paths > 1 || (stat(paths[0], &info) == 0 && S_ISDIR(info.st_mode));
    for (size_t i = 0; i < n_paths; i++) {
        test_path(&testing, paths[i], false);
    }
    if (testing.json) {
        look_print("test", json_pack("{s:i, s:i, s:i, s:b}", "files", (int)testing.files,
                                     "examples", (int)testing.examples, "failed",
                                     (int)testing.failed, "broken", testing.broken != 0));
    } else if (testing.broken == 0 || testing.several) {
        say("%u example%s, %u failed", testing.examples, plural(testing.examples), testing.failed);
        if (testing.several) {
            say(", in %u file%s", testing.files, plural(testing.files));
        }
        say("\n");
    }
    return testing.failed > 0 ? 1 : testing.broken;
}
