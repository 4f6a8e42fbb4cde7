/* sluice new: a project for a plugin or for a dataset, or a file for a heuristic, from the
 * templates that are installed beside the scripts. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/new/new_name.h"
#include "cmd/new/new_template.h"
#include "cmd/session.h"

static const char usage[] = "sluice new plugin NAME [--lang LANG] [--role ROLE] [--dir FOLDER]\n"
                            "       sluice new heuristic NAME [--dir FOLDER]\n"
                            "       sluice new pipeline NAME [--dir FOLDER]\n"
                            "       sluice new project NAME [--dir FOLDER]";
static const char text[] =
    "`new plugin` writes a folder NAME with a stage of that name that works: an option with a "
    "range, a test, sample data\n"
    "with the output that is expected, a pipeline that uses it, and a README.md that says what to "
    "change. `make` builds it\n"
    "against the installed SDK, `make test` tests it.\n"
    "\n"
    "`new heuristic` writes one file NAME.lua: a measure, a threshold, and documents that it keeps "
    "and drops. `sluice test\n"
    "NAME.lua` runs them.\n"
    "\n"
    "`new pipeline` writes one file NAME.lua that runs on files of JSON Lines: two filters, a rule "
    "in "
    "Lua, near-duplicates.\n"
    "\n"
    "`new project` writes a folder NAME with a dataset in three steps: bronze (what came in, with "
    "its contract), silver\n"
    "(cleaned) and gold (what is trained on), a pipeline each, and four documents. `make` runs "
    "them.\n"
    "\n"
    "languages: c, cpp, rust, lua\n"
    "roles:     filter     keeps or drops documents, with a reason and the value measured\n"
    "           annotator  adds columns to documents\n"
    "           transform  makes other rows out of documents\n"
    "           reader     turns bytes of input files into documents\n"
    "           random_reader  the same for files with an index, reading what it asks for (c, cpp, "
    "rust)\n"
    "           gate       counts what passes and halts the run when it is not as expected\n"
    "           writer     turns documents into bytes of output files\n"
    "           judge      asks a server about documents, and adds what it answers\n"
    "\n"
    "NAME is a word of a to z, 0 to 9 and _ that begins with a letter. What exists is never "
    "overwritten.";

static const struct arg_spec specs[] = {
    { "--lang", "LANG", "c (default), cpp, rust or lua" },
    { "--role", "ROLE",
      "filter (default), annotator, transform, reader, random_reader, gate, writer or judge" },
    { "--dir", "FOLDER", "where NAME is made; default: here" },
    { "--json", NULL, "one JSON object: folder, files, commands to type next" },
};
#define N_SPECS (sizeof specs / sizeof specs[0])

enum kind { KIND_PLUGIN, KIND_HEURISTIC, KIND_PROJECT, KIND_PIPELINE };
static const char *const kinds[] = { "plugin", "heuristic", "project", "pipeline" };
static const char *const langs[] = { "c", "cpp", "rust", "lua" };
static const char *const lang_names[] = { "C", "C++", "Rust", "Lua" };
static const char *const roles[] = { "filter",        "annotator", "transform", "reader",
                                     "random_reader", "gate",      "writer",    "judge" };
static const char *const role_names[] = {
    "filter", "annotator", "transform", "reader", "reader that reads at random",
    "gate",   "writer",    "judge"
};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define LINES_MAX 8

/* One `sluice new`. */
struct project {
    const char *name, *lang, *lang_name, *role, *role_name;
    enum kind kind;
    bool json;
    char *parent;  /* as given, "" = here */
    char *path;    /* parent/NAME or parent/NAME.lua */
    char *share;   /* the installation's share/sluice: template, rust */
    char *pc_dir;  /* folder of sluice.pc, NULL in a build tree */
    bool pc_found; /* where pkg-config looks by itself */
    struct template_files files;
    char *next[LINES_MAX]; /* what to type */
    size_t n_next;
};

/* One file, not a folder. */
static bool is_file(const struct project *project)
{
    return project->kind == KIND_HEURISTIC || project->kind == KIND_PIPELINE;
}

static void project_deinit(struct project *project)
{
    template_files_deinit(&project->files);
    for (size_t k = 0; k < project->n_next; k++) {
        free(project->next[k]);
    }
    free(project->parent);
    free(project->path);
    free(project->share);
    free(project->pc_dir);
}

/* ---- arguments ---- */

static sluice_status choose(const char *what, const char *given, const char *const *list, size_t n,
                            size_t *out, struct sluice_error *err)
{
    struct buf all = BUF_INIT;
    const char *near;
    sluice_status status;

    for (size_t k = 0; k < n; k++) {
        if (strcmp(given, list[k]) == 0) {
            *out = k;
            return SLUICE_OK;
        }
    }
    for (size_t k = 0; k < n; k++) {
        buf_printf(&all, "%s%s", k == 0 ? "" : k + 1 < n ? ", " : " or ", list[k]);
    }
    near = error_suggest(given, list, n);
    status = error_set(err, SLUICE_E_CONFIG, "%s: found '%s', expected %s%s%s%s", what, given,
                       buf_str(&all), near == NULL ? "" : "; did you mean '",
                       near == NULL ? "" : near, near == NULL ? "" : "'?");
    buf_deinit(&all);
    return status;
}

static sluice_status read_args(const struct args *args, struct project *project,
                               struct sluice_error *err)
{
    const char *lang = args_get(args, "--lang");
    const char *role = args_get(args, "--role");
    const char *dir = args_get(args, "--dir");
    size_t kind = KIND_PLUGIN;
    size_t lang_index = 0;
    size_t role_index = 0;

    if (args->n_words == 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "what is to be made is not said: sluice new plugin NAME, sluice new "
                         "heuristic NAME, sluice new pipeline NAME, or sluice new project NAME");
    }
    TRY(choose("new", args->words[0], kinds, COUNT(kinds), &kind, err));
    if (args->n_words != 2) {
        return error_set(err, SLUICE_E_CONFIG, "found %zu names, expected one: sluice new %s NAME",
                         args->n_words - 1, kinds[kind]);
    }
    project->kind = (enum kind)kind;
    if (project->kind != KIND_PLUGIN && (lang != NULL || role != NULL)) {
        return error_set(err, SLUICE_E_CONFIG, "%s: leave %s out, or say sluice new plugin",
                         project->kind == KIND_HEURISTIC  ? "a heuristic is a filter in Lua"
                         : project->kind == KIND_PIPELINE ? "a pipeline is a file in Lua"
                                                          : "a project is pipelines in Lua",
                         lang != NULL ? "--lang" : "--role");
    }
    TRY(choose("--lang", lang == NULL ? "c" : lang, langs, COUNT(langs), &lang_index, err));
    TRY(choose("--role", role == NULL ? "filter" : role, roles, COUNT(roles), &role_index, err));
    project->name = args->words[1];
    project->lang = langs[lang_index];
    project->lang_name = lang_names[lang_index];
    project->role = roles[role_index];
    project->role_name = role_names[role_index];
    if (strcmp(project->lang, "lua") == 0 && strcmp(project->role, "random_reader") == 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "a reader in Lua is given lines; one that reads at random is written in "
                         "c, cpp or rust: --lang c");
    }
    project->json = args_get(args, "--json") != NULL;
    project->parent = str_copy(dir == NULL ? "" : dir, dir == NULL ? 0 : strlen(dir));
    return project->parent == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* A name that can be a stage's, and is nobody else's. */
static sluice_status check_name(const struct project *project, struct registry *registry,
                                struct sluice_error *err)
{
    const struct registry_entry *entry = NULL;
    struct sluice_error ignored = ERROR_INIT;

    TRY(new_name_check(project->name, err));
    if (project->kind != KIND_PROJECT && project->kind != KIND_PIPELINE &&
        registry_find(registry, project->name, &entry, &ignored) == SLUICE_OK) {
        return error_set(err, SLUICE_E_CONFIG,
                         "'%s' is a stage of the plugin '%s' already; choose another name, such as "
                         "'my_%s'",
                         project->name, entry->plugin_name, project->name);
    }
    return SLUICE_OK;
}

/* ---- places ---- */

/* Templates stand beside the scripts; sluice.pc stands where `make install` puts it. */
static sluice_status find_share(const struct session *session, struct project *project,
                                struct sluice_error *err)
{
    char *scripts = realpath(session->module_dir, NULL);
    char *slash = scripts == NULL ? NULL : strrchr(scripts, '/');
    char *pc = str_printf("%s/../lib/pkgconfig/sluice.pc", session->exe_dir);
    char *real = pc == NULL ? NULL : realpath(pc, NULL);

    if (slash != NULL) {
        /* In a source tree the templates are part of the SDK. */
        *slash = '\0';
        project->share = str_printf("%s/template", scripts);
        if (project->share != NULL && access(project->share, R_OK) != 0) {
            free(project->share);
            project->share = str_printf("%s/sdk", scripts);
        } else if (project->share != NULL) {
            project->share[strlen(scripts)] = '\0';
        }
    }
    if (real != NULL) {
        *strrchr(real, '/') = '\0';
        project->pc_dir = real;
        project->pc_found = strcmp(real, "/usr/lib/pkgconfig") == 0 ||
                            strcmp(real, "/usr/local/lib/pkgconfig") == 0;
    }
    free(scripts);
    free(pc);
    return project->share == NULL
               ? error_set(err, SLUICE_E_IO, "%s is not there; install Sluice again",
                           session->module_dir)
               : SLUICE_OK;
}

/* ---- writing ---- */

static sluice_status write_project(struct project *project, struct sluice_error *err)
{
    bool lua = strcmp(project->lang, "lua") == 0;
    char *root = str_printf("%s/template", project->share);
    char *rust = str_printf("%s/rust", project->share);
    char *role = str_printf("role/%s", project->role);
    char *all = str_printf("%s/all", project->lang);
    char *own = str_printf("%s/%s", project->lang, project->role);
    char *stage = lua ? str_printf("require \"%s\"", project->name)
                      : str_printf("s.plugin(\"%s.so\").%s", project->name, project->name);
    const char *const parts[] = { "all", lua ? "all" : "native", all, role, own };
    const char *const alone[] = { kinds[project->kind] };
    const struct template_word words[] = {
        { "NAME_HERE", project->name },      { "ROLE_HERE", project->role_name },
        { "LANG_HERE", project->lang_name }, { "STAGE_HERE", stage },
        { "RUST_SDK_HERE", rust },
    };
    const struct template template = {
        .root = root,
        .parts = project->kind == KIND_PLUGIN ? parts : alone,
        .n_parts = project->kind == KIND_PLUGIN ? COUNT(parts) : 1,
        .words = words,
        .n_words = COUNT(words),
    };
    sluice_status status =
        root == NULL || rust == NULL || role == NULL || all == NULL || own == NULL || stage == NULL
            ? error_nomem(err, "paths")
            : SLUICE_OK;

    project->path = str_printf("%s%s%s%s", project->parent, project->parent[0] != '\0' ? "/" : "",
                               project->name, is_file(project) ? ".lua" : "");
    if (status == SLUICE_OK && project->path == NULL) {
        status = error_nomem(err, "a path");
    }
    if (status == SLUICE_OK && project->parent[0] != '\0') {
        status = disk_mkdirs(project->parent, err);
    }
    if (status == SLUICE_OK) {
        status = is_file(project)
                     ? template_write_file(&template, "NAME_HERE.lua", project->path, err)
                     : template_write(&template, project->path, &project->files, err);
    }
    free(root);
    free(rust);
    free(role);
    free(all);
    free(own);
    free(stage);
    return status;
}

/* ---- what to type next ---- */

static void next(struct project *project, char *line)
{
    if (line != NULL && project->n_next < LINES_MAX) {
        project->next[project->n_next++] = line;
    } else {
        free(line);
    }
}

static void plan_next(struct project *project)
{
    bool native = strcmp(project->lang, "lua") != 0;

    if (project->kind == KIND_HEURISTIC) {
        next(project, str_printf("sluice test %s", project->path));
        return;
    }
    if (project->kind == KIND_PIPELINE) {
        next(project, str_printf("sluice check %s input='data/*.jsonl*'", project->path));
        next(project, str_printf("sluice run %s input='data/*.jsonl*'", project->path));
        next(project, str_printf("sluice why %s", project->name));
        return;
    }
    next(project, str_printf("cd %s", project->path));
    if (project->kind == KIND_PROJECT) {
        next(project, str_printf("make"));
        next(project, str_printf("sluice why bronze --quarantine"));
        return;
    }
    if (native && project->pc_dir != NULL && !project->pc_found) {
        next(project, str_printf("export PKG_CONFIG_PATH=%s${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}",
                                 project->pc_dir));
    }
    next(project, str_printf("make"));
    next(project, str_printf("make test"));
    if (native) {
        next(project, str_printf("sluice inspect %s --plugin %s.so", project->name, project->name));
    }
}

static void print_json(const struct project *project)
{
    struct buf out = BUF_INIT;

    buf_puts(&out, "{\"path\":");
    buf_json_string(&out, project->path, strlen(project->path));
    buf_puts(&out, ",\"files\":[");
    for (size_t k = 0; k < project->files.n; k++) {
        buf_puts(&out, k > 0 ? "," : "");
        buf_json_string(&out, project->files.names[k], strlen(project->files.names[k]));
    }
    buf_puts(&out, "],\"next\":[");
    for (size_t k = 0; k < project->n_next; k++) {
        buf_puts(&out, k > 0 ? "," : "");
        buf_json_string(&out, project->next[k], strlen(project->next[k]));
    }
    buf_puts(&out, "]}\n");
    say_json(buf_str(&out), out.size);
    buf_deinit(&out);
}

static void print_text(const struct project *project)
{
    if (project->kind == KIND_HEURISTIC) {
        say("%s: a heuristic with a document that it keeps and one that it drops\n", project->path);
    } else if (project->kind == KIND_PIPELINE) {
        say("%s: a pipeline over files of JSON Lines\n", project->path);
    } else if (project->kind == KIND_PROJECT) {
        say("%s: a dataset in three steps, bronze, silver and gold\n", project->path);
    } else {
        say("%s: a %s in %s\n", project->path, project->role_name, project->lang_name);
    }
    for (size_t k = 0; k < project->files.n; k++) {
        say("  %s\n", project->files.names[k]);
    }
    if (project->kind == KIND_PLUGIN && project->pc_dir == NULL &&
        strcmp(project->lang, "lua") != 0) {
        say("\nThis sluice is not installed, and plugins are built against an installed one: "
            "`make install PREFIX=…` in its tree.\n");
    }
    say("\nnext:\n");
    for (size_t k = 0; k < project->n_next; k++) {
        say("  %s\n", project->next[k]);
    }
}

int cmd_new(int argc, char **argv)
{
    struct args args;
    struct project project;
    struct session session;
    const struct session_options options = { 0 };
    struct sluice_error err = ERROR_INIT;
    sluice_status status = args_parse(argc, argv, specs, N_SPECS, &args, &err);

    memset(&project, 0, sizeof project);
    memset(&session, 0, sizeof session);
    if (status == SLUICE_OK && args.help) {
        args_help(usage, text, specs, N_SPECS);
        return 0;
    }
    if (status == SLUICE_OK) {
        status = read_args(&args, &project, &err);
    }
    if (status == SLUICE_OK) {
        status = session_registry(&options, &session, &err);
    }
    if (status == SLUICE_OK) {
        status = check_name(&project, session.registry, &err);
    }
    if (status == SLUICE_OK) {
        status = find_share(&session, &project, &err);
    }
    if (status == SLUICE_OK) {
        status = write_project(&project, &err);
    }
    if (status == SLUICE_OK) {
        plan_next(&project);
        (project.json ? print_json : print_text)(&project);
    }
    session_close(&session);
    project_deinit(&project);
    return status == SLUICE_OK ? 0 : session_fail(&err, false);
}
