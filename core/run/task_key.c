/* What goes into a task's key: the phase, what its split holds, and the rows that it loads. */
#include <stdio.h>
#include <string.h>

#include "run/identity.h"
#include "run/runInt.h"

static uint32_t store_ordinal(const struct phase *phase, uint32_t op)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op; i++) {
        n += phase->ops[i]->kind == OP_STORE;
    }
    return n;
}

const struct edge_directory *task_directory(const struct run *run, const struct plan_edge *edge,
                                            uint32_t task)
{
    const struct phase *producer = run->plan->phases[edge->producer_phase];
    return &run->tasks[edge->producer_phase][task]
                .directories[store_ordinal(producer, edge->store_op)];
}

struct slice_range task_slices(const struct run *run, const struct phase *phase,
                               const struct op *load, uint32_t task)
{
    const struct plan_edge *edge = op_load(load)->edge;
    uint32_t producers = run->plan->phases[edge->producer_phase]->n_tasks;
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);
    const struct lane *only = phase_load_lane(phase, load);
    struct slice_range range = { 0, producers, 0, true };

    switch (edge->load) {
    case LOAD_SAME:
        range.first_task = task;
        range.n_tasks = 1;
        break;
    case LOAD_KEYED:
        range.partition = index;
        range.active = lane == only;
        break;
    case LOAD_GATHER:
        range.active = lane == only;
        break;
    case LOAD_BY_SPLIT:
        range.partition = task;
        break;
    case LOAD_BROADCAST:
        break;
    }
    return range;
}

struct hash128 task_load_hash(const struct run *run, const struct phase *phase,
                              const struct op *load, uint32_t task, struct hasher *hasher)
{
    struct slice_range range = task_slices(run, phase, load, task);

    hasher_reset(hasher);
    for (uint32_t t = 0; range.active && t < range.n_tasks; t++) {
        const struct edge_directory *directory =
            task_directory(run, op_load(load)->edge, range.first_task + t);
        const struct edge_slice *slice = &directory->slices[range.partition];
        if (op_load(load)->edge->load == LOAD_BY_SPLIT && slice->rows == 0) {
            continue; /* rows are merged: producers without any don't matter */
        }
        hasher_add_u64(hasher, slice->rows);
        hasher_add_hash(hasher, slice->hash);
    }
    return hasher_digest(hasher);
}

static void hex_part(char text[33], struct hash128 hash)
{
    hash_hex(hash, text);
}

/* Visits the parts of a task's key in order. */
static sluice_status key_parts(const struct run *run, uint32_t p, uint32_t task,
                               struct commit *commit, struct hash128 *key, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);
    struct hasher *all = hasher_create();
    struct hasher *one = hasher_create();
    char hex[33];
    sluice_status status = all == NULL || one == NULL ? error_nomem(err, "task keys") : SLUICE_OK;

    if (status == SLUICE_OK) {
        hasher_add_hash(all, phase->key);
        for (uint32_t i = 0; commit != NULL && status == SLUICE_OK && i < phase->n_ops; i++) {
            char name[256];
            snprintf(name, sizeof name, "stage %s", phase->ops[i]->name);
            hex_part(hex, phase->ops[i]->key);
            status = commit_add_part(commit, name, hex, err);
        }
        for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            struct hash128 hash;
            char name[256];
            if (op->kind == OP_READ && lane->kind == LANE_SPLITS &&
                phase->lanes[op_read(op)->lane] == lane) {
                const struct hash128 *held = identity_of(run, lane, index);
                if (held == NULL && key != NULL) {
                    char split[SPLIT_NAME];
                    status =
                        error_set(err, SLUICE_E_INTERNAL, "a task has no key: nobody has read %s",
                                  lane_split_name(lane, index, split));
                    break;
                }
                hash = held == NULL ? (struct hash128){ 0, 0 } : *held; /* of nothing */
                snprintf(name, sizeof name, "input of %s", op->name);
            } else if (op->kind == OP_LOAD) {
                hash = task_load_hash(run, phase, op, task, one);
                snprintf(name, sizeof name, "rows of %s", op->name);
            } else {
                continue;
            }
            hasher_add_u64(all, i);
            hasher_add_hash(all, hash);
            if (commit != NULL) {
                hex_part(hex, hash);
                status = commit_add_part(commit, name, hex, err);
            }
        }
    }
    if (status == SLUICE_OK && key != NULL) {
        *key = hasher_digest(all);
    }
    hasher_destroy(all);
    hasher_destroy(one);
    return status;
}

sluice_status run_task_parts(const struct run *run, uint32_t phase, uint32_t task,
                             struct commit *commit, struct sluice_error *err)
{
    return key_parts(run, phase, task, commit, NULL, err);
}

const struct lane *task_reads(const struct phase *phase, uint32_t task, uint32_t *index)
{
    const struct lane *lane = phase_lane(phase, task, index);

    for (uint32_t i = 0; lane->kind == LANE_SPLITS && i < phase->n_ops; i++) {
        if (phase->ops[i]->kind == OP_READ && phase->lanes[op_read(phase->ops[i])->lane] == lane) {
            return lane;
        }
    }
    return NULL;
}

static bool phase_done(const struct run *run, uint32_t p)
{
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        if (!run->tasks[p][t].done) {
            return false;
        }
    }
    return true;
}

bool task_ready(const struct run *run, uint32_t p, uint32_t task)
{
    const struct phase *phase = run->plan->phases[p];
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        const struct plan_edge *edge;
        if (op->kind != OP_LOAD) {
            continue;
        }
        edge = op_load(op)->edge;
        if ((edge->load == LOAD_KEYED || edge->load == LOAD_GATHER) &&
            phase_load_lane(phase, op) != lane) {
            continue;
        }
        if (edge->load == LOAD_SAME ? !run->tasks[edge->producer_phase][task].done
                                    : !phase_done(run, edge->producer_phase)) {
            return false;
        }
    }
    return true;
}

bool run_unread(const struct run *run, uint32_t p, uint32_t task)
{
    uint32_t index = 0;

    return !run->tasks[p][task].keyed && task_ready(run, p, task) &&
           task_reads(run->plan->phases[p], task, &index) != NULL;
}

sluice_status task_try_key(struct run *run, uint32_t p, uint32_t task, enum key_effort effort,
                           struct sluice_error *err)
{
    struct task_state *state = &run->tasks[p][task];
    uint32_t index = 0;
    const struct lane *lane = task_reads(run->plan->phases[p], task, &index);
    bool doubt = false;

    if (lane != NULL) {
        if (effort == KEY_SHARE) {
            statcache_exchange(run->options.inputs);
        }
        TRY(identity_recall(run, lane, index, &doubt, err));
        if (identity_of(run, lane, index) == NULL &&
            (effort == KEY_READ || (effort == KEY_DOUBT && doubt))) {
            TRY(identity_read(run, lane, index, err));
        }
        if (identity_of(run, lane, index) == NULL) {
            return SLUICE_OK;
        }
    }
    TRY(key_parts(run, p, task, NULL, &state->key, err));
    state->keyed = true;
    return SLUICE_OK;
}
