/* Public names that a writer chooses: see names.h. */
#include "run/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/disk.h"
#include "store/input.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The text of a shard, in the snapshot's arena. */
static sluice_status read_name(const struct op *op, struct snapshot *snapshot,
                               const struct snapshot_shard *shard, const char **out,
                               struct sluice_error *err)
{
    char *path = snapshot_shard_path(op_stage(op)->dataset, shard);
    void *text = NULL;
    uint64_t n = 0;
    sluice_status status =
        path == NULL ? error_nomem(err, "a name") : input_read_all(path, &text, &n, err);

    *out = NULL;
    free(path);
    if (status == SLUICE_OK) {
        *out = arena_copy(&snapshot->arena, text, (size_t)n);
        status = arena_status(&snapshot->arena, err, "a name");
    }
    free(text);
    if (status == SLUICE_OK && (strlen(*out) != n || !disk_path_valid(*out))) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "stage '%s' can't call a file '%s': expected a name, or names of folders "
                      "and a name with / between, each of at most 200 bytes and not beginning "
                      "with a dot",
                      op->name, *out);
    }
    return status;
}

/* The text with its marks replaced by `number` and `count`, of five digits. */
static sluice_status number_name(struct snapshot *snapshot, uint32_t number, uint32_t count,
                                 const char **name, struct sluice_error *err)
{
    static const char *const marks[] = { "@NUMBER@", "@COUNT@" };
    const uint32_t values[] = { number, count };

    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++) {
        const char *at = strstr(*name, marks[k]);
        if (at != NULL) {
            *name = arena_printf(&snapshot->arena, "%.*s%05u%s", (int)(at - *name), *name,
                                 values[k], at + strlen(marks[k]));
            TRY(arena_status(&snapshot->arena, err, "a name"));
        }
    }
    return SLUICE_OK;
}

static uint32_t count_names(const struct snapshot *snapshot, const char *suffix)
{
    uint32_t n = 0;

    for (size_t k = 0; k < snapshot->n_shards; k++) {
        n += ends_with(snapshot->shards[k].file, suffix);
    }
    return n;
}

/* Gives the files beside shard k (public names with one stem) the name. */
static void rename_beside(struct snapshot *snapshot, size_t k, const char *name)
{
    const char *own = snapshot->shards[k].name;
    size_t stem = strcspn(own, ".");

    for (size_t i = 0; i < snapshot->n_shards; i++) {
        struct snapshot_shard *shard = &snapshot->shards[i];
        if (i != k && strncmp(shard->name, own, stem) == 0 && shard->name[stem] == '.') {
            shard->name = name;
        }
    }
}

static void remove_shard(struct snapshot *snapshot, size_t k)
{
    struct snapshot_shard *shard = &snapshot->shards[k];

    json_decref(shard->measures);
    snapshot->n_shards--;
    memmove(shard, shard + 1, (snapshot->n_shards - k) * sizeof *shard);
}

sluice_status names_apply(const struct op *op, const char *note, struct snapshot *snapshot,
                          struct sluice_error *err)
{
    json_t *json = json_loads(note, JSON_DECODE_ANY, NULL);
    const char *suffix = json_string_value(json);
    sluice_status status = SLUICE_OK;
    uint32_t number = 0;
    uint32_t count;

    if (suffix == NULL || suffix[0] != '.') {
        json_decref(json);
        return error_set(err, SLUICE_E_CONFIG,
                         "stage '%s' notes names that are none; expected the suffix of an output "
                         "kind, such as \".name\"",
                         op->name);
    }
    count = count_names(snapshot, suffix);
    for (size_t k = 0; status == SLUICE_OK && k < snapshot->n_shards;) {
        const char *name;
        if (!ends_with(snapshot->shards[k].file, suffix)) {
            k++;
            continue;
        }
        status = read_name(op, snapshot, &snapshot->shards[k], &name, err);
        if (status == SLUICE_OK) {
            status = number_name(snapshot, number++, count, &name, err);
        }
        if (status == SLUICE_OK) {
            rename_beside(snapshot, k, name);
            remove_shard(snapshot, k);
        }
    }
    json_decref(json);
    return status;
}
