/* sluice bench-format: a sample of somebody's own files as Parquet, JSON Lines and Arrow: stored
 * bytes, and what writing them, reading all of them and reading one column costs, on one core,
 * beside what zstd alone needs for the same bytes. Pipelines as every other, in a folder that is
 * gone at the end. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/look/rowsof.h"
#include "cmd/scripted.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/input.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/temp.h"

#define BYTES_DEFAULT (UINT64_C(256) << 20)

static const struct arg_spec specs[] = {
    { "--bytes", "SIZE", "stop taking files at so many stored bytes (default 256MiB)" },
    { "--column", "NAME", "the one column that is read alone (default id)" },
    { "--scratch", "DIR", "where it works (default: .sluice here)" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

static const struct format {
    const char *name, *writer, *reader;
} formats[] = { { "parquet", "write_parquet", "read_parquet" },
                { "jsonl", "write_jsonl", "read_jsonl" },
                { "arrow", "write_arrow", "read_arrow" } };
#define N_FORMATS (sizeof formats / sizeof formats[0])

struct measured {
    uint64_t bytes;             /* stored */
    double write, read, column; /* seconds of processor time */
};

struct bench {
    char **files; /* absolute, owned */
    size_t n_files;
    uint64_t stored; /* their bytes */
    const char *reader, *column;
    char *work;
    uint64_t rows, plain; /* plain: bytes of the rows as JSON Lines, unpacked */
    double unpack;        /* seconds of zstd for them */
    struct measured of[N_FORMATS];
};

/* ---- what is measured ---- */

static double processor_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Runs `rows | more writer { WORK/name }`. */
static sluice_status run_one(const struct bench *bench, const char *name, const char *rows,
                             const char *more, const char *writer, double *seconds,
                             struct sluice_error *err)
{
    struct buf script = BUF_INIT;
    char *out = str_printf("%s/%s.data", bench->work, name);
    const double before = processor_seconds();
    sluice_status status = out == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK) {
        buf_printf(&script,
                   "local s = require \"sluice\"\nreturn s.pipeline { \"%s\", %s %s | s.%s { ",
                   name, rows, more, writer);
        scripted_text(&script, out);
        buf_puts(&script, " } }\n");
        status = buf_status(&script, err);
    }
    if (status == SLUICE_OK) {
        status = scripted_run(bench->work, name, &script, 1, err);
    }
    *seconds = processor_seconds() - before;
    buf_deinit(&script);
    free(out);
    return status;
}

/* A reader; of JSON Lines a column that is no text and no id has to be declared. */
static void put_reader(const struct bench *bench, struct buf *out, const char *reader)
{
    const bool declared = strcmp(reader, "read_jsonl") == 0 && strcmp(bench->column, "id") != 0 &&
                          strcmp(bench->column, "text") != 0;

    buf_printf(out, " | s.%s {", reader);
    if (declared) {
        buf_puts(out, " columns = { [");
        scripted_text(out, bench->column);
        buf_puts(out, "] = \"json\" } ");
    }
    buf_puts(out, "}");
}

/* The source's rows, as a stream of the script. */
static sluice_status source_rows(const struct bench *bench, struct buf *out,
                                 struct sluice_error *err)
{
    buf_puts(out, "s.files { ");
    for (size_t i = 0; i < bench->n_files; i++) {
        scripted_text(out, bench->files[i]);
        buf_puts(out, ", ");
    }
    buf_puts(out, "}");
    put_reader(bench, out, bench->reader);
    return buf_status(out, err);
}

static const char none[] = "| s.where \"id is null and id is not null\"";

static sluice_status read_back(struct bench *bench, size_t k, struct sluice_error *err)
{
    const struct format *format = &formats[k];
    struct buf rows = BUF_INIT;
    struct buf one = BUF_INIT;
    char *data = str_printf("%s/%s.data", bench->work, format->name);
    char *never = str_printf("`%s` is null and `%s` is not null", bench->column, bench->column);
    char name[32];
    sluice_status status = data == NULL || never == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK) {
        buf_puts(&rows, "s.dataset ");
        scripted_text(&rows, data);
        put_reader(bench, &rows, format->reader);
        buf_puts(&one, "| s.keep_columns { ");
        scripted_text(&one, bench->column);
        buf_puts(&one, " } | s.where ");
        scripted_text(&one, never);
        status = buf_status(&one, err);
    }
    if (status == SLUICE_OK) {
        snprintf(name, sizeof name, "%s_all", format->name);
        status = run_one(bench, name, buf_str(&rows), none, "write_jsonl", &bench->of[k].read, err);
    }
    if (status == SLUICE_OK) {
        snprintf(name, sizeof name, "%s_one", format->name);
        status = run_one(bench, name, buf_str(&rows), buf_str(&one), "write_jsonl",
                         &bench->of[k].column, err);
    }
    buf_deinit(&rows);
    buf_deinit(&one);
    free(data);
    free(never);
    return status;
}

static sluice_status unpack(struct bench *bench, const char *path, struct sluice_error *err)
{
    const size_t room = (size_t)1 << 20;
    struct input *input = NULL;
    char *piece = malloc(room);
    const double before = processor_seconds();
    size_t got = 1;
    sluice_status status =
        piece == NULL ? error_nomem(err, "a piece of a file") : input_open(path, &input, err);

    while (status == SLUICE_OK && got > 0) {
        status = input_read(input, piece, room, &got, err);
        bench->plain += status == SLUICE_OK ? got : 0;
    }
    bench->unpack += processor_seconds() - before;
    input_close(input);
    free(piece);
    return status;
}

/* What was written: bytes and rows; the lines are unpacked alone, too. */
static sluice_status weigh(struct bench *bench, size_t k, struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    char *data = str_printf("%s/%s.data", bench->work, formats[k].name);
    sluice_status status =
        data == NULL ? error_nomem(err, "a path") : snapshot_open(data, 0, &snapshot, err);

    bench->rows = status == SLUICE_OK ? snapshot->rows : 0;
    for (uint32_t i = 0; status == SLUICE_OK && i < snapshot->n_shards; i++) {
        bench->of[k].bytes += snapshot->shards[i].bytes;
        if (strcmp(formats[k].name, "jsonl") == 0) {
            char *path = snapshot_shard_path(data, &snapshot->shards[i]);
            status = path == NULL ? error_nomem(err, "a path") : unpack(bench, path, err);
            free(path);
        }
    }
    snapshot_destroy(snapshot);
    free(data);
    return status;
}

static sluice_status measure(struct bench *bench, struct sluice_error *err)
{
    struct buf rows = BUF_INIT;
    double reading = 0;
    sluice_status status = source_rows(bench, &rows, err);

    /* Reading the files is in all that is written, and taken out of it. */
    if (status == SLUICE_OK) {
        status = run_one(bench, "source", buf_str(&rows), none, "write_jsonl", &reading, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < N_FORMATS; k++) {
        status = run_one(bench, formats[k].name, buf_str(&rows), "", formats[k].writer,
                         &bench->of[k].write, err);
        bench->of[k].write -= reading < bench->of[k].write ? reading : bench->of[k].write;
        if (status == SLUICE_OK) {
            status = weigh(bench, k, err);
        }
        if (status == SLUICE_OK) {
            status = read_back(bench, k, err);
        }
    }
    buf_deinit(&rows);
    return status;
}

/* ---- the command ---- */

static sluice_status take_files(struct bench *bench, const struct args *args,
                                struct sluice_error *err)
{
    uint64_t most = BYTES_DEFAULT;
    char *cwd = realpath(".", NULL);
    sluice_status status =
        cwd == NULL ? error_nomem(err, "a path") : args_size(args, "--bytes", &most, err);

    bench->column = args_get(args, "--column") == NULL ? "id" : args_get(args, "--column");
    bench->files = calloc(args->n_words + 1, sizeof *bench->files);
    for (size_t i = 0; status == SLUICE_OK && i < args->n_words && bench->stored < most; i++) {
        const char *path = args->words[i];
        const char *reader = rowsof_reader(path);
        struct stat info;
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            status = error_set(err, SLUICE_E_CONFIG, "found no file %s", path);
            break;
        }
        reader = reader != NULL || strstr(path, ".json") == NULL ? reader : "read_jsonl";
        if (reader == NULL || (bench->reader != NULL && strcmp(bench->reader, reader) != 0)) {
            status =
                error_set(err, SLUICE_E_CONFIG,
                          "%s: expected files of one format, by their names: .jsonl, .parquet, "
                          ".arrow or .csv, plain or compressed",
                          path);
            break;
        }
        bench->reader = reader;
        bench->files[bench->n_files] = bench->files == NULL ? NULL : store_absolute(cwd, path);
        if (bench->files[bench->n_files++] == NULL) {
            status = error_nomem(err, "a path");
        }
        bench->stored += (uint64_t)info.st_size;
    }
    free(cwd);
    return status;
}

static json_t *facts_of(const struct bench *bench)
{
    json_t *list = json_array();

    for (size_t k = 0; k < N_FORMATS; k++) {
        const struct measured *of = &bench->of[k];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:f, s:f, s:f}", "format", formats[k].name,
                                        "bytes", (json_int_t)of->bytes, "write_seconds", of->write,
                                        "read_seconds", of->read, "column_seconds", of->column));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:f, s:o}", "files", (json_int_t)bench->n_files,
                     "stored", (json_int_t)bench->stored, "rows", (json_int_t)bench->rows, "bytes",
                     (json_int_t)bench->plain, "column", bench->column, "unpack_seconds",
                     bench->unpack, "formats", list);
}

static sluice_status run_all_of(struct bench *bench, const struct args *args,
                                struct sluice_error *err)
{
    const char *scratch = args_get(args, "--scratch");
    char *folder;
    sluice_status status;

    TRY(dataset_folder(scratch == NULL ? ".sluice" : scratch, &folder, err));
    status = temp_folder(folder, &bench->work, err);
    free(folder);
    return status == SLUICE_OK ? measure(bench, err) : status;
}

int cmd_bench_format(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice bench-format FILE... [--bytes SIZE] [--column NAME]",
        .text = "Writes the rows of your files (JSON Lines, Parquet, Arrow, CSV) as Parquet, as "
                "JSON Lines with zstd and as Arrow, each as its\n"
                "writer does by default, and says what they take on the disk and what it costs to "
                "write them, to read all of them and\n"
                "to read one column: on one core, by processor time, in bytes of the rows as JSON "
                "Lines.",
        .specs = specs,
        .n_specs = sizeof specs / sizeof specs[0],
        .least = 1,
        .most = ARGS_MAX,
    };
    struct sluice_error err = ERROR_INIT;
    struct sluice_error removal = ERROR_INIT;
    struct bench bench;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&bench, 0, sizeof bench);
    session_signals();
    if (take_files(&bench, &args, &err) != SLUICE_OK ||
        run_all_of(&bench, &args, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("bench_format", &args, facts_of(&bench));
    }
    if (bench.work != NULL && temp_remove(bench.work, &removal) != SLUICE_OK) {
        status = status != 0 ? status : session_fail(&removal, false);
    }
    for (size_t i = 0; i < bench.n_files; i++) {
        free(bench.files[i]);
    }
    free(bench.files);
    free(bench.work);
    return status;
}
