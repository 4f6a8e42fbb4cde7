/* Snapshots made of another one: see derive.h. */
#include "store/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "store/temp.h"

/* ---- files ---- */

const char *derive_suffix(const char *file)
{
    const char *dot = strchr(file, '.');
    return dot == NULL ? "" : dot;
}

const char *derive_hash_part(const char *file)
{
    const char *dash = strrchr(file, '-');

    return dash != NULL && strcspn(dash + 1, ".") == 12 ? dash + 1 : "";
}

bool derive_is_lines(const char *file)
{
    static const char *const suffixes[] = { ".jsonl", ".jsonl.gz", ".jsonl.zst" };
    bool is = false;

    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
        is = is || strcmp(derive_suffix(file), suffixes[k]) == 0;
    }
    return is;
}

sluice_status derive_find(const char *dataset_dir, const struct snapshot *known,
                          struct vouch *vouch, const char *key, const char **file,
                          struct published *published, struct sluice_error *err)
{
    *file = NULL;
    for (uint32_t i = 0; known != NULL && *file == NULL && i < known->n_shards; i++) {
        const struct snapshot_shard *shard = &known->shards[i];
        struct sluice_error ignored = ERROR_INIT;
        bool good = false;
        char *path;
        if (strncmp(shard->file, key, 24) != 0 || shard->file[24] != '-') {
            continue;
        }
        path = snapshot_shard_path(dataset_dir, shard);
        if (path == NULL) {
            return error_nomem(err, "a path");
        }
        if (vouch_check(vouch, path, shard->bytes, shard->hash, "its manifest", &good, &ignored) ==
                SLUICE_OK &&
            good) {
            *file = shard->file;
            *published = (struct published){ .bytes = shard->bytes, .hash = shard->hash };
        }
        free(path);
    }
    return SLUICE_OK;
}

sluice_status derive_check(const char *path, const struct snapshot_shard *shard,
                           struct sluice_error *err)
{
    struct hash128 hash;
    uint64_t bytes;

    TRY(store_hash(path, &bytes, &hash, NULL, err));
    return bytes == shard->bytes && hash_equal(hash, shard->hash)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "%s (%s) holds other bytes than its manifest says: it was damaged; see "
                           "`sluice verify`",
                           shard->file, shard->name);
}

sluice_status derive_sweep(const char *dataset_dir, struct sluice_error *err)
{
    char *data = store_join(dataset_dir, "data");
    sluice_status status = data == NULL ? error_nomem(err, "a path") : temp_sweep(data, NULL, err);

    free(data);
    return status;
}

sluice_status derive_open(const char *dataset_dir, struct pending **pending,
                          struct sluice_error *err)
{
    char *data = store_join(dataset_dir, "data");
    sluice_status status =
        data == NULL ? error_nomem(err, "a path") : pending_open(data, pending, err);

    free(data);
    return status;
}

sluice_status derive_publish(const char *dataset_dir, struct pending *pending, const char *key,
                             const char *suffix, struct vouch *vouch, char name[200],
                             struct published *published, struct sluice_error *err)
{
    struct hash128 hash;
    char hex[33];
    sluice_status status = pending_seal(pending, &hash, err);

    if (status != SLUICE_OK) {
        pending_abort(pending);
        return status;
    }
    hash_hex(hash, hex);
    snprintf(name, 200, "%.24s-0000-%.12s%.20s", key, hex, suffix);
    status = pending_publish(pending, name, 0, published, err);
    if (status == SLUICE_OK && vouch != NULL) {
        char *path = str_printf("%s/data/%s", dataset_dir, name);
        vouch_note(vouch, path, hash, true);
        free(path);
    }
    return status;
}

/* ---- what is kept ---- */

const char *derive_stands_for(const struct snapshot *s)
{
    const char *compacts = json_string_value(json_object_get(s->lineage, "compacts"));

    return compacts != NULL ? compacts : json_string_value(json_object_get(s->lineage, "removes"));
}

sluice_status derive_keep(const struct snapshot *from, struct snapshot *next, const char *way,
                          struct sluice_error *err)
{
    json_t *lineage = from->lineage == NULL ? json_object() : json_deep_copy(from->lineage);
    const char *pipeline = json_string_value(json_object_get(from->lineage, "pipeline"));
    char hex[33];

    hash_hex(from->content, hex);
    if (lineage == NULL ||
        (derive_stands_for(from) == NULL &&
         json_object_set_new(lineage, way, json_string(hex)) != 0) ||
        (next->lineage != NULL && json_object_update(lineage, next->lineage) != 0)) {
        json_decref(lineage);
        return error_nomem(err, "a snapshot");
    }
    json_decref(next->lineage);
    next->lineage = lineage;
    next->ledger = json_incref(from->ledger);
    next->notes = json_incref(from->notes);
    return from->node != NULL
               ? snapshot_own(next, from->pipeline, from->node, err)
               : snapshot_own(next, pipeline == NULL ? "" : pipeline, from->dataset, err);
}
