/* sluice trace: from a row of a dataset back to the bytes of the input files that it was made
 * from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "run/facts/facts.h"
#include "run/labels.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "run/facts/places.h"
#include "sluice_arrays.h"
#include "store/snapshot.h"

static const struct arg_spec trace_specs[] = {
    { "--run", "RUN",
      "the run that wrote the dataset (default: that of its pipeline's name here)" },
    { "--text", NULL, "the bytes of the records themselves, one record after the other" },
    { "--json", NULL, "one JSON object" },
};
#define N_TRACE_SPECS (sizeof trace_specs / sizeof trace_specs[0])

struct tracing {
    struct look look;
    char *dataset;   /* folder; NULL: found by the writer's name */
    uint32_t number; /* its snapshot */
    char *writer;    /* owned */
    char *file;      /* stored name */
    char *shown;     /* public name, for people */
    uint64_t row;
    struct place *places;
    size_t n;
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
        if (strcmp(shard->name, name) == 0 || strcmp(shard->file, name) == 0) {
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
    } else if (found->rows > 0 && tracing->row >= found->rows) {
        status =
            error_set(err, SLUICE_E_CONFIG, "%s has rows 0 to %llu, found row %llu", found->name,
                      (unsigned long long)found->rows - 1, (unsigned long long)tracing->row);
    } else {
        tracing->file = str_copy(found->file, strlen(found->file));
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

/* The writer and its dataset by name. */
static sluice_status find_writer(struct tracing *tracing, const char *name,
                                 struct sluice_error *err)
{
    const struct plan *plan = tracing->look.run->plan;
    const char *names[64];
    size_t n = 0;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op->kind != OP_STAGE || !op_writes(op)) {
                continue;
            }
            if (strcmp(op->name, name) == 0) {
                tracing->writer = str_copy(op->name, strlen(op->name));
                tracing->dataset = str_copy(op_stage(op)->dataset, strlen(op_stage(op)->dataset));
                return tracing->writer == NULL || tracing->dataset == NULL
                           ? error_nomem(err, "a path")
                           : SLUICE_OK;
            }
            if (n < 64) {
                names[n++] = op->name;
            }
        }
    }
    if (n > 0) {
        const char *near = error_suggest(name, names, n);
        return error_set(err, SLUICE_E_CONFIG, "no writer '%s' in this run; did you mean '%s'?",
                         name, near == NULL ? names[0] : near);
    }
    return error_set(err, SLUICE_E_CONFIG, "this run has no writers");
}

/* ---- the trace table ---- */

struct search {
    struct tracing *tracing;
    const struct op *writer;
    uint32_t phase, task, ordinal;
    bool found;
};

static sluice_status add_origin(const struct search *search, uint64_t number,
                                struct sluice_error *err)
{
    struct tracing *tracing = search->tracing;
    struct place *more = realloc(tracing->places, (tracing->n + 1) * sizeof *more);

    if (more == NULL) {
        return error_nomem(err, "places");
    }
    tracing->places = more;
    TRY(places_origin(tracing->look.run, search->phase, search->task, search->writer, number,
                      &more[tracing->n], err));
    tracing->n++;
    return SLUICE_OK;
}

/* Whether a row of a table is about the row that is traced. */
static bool is_row(const struct search *search, const struct batch *batch, int64_t row)
{
    size_t n;
    const char *writer = runview_text(batch, 0, row, &n);

    return runview_u32(batch, TRACE_SHARD, row) == search->ordinal &&
           runview_u64(batch, TRACE_ROW, row) == search->tracing->row &&
           strlen(search->writer->name) == n && memcmp(search->writer->name, writer, n) == 0;
}

static sluice_status trace_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                               struct sluice_error *err)
{
    struct search *search = ctx;
    size_t n;
    const uint64_t *items = sluice_list_u64(&batch->columns[TRACE_LIST]->array, row, &n);

    if (!is_row(search, batch, row)) {
        return SLUICE_OK;
    }
    search->found = true;
    *stop = true;
    for (size_t k = 0; k < n; k++) {
        TRY(add_origin(search, items[k], err));
    }
    return SLUICE_OK;
}

/* Which tokens of each record. */
static sluice_status trace_spans(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                 struct sluice_error *err)
{
    struct search *search = ctx;
    struct tracing *tracing = search->tracing;
    size_t n;
    const uint64_t *items = sluice_list_u64(&batch->columns[TRACE_LIST]->array, row, &n);

    (void)err;
    if (!is_row(search, batch, row)) {
        return SLUICE_OK;
    }
    *stop = true;
    for (size_t k = 0; k < tracing->n && k < n; k++) {
        place_span(&tracing->places[k], items[k]);
    }
    return SLUICE_OK;
}

/* Files of all writers of a task have one name, in different folders: the writer's name tells them
 * apart. */
static const struct op *writer_of(const struct phase *phase, const struct commit *commit,
                                  const char *writer, const char *file)
{
    for (uint32_t k = 0; k < commit->n_outputs; k++) {
        const char *port = commit->outputs[k].port;
        if (!label_is_shards(port, writer) || strcmp(commit->outputs[k].file, file) != 0) {
            continue;
        }
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            if (strcmp(phase->ops[i]->name, writer) == 0) {
                return phase->ops[i];
            }
        }
    }
    return NULL;
}

static sluice_status follow(struct tracing *tracing, struct sluice_error *err)
{
    struct run *run = tracing->look.run;
    char key[25];
    uint32_t ordinal;
    uint32_t old;

    if (!places_parse_file(tracing->file, key, &ordinal)) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "'%s' is no file that a run wrote (expected a name such as KEY-0000.jsonl.zst)",
            tracing->file);
    }
    TRY(runview_all_old(run, key, &old, err));
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            const struct task_state *state = &run->tasks[p][t];
            struct search search = {
                .tracing = tracing, .phase = p, .task = t, .ordinal = ordinal
            };
            char hex[33];
            hash_hex(state->key, hex);
            if (!state->done || memcmp(hex, key, 24) != 0) {
                continue;
            }
            search.writer =
                writer_of(run->plan->phases[p], state->commit, tracing->writer, tracing->file);
            if (search.writer == NULL) {
                continue;
            }
            TRY(runview_table(run, p, t, TABLE_TRACE, trace_row, &search, err));
            if (!search.found) {
                return error_set(err, SLUICE_E_CONFIG, "%s has no row %llu", tracing->shown,
                                 (unsigned long long)tracing->row);
            }
            TRY(runview_table(run, p, t, TABLE_SPANS, trace_spans, &search, err));
            return places_fill(run, tracing->places, tracing->n, err);
        }
    }
    return error_set(
        err, SLUICE_E_DATA,
        "no task of the run %s wrote %s from its inputs as they are now: it stems from another run "
        "or from before a change of them; "
        "give the run that wrote it with --run, or run again and trace the new snapshot",
        tracing->look.session.run_dir, tracing->shown);
}

/* ---- output ---- */

static json_t *place_json(const struct place *place, bool text, struct sluice_error *err)
{
    json_t *json = json_object();

    json_object_set_new(json, "task", json_string(place->lane->splits.items[place->split].name));
    json_object_set_new(json, "row", json_integer((json_int_t)place->row));
    if (place->tokens > 0) {
        json_object_set_new(json, "tokens",
                            json_pack("[I, I]", (json_int_t)place->first,
                                      (json_int_t)(place->first + place->tokens)));
    }
    if (place->found) {
        json_object_set_new(json, "uri", facts_text(place->file->name, strlen(place->file->name)));
        json_object_set_new(json, "path", facts_text(place->file->path, strlen(place->file->path)));
        json_object_set_new(json, "begin", json_integer((json_int_t)place->begin));
        json_object_set_new(json, "end", json_integer((json_int_t)place->end));
        if (place->id != NULL) {
            json_object_set_new(json, "id", facts_text(place->id, strlen(place->id)));
        }
        if (text) {
            struct buf bytes = BUF_INIT;
            if (place_read(place, UINT64_C(1) << 30, &bytes, err) != SLUICE_OK) {
                json_decref(json);
                buf_deinit(&bytes);
                return NULL;
            }
            json_object_set_new(json, "text", facts_text(bytes.data, bytes.size));
            buf_deinit(&bytes);
        }
    }
    return json;
}

static sluice_status print_places(const struct tracing *tracing, bool text, bool as_json,
                                  struct sluice_error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tracing->n; i++) {
        const struct place *place = &tracing->places[i];
        struct buf line = BUF_INIT;
        if (as_json) {
            json_t *json = place_json(place, text, err);
            if (json == NULL) {
                json_decref(list);
                return error_known(err->code);
            }
            json_array_append_new(list, json);
            continue;
        }
        if (text) {
            sluice_status status =
                place->found ? place_read(place, UINT64_C(1) << 30, &line, err) : SLUICE_OK;
            if (status == SLUICE_OK && line.size > 0) {
                say_data(line.data, line.size);
                if (line.data[line.size - 1] != '\n') {
                    say("\n");
                }
            }
            buf_deinit(&line);
            if (status != SLUICE_OK) {
                json_decref(list);
                return status;
            }
            continue;
        }
        if (!place->found) {
            say("%s row %llu: its place is not recorded\n",
                place->lane->splits.items[place->split].name, (unsigned long long)place->row);
            continue;
        }
        excerpt_put(&line, place->file->name, strlen(place->file->name), 0);
        buf_printf(&line, "  bytes %llu to %llu", (unsigned long long)place->begin,
                   (unsigned long long)place->end);
        if (place->id != NULL) {
            buf_puts(&line, "  id ");
            excerpt_put(&line, place->id, strlen(place->id), 0);
        }
        if (place->tokens > 0) {
            buf_printf(&line, "  tokens %llu to %llu", (unsigned long long)place->first,
                       (unsigned long long)(place->first + place->tokens));
        }
        buf_puts(&line, "  in ");
        excerpt_put(&line, place->file->path, strlen(place->file->path), 0);
        say("%s\n", buf_str(&line));
        buf_deinit(&line);
    }
    if (as_json) {
        look_print("trace", json_pack("{s:s, s:s, s:i, s:I, s:o}", "writer", tracing->writer,
                                      "shard", tracing->shown, "snapshot", (int)tracing->number,
                                      "row", (json_int_t)tracing->row, "origin", list));
    } else {
        json_decref(list);
    }
    return SLUICE_OK;
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
    code = look_word(args.words[args.n_words - 1], "ROW", INT64_MAX, &tracing.row, &err);
    if (code == SLUICE_OK && args.n_words == 3) {
        code = open_dataset(&tracing, args.words[0], args_get(&args, "--run"), &err);
    } else if (code == SLUICE_OK) {
        code = look_open(args.words[0], &tracing.look, &err);
        if (code == SLUICE_OK) {
            code = find_writer(&tracing, args.words[1], &err);
        }
    }
    if (code == SLUICE_OK) {
        code = find_shard(&tracing, args.words[args.n_words - 2], &err);
    }
    if (code == SLUICE_OK) {
        code = follow(&tracing, &err);
    }
    if (code == SLUICE_OK) {
        code = print_places(&tracing, args_get(&args, "--text") != NULL, as_json, &err);
    }
    if (code != SLUICE_OK) {
        status = session_fail(&err, as_json);
    }
    for (size_t i = 0; i < tracing.n; i++) {
        place_deinit(&tracing.places[i]);
    }
    free(tracing.places);
    free(tracing.dataset);
    free(tracing.writer);
    free(tracing.file);
    free(tracing.shown);
    look_close(&tracing.look);
    return status;
}
