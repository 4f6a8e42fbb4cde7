/* sluice trace: from a row of a dataset back to the bytes of the input files that it was made
 * from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/view/view.h"
#include "run/facts/origin.h"
#include "store/compact.h"
#include "store/removal.h"
#include "store/snapshot.h"

static const struct arg_spec trace_specs[] = {
    { "--run", "RUN",
      "the run that wrote the dataset (default: that of its pipeline's name here)" },
    { "--text", NULL, "the bytes of the records themselves, one record after the other" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};
#define N_TRACE_SPECS (sizeof trace_specs / sizeof trace_specs[0])

struct tracing {
    struct look look;
    char *dataset;   /* folder */
    uint32_t number; /* its snapshot */
    char *writer;    /* NULL = the only one of the snapshot */
    char *file,
        *shown;   /* the shard: name of the task's file that it was made of, and public name */
    uint64_t row; /* in the shard that is shown */
    struct origin origin;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_index(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".idx") == 0;
}

/* The shard that text means: a public or stored name, a path, or its number in order. */
static sluice_status find_shard(struct tracing *tracing, const char *text, struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    const struct snapshot_shard *found = NULL;
    const char *name = base_name(text);
    char *end;
    unsigned long wanted = strtoul(text, &end, 10);
    unsigned long at = 0;
    bool numbered = end != text && *end == '\0';
    sluice_status status;

    TRY(snapshot_open(tracing->dataset, tracing->number, &snapshot, err));
    tracing->number = snapshot->number;
    for (size_t i = 0; i < snapshot->n_shards && found == NULL; i++) {
        const struct snapshot_shard *shard = &snapshot->shards[i];
        /* Numbers of parts go through all folders. */
        if (strcmp(base_name(shard->name), name) == 0 || strcmp(shard->file, name) == 0) {
            found = shard;
        }
        if (numbered && !is_index(shard->file) && at++ == wanted) {
            found = shard;
        }
    }
    if (found == NULL) {
        status =
            error_set(err, SLUICE_E_CONFIG, "no shard '%s' in %s@%u; it has %u, the first is %s",
                      text, tracing->dataset, snapshot->number, snapshot->n_shards,
                      snapshot->n_shards > 0 ? snapshot->shards[0].name : "(none)");
    } else if (found->rows > 0 && tracing->origin.row >= found->rows) {
        status =
            error_set(err, SLUICE_E_CONFIG, "%s has rows 0 to %llu, found row %llu", found->name,
                      (unsigned long long)found->rows - 1, (unsigned long long)tracing->origin.row);
    } else {
        const char *file = found->file;
        tracing->row = tracing->origin.row;
        (void)compact_origin(snapshot, &file, &tracing->origin.row);
        (void)removal_origin(snapshot, &file, &tracing->origin.row);
        tracing->file = str_copy(file, strlen(file));
        tracing->shown = str_copy(found->name, strlen(found->name));
        if (tracing->writer == NULL) {
            tracing->writer = str_copy(snapshot->dataset, strlen(snapshot->dataset));
        }
        status = tracing->file == NULL || tracing->shown == NULL || tracing->writer == NULL
                     ? error_nomem(err, "a name")
                     : SLUICE_OK;
    }
    snapshot_destroy(snapshot);
    return status;
}

/* RUN WRITER: the newest snapshot of what it writes. */
static sluice_status take_writer(struct tracing *tracing, const char *name,
                                 struct sluice_error *err)
{
    const char *dataset;

    TRY(origin_writer(tracing->look.run, name, &dataset, err));
    tracing->writer = str_copy(name, strlen(name));
    tracing->dataset = str_copy(dataset, strlen(dataset));
    return tracing->writer == NULL || tracing->dataset == NULL ? error_nomem(err, "a path")
                                                               : SLUICE_OK;
}

/* The bytes of the records, one after the other. */
static sluice_status print_records(const struct origin *origin, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < origin->n; i++) {
        struct buf bytes = BUF_INIT;
        if (origin->places[i].found) {
            status = place_read(&origin->places[i], UINT64_C(1) << 30, &bytes, err);
        }
        if (status == SLUICE_OK && bytes.size > 0) {
            say_data(bytes.data, bytes.size);
            if (bytes.data[bytes.size - 1] != '\n') {
                say("\n");
            }
        }
        buf_deinit(&bytes);
    }
    return status;
}

static sluice_status show(const struct tracing *tracing, bool text, bool as_json, const char *view,
                          struct sluice_error *err)
{
    json_t *list = NULL;
    json_t *facts;
    sluice_status status = origin_json(&tracing->origin, text, &list, err);

    if (status != SLUICE_OK) {
        return status;
    }
    facts = json_pack("{s:s, s:s, s:i, s:I, s:o}", "writer", tracing->writer, "shard",
                      tracing->shown, "snapshot", (int)tracing->number, "row",
                      (json_int_t)tracing->row, "origin", list);
    if (as_json) {
        look_print("trace", facts);
        return SLUICE_OK;
    }
    status = view_once("trace", view, facts, NULL, err);
    json_decref(facts);
    return status;
}

/* The dataset of DATASET[@N], or of a path to one of its files. */
static sluice_status open_dataset(struct tracing *tracing, const char *reference, const char *run,
                                  struct sluice_error *err)
{
    char *guessed = NULL;
    sluice_status status = look_dataset(reference, &tracing->dataset, &tracing->number, err);

    if (status == SLUICE_OK && run == NULL) {
        status = look_dataset_run(tracing->dataset, tracing->number, &guessed, err);
        run = guessed;
    }
    if (status == SLUICE_OK) {
        status = look_open(run, &tracing->look, err);
    }
    free(guessed);
    return status;
}

int cmd_trace(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice trace DATASET[@N] SHARD ROW [--run RUN]\n       sluice trace RUN WRITER "
                 "SHARD ROW",
        .text = "From a row of a dataset back to its source: file, byte range "
                "(of the decoded file) and id of every record that it was\n"
                "made from, and for packed tokens which of the record's. SHARD "
                "is a file's public or stored name or its number in\n"
                "order, ROW counts from 0: a line of a JSON Lines file, a row "
                "of tokens.",
        .specs = trace_specs,
        .n_specs = N_TRACE_SPECS,
        .least = 3,
        .most = 4,
    };
    struct tracing tracing;
    struct args args;
    int ended;
    struct sluice_error err = ERROR_INIT;
    bool as_json;
    int status = 0;
    sluice_status code;

    memset(&tracing, 0, sizeof tracing);
    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    as_json = args_get(&args, "--json") != NULL;
    if (args.n_words == 4 && args_get(&args, "--run") != NULL) {
        error_set(&err, SLUICE_E_CONFIG,
                  "--run is for a dataset; RUN WRITER SHARD ROW names its run");
        return session_fail(&err, as_json);
    }
    code =
        args_word_number(args.words[args.n_words - 1], "ROW", INT64_MAX, &tracing.origin.row, &err);
    if (code == SLUICE_OK && args.n_words == 3) {
        code = open_dataset(&tracing, args.words[0], args_get(&args, "--run"), &err);
    } else if (code == SLUICE_OK) {
        code = look_open(args.words[0], &tracing.look, &err);
        if (code == SLUICE_OK) {
            code = take_writer(&tracing, args.words[1], &err);
        }
    }
    if (code == SLUICE_OK) {
        code = find_shard(&tracing, args.words[args.n_words - 2], &err);
    }
    if (code == SLUICE_OK) {
        tracing.origin.writer = tracing.writer;
        tracing.origin.file = tracing.file;
        tracing.origin.shown = tracing.shown;
        code = origin_find(tracing.look.run, &tracing.origin, &err);
    }
    if (code == SLUICE_OK) {
        code = args_get(&args, "--text") != NULL && !as_json
                   ? print_records(&tracing.origin, &err)
                   : show(&tracing, args_get(&args, "--text") != NULL, as_json,
                          args_get(&args, "--view"), &err);
    }
    if (code != SLUICE_OK) {
        status = session_fail(&err, as_json);
    }
    origin_deinit(&tracing.origin);
    free(tracing.dataset);
    free(tracing.writer);
    free(tracing.file);
    free(tracing.shown);
    look_close(&tracing.look);
    return status;
}
