/* What may be appended to a dataset: rows of files that it has not, made as its own were. See
 * publish_append.c. */
#include <stdlib.h>
#include <string.h>

#include "run/runInt.h"
#include "store/appends.h"

static sluice_status untold(const struct op *op, const struct snapshot *newest,
                            struct sluice_error *err)
{
    return error_set(
        err, SLUICE_E_CONFIG,
        "%s: its snapshot %u does not tell of which files it was made, so that these "
        "could come twice; run '%s' once with mode = \"rebuild\" over all of them, and "
        "append what comes next",
        op_stage(op)->dataset, (unsigned)newest->number, op->name);
}

static sluice_status comes_twice(const struct op *op, const struct snapshot *newest,
                                 const char *name, const char *reader, struct sluice_error *err)
{
    return error_set(
        err, SLUICE_E_CONFIG,
        "%s: its snapshot %u has the rows of %s (of '%s') already, appended by a run "
        "that was not this one: they would be there twice; leave the file out (s.files "
        "{ ..., since = \"%s\" }), or build the dataset anew (mode = \"rebuild\" of "
        "'%s')",
        op_stage(op)->dataset, (unsigned)newest->number, name, reader, op_stage(op)->dataset,
        op->name);
}

/* No file comes twice. */
sluice_status append_check_files(const struct op *op, const struct snapshot *newest,
                                 const json_t *files, struct sluice_error *err)
{
    struct appended held;
    sluice_status status = SLUICE_OK;
    json_t *file;
    size_t i;

    if (!appends_told(newest)) {
        return untold(op, newest, err);
    }
    TRY(appended_open(newest, &held, err));
    json_array_foreach(files, i, file)
    {
        const char *reader = json_string_value(json_array_get(file, 0));
        const char *name = json_string_value(json_array_get(file, 1));
        uint64_t bytes = (uint64_t)json_integer_value(json_array_get(file, 2));
        enum appended_state state = APPENDED_NEW;
        struct hash128 hash;
        if (status != SLUICE_OK || bytes == 0 ||
            !hash_parse(json_string_value(json_array_get(file, 3)), &hash)) {
            continue;
        }
        status = appended_look(&held, reader, name, bytes, &hash, &state, err);
        if (status == SLUICE_OK && state == APPENDED_HELD) {
            status = comes_twice(op, newest, name, reader, err);
        }
    }
    appended_deinit(&held);
    return status;
}

/* Counts the files of a lane that are there and those that are new; the first that is there. */
static sluice_status count_held(const struct run *run, const struct appended *held,
                                const struct lane *lane, size_t counts[2],
                                const struct listing_file **first, struct sluice_error *err)
{
    for (size_t i = 0; i < lane->files.n; i++) {
        const struct listing_file *file = &lane->files.files[i];
        enum appended_state state;
        struct hash128 hash;
        if (file->version.size == 0) {
            continue;
        }
        TRY(appended_find(held, lane->node->name, file,
                          lane->hashes == NULL ? NULL : &lane->hashes[i], run->options.inputs,
                          &state, &hash, err));
        counts[state == APPENDED_HELD]++;
        *first = state == APPENDED_HELD && *first == NULL ? file : *first;
    }
    return SLUICE_OK;
}

/* A run that comes again finds all of its files there; one that finds some of them is another. */
sluice_status run_append_check(const struct run *run, const struct op *writer,
                               const struct snapshot *newest, struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    const struct listing_file *first = NULL;
    const char *reader = "";
    size_t counts[2] = { 0, 0 };
    struct appended held;
    sluice_status status = SLUICE_OK;

    if (newest == NULL || writer->node == NULL || writer->node->mode != MODE_APPEND) {
        return SLUICE_OK;
    }
    if (!appends_told(newest)) {
        return untold(writer, newest, err);
    }
    TRY(appended_open(newest, &held, err));
    for (uint32_t k = 0; status == SLUICE_OK && k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        if (lane->kind == LANE_SPLITS && lane->planned &&
            graph_feeds(plan->graph, lane->node->id, writer->node->id)) {
            reader = first == NULL ? lane->node->name : reader;
            status = count_held(run, &held, lane, counts, &first, err);
        }
    }
    appended_deinit(&held);
    return status == SLUICE_OK && counts[0] > 0 && counts[1] > 0
               ? comes_twice(writer, newest, first->name, reader, err)
               : status;
}

/* Sizes of files, which rows were drawn, what was carried on: each run's own affair. */
static bool may_differ(const char *key)
{
    static const char *const names[] = { ".append", ".join", ".seed", ".share" };
    const char *dot = strrchr(key, '.');

    for (size_t i = 0; dot != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(dot, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What stages say of a dataset holds for all of its rows: a tokenizer, the bytes of an id. */
sluice_status append_check_notes(const struct op *op, const struct snapshot *newest,
                                 const struct snapshot *next, struct sluice_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(next->notes, key, value)
    {
        json_t *before = json_object_get(newest->notes, key);
        if (before != NULL && !json_equal(before, value) && !may_differ(key)) {
            char *was = json_dumps(before, JSON_ENCODE_ANY | JSON_COMPACT);
            char *is = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
            sluice_status status = error_set(
                err, SLUICE_E_CONFIG,
                "%s: the rows of its snapshot %u were made with %s = %.200s, this run's with "
                "%.200s; give it the same, or build the dataset anew (mode = \"rebuild\" of '%s')",
                op_stage(op)->dataset, (unsigned)newest->number, key, was == NULL ? "?" : was,
                is == NULL ? "?" : is, op->name);
            free(was);
            free(is);
            return status;
        }
    }
    return SLUICE_OK;
}
