/* Which snapshots there are, and reading one: see snapshot.h. */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "store/snapshotInt.h"
#include "store/store.h"

static sluice_status manifest_there(const char *dataset_dir, uint32_t number, bool *there,
                                    struct sluice_error *err)
{
    char name[24];
    struct arena arena = ARENA_INIT;
    uint64_t bytes;
    sluice_status status;

    snapshot_manifest_name(number, name);
    status = store_size(snapshot_path(&arena, dataset_dir, "snapshots", name), &bytes, there, err);
    arena_deinit(&arena);
    return status;
}

/* The number of a name "000012.gone", 0 if it is none. */
static uint32_t gone_number(const char *name)
{
    const char *end;
    uint32_t number = snapshot_number(name, &end);

    return strcmp(end, SNAPSHOT_GONE) == 0 ? number : 0;
}

/* Whether a mark says that the number was forgotten. */
static sluice_status is_gone(const char *dataset_dir, const struct disk_names *names,
                             uint32_t number, bool *gone, struct sluice_error *err)
{
    uint64_t bytes;
    char *path;
    sluice_status status;

    *gone = false;
    for (size_t i = 0; i < names->n && !*gone; i++) {
        *gone = gone_number(names->names[i]) == number;
    }
    if (*gone) {
        return SLUICE_OK;
    }
    path = str_printf("%s/snapshots/%06u" SNAPSHOT_GONE, dataset_dir, (unsigned)number);
    status = path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, gone, err);
    free(path);
    return status;
}

/* A list of a store may lack what was put last, or anything: a manifest that is opened is there.
 * Publishers take one number behind the other, so those below the highest are asked for too. One
 * that was forgotten (store/retain.h) has left a mark, so that the row goes on behind it. */
static sluice_status complete(const char *dataset_dir, const struct disk_names *names,
                              uint32_t **numbers, size_t *n, struct sluice_error *err)
{
    uint32_t highest = *n > 0 ? (*numbers)[*n - 1] : 0;
    uint32_t *all = NULL;
    size_t at = 0;
    size_t n_all = 0;
    size_t capacity = 0;
    sluice_status status = SLUICE_OK;

    for (uint32_t number = 1; status == SLUICE_OK; number++) {
        bool there = at < *n && (*numbers)[at] == number;
        bool gone = false;
        if (there) {
            at++;
        } else {
            status = manifest_there(dataset_dir, number, &there, err);
        }
        if (status == SLUICE_OK && !there) {
            status = is_gone(dataset_dir, names, number, &gone, err);
        }
        if (status != SLUICE_OK || (!there && !gone && number > highest)) {
            break;
        }
        if (n_all == capacity) {
            uint32_t *more;
            capacity = capacity == 0 ? 16 : 2 * capacity;
            more = realloc(all, capacity * sizeof *all);
            if (more == NULL) {
                status = error_nomem(err, "a list of snapshots");
                break;
            }
            all = more;
        }
        if (there) {
            all[n_all++] = number;
        }
    }
    free(*numbers);
    *numbers = status == SLUICE_OK ? all : NULL;
    *n = status == SLUICE_OK ? n_all : 0;
    if (status != SLUICE_OK) {
        free(all);
    }
    return status;
}

sluice_status snapshot_list(const char *dataset_dir, uint32_t **numbers, size_t *n,
                            struct sluice_error *err)
{
    char *dir = store_join(dataset_dir, "snapshots");
    struct disk_names names = { NULL, 0 };
    sluice_status status;

    *numbers = NULL;
    *n = 0;
    status = store_names(dir, &names, err);
    free(dir);
    TRY(status);
    *numbers = calloc(names.n + 1, sizeof **numbers);
    if (*numbers == NULL) {
        disk_names_deinit(&names);
        return error_nomem(err, "a list of snapshots");
    }
    for (size_t i = 0; i < names.n; i++) {
        uint32_t number = snapshot_manifest_number(names.names[i]);
        size_t at = *n;
        if (number == 0) {
            continue;
        }
        /* The names' order is that of the numbers below a million; insert what is out of order
         * behind that. */
        for (; at > 0 && (*numbers)[at - 1] > number; at--) {
            (*numbers)[at] = (*numbers)[at - 1];
        }
        (*numbers)[at] = number;
        ++*n;
    }
    status =
        store_is_local(dataset_dir) ? SLUICE_OK : complete(dataset_dir, &names, numbers, n, err);
    disk_names_deinit(&names);
    return status;
}

sluice_status snapshot_newest(const char *dataset_dir, uint32_t *number, struct sluice_error *err)
{
    uint32_t *numbers;
    size_t n;

    TRY(snapshot_list(dataset_dir, &numbers, &n, err));
    *number = n > 0 ? numbers[n - 1] : 0;
    free(numbers);
    return SLUICE_OK;
}

static sluice_status open_number(const char *dataset_dir, uint32_t number, struct snapshot **out,
                                 struct sluice_error *err)
{
    char name[24];
    struct arena arena = ARENA_INIT;
    char *path;
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status;

    snapshot_manifest_name(number, name);
    path = snapshot_path(&arena, dataset_dir, "snapshots", name);
    status = store_read_all(path, SNAPSHOT_MAX_BYTES, &text, &found, err);
    if (status == SLUICE_OK && !found) {
        status =
            error_set(err, SLUICE_E_DATA,
                      "dataset %s has no snapshot %u; `sluice show RUN` and the folder snapshots/ "
                      "show those that "
                      "there are",
                      dataset_dir, (unsigned)number);
    } else if (status == SLUICE_OK) {
        status = snapshot_parse(text.data, text.size, out, err);
        /* Its hash leaves the number out: a manifest that was copied over another one is whole,
         * and wrong. */
        if (status == SLUICE_OK && (*out)->number != number) {
            status = error_set(err, SLUICE_E_DATA, "it says that it is number %u",
                               (unsigned)(*out)->number);
            snapshot_destroy(*out);
            *out = NULL;
        }
        if (status == SLUICE_E_DATA) {
            error_prefix(
                err,
                "manifest %s can't be believed; restore it, or move it away to go on without it",
                path);
        }
    }
    buf_deinit(&text);
    arena_deinit(&arena);
    return status;
}

sluice_status snapshot_open(const char *dataset_dir, uint32_t number, struct snapshot **out,
                            struct sluice_error *err)
{
    *out = NULL;
    if (number == 0) {
        TRY(snapshot_newest(dataset_dir, &number, err));
        if (number == 0) {
            return error_set(
                err, SLUICE_E_CONFIG,
                "%s holds no snapshot of a dataset; a run that writes it must finish first, or the "
                "path is another one",
                dataset_dir);
        }
    }
    return open_number(dataset_dir, number, out, err);
}

sluice_status snapshot_open_newest(const char *dataset_dir, struct snapshot **out,
                                   struct sluice_error *err)
{
    uint32_t number;

    *out = NULL;
    TRY(snapshot_newest(dataset_dir, &number, err));
    return number == 0 ? SLUICE_OK : open_number(dataset_dir, number, out, err);
}

sluice_status snapshot_reference(const char *reference, char **path, uint32_t *number,
                                 struct sluice_error *err)
{
    const char *at = strrchr(reference, '@');
    const char *end = at == NULL ? NULL : at + 1;
    size_t n = strlen(reference);

    *path = NULL;
    *number = 0;
    if (at != NULL && at[1] >= '0' && at[1] <= '9') {
        *number = snapshot_number(at + 1, &end);
        if (*end == '\0' && *number == 0) {
            return error_set(
                err, SLUICE_E_CONFIG,
                "'%s' names no snapshot: numbers go from 1 to %u, and without one it is the newest",
                reference, SNAPSHOT_MAX);
        }
        if (*end == '\0') {
            n = (size_t)(at - reference);
        } else {
            *number = 0; /* an @ inside of a name */
        }
    } else if (at != NULL && strcmp(at, "@latest") == 0) {
        n = (size_t)(at - reference);
    }
    if (n == 0) {
        return error_set(err, SLUICE_E_CONFIG, "'%s' names no dataset; write PATH or PATH@NUMBER",
                         reference);
    }
    *path = str_copy(reference, n);
    return *path != NULL ? SLUICE_OK : error_nomem(err, "a path");
}

/* ---- what nobody refers to ---- */

/* Marks the files of one snapshot: names are sorted. */
static void mark_files(const struct snapshot *s, const struct disk_names *files, bool *marked)
{
    for (uint32_t i = 0; i < s->n_shards; i++) {
        const char *file = s->shards[i].file;
        char **hit = files->n == 0 ? NULL
                                   : bsearch(&file, files->names, files->n, sizeof *files->names,
                                             order_texts);
        if (hit != NULL) {
            marked[hit - files->names] = true;
        }
    }
}

sluice_status snapshot_unreferenced(const char *dataset_dir, struct disk_names *out,
                                    struct sluice_error *err)
{
    char *data = store_join(dataset_dir, "data");
    uint32_t *numbers = NULL;
    size_t n = 0;
    size_t kept = 0;
    bool *marked = NULL;
    sluice_status status;

    out->names = NULL;
    out->n = 0;
    /* Files first: what is added while the manifests are read is left alone. */
    status = store_names(data, out, err);
    free(data);
    TRY(status);
    marked = calloc(out->n + 1, sizeof *marked);
    status = marked == NULL ? error_nomem(err, "a list of files")
                            : snapshot_list(dataset_dir, &numbers, &n, err);
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        struct snapshot *s;
        status = snapshot_open(dataset_dir, numbers[i], &s, err);
        if (status == SLUICE_OK) {
            mark_files(s, out, marked);
            snapshot_destroy(s);
        }
    }
    for (size_t i = 0; i < out->n && status == SLUICE_OK; i++) {
        if (marked[i] || strncmp(out->names[i], ".tmp-", 5) == 0) {
            free(out->names[i]);
        } else {
            out->names[kept++] = out->names[i];
        }
    }
    free(marked);
    free(numbers);
    if (status != SLUICE_OK) {
        disk_names_deinit(out);
        return status;
    }
    out->n = kept;
    return SLUICE_OK;
}
