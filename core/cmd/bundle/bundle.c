/* `sluice bundle`: what a report of a fault needs of a run, in one archive, without the data: see
 * the README of the archive below. */
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/bundle/redact.h"
#include "cmd/bundle/ustar.h"
#include "cmd/commands.h"
#include "cmd/inspect/version.h"
#include "cmd/look/look.h"
#include "cmd/plan/plan_facts.h"
#include "run/chain/quarantine.h"
#include "run/facts/facts.h"
#include "run/limits.h"
#include "store/content.h"
#include "store/store.h"

#define FILE_BYTES_MAX ((uint64_t)256 << 20)

static const char readme[] =
    "What `sluice bundle` packed of a run, for a report of a fault.\n"
    "\n"
    "  version.json       the program, its formats, its libraries\n"
    "  machine.json       kernel, C library, processors, memory, limits\n"
    "  plan.json          script, arguments and options of the command line\n"
    "  plan-facts.json    the plan as `sluice plan --json --tasks` tells it (or plan-error.txt)\n"
    "  used.json          scripts, plugins, models: paths, versions, SHA-256\n"
    "  script/            the pipeline's files, as they were run\n"
    "  report.json        the last report; history/ has those of earlier runs\n"
    "  tasks/             the commit record of each task: what it counted, names and hashes of its "
    "files\n"
    "                     (of a run in a store: those that the store listed)\n"
    "  quarantine.json    how many rows are kept for replay, by stage and reason\n"
    "\n"
    "No file of the input or output is in here, and no row. Reasons and messages of errors may "
    "quote\n"
    "values of records, examples do: they read \"(left out: N bytes)\", but for messages of errors "
    "where\n"
    "--messages was given. Names of reasons, of files and folders, the scripts and their arguments "
    "are as they "
    "are:\n"
    "look through them before you send this.\n";

struct bundle {
    const char *run_dir;
    struct outcodec *codec;
    const char *top; /* folder in the archive */
    bool messages;
    uint32_t n_files;
};

static sluice_status add(struct bundle *bundle, const char *name, const void *data, size_t n,
                         struct sluice_error *err)
{
    char *path = disk_join(bundle->top, name);
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : ustar_file(bundle->codec, path, data, n, err);

    bundle->n_files++;
    free(path);
    return status;
}

/* Drops the reference. */
static sluice_status add_json(struct bundle *bundle, const char *name, json_t *json,
                              struct sluice_error *err)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS);
    sluice_status status =
        text == NULL ? error_nomem(err, "the bundle") : add(bundle, name, text, strlen(text), err);

    free(text);
    json_decref(json);
    return status;
}

/* ---- files of the run directory ---- */

/* A file as it is; one that is not there is left out. */
static sluice_status add_copy(struct bundle *bundle, const char *name, const char *as,
                              struct sluice_error *err)
{
    char *path = store_join(bundle->run_dir, name);
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_BYTES_MAX, &text, &found, err);

    if (status == SLUICE_OK && found) {
        status = add(bundle, as, buf_str(&text), text.size, err);
    }
    buf_deinit(&text);
    free(path);
    return status;
}

/* A file of JSON without what may be text of records; one that is damaged is told. */
static sluice_status add_redacted(struct bundle *bundle, const char *name, const char *as,
                                  struct sluice_error *err)
{
    char *path = store_join(bundle->run_dir, name);
    struct buf text = BUF_INIT;
    json_t *json;
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_BYTES_MAX, &text, &found, err);

    if (status == SLUICE_OK && found) {
        /* Behind a commit record's first line may stand others; they are directories of files. */
        json = json_loadb(text.data, text.size, JSON_DISABLE_EOF_CHECK, NULL);
        if (json == NULL) {
            json = json_pack("{s:b, s:I}", "damaged", 1, "bytes", (json_int_t)text.size);
        }
        if (json != NULL && !redact(json, bundle->messages)) {
            json_decref(json);
            json = NULL;
        }
        status = add_json(bundle, as, json, err);
    }
    buf_deinit(&text);
    free(path);
    return status;
}

/* The scripts, by the names that plan.json has for them. */
static sluice_status add_scripts(struct bundle *bundle, struct sluice_error *err)
{
    char *path = store_join(bundle->run_dir, "plan.json");
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_BYTES_MAX, &text, &found, err);
    json_t *plan = status == SLUICE_OK ? json_loadb(text.data, text.size, 0, NULL) : NULL;
    const json_t *entry;
    size_t i;

    free(path);
    buf_deinit(&text);
    json_array_foreach(json_object_get(plan, "files"), i, entry)
    {
        const char *kind = json_string_value(json_object_get(entry, "kind"));
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *from = json_string_value(json_object_get(entry, "path"));
        const char *sha256 = json_string_value(json_object_get(entry, "sha256"));
        if (status == SLUICE_OK && kind != NULL && name != NULL && from != NULL && sha256 != NULL &&
            strcmp(kind, "script") == 0 && disk_path_valid(name) && disk_name_valid(sha256)) {
            char *place = str_printf(CONTENT_FOLDER "/%s/%s", sha256, content_name(from));
            char *as = disk_join("script", name);
            status = place == NULL || as == NULL ? error_nomem(err, "a path")
                                                 : add_copy(bundle, place, as, err);
            free(place);
            free(as);
        }
    }
    json_decref(plan);
    return status;
}

typedef sluice_status on_file(struct bundle *, const char *name, struct sluice_error *);

/* Calls fn with "dir/…" of each file, in byte order; hidden ones are temporary. */
static sluice_status each_file(struct bundle *bundle, const char *dir, on_file *fn,
                               struct sluice_error *err)
{
    char *folder = store_join(bundle->run_dir, dir);
    struct store_list list = { NULL, 0 };
    sluice_status status = folder == NULL ? error_nomem(err, "a path")
                                          : store_list(folder, STORE_VERSIONS, &list, err);

    for (size_t k = 0; status == SLUICE_OK && k < list.n; k++) {
        char *name = disk_join(dir, list.entries[k].name);
        if (name == NULL) {
            status = error_nomem(err, "a path");
        } else if (list.entries[k].name[0] != '.') {
            status =
                list.entries[k].folder ? each_file(bundle, name, fn, err) : fn(bundle, name, err);
        }
        free(name);
    }
    store_list_deinit(&list);
    free(folder);
    return status;
}

static sluice_status add_record(struct bundle *bundle, const char *name, struct sluice_error *err)
{
    return add_redacted(bundle, name, name, err);
}

/* ---- what is counted and asked ---- */

static sluice_status add_quarantine(struct bundle *bundle, struct sluice_error *err)
{
    char *folder = store_join(bundle->run_dir, QUARANTINE_FOLDER);
    struct disk_names names = { NULL, 0 };
    json_t *counts = json_object();
    sluice_status status = folder == NULL || counts == NULL ? error_nomem(err, "the bundle")
                                                            : store_names(folder, &names, err);

    for (size_t k = 0; status == SLUICE_OK && k < names.n; k++) {
        struct quarantined row = { 0 };
        struct sluice_error damage = ERROR_INIT;
        char *path = store_join(folder, names.names[k]);
        bool read = path != NULL && quarantine_read(path, true, &row, &damage) == SLUICE_OK;
        char *what = str_printf("%s: %s", read ? row.stage : "(damaged)", read ? row.reason : "");
        if (what == NULL ||
            json_object_set_new(
                counts, what,
                json_integer(1 + json_integer_value(json_object_get(counts, what)))) != 0) {
            status = error_nomem(err, "the bundle");
        }
        free(what);
        free(path);
        quarantined_deinit(&row);
    }
    disk_names_deinit(&names);
    free(folder);
    if (status != SLUICE_OK) {
        json_decref(counts);
        return status;
    }
    return add_json(bundle, "quarantine.json", counts, err);
}

static json_t *limit_json(int which)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return json_null();
    }
    return json_integer((json_int_t)limit.rlim_cur);
}

static sluice_status add_machine(struct bundle *bundle, struct sluice_error *err)
{
    struct utsname system;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);

    if (uname(&system) != 0) {
        memset(&system, 0, sizeof system);
    }
    return add_json(bundle, "machine.json",
                    json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}",
                              "system", system.sysname, "kernel", system.release, "machine",
                              system.machine, "libc", gnu_get_libc_version(), "processors",
                              (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "workers_granted",
                              (json_int_t)limits_workers(), "memory", (json_int_t)pages * page,
                              "memory_granted", (json_int_t)limits_memory(), "open_files",
                              limit_json(RLIMIT_NOFILE), "address_space", limit_json(RLIMIT_AS),
                              "locked_memory", limit_json(RLIMIT_MEMLOCK), "processes",
                              limit_json(RLIMIT_NPROC)),
                    err);
}

static sluice_status add_version(struct bundle *bundle, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status = version_json(&text, err);

    if (status == SLUICE_OK) {
        status = add(bundle, "version.json", buf_str(&text), text.size, err);
    }
    buf_deinit(&text);
    return status;
}

/* The plan is built again, which may be what fails. */
static sluice_status add_plan(struct bundle *bundle, struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    json_t *plan = NULL;
    char text[128];

    if (plan_facts(bundle->run_dir, &plan, &why) == SLUICE_OK) {
        return add_json(bundle, "plan-facts.json", plan, err);
    }
    json_decref(plan);
    if (bundle->messages) {
        return add(bundle, "plan-error.txt", why.message, strlen(why.message), err);
    }
    snprintf(text, sizeof text,
             "the plan can't be built again; error %d (message left out: %zu bytes)\n",
             (int)why.code, strlen(why.message));
    return add(bundle, "plan-error.txt", text, strlen(text), err);
}

static sluice_status add_all(struct bundle *bundle, struct sluice_error *err)
{
    TRY(add(bundle, "README", readme, sizeof readme - 1, err));
    TRY(add_version(bundle, err));
    TRY(add_machine(bundle, err));
    TRY(add_copy(bundle, "plan.json", "plan.json", err));
    TRY(add_plan(bundle, err));
    TRY(add_copy(bundle, "used.json", "used.json", err));
    TRY(add_scripts(bundle, err));
    TRY(add_redacted(bundle, "last.json", "report.json", err));
    TRY(each_file(bundle, "history", add_record, err));
    TRY(each_file(bundle, "tasks", add_record, err));
    TRY(add_quarantine(bundle, err));
    return ustar_end(bundle->codec, err);
}

/* ---- the command ---- */

static sluice_status write_bundle(struct bundle *bundle, const char *path, uint64_t *bytes,
                                  struct sluice_error *err)
{
    const char *name;
    char *dir = store_parent(path, &name);
    struct pending *pending = NULL;
    struct published published = { 0 };
    sluice_status status = dir == NULL ? error_nomem(err, "a path")
                                       : outcodec_create(OUTCODEC_ZSTD, 0, &bundle->codec, err);

    if (status == SLUICE_OK) {
        status = pending_open(dir, &pending, err);
    }
    if (status == SLUICE_OK) {
        status = outcodec_begin(bundle->codec, pending, err);
    }
    if (status == SLUICE_OK) {
        status = add_all(bundle, err);
    }
    if (status == SLUICE_OK) {
        status = outcodec_finish(bundle->codec, err);
    }
    if (status == SLUICE_OK) {
        status = pending_publish(pending, name, 0, &published, err);
        pending = NULL;
    }
    *bytes = published.bytes;
    pending_abort(pending);
    outcodec_destroy(bundle->codec);
    free(dir);
    return status;
}

static sluice_status check_run(const char *text, const char *run_dir, struct sluice_error *err)
{
    char *path = store_join(run_dir, "plan.json");
    struct store_version version;
    bool there = false;
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : store_stat(path, &version, &there, err);

    free(path);
    TRY(status);
    return there ? SLUICE_OK
                 : error_set(err, SLUICE_E_CONFIG,
                             "no run in %s: plan.json is not there; give a run directory or the "
                             "name of a pipeline that ran here instead of '%s'",
                             run_dir, text);
}

static const struct arg_spec bundle_specs[] = {
    { "-o", "FILE", "the archive (default: NAME.bundle.tar.zst here)" },
    { "--messages", NULL, "messages of errors as well, which may quote values of records" },
    { "--json", NULL, "one JSON object" },
};

int cmd_bundle(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice bundle RUN [-o FILE] [--messages] [--json]",
        .text =
            "Packs what a report of a fault needs of a run into one archive (tar -tf shows it), "
            "without the data: script,\nplan, options, versions, plugins with their hashes, the "
            "machine, reports, records of tasks with what they counted,\nand how many rows are "
            "quarantined. No row and no text of one is in it; what reasons and messages may quote "
            "is left\nout. Names of files, the scripts and their arguments are in it: look "
            "through them before you send it.",
        .specs = bundle_specs,
        .n_specs = sizeof bundle_specs / sizeof bundle_specs[0],
        .least = 1,
        .most = 1,
    };
    struct args args;
    struct sluice_error err = ERROR_INIT;
    int status = command_args(&command, argc, argv, &args);
    bool json = status < 0 && args_get(&args, "--json") != NULL;
    char *run_dir = status < 0 ? session_run_dir(args.words[0]) : NULL;
    const char *base = run_dir == NULL ? "" : strrchr(run_dir, '/');
    char *top = run_dir == NULL ? NULL : str_printf("%s.bundle", base == NULL ? run_dir : base + 1);
    char *path = top == NULL ? NULL
                 : args_get(&args, "-o") != NULL
                     ? str_copy(args_get(&args, "-o"), strlen(args_get(&args, "-o")))
                     : str_printf("%s.tar.zst", top);
    struct bundle bundle = { .run_dir = run_dir,
                             .top = top,
                             .messages = status < 0 && args_get(&args, "--messages") != NULL };
    uint64_t bytes = 0;

    if (status >= 0) {
        return status;
    }
    status = 0;
    if (path == NULL) {
        error_nomem(&err, "a path");
        status = session_fail(&err, json);
    } else if (check_run(args.words[0], run_dir, &err) != SLUICE_OK ||
               write_bundle(&bundle, path, &bytes, &err) != SLUICE_OK) {
        status = session_fail(&err, json);
    } else if (json) {
        look_print("bundle", json_pack("{s:o, s:i, s:I}", "path", facts_text(path, strlen(path)),
                                       "files", (int)bundle.n_files, "bytes", (json_int_t)bytes));
    } else {
        say("%s: %" PRIu32 " files, %" PRIu64
            " bytes; no records in it, but names of files and the "
            "scripts: look through it before you send it\n",
            path, bundle.n_files, bytes);
    }
    free(path);
    free(top);
    free(run_dir);
    return status;
}
