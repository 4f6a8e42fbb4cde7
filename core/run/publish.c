/* Publication: every writer's shards become a snapshot of its dataset, when all phases are complete
 * and no gate halted. */
#include <stdlib.h>
#include <string.h>

#include "run/catalogue.h"
#include "run/chain/folders.h"
#include "run/chain/ledger.h"
#include "run/identity.h"
#include "run/labels.h"
#include "run/names.h"
#include "run/runInt.h"
#include "run/skew.h"
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

/* What it was made from, without paths, hosts or times: equal runs give equal manifests, and an
 * equal manifest is no new snapshot. */
static json_t *lineage_json(const struct run *run)
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

/* Takes over the parent's shards. *part becomes the number behind theirs. */
static sluice_status carry_on(const struct op *op, uint32_t number, struct snapshot *snapshot,
                              uint32_t *part, struct sluice_error *err)
{
    struct snapshot *parent = NULL;
    sluice_status status = snapshot_open(op_stage(op)->dataset, number, &parent, err);

    for (size_t i = 0; status == SLUICE_OK && i < parent->n_shards; i++) {
        const struct snapshot_shard *shard = &parent->shards[i];
        unsigned at = 0;
        status = snapshot_add_shard(snapshot, shard->name, shard->file, shard->rows, shard->bytes,
                                    shard->hash, json_incref(shard->measures), err);
        if (snapshot_part_number(shard->name, &at) && at >= *part) {
            *part = at + 1;
        }
    }
    snapshot_destroy(parent);
    return status;
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
static sluice_status check_newest(const struct op *op, uint32_t number,
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

/* What came in is written once: the same again is no news, also where rows were removed from it
 * since; anything else is refused. */
static sluice_status check_bronze(const struct run *run, const struct op *op,
                                  const struct snapshot *snapshot, struct sluice_error *err)
{
    const char *dataset = op_stage(op)->dataset;
    struct snapshot *newest = NULL;
    struct snapshot *left = NULL; /* of what this run made */
    sluice_status status;

    if (op->node == NULL || op->node->class != CLASS_BRONZE) {
        return SLUICE_OK;
    }
    status = snapshot_open_newest(dataset, &newest, err);
    if (status == SLUICE_OK) {
        status = removal_apply(dataset, newest, snapshot, run->vouch, &left, err);
    }
    if (status == SLUICE_OK && newest != NULL &&
        !same_files(newest, left != NULL ? left : snapshot)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s is bronze, which is written once: snapshot %u has %llu rows in %u "
                           "files, this run made others (%u files); write them to another dataset, "
                           "and read both",
                           dataset, newest->number, (unsigned long long)newest->rows,
                           newest->n_shards, snapshot->n_shards);
    }
    snapshot_destroy(left);
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
    snapshot->lineage = lineage_json(run);
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

/* Nothing comes behind what is there: it is put right. */
static sluice_status put_again(struct run *run, const struct op *op,
                               struct run_published *published, struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    sluice_status status;

    TRY(snapshot_open(op_stage(op)->dataset, 0, &newest, err));
    status = run_put_snapshot(run, op, newest, published, err);
    snapshot_destroy(newest);
    return status;
}

/* The run's rows, behind those of the parent that the writer's stage named, if any. */
static sluice_status publish_own(struct run *run, uint32_t p, const struct op *op,
                                 struct snapshot *snapshot, uint32_t parent,
                                 struct run_published *published, struct sluice_error *err)
{
    TRY(run_own(run, op, snapshot, err));
    if (parent > 0 && run_append_empty(run, op)) {
        return put_again(run, op, published, err);
    }
    if (parent > 0) {
        /* Others may have published since the plan was made. */
        TRY(check_newest(op, parent, snapshot, err));
    }
    TRY(run_dress(run, op, snapshot, err));
    if (op->node != NULL && (op->node->mode == MODE_REBUILD || op_carries_on(op, NULL))) {
        TRY(run_append_note(run, p, op, parent, snapshot, err));
    }
    return run_put_snapshot(run, op, snapshot, published, err);
}

/* A file that a task wrote, and the folder of its partition, or "". */
struct written {
    const struct commit_output *output;
    const char *folder;
    uint32_t task, k; /* the k-th that this task wrote */
};

static int compare_written(const void *a, const void *b)
{
    const struct written *x = a;
    const struct written *y = b;
    const int folders = strcmp(x->folder, y->folder);

    return folders != 0         ? folders
           : x->task != y->task ? (x->task < y->task ? -1 : 1)
                                : (x->k > y->k) - (x->k < y->k);
}

/* What a writer's tasks wrote, by folders, in the order of the rows in each. Gives. */
static sluice_status list_written(const struct run *run, uint32_t p, const struct op *op,
                                  struct written **out, size_t *n, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    size_t most = 0;

    *n = 0;
    for (uint32_t t = 0; t < phase->n_tasks; t++) {
        most += run->tasks[p][t].commit->n_outputs;
    }
    *out = calloc(most + 1, sizeof **out);
    if (*out == NULL) {
        return error_nomem(err, "a snapshot");
    }
    for (uint32_t t = 0; t < phase->n_tasks; t++) {
        const struct commit *commit = run->tasks[p][t].commit;
        for (uint32_t k = 0; k < commit->n_outputs; k++) {
            const struct commit_output *output = &commit->outputs[k];
            if (label_is_shards(output->port, op->name)) {
                (*out)[(*n)++] = (struct written){ output, label_folder(output->port), t, k };
            }
        }
    }
    if (*n > 1) {
        qsort(*out, *n, sizeof **out, compare_written);
    }
    return SLUICE_OK;
}

/* Files that are equal up to the first dot are one shard's (X.bin and X.idx): they share a number.
 * part: the first. */
static sluice_status add_shards(const struct run *run, uint32_t p, const struct op *op,
                                uint32_t part, struct snapshot *snapshot,
                                struct run_published *published, struct sluice_error *err)
{
    struct written *files = NULL;
    size_t n = 0;
    sluice_status status = list_written(run, p, op, &files, &n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        const struct commit_output *output = files[i].output;
        const char *last = i == 0 ? NULL : files[i - 1].output->file;
        const size_t stem = strcspn(output->file, ".");
        char name[SNAPSHOT_NAME_MAX];
        char folder[1002];
        part += last != NULL && (files[i].task != files[i - 1].task || strcspn(last, ".") != stem ||
                                 memcmp(last, output->file, stem) != 0);
        snprintf(folder, sizeof folder, "%.1000s%s", files[i].folder,
                 files[i].folder[0] == '\0' ? "" : "/");
        status = snapshot_part_in(folder, strlen(folder), output->file, part, name, err);
        if (status == SLUICE_OK) {
            status = snapshot_add_shard(snapshot, name, output->file, output->rows, output->bytes,
                                        output->hash, NULL, err);
        }
        published->rows += output->rows;
        published->bytes += output->bytes;
        published->shards++;
    }
    free(files);
    return status;
}

static sluice_status publish_writer(struct run *run, uint32_t p, const struct op *op,
                                    struct run_published *published, struct sluice_error *err)
{
    struct snapshot *snapshot = snapshot_create(op->name);
    uint32_t part = 0;
    uint32_t parent = 0;
    sluice_status status = snapshot == NULL ? error_nomem(err, "a snapshot") : SLUICE_OK;

    if (run->plan->options.datasets == NULL) { /* a dataset apart has the new rows alone */
        (void)op_carries_on(op, &parent);
    }
    if (status == SLUICE_OK && parent > 0) {
        status = carry_on(op, parent, snapshot, &part, err);
    }
    if (status == SLUICE_OK) {
        status = add_shards(run, p, op, part, snapshot, published, err);
    }
    if (status == SLUICE_OK) {
        status = run_join(run, op, &snapshot, err);
        published->shards = snapshot->lineage == NULL ? published->shards : snapshot->n_shards;
    }
    if (status == SLUICE_OK && op->node != NULL && op->node->mode == MODE_APPEND) {
        status = run_append(run, p, op, snapshot, published, err);
    } else if (status == SLUICE_OK) {
        status = publish_own(run, p, op, snapshot, parent, published, err);
    }
    snapshot_destroy(snapshot);
    if (status == SLUICE_OK) {
        published->op = str_copy(op->name, strlen(op->name));
        published->dataset = str_copy(op_stage(op)->dataset, strlen(op_stage(op)->dataset));
        status = published->op == NULL || published->dataset == NULL
                     ? error_nomem(err, "a snapshot")
                     : SLUICE_OK;
    }
    return status;
}

sluice_status run_publish(struct run *run, struct run_published **list, size_t *n,
                          struct sluice_error *err)
{
    *n = 0;
    *list = calloc(run->plan->graph->n_sinks + 1u, sizeof **list);
    if (*list == NULL) {
        return error_nomem(err, "the datasets");
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
            const struct op *op = run->plan->phases[p]->ops[i];
            if (op_writes(op)) {
                (*n)++;
                TRY(publish_writer(run, p, op, &(*list)[*n - 1], err));
            }
        }
    }
    return SLUICE_OK;
}

void run_published_free(struct run_published *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].op);
        free(list[i].dataset);
        json_decref(list[i].skew);
    }
    free(list);
}
