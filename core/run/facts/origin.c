/* What a row of a dataset was made from: see origin.h. */
#include "run/facts/origin.h"

#include <stdlib.h>
#include <string.h>

#include "run/facts/factsInt.h"
#include "run/labels.h"
#include "sluice_arrays.h"

#define ANSWERS_MOST 8u /* records of whose answers is told */

sluice_status origin_writer(const struct run *run, const char *name, const char **dataset,
                            struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    const char *names[64];
    size_t n = 0;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op->kind != OP_STAGE || !op_writes(op)) {
                continue;
            }
            if (strcmp(op->name, name) == 0) {
                *dataset = op_stage(op)->dataset;
                return SLUICE_OK;
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

struct search {
    struct run *run;
    struct origin *origin;
    const struct op *writer;
    uint32_t phase, task, ordinal;
    bool found;
};

static sluice_status add_origin(const struct search *search, uint64_t number,
                                struct sluice_error *err)
{
    struct origin *origin = search->origin;
    struct place *more = realloc(origin->places, (origin->n + 1) * sizeof *more);

    if (more == NULL) {
        return error_nomem(err, "places");
    }
    origin->places = more;
    TRY(places_origin(search->run, search->phase, search->task, search->writer, number,
                      &more[origin->n], err));
    origin->n++;
    return SLUICE_OK;
}

/* Whether a row of a table is about the row that is traced. */
static bool is_row(const struct search *search, const struct batch *batch, int64_t row)
{
    size_t n;
    const char *writer = runview_text(batch, 0, row, &n);

    return runview_u32(batch, TRACE_SHARD, row) == search->ordinal &&
           runview_u64(batch, TRACE_ROW, row) == search->origin->row &&
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
    struct origin *origin = search->origin;
    size_t n;
    const uint64_t *items = sluice_list_u64(&batch->columns[TRACE_LIST]->array, row, &n);

    (void)err;
    if (!is_row(search, batch, row)) {
        return SLUICE_OK;
    }
    *stop = true;
    for (size_t k = 0; k < origin->n && k < n; k++) {
        place_span(&origin->places[k], items[k]);
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

sluice_status origin_find(struct run *run, struct origin *origin, struct sluice_error *err)
{
    char key[25];
    uint32_t ordinal;
    uint32_t old;

    if (!places_parse_file(origin->file, key, &ordinal)) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "'%s' is no file that a run wrote (expected a name such as KEY-0000-HASH.jsonl.zst)",
            origin->file);
    }
    TRY(runview_all_old(run, key, &old, err));
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            const struct task_state *state = &run->tasks[p][t];
            struct search search = {
                .run = run, .origin = origin, .phase = p, .task = t, .ordinal = ordinal
            };
            char hex[33];
            hash_hex(state->key, hex);
            if (!state->done || memcmp(hex, key, 24) != 0) {
                continue;
            }
            search.writer =
                writer_of(run->plan->phases[p], state->commit, origin->writer, origin->file);
            if (search.writer == NULL) {
                continue;
            }
            TRY(runview_table(run, p, t, TABLE_TRACE, trace_row, &search, err));
            if (!search.found) {
                return error_set(err, SLUICE_E_CONFIG, "%s has no row %llu", origin->shown,
                                 (unsigned long long)origin->row);
            }
            TRY(runview_table(run, p, t, TABLE_SPANS, trace_spans, &search, err));
            origin->run = run;
            return places_fill(run, origin->places, origin->n, err);
        }
    }
    return error_set(
        err, SLUICE_E_DATA,
        "no task of the run %s wrote %s from its inputs as they are now: it stems from another run "
        "or from before a change of them; "
        "give the run that wrote it with --run, or run again and trace the new snapshot",
        run->options.run_dir, origin->shown);
}

static json_t *source_json(const struct place *place, bool text, struct sluice_error *err)
{
    json_t *json = json_object();
    char name[SPLIT_NAME];

    json_object_set_new(json, "task",
                        json_string(lane_split_name(place->lane, place->split, name)));
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
        if (place->unit) {
            json_object_set_new(json, "unit_row", json_integer((json_int_t)place->unit_row));
        }
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

sluice_status origin_json(const struct origin *origin, bool text, json_t **out,
                          struct sluice_error *err)
{
    *out = json_array();
    for (size_t i = 0; i < origin->n; i++) {
        json_t *json = source_json(&origin->places[i], text, err);
        if (json == NULL) {
            json_decref(*out);
            *out = NULL;
            return error_known(err->code);
        }
        if (origin->run != NULL && origin->n <= ANSWERS_MOST) {
            json_t *answers = answers_all(origin->run, &origin->places[i]);
            if (answers != NULL) {
                json_object_set_new(json, "answers", answers);
            }
        }
        json_array_append_new(*out, json);
    }
    return *out == NULL ? error_nomem(err, "records") : SLUICE_OK;
}

void origin_deinit(struct origin *origin)
{
    for (size_t i = 0; i < origin->n; i++) {
        place_deinit(&origin->places[i]);
    }
    free(origin->places);
    origin->places = NULL;
    origin->n = 0;
}
