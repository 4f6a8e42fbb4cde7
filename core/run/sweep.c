/* What no later run can use goes: see sweep.h. */
#include "run/sweep.h"

#define ATTEMPTS_KEPT 10 /* executions whose logs of attempts stay */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/asks/asks.h"
#include "run/chain/quarantine.h"
#include "run/facts/places.h"
#include "run/runInt.h"
#include "run/saving.h"
#include "store/pending.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/temp.h"

/* A list of a place may lack what was just put. So nothing goes there because no list has a record
 * of it: the keys of all tasks that are reached stay, with records or without, and where the plan
 * does not know all keys of a phase, a record is asked for by its name. */
struct sweep {
    const struct run *run;
    bool dry;
    bool listed; /* a list tells all that there is */
    bool *whole; /* of each phase: any of its records may be one that the run comes to */
    bool any_whole;
    struct hash128 *kept; /* keys of records that stay, sorted */
    size_t n_kept, capacity;
    struct swept *swept;
};

static int compare_keys(const void *a, const void *b)
{
    const struct hash128 *x = a;
    const struct hash128 *y = b;

    if (x->hi != y->hi) {
        return x->hi < y->hi ? -1 : 1;
    }
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static sluice_status keep(struct sweep *sweep, struct hash128 key, struct sluice_error *err)
{
    if (sweep->n_kept == sweep->capacity) {
        size_t capacity = sweep->capacity == 0 ? 64 : sweep->capacity * 2;
        struct hash128 *kept = realloc(sweep->kept, capacity * sizeof *kept);
        if (kept == NULL) {
            return error_nomem(err, "keys");
        }
        sweep->kept = kept;
        sweep->capacity = capacity;
    }
    sweep->kept[sweep->n_kept++] = key;
    return SLUICE_OK;
}

static bool is_kept(const struct sweep *sweep, struct hash128 key)
{
    return sweep->n_kept > 0 &&
           bsearch(&key, sweep->kept, sweep->n_kept, sizeof key, compare_keys) != NULL;
}

/* Whether what has this key in its name stays. */
static sluice_status key_stays(const struct sweep *sweep, struct hash128 key, bool *stays,
                               struct sluice_error *err)
{
    const struct plan *plan = sweep->run->plan;
    sluice_status status = SLUICE_OK;
    char hex[33];

    *stays = is_kept(sweep, key);
    hash_hex(key, hex);
    for (uint32_t p = 0; !sweep->listed && !*stays && status == SLUICE_OK && p < plan->n_phases;
         p++) {
        uint64_t bytes;
        char *path;
        if (!sweep->whole[p]) {
            continue;
        }
        path = str_printf("%s/%s/%s.json", sweep->run->tasks_dir, plan->phases[p]->name, hex);
        status = path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, stays, err);
        free(path);
    }
    return status;
}

/* Whether a stored file's name begins with the first 24 digits of a key that stays. */
static bool is_kept_prefix(const struct sweep *sweep, const char key[25])
{
    char hex[33];
    struct hash128 low;
    size_t first = 0;
    size_t last = sweep->n_kept;

    memcpy(hex, key, 24);
    memcpy(hex + 24, "00000000", 9);
    if (!hash_parse(hex, &low)) {
        return true;
    }
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (compare_keys(&sweep->kept[middle], &low) < 0) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    if (first == sweep->n_kept) {
        return false;
    }
    hash_hex(sweep->kept[first], hex);
    return memcmp(hex, key, 24) == 0;
}

static sluice_status drop_file(struct sweep *sweep, const char *dir, const char *name,
                               enum sweep_kind kind, struct sluice_error *err)
{
    char *path = store_join(dir, name);
    uint64_t bytes = 0;
    bool found = false;
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, &found, err);

    if (status == SLUICE_OK && found) {
        status = sweep->dry ? SLUICE_OK : store_remove(path, err);
        if (status == SLUICE_OK) {
            sweep->swept->files[kind]++;
            sweep->swept->bytes[kind] += bytes;
        }
    }
    free(path);
    return status;
}

/* ---- what stays ---- */

/* The phase of the plan that a folder of records belongs to. */
static int32_t phase_of(const struct plan *plan, const char *folder)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        if (strcmp(plan->phases[p]->name, folder) == 0) {
            return (int32_t)p;
        }
    }
    return -1;
}

/* Whether all keys of a phase are known. */
static bool all_keyed(const struct run *run, uint32_t p)
{
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        if (!run->tasks[p][t].keyed) {
            return false;
        }
    }
    return true;
}

static bool is_reached(const struct run *run, uint32_t p, struct hash128 key)
{
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        if (hash_equal(run->tasks[p][t].key, key)) {
            return true;
        }
    }
    return false;
}

static sluice_status sort_folder(struct sweep *sweep, const char *name, bool remove,
                                 struct sluice_error *err)
{
    const struct run *run = sweep->run;
    char *dir = store_join(run->tasks_dir, name);
    struct hash128 *keys = NULL;
    size_t n = 0;
    int32_t p = phase_of(run->plan, name);
    bool whole = p >= 0 && sweep->whole[p];
    size_t left = 0;
    sluice_status status =
        dir == NULL ? error_nomem(err, "a path") : commit_list(dir, &keys, &n, err);

    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        bool stays = whole || (p >= 0 && is_reached(run, (uint32_t)p, keys[k]));
        char file[40];
        left += stays;
        if (stays && !remove) {
            status = keep(sweep, keys[k], err);
        } else if (!stays && remove) {
            hash_hex(keys[k], file);
            memcpy(file + 32, ".json", 6);
            status = drop_file(sweep, dir, file, SWEEP_RECORDS, err);
        }
    }
    if (status == SLUICE_OK && remove && p < 0 && left == 0 && !sweep->dry) {
        (void)(store_is_local(dir) ? disk_rmdir(dir) : 0); /* stays when something else is in it */
    }
    free(keys);
    free(dir);
    return status;
}

static sluice_status keep_reached(struct sweep *sweep, struct sluice_error *err)
{
    const struct run *run = sweep->run;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].keyed) {
                TRY(keep(sweep, run->tasks[p][t].key, err));
            }
        }
    }
    return SLUICE_OK;
}

/* Two rounds: first what stays, then removing. */
static sluice_status sort_records(struct sweep *sweep, bool remove, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = store_names(sweep->run->tasks_dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        status = sort_folder(sweep, names.names[i], remove, err);
    }
    disk_names_deinit(&names);
    if (status == SLUICE_OK && !remove && !sweep->listed) {
        status = keep_reached(sweep, err);
    }
    if (status == SLUICE_OK && !remove && sweep->n_kept > 0) {
        qsort(sweep->kept, sweep->n_kept, sizeof *sweep->kept, compare_keys);
    }
    return status;
}

/* ---- what goes ---- */

static sluice_status sweep_spill(struct sweep *sweep, struct sluice_error *err)
{
    const char *dir = sweep->run->spill_dir;
    struct disk_names names = { NULL, 0 };
    sluice_status status = store_names(dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        const char *name = names.names[i];
        size_t n = strlen(name);
        struct hash128 key;
        bool stays = true;
        char hex[33];
        if (n < 37 || name[32] != '-' || strcmp(name + n - 4, ".slf") != 0) {
            continue;
        }
        memcpy(hex, name, 32);
        hex[32] = '\0';
        if (hash_parse(hex, &key)) {
            status = key_stays(sweep, key, &stays, err);
        }
        if (status == SLUICE_OK && !stays) {
            status = drop_file(sweep, dir, name, SWEEP_SPILL, err);
        }
    }
    disk_names_deinit(&names);
    return status;
}

/* Temporaries, which are on disks alone: counted first, since sweeping tells only how many. */
static sluice_status sweep_temporaries(struct sweep *sweep, const char *dir,
                                       struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    struct disk_names after = { NULL, 0 };
    sluice_status status = store_is_local(dir) ? disk_list(dir, &names, err) : SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *path;
        uint64_t bytes = 0;
        bool found = false;
        if (!temp_named(names.names[i])) {
            continue;
        }
        path = store_join(dir, names.names[i]);
        status = path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, &found, err);
        free(path);
        sweep->swept->files[SWEEP_TEMPORARY]++;
        sweep->swept->bytes[SWEEP_TEMPORARY] += bytes;
    }
    disk_names_deinit(&names);
    if (status == SLUICE_OK && !sweep->dry && store_is_local(dir)) {
        status = temp_sweep(dir, NULL, err);
        if (status == SLUICE_OK) {
            status = disk_list(dir, &after, err);
        }
        for (size_t i = 0; status == SLUICE_OK && i < after.n; i++) {
            sweep->swept->files[SWEEP_TEMPORARY] -=
                temp_named(after.names[i]); /* of a living process */
        }
        disk_names_deinit(&after);
    }
    return status;
}

/* Rows in quarantine go with the records of their tasks, and what is damaged with them. */
static sluice_status sweep_kept_rows(struct sweep *sweep, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    char *dir = store_join(sweep->run->options.run_dir, QUARANTINE_FOLDER);
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : store_names(dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *path = names.names[i][0] == '.' ? NULL : store_join(dir, names.names[i]);
        struct quarantined row;
        struct hash128 key;
        bool stays = false;
        if (path == NULL) {
            continue;
        }
        if (quarantine_read(path, true, &row, NULL) == SLUICE_OK &&
            hash_parse(row.task_key, &key)) {
            status = key_stays(sweep, key, &stays, err);
        }
        if (status == SLUICE_OK && !stays) {
            status = drop_file(sweep, dir, names.names[i], SWEEP_KEPT_ROWS, err);
        }
        quarantined_deinit(&row);
        free(path);
    }
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, dir, err);
    }
    disk_names_deinit(&names);
    free(dir);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of saved states that a task may go on from: 40 bytes each. *all: there are no
 * others. */
static sluice_status saved_names(const struct run *run, struct buf *names, bool *all,
                                 struct sluice_error *err)
{
    *all = true;
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            struct hash128 of;
            char name[40] = { 0 };
            if (run->tasks[p][t].done) {
                continue;
            }
            if (!task_ready(run, p, t)) {
                *all = false;
            } else {
                TRY(saving_name(run, p, t, &of, name, err));
                buf_append(names, name, sizeof name);
            }
        }
    }
    return buf_status(names, err);
}

/* Saved states of tasks that are done, or that the plan has not; where a list may lack what makes a
 * task ready, nothing goes while one is not. */
static sluice_status sweep_saved(struct sweep *sweep, struct sluice_error *err)
{
    struct disk_names found = { NULL, 0 };
    struct buf kept = BUF_INIT;
    char *dir = store_join(sweep->run->options.run_dir, SAVED_FOLDER);
    bool all = true;
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : store_names(dir, &found, err);

    if (status == SLUICE_OK && found.n > 0) {
        status = saved_names(sweep->run, &kept, &all, err);
    }
    if (status == SLUICE_OK && kept.size > 0) {
        qsort(kept.data, kept.size / 40, 40, compare_names);
    }
    for (size_t i = 0; status == SLUICE_OK && (all || sweep->listed) && i < found.n; i++) {
        const char *name = found.names[i];
        if (name[0] != '.' && (kept.size == 0 || bsearch(name, kept.data, kept.size / 40, 40,
                                                         compare_names) == NULL)) {
            status = drop_file(sweep, dir, name, SWEEP_SAVED, err);
        }
    }
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, dir, err);
    }
    buf_deinit(&kept);
    disk_names_deinit(&found);
    free(dir);
    return status;
}

/* Who asks what matters among those that live, and nobody works on the run. */
static sluice_status sweep_claims(struct sweep *sweep, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    char *dir = store_join(sweep->run->options.run_dir, ASKS_CLAIMS);
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : store_names(dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        status = drop_file(sweep, dir, names.names[i], SWEEP_TEMPORARY, err);
    }
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, dir, err);
    }
    disk_names_deinit(&names);
    free(dir);
    return status;
}

static sluice_status sweep_dataset(struct sweep *sweep, const struct op *writer,
                                   struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    char *data = store_join(op_stage(writer)->dataset, "data");
    char *snapshots = store_join(op_stage(writer)->dataset, "snapshots");
    sluice_status status = data == NULL || snapshots == NULL
                               ? error_nomem(err, "a path")
                               : snapshot_unreferenced(op_stage(writer)->dataset, &names, err);

    /* Their names have a part of a key, for which no record can be asked. */
    for (size_t i = 0; status == SLUICE_OK && i < names.n && (sweep->listed || !sweep->any_whole);
         i++) {
        char key[25];
        uint32_t ordinal;
        if (places_parse_file(names.names[i], key, &ordinal) && !is_kept_prefix(sweep, key)) {
            status = drop_file(sweep, data, names.names[i], SWEEP_DATA, err);
        }
    }
    disk_names_deinit(&names);
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, data, err);
    }
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, snapshots, err);
    }
    if (status == SLUICE_OK) {
        status = sweep_temporaries(sweep, op_stage(writer)->dataset, err);
    }
    free(data);
    free(snapshots);
    return status;
}

static sluice_status sweep_all(struct sweep *sweep, struct sluice_error *err)
{
    const struct plan *plan;
    sluice_status status;

    TRY(sort_records(sweep, false, err));
    /* Records go before what they name, so that a crash leaves no record of what is gone. */
    TRY(sort_records(sweep, true, err));
    TRY(sweep_spill(sweep, err));
    TRY(sweep_kept_rows(sweep, err));
    TRY(sweep_saved(sweep, err));
    TRY(sweep_claims(sweep, err));
    TRY(sweep_temporaries(sweep, sweep->run->spill_dir, err));
    TRY(sweep_temporaries(sweep, sweep->run->options.run_dir, err));
    TRY(attempts_sweep(sweep->run->options.run_dir, ATTEMPTS_KEPT,
                       &sweep->swept->files[SWEEP_ATTEMPTS], &sweep->swept->bytes[SWEEP_ATTEMPTS],
                       sweep->dry, err));
    plan = sweep->run->plan;
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        char *folder = store_join(sweep->run->tasks_dir, plan->phases[p]->name);
        status =
            folder == NULL ? error_nomem(err, "a path") : sweep_temporaries(sweep, folder, err);
        free(folder);
        TRY(status);
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            if (op_writes(plan->phases[p]->ops[i])) {
                TRY(sweep_dataset(sweep, plan->phases[p]->ops[i], err));
            }
        }
    }
    return SLUICE_OK;
}

sluice_status sweep_run(const struct run *run, bool dry, struct swept *swept,
                        struct sluice_error *err)
{
    struct sweep sweep = {
        .run = run, .dry = dry, .listed = store_is_local(run->options.run_dir), .swept = swept
    };
    sluice_status status;

    *swept = (struct swept){ 0 };
    sweep.whole = calloc(run->plan->n_phases + 1u, sizeof *sweep.whole);
    if (sweep.whole == NULL) {
        return error_nomem(err, "phases");
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        sweep.whole[p] = !all_keyed(run, p);
        sweep.any_whole = sweep.any_whole || sweep.whole[p];
    }
    status = sweep_all(&sweep, err);
    free(sweep.whole);
    free(sweep.kept);
    return status;
}
