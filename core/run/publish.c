/* Publication: every writer's shards become a snapshot of its dataset, when all phases are complete
 * and no gate halted. */
#include <stdlib.h>
#include <string.h>

#include "run/labels.h"
#include "run/runInt.h"

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
        TRY(run_check_newest(op, parent, snapshot, err));
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
