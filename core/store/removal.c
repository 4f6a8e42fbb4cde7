/* Rows taken out of a snapshot: see removal.h. Which rows of which files they are is told to the
 * lineage by removal_lineage.c, lines are copied in removal_lines.c. */
#include "store/removal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/removalInt.h"

struct making {
    const char *dir;
    const struct snapshot *from;
    const struct removal_terms *terms;
    struct snapshot *out;
};

/* ---- files ---- */

/* What stands for a task's key in the name. */
static sluice_status rest_key(const struct snapshot_shard *shard, const struct removal_shard *gone,
                              char hex[33], struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "rows to remove");
    }
    hasher_add(hasher, "removed", 7);
    hasher_add_hash(hasher, shard->hash);
    for (uint64_t i = 0; i < gone->n; i++) {
        hasher_add_u64(hasher, gone->rows[i]);
    }
    hash_hex(hasher_digest(hasher), hex);
    hasher_destroy(hasher);
    return SLUICE_OK;
}

static sluice_status copy_rest(const struct making *m, const struct snapshot_shard *shard,
                               const struct removal_shard *gone, struct pending *pending,
                               struct sluice_error *err)
{
    char *path = snapshot_shard_path(m->dir, shard);
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : derive_check(path, shard, err);

    if (status == SLUICE_OK && derive_is_lines(shard->file)) {
        status = removal_copy_lines(path, shard, gone, m->terms->stop, pending, err);
    } else if (status == SLUICE_OK) {
        status = m->terms->copy(m->dir, m->from, shard, gone, pending, err);
    }
    free(path);
    return status;
}

static sluice_status write_rest(const struct making *m, const struct snapshot_shard *shard,
                                const struct removal_shard *gone, const char *key, char name[200],
                                struct published *published, struct sluice_error *err)
{
    struct pending *pending = NULL;
    sluice_status status = SLUICE_OK;

    if (!derive_is_lines(shard->file) &&
        (m->terms->copy == NULL || !m->terms->takes(shard->file))) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s has rows that are to be removed, and is of a kind that can't be "
                         "rewritten here: JSON Lines can (.jsonl, .jsonl.gz, .jsonl.zst), and by "
                         "`sluice remove` Parquet and Arrow",
                         shard->name);
    }
    status = derive_open(m->dir, &pending, err);
    if (status == SLUICE_OK) {
        status = copy_rest(m, shard, gone, pending, err);
    }
    if (status != SLUICE_OK) {
        pending_abort(pending);
        return status;
    }
    return derive_publish(m->dir, pending, key, derive_suffix(shard->file), m->terms->vouch, name,
                          published, err);
}

/* The public name goes on; what it has of the stored one's is the new one's. */
static void rest_name(const struct snapshot_shard *shard, const char *file, char name[1001])
{
    char key[13];
    char *at;

    snprintf(name, 1001, "%s", shard->name);
    snprintf(key, sizeof key, "%.12s", shard->file);
    at = strlen(key) == 12 && strlen(file) >= 12 ? strstr(name, key) : NULL;
    if (at != NULL) {
        memcpy(at, file, 12);
    }
}

static sluice_status shrink_shard(struct making *m, const struct snapshot_shard *shard,
                                  const struct removal_shard *gone, struct sluice_error *err)
{
    struct published published = { .bytes = 0 };
    const char *file = NULL;
    char name[1001];
    char made[200];
    char key[33];

    if (shard->measures != NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s has measures of its rows (tokens, documents), which can't be told "
                         "without the rows that are to be removed",
                         shard->name);
    }
    if (gone->n >= shard->rows) {
        return removal_tell(m->dir, m->out, m->from, shard, gone, NULL, err);
    }
    TRY(rest_key(shard, gone, key, err));
    TRY(derive_find(m->dir, m->terms->known, m->terms->vouch, key, &file, &published, err));
    if (file == NULL) {
        TRY(write_rest(m, shard, gone, key, made, &published, err));
        file = made;
    }
    rest_name(shard, file, name);
    TRY(snapshot_add_shard(m->out, name, file, shard->rows - gone->n, published.bytes,
                           published.hash, NULL, err));
    return removal_tell(m->dir, m->out, m->from, shard, gone, file, err);
}

sluice_status removal_make(const char *dataset_dir, const struct snapshot *from,
                           const struct removal_terms *terms, struct snapshot **out,
                           struct sluice_error *err)
{
    struct making m = {
        .dir = dataset_dir, .from = from, .terms = terms, .out = snapshot_create(from->dataset)
    };
    sluice_status status =
        m.out == NULL ? error_nomem(err, "a snapshot") : derive_keep(from, m.out, "removes", err);

    *out = NULL;
    for (uint32_t i = 0; status == SLUICE_OK && i < from->n_shards; i++) {
        const struct snapshot_shard *shard = &from->shards[i];
        status = terms->shards[i].n > 0 ? shrink_shard(&m, shard, &terms->shards[i], err)
                                        : snapshot_add_shard(m.out, shard->name, shard->file,
                                                             shard->rows, shard->bytes, shard->hash,
                                                             json_incref(shard->measures), err);
    }
    if (status != SLUICE_OK) {
        snapshot_destroy(m.out);
        return status;
    }
    *out = m.out;
    return SLUICE_OK;
}

/* ---- what a run publishes later ---- */

sluice_status removal_apply(const char *dataset_dir, const struct snapshot *newest,
                            const struct snapshot *s, struct vouch *vouch, struct snapshot **out,
                            struct sluice_error *err)
{
    struct removal_shard *shards;
    struct removal_terms terms = { .vouch = vouch, .known = newest };
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (newest == NULL || json_object_get(newest->lineage, "removed") == NULL) {
        return SLUICE_OK;
    }
    shards = calloc(s->n_shards + 1u, sizeof *shards);
    if (shards == NULL) {
        return error_nomem(err, "rows that are gone");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < s->n_shards; i++) {
        status = removal_rows(dataset_dir, newest, s, &s->shards[i], &shards[i], err);
    }
    terms.shards = shards;
    if (status == SLUICE_OK) {
        status = removal_make(dataset_dir, s, &terms, out, err);
    }
    if (status == SLUICE_OK) {
        (*out)->over = s->over;
        (*out)->take_over = s->take_over;
        status = removal_carry(newest, *out, err);
    }
    if (status != SLUICE_OK) {
        snapshot_destroy(*out);
        *out = NULL;
    }
    for (uint32_t i = 0; i < s->n_shards; i++) {
        free(shards[i].rows);
    }
    free(shards);
    return status;
}
