/* Forgetting old snapshots: see retain.h. First the manifests go, the oldest first; then folders
 * that have none; then the files that only they named. */
#include "store/retain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "store/snapshotInt.h"
#include "store/store.h"
#include "store/tags.h"

struct names {
    const char **items; /* sorted, each once */
    size_t n, capacity;
};

void retained_deinit(struct retained *out)
{
    free(out->forgotten);
    free(out->kept);
    memset(out, 0, sizeof *out);
}

/* Puts snapshots/NNNNNN.gone where lists may lack files: numbers are asked for one by one there. */
static sluice_status mark_gone(const char *dir, uint32_t number, struct sluice_error *err)
{
    enum store_put outcome;
    char *path;
    sluice_status status;

    if (store_is_local(dir)) {
        return SLUICE_OK;
    }
    path = str_printf("%s/snapshots/%06u" SNAPSHOT_GONE, dir, (unsigned)number);
    status = path == NULL ? error_nomem(err, "a path")
                          : store_put_new(path, "forgotten\n", 10, 0, &outcome, err);
    free(path);
    return status;
}

static sluice_status manifest_path(const char *dir, uint32_t number, char **out,
                                   struct sluice_error *err)
{
    char name[24];

    snapshot_manifest_name(number, name);
    *out = str_printf("%s/snapshots/%s", dir, name);
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* Whether the snapshot has been there since before that time. */
static sluice_status is_old(const char *dir, uint32_t number, int64_t before_ns, bool *old,
                            struct sluice_error *err)
{
    struct store_version version = { .size = 0 };
    bool found = false;
    char *path;
    sluice_status status;

    TRY(manifest_path(dir, number, &path, err));
    status = store_stat(path, &version, &found, err);
    if (status == SLUICE_OK && found && version.mtime_ns == 0 && before_ns != INT64_MAX) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s: no time is known of files there, so that it can't be told how old "
                           "its snapshots are; give --older 0s if nobody reads the old ones",
                           dir);
    }
    *old = found && version.mtime_ns < before_ns;
    free(path);
    return status;
}

/* ---- files ---- */

/* Adds the stored names of snapshots, in the arena. */
static sluice_status add_names(struct arena *arena, const char *dir, const uint32_t *numbers,
                               size_t n, struct names *names, struct sluice_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct snapshot *s = NULL;
        TRY(snapshot_open(dir, numbers[i], &s, err));
        for (uint32_t k = 0; k < s->n_shards; k++) {
            if (names->n == names->capacity) {
                size_t capacity = names->capacity == 0 ? 256 : names->capacity * 2;
                const char **more = realloc(names->items, capacity * sizeof *more);
                if (more == NULL) {
                    snapshot_destroy(s);
                    return error_nomem(err, "names of files");
                }
                names->items = more;
                names->capacity = capacity;
            }
            names->items[names->n++] =
                arena_copy(arena, s->shards[k].file, strlen(s->shards[k].file));
        }
        snapshot_destroy(s);
        TRY(arena_status(arena, err, "names of files"));
    }
    if (names->n > 1) {
        qsort(names->items, names->n, sizeof *names->items, order_texts);
    }
    for (size_t i = 0; i < names->n; i++) {
        if (i == 0 || strcmp(names->items[i], names->items[kept - 1]) != 0) {
            names->items[kept++] = names->items[i];
        }
    }
    names->n = kept;
    return SLUICE_OK;
}

/* The files of data/ that `gone` names and `needed` does not. */
static sluice_status drop_files(const char *dir, const struct names *gone,
                                const struct names *needed, bool dry, struct retained *out,
                                struct sluice_error *err)
{
    for (size_t i = 0; i < gone->n; i++) {
        const char *name = gone->items[i];
        uint64_t bytes = 0;
        bool found = false;
        char *path;
        sluice_status status;
        if (needed->n > 0 &&
            bsearch(&name, needed->items, needed->n, sizeof *needed->items, order_texts) != NULL) {
            continue;
        }
        path = str_printf("%s/data/%s", dir, name);
        status = path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, &found, err);
        if (status == SLUICE_OK && found && !dry) {
            status = store_remove(path, err);
        }
        free(path);
        TRY(status);
        out->files += found;
        out->bytes += found ? bytes : 0;
    }
    return SLUICE_OK;
}

/* Folders of snapshots that are forgotten; one that is newer than all manifests is in the
 * making. */
static sluice_status drop_folders(const char *dir, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = store_names(dir, &names, err);

    if (status == SLUICE_OK) {
        status = snapshot_list(dir, &numbers, &n, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        uint32_t number = snapshot_folder_number(names.names[i]);
        bool named = number == 0 || n == 0 || number > numbers[n - 1];
        for (size_t k = 0; k < n && !named; k++) {
            named = numbers[k] == number;
        }
        if (!named) {
            snapshot_folder_drop(store_join(dir, names.names[i]));
        }
    }
    free(numbers);
    disk_names_deinit(&names);
    return status;
}

/* ---- which ---- */

static sluice_status choose(const char *dir, const struct retain_rules *rules,
                            const uint32_t *numbers, size_t n, struct retained *out,
                            struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        bool wanted = i + rules->keep >= n;
        bool old = true;
        if (!wanted) {
            status = tags_hold(dir, numbers[i], &wanted, err);
        }
        if (status == SLUICE_OK && !wanted) {
            status = is_old(dir, numbers[i + 1], rules->before_ns, &old, err);
            out->n_young += !old;
        }
        if (wanted || !old) {
            out->kept[out->n_kept++] = numbers[i];
        } else {
            out->forgotten[out->n_forgotten++] = numbers[i];
        }
    }
    return status;
}

/* Removes the manifests, but of those that were tagged meanwhile. */
static sluice_status drop_manifests(const char *dir, const struct retained *out,
                                    struct sluice_error *err)
{
    char *folder = store_join(dir, "snapshots");
    sluice_status status = folder == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    for (size_t i = 0; i < out->n_forgotten && status == SLUICE_OK; i++) {
        char *path = NULL;
        bool held = false;
        status = tags_hold(dir, out->forgotten[i], &held, err);
        if (status == SLUICE_OK && !held) {
            status = mark_gone(dir, out->forgotten[i], err);
        }
        if (status == SLUICE_OK && !held) {
            status = manifest_path(dir, out->forgotten[i], &path, err);
        }
        if (status == SLUICE_OK && !held) {
            status = store_remove(path, err);
        }
        free(path);
    }
    if (status == SLUICE_OK) {
        status = store_settle(folder, err);
    }
    free(folder);
    return status;
}

sluice_status retain(const char *dataset_dir, const struct retain_rules *rules,
                     struct retained *out, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    struct names gone = { NULL, 0, 0 };
    struct names needed = { NULL, 0, 0 };
    uint32_t *numbers = NULL;
    uint32_t *left = NULL;
    size_t n = 0;
    size_t n_left = 0;
    sluice_status status;

    memset(out, 0, sizeof *out);
    TRY(snapshot_list(dataset_dir, &numbers, &n, err));
    out->forgotten = calloc(n + 1, sizeof *out->forgotten);
    out->kept = calloc(n + 1, sizeof *out->kept);
    status = out->forgotten == NULL || out->kept == NULL ? error_nomem(err, "a list of snapshots")
             : n == 0
                 ? error_set(err, SLUICE_E_CONFIG, "%s holds no snapshot of a dataset", dataset_dir)
                 : choose(dataset_dir, rules, numbers, n, out, err);
    free(numbers);
    /* All manifests can be read, or nothing is done. */
    if (status == SLUICE_OK) {
        status = add_names(&arena, dataset_dir, out->forgotten, out->n_forgotten, &gone, err);
    }
    if (status == SLUICE_OK) {
        status = add_names(&arena, dataset_dir, out->kept, out->n_kept, &needed, err);
    }
    if (status == SLUICE_OK && !rules->dry) {
        status = drop_manifests(dataset_dir, out, err);
        /* What was published or tagged meanwhile counts. */
        needed.n = 0;
        if (status == SLUICE_OK) {
            status = snapshot_list(dataset_dir, &left, &n_left, err);
        }
        if (status == SLUICE_OK) {
            status = add_names(&arena, dataset_dir, left, n_left, &needed, err);
        }
        free(left);
        if (status == SLUICE_OK && (store_caps(dataset_dir) & STORE_LINKS) != 0) {
            status = drop_folders(dataset_dir, err);
        }
    }
    if (status == SLUICE_OK) {
        status = drop_files(dataset_dir, &gone, &needed, rules->dry, out, err);
    }
    free(gone.items);
    free(needed.items);
    arena_deinit(&arena);
    return status;
}
