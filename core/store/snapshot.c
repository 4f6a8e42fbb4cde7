/* Snapshots: see snapshot.h. Manifests as text are in snapshot_text.c, publishing is in
 * snapshot_publish.c. */
#include "store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/jsontext.h"
#include "store/snapshotInt.h"

/* ---- names ---- */

void snapshot_manifest_name(uint32_t number, char name[24])
{
    snprintf(name, 24, "%06u.json", (unsigned)number);
}

void snapshot_folder_name(uint32_t number, char name[24])
{
    snprintf(name, 24, "v%06u", (unsigned)number);
}

/* Digits at text as a number 1..SNAPSHOT_MAX, else 0. *end is behind them. */
static uint32_t read_number(const char *text, const char **end)
{
    uint32_t number = 0;
    int digits = 0;

    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 10; digits++) {
        number = digits < 9 ? number * 10 + (uint32_t)(text[digits] - '0') : 0;
    }
    *end = text + digits;
    return number;
}

/* The number in a manifest's name, 0 if it is none. */
static uint32_t manifest_number(const char *name)
{
    const char *end;
    char again[24];
    uint32_t number = read_number(name, &end);

    snapshot_manifest_name(number, again);
    return strcmp(name, again) == 0 ? number : 0;
}

uint32_t snapshot_folder_number(const char *name)
{
    const char *end;
    char again[24];
    uint32_t number = name[0] == 'v' ? read_number(name + 1, &end) : 0;

    snapshot_folder_name(number, again);
    return strcmp(name, again) == 0 ? number : 0;
}

char *snapshot_path(struct arena *arena, const char *dir, const char *sub, const char *name)
{
    return sub == NULL ? arena_printf(arena, "%s/%s", dir, name)
                       : arena_printf(arena, "%s/%s/%s", dir, sub, name);
}

char *snapshot_shard_path(const char *dataset_dir, const struct snapshot_shard *shard)
{
    return str_printf("%s/data/%s", dataset_dir, shard->file);
}

/* ---- building ---- */

struct snapshot *snapshot_create(const char *dataset)
{
    struct snapshot *s = calloc(1, sizeof *s);

    if (s != NULL) {
        s->dataset = arena_copy(&s->arena, dataset, strlen(dataset));
        if (s->dataset == NULL) {
            snapshot_destroy(s);
            s = NULL;
        }
    }
    return s;
}

void snapshot_destroy(struct snapshot *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->n_shards; i++) {
        json_decref(s->shards[i].measures);
    }
    json_decref(s->measures);
    json_decref(s->ledger);
    json_decref(s->lineage);
    json_decref(s->notes);
    arena_deinit(&s->arena);
    free(s);
}

static bool measures_valid(const json_t *measures)
{
    const char *key;
    json_t *value;

    if (measures != NULL && !json_is_object(measures)) {
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)measures, key, value)
    {
        if (!json_is_integer(value)) {
            return false;
        }
    }
    return true;
}

sluice_status snapshot_add_shard(struct snapshot *s, const char *name, const char *file,
                                 uint64_t rows, uint64_t bytes, struct hash128 hash,
                                 json_t *measures, struct sluice_error *err)
{
    struct snapshot_shard *shards;

    if (!disk_path_valid(name) || !jsontext_utf8(name) || !disk_name_valid(file) ||
        !jsontext_utf8(file)) {
        json_decref(measures);
        return error_set(
            err, SLUICE_E_CONFIG,
            "'%s' (stored as '%s') can't be a shard's name: 1 to 200 bytes of UTF-8 without "
            "control "
            "characters or a leading dot are, for the public name also in folders (a/b)",
            name, file);
    }
    if (rows > INT64_MAX || bytes > INT64_MAX || !measures_valid(measures)) {
        json_decref(measures);
        return error_set(
            err, SLUICE_E_INTERNAL,
            "shard '%s' has impossible numbers or measures that are no object of integers", name);
    }
    shards = arena_more(&s->arena, s->shards, s->n_shards, &s->shards_capacity, sizeof *shards);
    if (shards == NULL) {
        json_decref(measures);
        return error_nomem(err, "a manifest");
    }
    s->shards = shards;
    s->shards[s->n_shards++] =
        (struct snapshot_shard){ .name = arena_copy(&s->arena, name, strlen(name)),
                                 .file = arena_copy(&s->arena, file, strlen(file)),
                                 .rows = rows,
                                 .bytes = bytes,
                                 .hash = hash,
                                 .measures = measures };
    return arena_status(&s->arena, err, "a manifest");
}

/* ---- sets of names ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **snapshot_sorted_names(struct arena *arena, const struct snapshot *s, bool stored)
{
    const char **names = ARENA_ARRAY(arena, const char *, s->n_shards);

    for (uint32_t i = 0; i < s->n_shards && names != NULL; i++) {
        names[i] = stored ? s->shards[i].file : s->shards[i].name;
    }
    if (names != NULL && s->n_shards > 1) {
        qsort(names, s->n_shards, sizeof *names, compare_texts);
    }
    return names;
}

const char **snapshot_difference(struct arena *arena, const struct snapshot *of,
                                 const struct snapshot *without, size_t *n)
{
    const char **ours = snapshot_sorted_names(arena, of, true);
    const char **theirs = without == NULL ? NULL : snapshot_sorted_names(arena, without, true);
    const char **names = ARENA_ARRAY(arena, const char *, of->n_shards);
    uint32_t n_theirs = theirs == NULL ? 0 : without->n_shards;
    uint32_t at = 0;

    *n = 0;
    for (uint32_t i = 0; i < of->n_shards && names != NULL; i++) {
        /* Shards of one content are one stored file. */
        if (i > 0 && strcmp(ours[i], ours[i - 1]) == 0) {
            continue;
        }
        while (at < n_theirs && strcmp(theirs[at], ours[i]) < 0) {
            at++;
        }
        if (at < n_theirs && strcmp(theirs[at], ours[i]) == 0) {
            continue;
        }
        names[(*n)++] = arena_copy(arena, ours[i], strlen(ours[i]));
    }
    return names;
}

/* ---- reading ---- */

sluice_status snapshot_list(const char *dataset_dir, uint32_t **numbers, size_t *n,
                            struct sluice_error *err)
{
    char *dir = disk_join(dataset_dir, "snapshots");
    struct disk_names names = { NULL, 0 };
    sluice_status status;

    *numbers = NULL;
    *n = 0;
    status = disk_list(dir, &names, err);
    free(dir);
    TRY(status);
    *numbers = calloc(names.n + 1, sizeof **numbers);
    if (*numbers == NULL) {
        disk_names_deinit(&names);
        return error_nomem(err, "a list of snapshots");
    }
    for (size_t i = 0; i < names.n; i++) {
        uint32_t number = manifest_number(names.names[i]);
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
    disk_names_deinit(&names);
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
    status = disk_read_file(path, SNAPSHOT_MAX_BYTES, &text, &found, err);
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
        uint32_t *numbers;
        size_t n;
        TRY(snapshot_list(dataset_dir, &numbers, &n, err));
        number = n > 0 ? numbers[n - 1] : 0;
        free(numbers);
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

sluice_status snapshot_reference(const char *reference, char **path, uint32_t *number,
                                 struct sluice_error *err)
{
    const char *at = strrchr(reference, '@');
    const char *end = at == NULL ? NULL : at + 1;
    size_t n = strlen(reference);

    *path = NULL;
    *number = 0;
    if (at != NULL && at[1] >= '0' && at[1] <= '9') {
        *number = read_number(at + 1, &end);
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
                                             compare_texts);
        if (hit != NULL) {
            marked[hit - files->names] = true;
        }
    }
}

sluice_status snapshot_unreferenced(const char *dataset_dir, struct disk_names *out,
                                    struct sluice_error *err)
{
    char *data = disk_join(dataset_dir, "data");
    uint32_t *numbers = NULL;
    size_t n = 0;
    size_t kept = 0;
    bool *marked = NULL;
    sluice_status status;

    out->names = NULL;
    out->n = 0;
    /* Files first: what is added while the manifests are read is left alone. */
    status = disk_list(data, out, err);
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
