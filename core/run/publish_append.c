/* Appends: a writer with mode = "append" publishes the shards of its run behind those of the newest
 * snapshot. Nothing of that is read or written anew: the next manifest names its files again.
 *
 * What makes it safe to repeat stands in the manifest (store/appends.h): the key of each run whose
 * rows are in it, a hash over the keys of the writer's tasks, and the files that these were made
 * of. A run whose key is there publishes nothing; one of other tasks that read a file which is
 * there is refused. The manifest is put only behind the snapshot that was looked at: who loses that
 * race looks again. So a kill anywhere leaves the rows once, or not at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/runInt.h"
#include "store/appends.h"

#define ROUNDS 100 /* of being late */

/* ---- what this run made, and of which files ---- */

static sluice_status append_key(const struct run *run, uint32_t p, struct hash128 *key,
                                struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "an append");
    }
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        hasher_add_hash(hasher, run->tasks[p][t].commit->key);
    }
    *key = hasher_digest(hasher);
    hasher_destroy(hasher);
    return SLUICE_OK;
}

static sluice_status add_files(const struct run *run, const struct lane *lane, json_t *files,
                               struct sluice_error *err)
{
    for (size_t i = 0; i < lane->files.n; i++) {
        const struct listing_file *file = &lane->files.files[i];
        struct hash128 hash;
        json_t *item;
        if (lane->hashes != NULL) {
            hash = lane->hashes[i];
        } else {
            TRY(appends_hash(run->options.inputs, file, &hash, err));
        }
        item = appends_file(lane->node->name, file->name, file->version.size, hash);
        if (item == NULL || json_array_append_new(files, item) != 0) {
            return error_nomem(err, "an append");
        }
    }
    return SLUICE_OK;
}

/* The input files that the writer's rows come from. A new reference. */
static sluice_status input_files(const struct run *run, const struct op *writer, json_t **out,
                                 struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    sluice_status status = SLUICE_OK;

    *out = json_array();
    if (*out == NULL) {
        return error_nomem(err, "an append");
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        if (lane->kind == LANE_SPLITS && lane->planned &&
            graph_feeds(plan->graph, lane->node->id, writer->node->id)) {
            status = add_files(run, lane, *out, err);
        }
    }
    if (status != SLUICE_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

bool run_append_empty(const struct run *run, const struct op *writer)
{
    const struct plan *plan = run->plan;
    size_t n = 0;

    for (uint32_t k = 0; k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        if (lane->kind == LANE_SPLITS && writer->node != NULL &&
            graph_feeds(plan->graph, lane->node->id, writer->node->id)) {
            n += lane->files.n;
        }
    }
    return n == 0;
}

sluice_status run_append_note(struct run *run, uint32_t p, const struct op *writer, uint32_t parent,
                              struct snapshot *snapshot, struct sluice_error *err)
{
    struct snapshot *before = NULL;
    json_t *files = NULL;
    struct hash128 key;
    uint64_t rows = 0;
    sluice_status status = SLUICE_OK;

    if (parent > 0) {
        TRY(snapshot_open(op_stage(writer)->dataset, parent, &before, err));
    }
    for (size_t i = 0; i < snapshot->n_shards; i++) {
        rows += snapshot->shards[i].rows;
    }
    for (size_t i = 0; before != NULL && i < before->n_shards; i++) {
        rows -= before->shards[i].rows < rows ? before->shards[i].rows : rows;
    }
    if (before != NULL && !appends_told(before)) { /* nor does this one, then */
        snapshot_destroy(before);
        return SLUICE_OK;
    }
    status = append_key(run, p, &key, err);
    if (status == SLUICE_OK) {
        status = input_files(run, writer, &files, err);
    }
    if (status == SLUICE_OK) {
        status = appends_add(snapshot, before, key, rows, files, err);
    }
    json_decref(files);
    snapshot_destroy(before);
    return status;
}

/* ---- the next snapshot ---- */

/* The file that a writer's note `catalogue` makes of all shards: made anew. */
static bool is_catalogue(const struct op *op, const struct snapshot_shard *shard)
{
    bool is = false;

    for (uint32_t k = 0; !is && k < op_stage(op)->n_notes; k++) {
        json_t *note = strcmp(op_stage(op)->notes[k].key, "catalogue") == 0
                           ? json_loads(op_stage(op)->notes[k].json, 0, NULL)
                           : NULL;
        const char *file = json_string_value(json_object_get(note, "file"));
        is = file != NULL && strcmp(file, shard->name) == 0;
        json_decref(note);
    }
    return is;
}

static unsigned part_of(const struct snapshot_shard *shard)
{
    unsigned part = 0;

    return snapshot_part_number(shard->name, &part) ? part : 0;
}

/* Those that are there keep their names, the run's get numbers behind theirs. */
static sluice_status put_shards(const struct op *op, const struct snapshot *newest,
                                const struct snapshot *own, struct snapshot *next,
                                struct sluice_error *err)
{
    unsigned first = 0;

    for (uint32_t k = 0; newest != NULL && k < newest->n_shards; k++) {
        const struct snapshot_shard *shard = &newest->shards[k];
        if (is_catalogue(op, shard)) {
            continue;
        }
        TRY(snapshot_add_shard(next, shard->name, shard->file, shard->rows, shard->bytes,
                               shard->hash, json_incref(shard->measures), err));
        first = part_of(shard) >= first ? part_of(shard) + 1 : first;
    }
    for (uint32_t k = 0; k < own->n_shards; k++) {
        const struct snapshot_shard *shard = &own->shards[k];
        char name[SNAPSHOT_NAME_MAX];
        TRY(snapshot_part_in(shard->name, snapshot_folder_size(shard->name), shard->file,
                             first + part_of(shard), name, err));
        TRY(snapshot_add_shard(next, name, shard->file, shard->rows, shard->bytes, shard->hash,
                               json_incref(shard->measures), err));
    }
    return SLUICE_OK;
}

/* What of another run's inputs is one with this: the same snapshot, or files of one reader. */
static json_t *find_input(const json_t *inputs, const json_t *input)
{
    json_t *other;
    size_t i;

    json_array_foreach(inputs, i, other)
    {
        json_t *holds = json_object_get(other, "holds");
        json_t *same = json_object_get(input, "holds");
        if (json_equal(json_object_get(other, "reader"), json_object_get(input, "reader")) &&
            (holds == NULL ? same == NULL : json_equal(holds, same))) {
            return other;
        }
    }
    return NULL;
}

/* Takes in what another run read, so that nothing that the rows come from is forgotten: each
 * snapshot once, and of files how many there were, with a hash of both. */
static bool add_input(json_t *inputs, json_t *input)
{
    json_t *known = find_input(inputs, input);
    json_int_t files = json_integer_value(json_object_get(known, "files")) +
                       json_integer_value(json_object_get(input, "files"));
    const char *one = json_string_value(json_object_get(known, "content"));
    const char *other = json_string_value(json_object_get(input, "content"));
    char text[80];
    char hex[33];

    if (known == NULL) {
        return json_array_append(inputs, input) == 0;
    }
    if (json_object_get(known, "holds") != NULL) {
        return true;
    }
    snprintf(text, sizeof text, "%.32s%.32s", one == NULL ? "" : one, other == NULL ? "" : other);
    hash_hex(hash_bytes(text, strlen(text)), hex);
    return json_object_set_new(known, "files", json_integer(files)) == 0 &&
           json_object_set_new(known, "content", json_string(hex)) == 0;
}

/* What the manifest before says of its rows goes on to hold: which files were joined of which, what
 * was removed. What it says of the run that published it is this run's now. */
static sluice_status merge_lineage(const struct snapshot *newest, const struct snapshot *own,
                                   struct snapshot *next, struct sluice_error *err)
{
    json_t *lineage =
        newest == NULL || newest->lineage == NULL ? json_object() : json_deep_copy(newest->lineage);
    json_t *joined = json_object_get(lineage, "joined");
    json_t *more = json_object_get(own->lineage, "joined");
    json_t *inputs = json_incref(json_object_get(lineage, "inputs"));
    json_t *input;
    bool good = lineage != NULL;
    size_t i;

    json_object_del(lineage, "compacts"); /* what it stood for is not all of this */
    json_object_del(lineage, "removes");
    if (more != NULL) {
        good = good && (joined != NULL ? json_object_update(joined, more)
                                       : json_object_set(lineage, "joined", more)) == 0;
    }
    good = good && json_object_update(lineage, next->lineage) == 0;
    if (inputs != NULL) {
        json_array_foreach(json_object_get(next->lineage, "inputs"), i, input)
        {
            good = good && add_input(inputs, input);
        }
        good = good && json_object_set(lineage, "inputs", inputs) == 0;
    }
    json_decref(inputs);
    json_decref(next->lineage);
    next->lineage = lineage;
    return good ? SLUICE_OK : error_nomem(err, "a manifest");
}

static sluice_status merge_ledger(const struct snapshot *newest, struct snapshot *next,
                                  struct sluice_error *err)
{
    json_t *sum = newest == NULL || newest->ledger == NULL ? NULL : json_deep_copy(newest->ledger);

    if (sum == NULL) {
        return SLUICE_OK;
    }
    if (!ledger_add(sum, next->ledger)) {
        json_decref(sum);
        return error_set(err, SLUICE_E_DATA,
                         "the ledger of snapshot %u can't be added to: it is none, or its sums "
                         "overflow",
                         (unsigned)newest->number);
    }
    json_decref(next->ledger);
    next->ledger = sum;
    return SLUICE_OK;
}

struct append {
    const struct op *op;
    const struct snapshot *own;
    struct hash128 key;
    json_t *files;
    uint64_t rows;
};

static sluice_status make_next(const struct run *run, const struct append *append,
                               const struct snapshot *newest, struct snapshot *next,
                               struct sluice_error *err)
{
    const struct op *op = append->op;

    TRY(put_shards(op, newest, append->own, next, err));
    TRY(run_own(run, op, next, err));
    TRY(run_dress(run, op, next, err));
    if (newest != NULL) {
        TRY(append_check_files(op, newest, append->files, err));
        TRY(append_check_notes(op, newest, next, err));
    }
    TRY(merge_lineage(newest, append->own, next, err));
    TRY(merge_ledger(newest, next, err));
    TRY(appends_add(next, newest, append->key, append->rows, append->files, err));
    next->over = newest == NULL ? SNAPSHOT_FIRST : newest->number;
    return SLUICE_OK;
}

/* Whether another snapshot is the newest by now. */
static sluice_status is_late(const struct op *op, const struct snapshot *newest, bool *late,
                             struct sluice_error *err)
{
    struct snapshot *now = NULL;

    TRY(snapshot_open_newest(op_stage(op)->dataset, &now, err));
    *late = (now == NULL ? 0 : now->number) != (newest == NULL ? 0 : newest->number);
    snapshot_destroy(now);
    return SLUICE_OK;
}

/* One try behind the newest snapshot. *late: another one came meanwhile. */
static sluice_status append_round(struct run *run, const struct append *append,
                                  const struct snapshot *newest, bool *late,
                                  struct run_published *published, struct sluice_error *err)
{
    struct snapshot *next = snapshot_create(append->op->name);
    sluice_status status =
        next == NULL ? error_nomem(err, "a snapshot") : make_next(run, append, newest, next, err);

    if (status == SLUICE_OK) {
        struct sluice_error why = ERROR_INIT;
        status = run_put_snapshot(run, append->op, next, published, &why);
        if (status == SLUICE_E_CONFIG && is_late(append->op, newest, late, err) == SLUICE_OK &&
            *late) {
            status = SLUICE_OK;
        } else if (status != SLUICE_OK) {
            error_set(err, status, "%s", why.message);
        }
    }
    snapshot_destroy(next);
    return status;
}

static sluice_status append_rounds(struct run *run, const struct append *append,
                                   struct run_published *published, struct sluice_error *err)
{
    bool late = true;
    sluice_status status = SLUICE_OK;

    for (int round = 0; round < ROUNDS && late && status == SLUICE_OK; round++) {
        struct snapshot *newest = NULL;
        late = false;
        TRY(snapshot_open_newest(op_stage(append->op)->dataset, &newest, err));
        if (newest != NULL &&
            (json_array_size(append->files) == 0 || appends_hold(newest, append->key))) {
            status = run_put_snapshot(run, append->op, newest, published, err); /* puts it right */
        } else {
            published->appended = newest != NULL;
            status = append_round(run, append, newest, &late, published, err);
        }
        snapshot_destroy(newest);
    }
    return status == SLUICE_OK && late
               ? error_set(err, SLUICE_E_IO,
                           "%d other snapshots were published to %s meanwhile; run again when that "
                           "ends",
                           ROUNDS, op_stage(append->op)->dataset)
               : status;
}

sluice_status run_append(struct run *run, uint32_t p, const struct op *op,
                         const struct snapshot *own, struct run_published *published,
                         struct sluice_error *err)
{
    struct append append = { .op = op, .own = own };
    sluice_status status;

    for (size_t i = 0; i < own->n_shards; i++) {
        append.rows += own->shards[i].rows;
    }
    TRY(append_key(run, p, &append.key, err));
    TRY(input_files(run, op, &append.files, err));
    status = append_rounds(run, &append, published, err);
    json_decref(append.files);
    return status;
}
