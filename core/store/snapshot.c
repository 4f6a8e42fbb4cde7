/* Snapshots: see snapshot.h. Manifests as text are in snapshot_text.c, reading them is in
 * snapshot_read.c, publishing in snapshot_publish.c. */
#include "store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
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

uint32_t snapshot_number(const char *text, const char **end)
{
    uint32_t number = 0;
    int digits = 0;

    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 10; digits++) {
        number = digits < 9 ? number * 10 + (uint32_t)(text[digits] - '0') : 0;
    }
    *end = text + digits;
    return number;
}

uint32_t snapshot_manifest_number(const char *name)
{
    const char *end;
    char again[24];
    uint32_t number = snapshot_number(name, &end);

    snapshot_manifest_name(number, again);
    return strcmp(name, again) == 0 ? number : 0;
}

uint32_t snapshot_folder_number(const char *name)
{
    const char *end;
    char again[24];
    uint32_t number = name[0] == 'v' ? snapshot_number(name + 1, &end) : 0;

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

sluice_status snapshot_own(struct snapshot *s, const char *pipeline, const char *node,
                           struct sluice_error *err)
{
    s->pipeline = arena_copy(&s->arena, pipeline, strlen(pipeline));
    s->node = arena_copy(&s->arena, node, strlen(node));
    return arena_status(&s->arena, err, "a manifest");
}

sluice_status snapshot_check_owner(const char *dataset_dir, const struct snapshot *newest,
                                   const struct snapshot *next, struct sluice_error *err)
{
    if (newest == NULL || newest->node == NULL || next->node == NULL ||
        newest->number == next->take_over ||
        (strcmp(newest->pipeline, next->pipeline) == 0 && strcmp(newest->node, next->node) == 0)) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "%s belongs to node '%s' of pipeline '%s', which wrote its snapshot %u; '%s' "
                     "of '%s' would put its own in the place of that: give it another folder, or "
                     "let it take the dataset over (sluice run --take-over)",
                     dataset_dir, newest->node, newest->pipeline, (unsigned)newest->number,
                     next->node, next->pipeline);
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

static int compare_names(const void *a, const void *b)
{
    const struct snapshot_shard *const *x = a;
    const struct snapshot_shard *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

sluice_status snapshot_holds(const struct snapshot *s, struct hash128 *hash,
                             struct sluice_error *err)
{
    const struct snapshot_shard **shards = calloc(s->n_shards + 1u, sizeof *shards);
    struct hasher *hasher = hasher_create();
    sluice_status status =
        shards == NULL || hasher == NULL ? error_nomem(err, "a hash") : SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < s->n_shards; i++) {
        shards[i] = &s->shards[i];
    }
    if (status == SLUICE_OK && s->n_shards > 1) {
        qsort(shards, s->n_shards, sizeof(const struct snapshot_shard *), compare_names);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < s->n_shards; i++) {
        hasher_add_hash(hasher, shards[i]->hash);
    }
    if (status == SLUICE_OK) {
        *hash = hasher_digest(hasher);
    }
    hasher_destroy(hasher);
    free(shards);
    return status;
}

static sluice_status part_name(const char *file, uint32_t part, char out[300],
                               struct sluice_error *err)
{
    const char *dash = strchr(file, '-');
    const char *suffix = dash == NULL ? NULL : strchr(dash, '.');

    if (suffix == NULL || strlen(suffix) > 100) {
        return error_set(err, SLUICE_E_INTERNAL, "a shard has the name '%s'", file);
    }
    snprintf(out, 300, "part-%05u-%.12s%s", part, file, suffix);
    return SLUICE_OK;
}

size_t snapshot_folder_size(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash == NULL ? 0 : (size_t)(slash + 1 - name);
}

bool snapshot_part_number(const char *name, unsigned *part)
{
    return sscanf(name + snapshot_folder_size(name), "part-%9u-", part) == 1;
}

sluice_status snapshot_part_in(const char *folder, size_t n, const char *file, uint32_t part,
                               char out[SNAPSHOT_NAME_MAX], struct sluice_error *err)
{
    char name[300];

    TRY(part_name(file, part, name, err));
    snprintf(out, SNAPSHOT_NAME_MAX, "%.*s%s", (int)(n < 1000 ? n : 1000), folder, name);
    return SLUICE_OK;
}

/* ---- sets of names ---- */

const char **snapshot_sorted_names(struct arena *arena, const struct snapshot *s, bool stored)
{
    const char **names = ARENA_ARRAY(arena, const char *, s->n_shards);

    for (uint32_t i = 0; i < s->n_shards && names != NULL; i++) {
        names[i] = stored ? s->shards[i].file : s->shards[i].name;
    }
    if (names != NULL && s->n_shards > 1) {
        qsort(names, s->n_shards, sizeof *names, order_texts);
    }
    return names;
}

/* Stored names of `of` that `without` (NULL = empty) has not: sorted, each once, in the arena. */
static const char **difference(struct arena *arena, const struct snapshot *of,
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

sluice_status snapshot_take_names(struct snapshot *s, const struct snapshot *parent,
                                  struct sluice_error *err)
{
    s->removed = NULL;
    s->n_removed = 0;
    s->added = difference(&s->arena, s, parent, &s->n_added);
    if (parent != NULL) {
        s->removed = difference(&s->arena, parent, s, &s->n_removed);
    }
    return arena_status(&s->arena, err, "a manifest");
}

static bool names_equal(const char *const *a, size_t n, const char *const *b, size_t m)
{
    bool equal = n == m;

    for (size_t i = 0; i < n && equal; i++) {
        equal = strcmp(a[i], b[i]) == 0;
    }
    return equal;
}

sluice_status snapshot_names_fit(const struct snapshot *s, const struct snapshot *parent, bool *fit,
                                 struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    size_t n_added = 0;
    size_t n_removed = 0;
    const char **added = difference(&arena, s, parent, &n_added);
    const char **removed = parent != NULL ? difference(&arena, parent, s, &n_removed) : NULL;
    sluice_status status = arena_status(&arena, err, "a manifest");

    *fit = status == SLUICE_OK && names_equal(added, n_added, s->added, s->n_added) &&
           names_equal(removed, n_removed, s->removed, s->n_removed);
    arena_deinit(&arena);
    return status;
}
