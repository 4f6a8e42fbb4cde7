/* A snapshot on its way: what it says of the run that made it, what speaks against it, and its
 * publication. See publish.c, publish_append.c. */
#include <stdlib.h>
#include <string.h>

#include "run/catalogue.h"
#include "run/chain/folders.h"
#include "run/chain/ledger.h"
#include "run/identity.h"
#include "run/names.h"
#include "run/runInt.h"
#include "run/skew.h"
#include "store/derive.h"
#include "store/removal.h"

/* Of a dataset that was read: the hash of what its files hold (snapshot_holds), by which the
 * snapshot is found again. NULL = out of memory. */
static json_t *holds_json(const struct lane *lane)
{
    struct hasher *hasher = hasher_create();
    char hex[33];

    if (hasher == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < lane->files.n; i++) {
        hasher_add_hash(hasher, lane->hashes[i]);
    }
    hash_hex(hasher_digest(hasher), hex);
    hasher_destroy(hasher);
    return json_string(hex);
}

/* {"stage", "options"} of the writer, as the script gave them but for the folder, so that upkeep
 * can write rows as it did. */
static json_t *writer_json(const struct op *op)
{
    struct sluice_error ignored = ERROR_INIT;
    struct buf text = BUF_INIT;
    json_t *options;
    json_t *json;

    if (op->node == NULL || op->node->entry == NULL) {
        return json_null();
    }
    value_print_json(&op->node->named, &text);
    options = buf_status(&text, &ignored) == SLUICE_OK
                  ? json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL)
                  : NULL;
    buf_deinit(&text);
    if (!json_is_object(options)) { /* none are given */
        json_decref(options);
        options = json_object();
    }
    json_object_del(options, "path");
    json = json_pack("{s:s, s:o}", "stage", op->node->entry->stage.name, "options", options);
    return json == NULL ? json_null() : json;
}

/* What it was made from, without paths, hosts or times: equal runs give equal manifests, and an
 * equal manifest is no new snapshot. */
static json_t *lineage_json(const struct run *run, const struct op *op)
{
    json_t *lineage = json_object();
    json_t *inputs = json_array();

    for (uint32_t k = 0; inputs != NULL && k < run->plan->n_lanes; k++) {
        const struct lane *lane = run->plan->lanes[k];
        struct hasher *hasher = hasher_create();
        char hex[33];
        if (hasher == NULL) {
            break;
        }
        for (size_t i = 0; lane->planned && i < lane->splits.n; i++) {
            hasher_add_hash(hasher, *identity_of(run, lane, i));
        }
        hash_hex(hasher_digest(hasher), hex);
        hasher_destroy(hasher);
        if (lane->kind == LANE_SPLITS) {
            json_t *input = json_pack("{s:s, s:I, s:s}", "reader", lane->node->name, "files",
                                      (json_int_t)lane->files.n, "content", hex);
            if (input != NULL && lane->hashes != NULL) {
                json_object_set_new(input, "holds", holds_json(lane));
            }
            json_array_append_new(inputs, input);
        }
    }
    if (lineage != NULL) {
        char hex[33];
        hash_hex(run->plan->key, hex);
        json_object_set_new(lineage, "inputs", inputs);
        json_object_set_new(
            lineage, "pipeline",
            json_string(run->plan->graph->name == NULL ? "" : run->plan->graph->name));
        json_object_set_new(lineage, "plan", json_string(hex));
        json_object_set_new(lineage, "writer", writer_json(op));
    }
    return lineage;
}

/* Facts from every stage upstream of the writer (all stages of its phase and of those it depends
 * on). */
static sluice_status add_notes(const struct run *run, json_t *notes, struct sluice_error *err)
{
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
            const struct op *op = run->plan->phases[p]->ops[i];
            char recorded[300];
            /* Made of answers that were recorded, not of what can be made again. */
            snprintf(recorded, sizeof recorded, "%s.recorded", op->name);
            if (op_asks(op) && json_object_set_new(notes, recorded, json_true()) != 0) {
                return error_nomem(err, "a manifest");
            }
            for (uint32_t k = 0; op->kind == OP_STAGE && k < op_stage(op)->n_notes; k++) {
                const struct stage_note *note = &op_stage(op)->notes[k];
                json_t *value = json_loads(note->json, JSON_DECODE_ANY, NULL);
                char key[300];
                snprintf(key, sizeof key, "%s.%s", op->name, note->key);
                if (value == NULL || json_object_set_new(notes, key, value) != 0) {
                    return error_set(err, SLUICE_E_INTERNAL,
                                     "stage '%s' notes '%s', which is not JSON", op->name,
                                     note->json);
                }
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status whole_ledger(const struct run *run, json_t **out, struct sluice_error *err)
{
    *out = json_object();
    for (uint32_t p = 0; *out != NULL && p < run->plan->n_phases; p++) {
        if (!ledger_add(*out, run->ledgers[p])) {
            json_decref(*out);
            *out = NULL;
        }
    }
    return *out == NULL ? error_nomem(err, "the ledger") : SLUICE_OK;
}

static bool same_files(const struct snapshot *a, const struct snapshot *b)
{
    bool same = a->n_shards == b->n_shards;

    for (size_t i = 0; same && i < a->n_shards; i++) {
        same = strcmp(a->shards[i].file, b->shards[i].file) == 0;
    }
    return same;
}

/* Only the newest snapshot is carried on; publishing the same files once more is no news. */
sluice_status run_check_newest(const struct op *op, uint32_t number,
                               const struct snapshot *snapshot, struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    sluice_status status = snapshot_open(op_stage(op)->dataset, 0, &newest, err);

    if (status == SLUICE_OK && newest->number != number && !same_files(newest, snapshot)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s: this run carries snapshot %u on, but the newest is %u; run again "
                           "from %s@%u, so that nothing of it is lost",
                           op_stage(op)->dataset, number, newest->number, op_stage(op)->dataset,
                           newest->number);
    }
    snapshot_destroy(newest);
    return status;
}

/* Whether a snapshot has the files that this run made, or what is left of them where rows were
 * removed since. */
static sluice_status holds_made(const struct run *run, const char *dataset,
                                const struct snapshot *there, const struct snapshot *made,
                                bool *holds, struct sluice_error *err)
{
    struct snapshot *left = NULL;
    sluice_status status = removal_apply(dataset, there, made, run->vouch, &left, err);

    *holds = status == SLUICE_OK && same_files(there, left != NULL ? left : made);
    snapshot_destroy(left);
    return status;
}

/* What came in is written once: the same again is no news, also where it was compacted or rows were
 * removed from it since; anything else is refused. */
static sluice_status check_bronze(const struct run *run, const struct op *op,
                                  const struct snapshot *snapshot, struct sluice_error *err)
{
    const char *dataset = op_stage(op)->dataset;
    struct snapshot *newest = NULL;
    struct snapshot *there = NULL; /* newest, or one before it that it was made of */
    bool holds = false;
    sluice_status status;

    if (op->node == NULL || op->node->class != CLASS_BRONZE) {
        return SLUICE_OK;
    }
    TRY(snapshot_open_newest(dataset, &newest, err));
    if (newest == NULL) {
        return SLUICE_OK;
    }
    status = holds_made(run, dataset, newest, snapshot, &holds, err);
    while (status == SLUICE_OK && !holds) {
        const struct snapshot *last = there != NULL ? there : newest;
        struct snapshot *parent = NULL;
        struct sluice_error ignored = ERROR_INIT;
        if (derive_stands_for(last) == NULL || last->parent == 0 ||
            snapshot_open(dataset, last->parent, &parent, &ignored) != SLUICE_OK) {
            break;
        }
        snapshot_destroy(there);
        there = parent;
        status = holds_made(run, dataset, there, snapshot, &holds, err);
    }
    if (status == SLUICE_OK && !holds) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s is bronze, which is written once: snapshot %u has %llu rows in %u "
                           "files, this run made others (%u files); write them to another dataset, "
                           "and read both",
                           dataset, newest->number, (unsigned long long)newest->rows,
                           newest->n_shards, snapshot->n_shards);
    }
    snapshot_destroy(there);
    snapshot_destroy(newest);
    return status;
}

/* Nothing that this run made: it ends well, and says so. */
static void say_damage(const struct run *run, const struct op *op,
                       const struct snapshot_outcome *outcome)
{
    const struct stage_services *services = run->plan->options.services;
    char text[900];

    if (services == NULL || services->log == NULL) {
        return;
    }
    snprintf(text, sizeof text,
             "%llu file%s of snapshots of %s %s damaged, and there is no good copy: %s; put a copy "
             "back, or run what made it again (`sluice verify --all` names all)",
             (unsigned long long)outcome->damaged, outcome->damaged == 1 ? "" : "s",
             op_stage(op)->dataset, outcome->damaged == 1 ? "is" : "are", outcome->damage);
    services->log(services->ctx, SLUICE_LOG_WARN, op->name, text);
}

static void say_adopted(const struct run *run, const struct op *op, uint32_t number)
{
    const struct stage_services *services = run->plan->options.services;
    char text[900];

    if (services == NULL || services->log == NULL) {
        return;
    }
    snprintf(text, sizeof text,
             "%.500s: its snapshots up to %u name no owner (an earlier version wrote them); from "
             "%u on it belongs to this node, and another one needs --take-over",
             op_stage(op)->dataset, (unsigned)number - 1, (unsigned)number);
    services->log(services->ctx, SLUICE_LOG_INFO, op->name, text);
}

sluice_status run_dress(const struct run *run, const struct op *op, struct snapshot *snapshot,
                        struct sluice_error *err)
{
    json_t *joined = snapshot->lineage; /* of run_join, or NULL */
    sluice_status status = check_bronze(run, op, snapshot, err);

    for (uint32_t k = 0; status == SLUICE_OK && k < op_stage(op)->n_notes; k++) {
        if (strcmp(op_stage(op)->notes[k].key, "catalogue") == 0) {
            status = catalogue_add(op, op_stage(op)->notes[k].json, snapshot, err);
        } else if (strcmp(op_stage(op)->notes[k].key, "names") == 0) {
            status = names_apply(op, op_stage(op)->notes[k].json, snapshot, err);
        }
    }
    if (status != SLUICE_OK) {
        return status;
    }
    snapshot->lineage = lineage_json(run, op);
    snapshot->notes = json_object();
    status = snapshot->lineage == NULL || snapshot->notes == NULL ||
                     (joined != NULL && json_object_update(snapshot->lineage, joined) != 0)
                 ? error_nomem(err, "a snapshot")
                 : add_notes(run, snapshot->notes, err);
    json_decref(joined);
    return status == SLUICE_OK ? whole_ledger(run, &snapshot->ledger, err) : status;
}

sluice_status run_put_snapshot(struct run *run, const struct op *op, struct snapshot *snapshot,
                               struct run_published *published, struct sluice_error *err)
{
    struct snapshot_outcome outcome;
    sluice_status status =
        snapshot_publish(op_stage(op)->dataset, snapshot, run->vouch, &outcome, err);

    published->number = snapshot->number;
    published->fresh = outcome.is_new;
    published->mended = outcome.mended;
    published->skew = folders_note(op) == NULL ? NULL : skew_json(snapshot);
    if (status == SLUICE_OK && outcome.damaged > 0) {
        say_damage(run, op, &outcome);
    }
    if (status == SLUICE_OK && outcome.adopted) {
        say_adopted(run, op, snapshot->number);
    }
    return status;
}
