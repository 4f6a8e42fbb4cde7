/* Joining small files: see compact.h. */
#include "store/compact.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/derive.h"
#include "store/jsontext.h"
#include "store/store.h"

/* A joined file may end where a file's hash says so, which is at every fourth. */
#define CUT_MASK UINT64_C(3)

/* ---- which ---- */

static bool can_join(const struct snapshot_shard *shard, const struct compact_rules *rules)
{
    unsigned part;
    return (derive_is_lines(shard->file) || (rules->join != NULL && rules->takes(shard->file))) &&
           snapshot_part_number(shard->name, &part);
}

/* May one stand in a file with the other: of one kind, in one folder? */
static bool are_alike(const struct snapshot_shard *a, const struct snapshot_shard *b)
{
    const size_t n = snapshot_folder_size(a->name);
    return n == snapshot_folder_size(b->name) && memcmp(a->name, b->name, n) == 0 &&
           strcmp(derive_suffix(a->file), derive_suffix(b->file)) == 0;
}

static sluice_status add_group(struct compact_plan *plan, uint32_t first, uint32_t n,
                               struct sluice_error *err)
{
    if (plan->n == plan->capacity) {
        uint32_t capacity = plan->capacity == 0 ? 16 : plan->capacity * 2;
        struct compact_group *more = realloc(plan->groups, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "files to join");
        }
        plan->groups = more;
        plan->capacity = capacity;
    }
    plan->groups[plan->n++] = (struct compact_group){ first, n };
    plan->joined += n;
    return SLUICE_OK;
}

/* Cuts shards first to end - 1, small ones of one suffix, into groups. */
static sluice_status cut_run(const struct snapshot *s, const struct compact_rules *rules,
                             uint32_t first, uint32_t end, struct compact_plan *plan,
                             struct sluice_error *err)
{
    const uint64_t full = rules->target - rules->target / 4;
    const uint64_t most = rules->target + rules->target / 4;
    const bool many = end - first >= rules->least;
    uint64_t bytes = 0;

    for (uint32_t i = first; i < end; i++) {
        bool last = i + 1 == end;
        bytes += s->shards[i].bytes;
        if (!last && (bytes < full || ((s->shards[i].hash.lo & CUT_MASK) != 0 &&
                                       bytes + s->shards[i + 1].bytes <= most))) {
            continue;
        }
        if (i > first && (bytes >= full || many)) {
            TRY(add_group(plan, first, i + 1 - first, err));
        }
        first = i + 1;
        bytes = 0;
    }
    return SLUICE_OK;
}

sluice_status compact_plan(const struct snapshot *s, const struct compact_rules *rules,
                           struct compact_plan *plan, struct sluice_error *err)
{
    const uint64_t small = rules->target - rules->target / 4;

    *plan = (struct compact_plan){ .join = rules->join };
    for (uint32_t i = 0; i < s->n_shards; i++) {
        if (!can_join(&s->shards[i], rules)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s can't be joined with others as it is: JSON Lines can (.jsonl, "
                             ".jsonl.gz, .jsonl.zst, called part-…), and by `sluice compact` "
                             "Parquet and Arrow; let its pipeline write larger files (shard_size, "
                             "and s.files with a larger split)",
                             s->shards[i].name);
        }
    }
    for (uint32_t i = 0; i < s->n_shards;) {
        uint32_t end = i;
        while (end < s->n_shards && s->shards[end].bytes < small &&
               are_alike(&s->shards[end], &s->shards[i])) {
            end++;
        }
        TRY(cut_run(s, rules, i, end, plan, err));
        plan->large += end == i && s->shards[i].bytes / 9 * 5 > rules->target;
        i = end == i ? i + 1 : end;
    }
    return SLUICE_OK;
}

void compact_plan_deinit(struct compact_plan *plan)
{
    free(plan->groups);
    memset(plan, 0, sizeof *plan);
}

/* ---- joining ---- */

struct joining {
    const char *dir;
    const struct snapshot *from;
    const struct snapshot *known;
    struct vouch *vouch;
    const _Atomic int *stop;
    compact_join_fn *join; /* of what is no JSON Lines */
    struct snapshot *out;
    json_t *joined; /* {FILE: [[member, rows]…]} */
};

/* Bytes of a member on their way. */
struct copy {
    struct pending *pending;
    struct hasher *hasher;
    uint64_t bytes;
    const _Atomic int *stop;
    char last; /* byte */
};

static sluice_status copy_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct copy *copy = ctx;

    if (copy->stop != NULL && atomic_load(copy->stop) != 0) {
        return error_set(err, SLUICE_E_CANCELLED, "stopped");
    }
    hasher_add(copy->hasher, data, n);
    copy->bytes += n;
    copy->last = n > 0 ? ((const char *)data)[n - 1] : copy->last;
    return pending_write(copy->pending, data, n, err);
}

static sluice_status check_member(const struct snapshot_shard *shard, const struct copy *copy,
                                  struct sluice_error *err)
{
    bool plain = strcmp(derive_suffix(shard->file), ".jsonl") == 0;

    if (copy->bytes != shard->bytes || !hash_equal(hasher_digest(copy->hasher), shard->hash)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s (%s) holds other bytes than its manifest says: it was damaged; see "
                         "`sluice verify`",
                         shard->file, shard->name);
    }
    if (plain && copy->bytes > 0 && copy->last != '\n') {
        return error_set(err, SLUICE_E_DATA,
                         "%s (%s) ends inside of a line, so that nothing can stand behind it",
                         shard->file, shard->name);
    }
    return SLUICE_OK;
}

static sluice_status add_member(const struct joining *joining, const struct snapshot_shard *shard,
                                struct pending *pending, struct sluice_error *err)
{
    struct copy copy = { .pending = pending, .hasher = hasher_create(), .stop = joining->stop };
    char *path = snapshot_shard_path(joining->dir, shard);
    struct store_file *file = NULL;
    sluice_status status = path == NULL || copy.hasher == NULL ? error_nomem(err, "a file to join")
                                                               : store_open(path, &file, NULL, err);

    if (status == SLUICE_OK) {
        store_sequential(file);
        status = store_pieces(file, copy_piece, &copy, err);
    }
    if (status == SLUICE_OK) {
        status = check_member(shard, &copy, err);
    }
    store_close(file);
    hasher_destroy(copy.hasher);
    free(path);
    return status;
}

/* The members of what is no JSON Lines, by the caller's function. */
static sluice_status join_others(const struct joining *joining, struct compact_group group,
                                 struct pending *pending, struct sluice_error *err)
{
    const struct snapshot_shard *shards = &joining->from->shards[group.first];

    for (uint32_t i = 0; i < group.n; i++) {
        char *path = snapshot_shard_path(joining->dir, &shards[i]);
        sluice_status status =
            path == NULL ? error_nomem(err, "a path") : derive_check(path, &shards[i], err);
        free(path);
        TRY(status);
    }
    return joining->join(joining->dir, joining->from, shards, group.n, pending, err);
}

/* What stands for a task's key in the name. */
static sluice_status group_key(const struct snapshot *s, struct compact_group group, char hex[33],
                               struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "files to join");
    }
    hasher_add(hasher, "joined", 6);
    for (uint32_t i = 0; i < group.n; i++) {
        hasher_add_hash(hasher, s->shards[group.first + i].hash);
    }
    hash_hex(hasher_digest(hasher), hex);
    hasher_destroy(hasher);
    return SLUICE_OK;
}

static sluice_status write_joined(const struct joining *joining, struct compact_group group,
                                  const char *key, char name[200], struct published *published,
                                  struct sluice_error *err)
{
    const struct snapshot_shard *shards = &joining->from->shards[group.first];
    struct pending *pending = NULL;
    sluice_status status = derive_open(joining->dir, &pending, err);

    if (status == SLUICE_OK && !derive_is_lines(shards[0].file)) {
        status = join_others(joining, group, pending, err);
    } else {
        for (uint32_t i = 0; status == SLUICE_OK && i < group.n; i++) {
            status = add_member(joining, &shards[i], pending, err);
        }
    }
    if (status != SLUICE_OK) {
        pending_abort(pending);
        return status;
    }
    return derive_publish(joining->dir, pending, key, derive_suffix(shards[0].file), joining->vouch,
                          name, published, err);
}

static sluice_status sum_measures(json_t *sum, const json_t *measures, struct sluice_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)measures, key, value)
    {
        json_int_t all = json_integer_value(value);
        if (__builtin_add_overflow(all, json_integer_value(json_object_get(sum, key)), &all) ||
            json_object_set_new(sum, key, json_integer(all)) != 0) {
            return error_set(err, SLUICE_E_DATA,
                             "the sum of measure '%s' over the shards overflows", key);
        }
    }
    return SLUICE_OK;
}

/* Notes a member, or what it was joined from itself. */
static sluice_status note_member(const struct snapshot *from, const struct snapshot_shard *shard,
                                 json_t *list, struct sluice_error *err)
{
    json_t *before = json_object_get(json_object_get(from->lineage, "joined"), shard->file);
    int failed = before != NULL
                     ? json_array_extend(list, before)
                     : json_array_append_new(list, json_pack("[o, I]", jsontext_string(shard->file),
                                                             (json_int_t)shard->rows));

    return failed == 0 ? SLUICE_OK : error_nomem(err, "a manifest");
}

/* like: a shard in whose folder it stands; shard: itself, or NULL. */
static sluice_status add_shard(struct joining *joining, const struct snapshot_shard *like,
                               const struct snapshot_shard *shard, const char *file, uint64_t rows,
                               const struct published *published, json_t *measures,
                               struct sluice_error *err)
{
    char name[SNAPSHOT_NAME_MAX];
    sluice_status status = snapshot_part_in(like->name, snapshot_folder_size(like->name), file,
                                            joining->out->n_shards, name, err);

    if (status != SLUICE_OK) {
        json_decref(measures);
        return status;
    }
    return snapshot_add_shard(joining->out, name, file, rows,
                              shard == NULL ? published->bytes : shard->bytes,
                              shard == NULL ? published->hash : shard->hash, measures, err);
}

static sluice_status join_group(struct joining *joining, struct compact_group group,
                                struct sluice_error *err)
{
    struct published published = { .bytes = 0 };
    json_t *members = json_array();
    json_t *measures = json_object();
    const char *file = NULL;
    uint64_t rows = 0;
    char made[200];
    char key[33];
    sluice_status status = members == NULL || measures == NULL
                               ? error_nomem(err, "a manifest")
                               : group_key(joining->from, group, key, err);

    for (uint32_t i = 0; status == SLUICE_OK && i < group.n; i++) {
        const struct snapshot_shard *shard = &joining->from->shards[group.first + i];
        rows += shard->rows;
        status = sum_measures(measures, shard->measures, err);
        if (status == SLUICE_OK) {
            status = note_member(joining->from, shard, members, err);
        }
    }
    if (status == SLUICE_OK) {
        status =
            derive_find(joining->dir, joining->known, joining->vouch, key, &file, &published, err);
    }
    if (status == SLUICE_OK && file == NULL) {
        status = write_joined(joining, group, key, made, &published, err);
        file = made;
    }
    if (status == SLUICE_OK) {
        json_t *all = json_object_size(measures) == 0 ? NULL : json_incref(measures);
        status = add_shard(joining, &joining->from->shards[group.first], NULL, file, rows,
                           &published, all, err);
    }
    if (status == SLUICE_OK && json_object_set(joining->joined, file, members) != 0) {
        status = error_nomem(err, "a manifest");
    }
    json_decref(members);
    json_decref(measures);
    return status;
}

/* A shard that stays; it may have been joined before. */
static sluice_status keep_shard(struct joining *joining, const struct snapshot_shard *shard,
                                struct sluice_error *err)
{
    json_t *before =
        json_object_get(json_object_get(joining->from->lineage, "joined"), shard->file);

    if (before != NULL && json_object_set(joining->joined, shard->file, before) != 0) {
        return error_nomem(err, "a manifest");
    }
    return add_shard(joining, shard, shard, shard->file, shard->rows, NULL,
                     json_incref(shard->measures), err);
}

sluice_status compact_join(const char *dataset_dir, const struct snapshot *from,
                           const struct compact_plan *plan, const struct snapshot *known,
                           struct vouch *vouch, const _Atomic int *stop, struct snapshot **out,
                           struct sluice_error *err)
{
    struct joining joining = { .dir = dataset_dir,
                               .from = from,
                               .known = known,
                               .vouch = vouch,
                               .stop = stop,
                               .join = plan->join,
                               .out = snapshot_create(from->dataset),
                               .joined = json_object() };
    uint32_t at = 0;
    sluice_status status =
        joining.out == NULL || joining.joined == NULL ? error_nomem(err, "a snapshot") : SLUICE_OK;

    *out = NULL;
    for (uint32_t i = 0; status == SLUICE_OK && i < from->n_shards;) {
        if (at < plan->n && plan->groups[at].first == i) {
            status = join_group(&joining, plan->groups[at], err);
            i += plan->groups[at++].n;
        } else {
            status = keep_shard(&joining, &from->shards[i++], err);
        }
    }
    if (status == SLUICE_OK) {
        joining.out->lineage = json_pack("{s:O}", "joined", joining.joined);
        status = joining.out->lineage == NULL ? error_nomem(err, "a snapshot") : SLUICE_OK;
    }
    json_decref(joining.joined);
    if (status != SLUICE_OK) {
        snapshot_destroy(joining.out);
        return status;
    }
    *out = joining.out;
    return SLUICE_OK;
}

/* ---- a snapshot of a compaction ---- */

sluice_status compact_snapshot(const char *dataset_dir, const struct snapshot *from,
                               const struct compact_plan *plan, const _Atomic int *stop,
                               uint32_t *number, struct sluice_error *err)
{
    struct snapshot *next = NULL;
    sluice_status status = derive_sweep(dataset_dir, err);

    if (status == SLUICE_OK) {
        status = compact_join(dataset_dir, from, plan, NULL, NULL, stop, &next, err);
    }
    if (status == SLUICE_OK) {
        status = derive_keep(from, next, "compacts", err);
    }
    if (status == SLUICE_OK) {
        status = derive_stand(dataset_dir, from, next, number, err);
    }
    snapshot_destroy(next);
    return status;
}
