/* sluice contract infer: the contract that the rows of a dataset keep. The pipeline
 * scripts/pipelines/contract_infer.lua profiles them, on all cores; what it wrote is shown in the
 * form that s.contract reads. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/look/look.h"
#include "cmd/program.h"
#include "cmd/progress.h"
#include "cmd/scripted.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/temp.h"

static const char usage[] = "sluice contract infer DATASET[@N]|FILES [-o FILE] [options]";
static const char text[] =
    "Writes the contract that all rows of a dataset, or of files (JSON Lines, JSON, Parquet, "
    "Arrow, CSV), "
    "keep: "
    "types, columns\n"
    "without nulls, ranges of numbers, lengths of texts, and the values of columns that have few. "
    "The same rows give\n"
    "the same contract. Loosen what is tighter than it should be, and check rows by it: docs | "
    "s.contract \"FILE\".";

static const struct arg_spec specs[] = {
    { "-o", "FILE", "where it is written; default: standard output" },
    { "--reader", "READER",
      "read_jsonl, read_json, read_parquet, read_arrow or read_csv; default: by the files' names" },
    { "--workers", "N", "worker threads (default: the processors granted)" },
    { "--memory", "SIZE", "memory of the process" },
    { "--json", NULL, "one JSON object: path, rows, contract" },
    { "--quiet", NULL, "no progress" },
};

struct inferring {
    const char *given, *out, *reader;
    bool json;
    char *dataset; /* "PATH@N", or NULL: files */
    char *work;    /* the run directory, absolute */
    char *script;
    char *words[4]; /* arguments of the script */
    size_t n_words;
};

static void inferring_deinit(struct inferring *inferring)
{
    for (size_t k = 0; k < inferring->n_words; k++) {
        free(inferring->words[k]);
    }
    free(inferring->dataset);
    free(inferring->work);
    free(inferring->script);
}

/* ---- what is read ---- */

static sluice_status choose_reader(struct inferring *inferring, const char *name,
                                   struct sluice_error *err)
{
    static const char *const readers[][2] = {
        { ".jsonl", "read_jsonl" },     { ".ndjson", "read_jsonl" }, { ".json", "read_json" },
        { ".parquet", "read_parquet" }, { ".arrow", "read_arrow" },  { ".feather", "read_arrow" },
        { ".csv", "read_csv" },         { ".tsv", "read_csv" }
    };

    for (size_t k = 0; inferring->reader == NULL && k < sizeof readers / sizeof readers[0]; k++) {
        if (strstr(name, readers[k][0]) != NULL) {
            inferring->reader = readers[k][1];
        }
    }
    for (size_t k = 0; inferring->reader != NULL && k < sizeof readers / sizeof readers[0]; k++) {
        if (strcmp(inferring->reader, readers[k][1]) == 0) {
            return SLUICE_OK;
        }
    }
    return inferring->reader != NULL
               ? error_set(err, SLUICE_E_CONFIG,
                           "--reader: found '%s', expected read_jsonl, read_json, read_parquet, "
                           "read_arrow or read_csv",
                           inferring->reader)
               : error_set(err, SLUICE_E_CONFIG,
                           "the name of %s does not say which reader it needs; give --reader "
                           "read_jsonl, read_json, read_parquet, read_arrow or read_csv",
                           name);
}

static sluice_status find_rows(struct inferring *inferring, struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    char *dir = NULL;
    uint32_t number = 0;
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = look_dataset(inferring->given, &dir, &number, err);

    if (status == SLUICE_OK && strpbrk(dir, "*?[{") == NULL) {
        status = snapshot_list(dir, &numbers, &n, err);
    }
    free(numbers);
    if (status == SLUICE_OK && n > 0) {
        status = snapshot_open(dir, number, &snapshot, err);
        if (status == SLUICE_OK && snapshot->n_shards == 0) {
            status = error_set(err, SLUICE_E_CONFIG, "%s has no rows to infer a contract from",
                               inferring->given);
        }
        if (status == SLUICE_OK) {
            inferring->dataset = str_printf("%s@%u", dir, snapshot->number);
            status = inferring->dataset == NULL
                         ? error_nomem(err, "a path")
                         : choose_reader(inferring, snapshot->shards[0].file, err);
        }
    } else if (status == SLUICE_OK) {
        status = choose_reader(inferring, inferring->given, err);
    }
    snapshot_destroy(snapshot);
    free(dir);
    return status;
}

static sluice_status add_word(struct inferring *inferring, char *word, struct sluice_error *err)
{
    if (word == NULL) {
        return error_nomem(err, "arguments");
    }
    inferring->words[inferring->n_words++] = word;
    return SLUICE_OK;
}

static sluice_status prepare(struct inferring *inferring, struct session_options *options,
                             struct sluice_error *err)
{
    struct arena arena = { 0 };
    struct program program;
    char cwd[PATH_MAX];
    char *folder;
    sluice_status status;

    TRY(find_rows(inferring, err));
    status = program_find(&arena, &program, err);
    if (status == SLUICE_OK) {
        inferring->script = str_printf("%s/pipelines/contract_infer.lua", program.scripts);
    }
    arena_deinit(&arena);
    TRY(status);
    folder = getcwd(cwd, sizeof cwd) == NULL ? NULL : str_printf("%s/.sluice", cwd);
    status = folder == NULL || inferring->script == NULL
                 ? error_nomem(err, "a path")
                 : temp_folder(folder, &inferring->work, err);
    free(folder);
    TRY(status);
    TRY(add_word(inferring,
                 inferring->dataset != NULL ? str_printf("dataset=%s", inferring->dataset)
                                            : str_printf("files=%s", inferring->given),
                 err));
    TRY(add_word(inferring, str_printf("reader=%s", inferring->reader), err));
    TRY(add_word(inferring, str_printf("out=%s/contract", inferring->work), err));
    options->script = inferring->script;
    options->words = (const char *const *)inferring->words;
    options->n_words = inferring->n_words;
    options->run_dir = inferring->work;
    return SLUICE_OK;
}

/* ---- what comes of it ---- */

/* The contract as it is shown: what it says first comes first, nothing that is empty. Takes it. */
static json_t *in_order(json_t *contract)
{
    static const char *const order[] = { "contract", "columns", "required", "range",
                                         "length",   "allowed", "evolution" };
    json_t *out = json_object();

    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        json_t *member = json_object_get(contract, order[k]);
        if (json_array_size(member) + json_object_size(member) > 0 || json_is_string(member) ||
            json_is_integer(member)) {
            json_object_set(out, order[k], member);
        }
    }
    json_decref(contract);
    return out;
}

static sluice_status take_contract(const struct inferring *inferring, json_t **out,
                                   struct sluice_error *err)
{
    char *dir = str_printf("%s/contract", inferring->work);
    struct snapshot *snapshot = NULL;
    struct buf row = BUF_INIT;
    char *path = NULL;
    json_t *json = NULL;
    sluice_status status =
        dir == NULL ? error_nomem(err, "a path") : snapshot_open(dir, 0, &snapshot, err);

    if (status == SLUICE_OK && snapshot->n_shards == 1) {
        path = snapshot_shard_path(dir, &snapshot->shards[0]);
        status = path == NULL ? error_nomem(err, "a path")
                              : store_read_all(path, UINT64_C(1) << 30, &row, NULL, err);
    }
    if (status == SLUICE_OK) {
        json = json_loadb(buf_str(&row), row.size, JSON_DISABLE_EOF_CHECK, NULL);
        *out = in_order(json_incref(json_object_get(json, "contract")));
        status = *out == NULL || json == NULL
                     ? error_set(err, SLUICE_E_INTERNAL, "the pipeline made no contract")
                     : SLUICE_OK;
    }
    json_decref(json);
    buf_deinit(&row);
    free(path);
    snapshot_destroy(snapshot);
    free(dir);
    return status;
}

/* Members of JSON that no reader gives as columns unless it is told of them. */
static void print_hint(const struct inferring *inferring, json_t *contract)
{
    struct buf columns = BUF_INIT;
    const char *name;
    json_t *type;

    json_object_foreach(json_object_get(contract, "columns"), name, type)
    {
        if (strcmp(name, "text") != 0 && strcmp(name, "id") != 0) {
            buf_printf(&columns, "%s%s = \"%s\"", columns.size > 0 ? ", " : "", name,
                       strcmp(json_string_value(type), "any") == 0 ? "json"
                                                                   : json_string_value(type));
        }
    }
    if (columns.size > 0 && strncmp(inferring->reader, "read_json", 9) == 0) {
        say_to(stderr, "to check these rows: s.%s { columns = { %s } } | s.contract \"%s\"\n",
               inferring->reader, buf_str(&columns),
               inferring->out == NULL ? "FILE" : inferring->out);
    }
    buf_deinit(&columns);
}

static sluice_status show(const struct inferring *inferring, json_t *contract,
                          struct sluice_error *err)
{
    char *shown = json_dumps(contract, JSON_INDENT(2));
    struct buf file = BUF_INIT;
    sluice_status status = shown == NULL ? error_nomem(err, "the contract") : SLUICE_OK;

    if (status == SLUICE_OK) {
        buf_printf(&file, "%s\n", shown);
        status = buf_status(&file, err);
    }
    if (status == SLUICE_OK && inferring->out != NULL) {
        status = common_write(inferring->out, file.data, file.size, err);
    }
    if (status == SLUICE_OK && inferring->json) {
        status = look_print("contract", json_pack("{s:s, s:s?, s:O}", "rows", inferring->given,
                                                  "path", inferring->out, "contract", contract))
                     ? SLUICE_OK
                     : error_nomem(err, "the contract");
    } else if (status == SLUICE_OK) {
        if (inferring->out == NULL) {
            say("%s", buf_str(&file));
        }
        print_hint(inferring, contract);
    }
    buf_deinit(&file);
    free(shown);
    return status;
}

static sluice_status infer(struct inferring *inferring, const struct session_options *options,
                           struct sluice_error *err)
{
    json_t *contract = NULL;
    sluice_status status = scripted_session(options, err);

    if (status == SLUICE_OK) {
        status = take_contract(inferring, &contract, err);
    }
    if (status == SLUICE_OK) {
        status = show(inferring, contract, err);
    }
    json_decref(contract);
    return status;
}

int cmd_contract(int argc, char **argv)
{
    static const struct command command = { .usage = usage,
                                            .text = text,
                                            .specs = specs,
                                            .n_specs = sizeof specs / sizeof specs[0],
                                            .least = 2,
                                            .most = 2 };
    struct args args;
    struct inferring inferring = { 0 };
    struct session_options options = { .lock = true };
    struct progress progress = { 0 };
    struct sluice_error err = ERROR_INIT;
    struct sluice_error removal = ERROR_INIT;
    uint64_t workers = 0;
    int ended = command_args(&command, argc, argv, &args);
    sluice_status status;

    if (ended >= 0) {
        return ended;
    }
    inferring.given = args.words[1];
    inferring.out = args_get(&args, "-o");
    inferring.reader = args_get(&args, "--reader");
    inferring.json = args_get(&args, "--json") != NULL;
    session_signals();
    progress.mode = args_get(&args, "--quiet") != NULL || inferring.json ? PROGRESS_QUIET
                                                                         : progress_mode_for(false);
    options.events =
        (struct run_events){ .ctx = &progress, .progress = progress_tick, .warn = progress_warn };
    status = strcmp(args.words[0], "infer") == 0
                 ? args_number(&args, "--workers", 1, 1024, 0, &workers, &err)
                 : error_set(&err, SLUICE_E_CONFIG, "found '%s', expected infer: %s", args.words[0],
                             usage);
    options.workers = (uint32_t)workers;
    if (status == SLUICE_OK) {
        status = args_size(&args, "--memory", &options.memory, &err);
    }
    if (status == SLUICE_OK) {
        status = prepare(&inferring, &options, &err);
    }
    if (status == SLUICE_OK) {
        status = infer(&inferring, &options, &err);
    }
    progress_end(&progress);
    if (inferring.work != NULL && temp_remove(inferring.work, &removal) != SLUICE_OK) {
        say_to(stderr, "sluice: warning: %s\n", removal.message);
    }
    inferring_deinit(&inferring);
    return status == SLUICE_OK ? 0 : session_fail(&err, inferring.json);
}
