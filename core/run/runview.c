/* A run opened for looking: see runview.h. */
#include "run/runview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/chain/ledger.h"
#include "run/identity.h"
#include "run/labels.h"
#include "run/runInt.h"
#include "store/store.h"

static sluice_status make_states(struct run *run, struct sluice_error *err)
{
    const struct plan *plan = run->plan;

    run->tasks = calloc(plan->n_phases + 1u, sizeof *run->tasks);
    run->n_stores = calloc(plan->n_phases + 1u, sizeof *run->n_stores);
    run->ledgers = calloc(plan->n_phases + 1u, sizeof *run->ledgers);
    run->lane_files = calloc(plan->n_lanes + 1u, sizeof(struct source_files *));
    if (run->tasks == NULL || run->n_stores == NULL || run->ledgers == NULL ||
        run->lane_files == NULL) {
        return error_nomem(err, "the run");
    }
    for (uint32_t k = 0; k < plan->n_lanes; k++) {
        TRY(source_files_create(&plan->lanes[k]->files, plan->lanes[k]->hashes, run->options.inputs,
                                &run->lane_files[k], err));
    }
    TRY(identities_create(run, &run->identities, err));
    TRY(feeder_create(&(struct feeder_options){ .alone = true }, &run->feeder, err));
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        run->tasks[p] = calloc(plan->phases[p]->n_tasks + 1u, sizeof **run->tasks);
        if (run->tasks[p] == NULL) {
            return error_nomem(err, "the run");
        }
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            run->n_stores[p] += plan->phases[p]->ops[i]->kind == OP_STORE;
        }
    }
    return SLUICE_OK;
}

sluice_status runview_open(const struct plan *plan, const char *run_dir, bool fresh,
                           struct statcache *inputs, const struct run_events *events,
                           struct run **out, struct sluice_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    sluice_status status;

    *out = NULL;
    if (run == NULL) {
        return error_nomem(err, "the run");
    }
    run->plan = plan;
    run->options =
        (struct run_options){ .run_dir = run_dir, .workers = 1, .fresh = fresh, .inputs = inputs };
    run->keeps_ledgers = true;
    pthread_mutex_init(&run->mutex, NULL);
    if (events != NULL) {
        run->options.events = *events;
    }
    run->started_ns = clock_ns();
    run->tasks_dir = store_join(run_dir, "tasks");
    run->spill_dir = store_join(run_dir, "spill");
    status = run->tasks_dir == NULL || run->spill_dir == NULL ? error_nomem(err, "a path")
                                                              : make_states(run, err);
    if (status == SLUICE_OK) {
        status = metrics_init(&run->metrics, plan, err);
    }
    if (status != SLUICE_OK) {
        run_close(run);
        return status;
    }
    if (plan->options.frozen && store_is_local(run_dir)) {
        run->options.local_dir = run_dir;
        finish_look(run);
    }
    *out = run;
    return SLUICE_OK;
}

/* Keys and records of a phase's tasks; those of earlier phases come first. */
static sluice_status look_at_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        struct task_state *state = &run->tasks[p][t];
        if (!state->keyed && task_ready(run, p, t)) {
            TRY(task_try_key(run, p, t, run->options.fresh ? KEY_RECALL : KEY_DOUBT, err));
            if (state->keyed && !run->options.fresh) {
                TRY(task_find(run, p, t, true, err));
            }
        }
    }
    return SLUICE_OK;
}

sluice_status runview_all(struct run *run, struct sluice_error *err)
{
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        TRY(look_at_phase(run, p, err));
    }
    return SLUICE_OK;
}

/* ---- records of before a change ---- */

static int compare_hashes(struct hash128 a, struct hash128 b)
{
    return a.hi != b.hi ? (a.hi < b.hi ? -1 : 1) : (a.lo > b.lo) - (a.lo < b.lo);
}

struct old_record {
    struct hash128 read; /* what its task read: all that went into its key but the stages */
    struct hash128 key;
    int64_t time_ns; /* of its file: records hold no times */
    bool preferred;
};

/* By what they read, what is preferred first, then the newest; equal ones in order of keys, so that
 * the choice is the same every time. */
static int compare_old(const void *a, const void *b)
{
    const struct old_record *x = a;
    const struct old_record *y = b;
    int order = compare_hashes(x->read, y->read);

    if (order == 0 && x->preferred != y->preferred) {
        order = x->preferred ? -1 : 1;
    }
    if (order == 0 && x->time_ns != y->time_ns) {
        order = x->time_ns > y->time_ns ? -1 : 1;
    }
    if (order == 0) {
        order = compare_hashes(x->key, y->key);
    }
    return order;
}

/* Of every part but the stages. */
static sluice_status hash_read(const struct commit *commit, struct hash128 *out,
                               struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "commit records");
    }
    for (uint32_t i = 0; i < commit->n_parts; i++) {
        const struct commit_part *part = &commit->parts[i];
        if (strncmp(part->name, "stage ", 6) != 0) {
            hasher_add(hasher, part->name, strlen(part->name) + 1);
            hasher_add(hasher, part->value, strlen(part->value) + 1);
        }
    }
    *out = hasher_digest(hasher);
    hasher_destroy(hasher);
    return SLUICE_OK;
}

static sluice_status read_old(const char *dir, const char *prefer, struct old_record **out,
                              size_t *n_out, struct sluice_error *err)
{
    struct hash128 *keys = NULL;
    struct old_record *records;
    size_t n = 0;
    sluice_status status;

    *n_out = 0;
    TRY(commit_list(dir, &keys, &n, err));
    records = calloc(n + 1, sizeof *records);
    *out = records;
    status = records == NULL ? error_nomem(err, "commit records") : SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct commit *commit = NULL;
        char hex[33];
        char *path;
        struct store_version info;
        bool found;
        status = commit_read(dir, keys[i], &commit, NULL, err);
        /* Old records explain, nothing is built on them: one that is damaged is left out. */
        if (status != SLUICE_OK || commit == NULL) {
            continue;
        }
        hash_hex(keys[i], hex);
        path = str_printf("%s/%s.json", dir, hex);
        records[*n_out] =
            (struct old_record){ .key = commit->key,
                                 .preferred =
                                     prefer != NULL && strncmp(hex, prefer, strlen(prefer)) == 0 };
        status = hash_read(commit, &records[*n_out].read, err);
        commit_destroy(commit);
        if (path != NULL && store_stat(path, &info, &found, NULL) == SLUICE_OK) {
            records[*n_out].time_ns = info.mtime_ns;
        }
        ++*n_out;
        free(path);
    }
    free(keys);
    if (status == SLUICE_OK) {
        qsort(records, *n_out, sizeof *records, compare_old);
    }
    return status;
}

/* Puts a record into a task's state; takes it. Where its edges are not those of the plan it is let
 * go. */
static sluice_status adopt_old(struct run *run, uint32_t p, uint32_t task, struct commit *commit,
                               struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct task_state *state = &run->tasks[p][task];
    struct edge_directory *directories = calloc(run->n_stores[p] + 1u, sizeof *directories);
    char *ledger = json_dumps(commit->ledger, JSON_COMPACT | JSON_SORT_KEYS);
    bool usable = directories != NULL && ledger != NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; usable && i < phase->n_ops; i++) {
        const struct commit_state *blob;
        struct sluice_error how = ERROR_INIT;
        if (phase->ops[i]->kind != OP_STORE) {
            continue;
        }
        blob = commit_find_state(commit, label_edge(i).text);
        usable =
            blob != NULL &&
            edge_directory_decode(blob->data, blob->size, &directories[n], &how) == SLUICE_OK &&
            directories[n].n_partitions == op_store(phase->ops[i])->edge->n_partitions;
        n++;
    }
    if (!usable) {
        bool memory = directories == NULL || ledger == NULL;
        for (uint32_t k = 0; directories != NULL && k < n; k++) {
            edge_directory_deinit(&directories[k]);
        }
        free(directories);
        free(ledger);
        commit_destroy(commit);
        return memory ? error_nomem(err, "a task") : SLUICE_OK;
    }
    for (uint32_t k = 0; state->directories != NULL && k < run->n_stores[p]; k++) {
        edge_directory_deinit(&state->directories[k]);
    }
    free(state->directories);
    free(state->ledger);
    commit_destroy(state->commit);
    state->directories = directories;
    state->ledger = ledger;
    state->commit = commit;
    state->key = commit->key;
    state->reused = false;
    state->done = true;
    return SLUICE_OK;
}

/* Where its input is not known by now, there is nothing to find. */
static sluice_status find_old(struct run *run, uint32_t p, uint32_t task, const char *dir,
                              const struct old_record *records, size_t n, uint32_t *old,
                              struct sluice_error *err)
{
    struct task_state *state = &run->tasks[p][task];
    struct commit *now = commit_create(state->key, run->plan->phases[p]->name, "");
    struct hash128 read = { 0, 0 };
    sluice_status status =
        now == NULL ? error_nomem(err, "a commit record") : run_task_parts(run, p, task, now, err);
    size_t first = 0;
    size_t last = n;

    if (status == SLUICE_OK) {
        status = hash_read(now, &read, err);
    }
    commit_destroy(now);
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (compare_hashes(records[middle].read, read) < 0) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    for (size_t i = first; status == SLUICE_OK && i < n && hash_equal(records[i].read, read); i++) {
        struct commit *commit = NULL;
        if (state->done && !records[i].preferred) {
            continue;
        }
        if (state->done && hash_equal(records[i].key, state->key)) {
            break; /* what is preferred is what it is now */
        }
        status = commit_read(dir, records[i].key, &commit, NULL, err);
        if (status != SLUICE_OK || commit == NULL) {
            continue;
        }
        status = adopt_old(run, p, task, commit, err);
        if (state->done) {
            ++*old;
            break;
        }
    }
    return status;
}

static sluice_status phase_old(struct run *run, uint32_t p, const char *prefer, uint32_t *old,
                               struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct old_record *records = NULL;
    size_t n = 0;
    char *dir;
    bool wanted = prefer != NULL;
    sluice_status status;

    for (uint32_t t = 0; !wanted && t < phase->n_tasks; t++) {
        wanted = run->tasks[p][t].keyed && !run->tasks[p][t].done;
    }
    if (!wanted) {
        return SLUICE_OK;
    }
    dir = store_join(run->tasks_dir, phase->name);
    status = dir == NULL ? error_nomem(err, "a path") : read_old(dir, prefer, &records, &n, err);
    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        if (run->tasks[p][t].keyed) {
            status = find_old(run, p, t, dir, records, n, old, err);
        }
    }
    free(records);
    free(dir);
    return status;
}

sluice_status runview_all_old(struct run *run, const char *prefer, uint32_t *old,
                              struct sluice_error *err)
{
    *old = 0;
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        TRY(look_at_phase(run, p, err));
        TRY(phase_old(run, p, prefer, old, err));
    }
    return SLUICE_OK;
}

/* ---- reading ---- */

sluice_status runview_sum(struct run *run, uint32_t p, struct sluice_error *err)
{
    json_t *sum = json_object();
    bool ok = sum != NULL;

    for (uint32_t t = 0; ok && t < run->plan->phases[p]->n_tasks; t++) {
        const struct task_state *state = &run->tasks[p][t];
        ok = !state->done || ledger_add_text(sum, state->ledger);
    }
    if (!ok) {
        json_decref(sum);
        return error_set(
            err, SLUICE_E_DATA,
            "the ledgers of phase %s can't be summed: a commit record is damaged; run with --fresh",
            run->plan->phases[p]->name);
    }
    json_decref(run->ledgers[p]);
    run->ledgers[p] = sum;
    return SLUICE_OK;
}
