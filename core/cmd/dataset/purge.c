/* Ids taken out of everything: see purge.h. */
#include "cmd/dataset/purge.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "cmd/dataset/rewrite.h"
#include "run/facts/facts.h"
#include "store/jsontext.h"
#include "store/store.h"

/* What a run makes again, or can do without. */
static const char *const removable[] = { "data",     "public",  "spill",  "quarantine",
                                         "saved",    "answers", "claims", "failures",
                                         "attempts", "tasks",   "history" };

struct purging {
    struct purge *purge;
    json_t *named; /* {stored file: true} of all manifests */
    json_t *keys;  /* {first 24 digits of a task's key: true} of what was removed */
};

/* ---- snapshots ---- */

sluice_status purge_note(const struct idsearch *search, uint64_t rows, const char *held,
                         struct snapshot *s, struct sluice_error *err)
{
    return removal_note(s,
                        json_pack("{s:s, s:I, s:s, s:I, s:s*}", "column", search->column, "ids",
                                  (json_int_t)search->ids->n, "sha256", search->ids->sha256, "rows",
                                  (json_int_t)rows, "held", held),
                        err);
}

static sluice_status make_again(struct purging *p, const struct snapshot *s,
                                const struct removal_shard *shards, uint64_t rows,
                                struct snapshot **out, struct sluice_error *err)
{
    struct idsearch *search = p->purge->search;
    struct removal_terms terms = {
        .shards = shards, .copy = rewrite_without, .takes = rewrite_takes, .stop = search->stop
    };
    struct hash128 held;
    char hex[33];

    TRY(snapshot_holds(s, &held, err));
    hash_hex(held, hex);
    TRY(removal_make(search->dir, s, &terms, out, err));
    (*out)->number = s->number;
    (*out)->parent = s->parent;
    p->purge->rows += rows;
    return json_array_append_new(p->purge->snapshots, json_integer((json_int_t)s->number)) == 0
               ? purge_note(search, rows, hex, *out, err)
               : error_nomem(err, "facts");
}

/* Searches one snapshot; *s becomes what stands in its place. */
static sluice_status purge_snapshot(struct purging *p, struct snapshot **s,
                                    const struct snapshot *before, struct sluice_error *err)
{
    struct removal_shard *shards = calloc((*s)->n_shards + 1u, sizeof *shards);
    struct snapshot *next = NULL;
    uint64_t rows = 0;
    sluice_status status = shards == NULL ? error_nomem(err, "rows that were found") : SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < (*s)->n_shards; i++) {
        const struct idsearch_file *file;
        status = idsearch_shard(p->purge->search, &(*s)->shards[i], &file, err);
        if (status == SLUICE_OK) {
            shards[i] = file->hits;
            rows += file->hits.n;
        }
    }
    if (status == SLUICE_OK && rows > 0) {
        status = make_again(p, *s, shards, rows, &next, err);
    }
    free(shards);
    if (next != NULL) {
        snapshot_destroy(*s);
        *s = next;
    }
    /* Also what a kill left undone, and what it has compared with the one before. */
    return status == SLUICE_OK ? snapshot_replace(p->purge->search->dir, *s, before, err) : status;
}

static sluice_status purge_snapshots(struct purging *p, struct sluice_error *err)
{
    const char *dir = p->purge->search->dir;
    struct snapshot *before = NULL;
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = snapshot_list(dir, &numbers, &n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct snapshot *s = NULL;
        status = snapshot_open(dir, numbers[i], &s, err);
        if (status == SLUICE_OK) {
            bool follows = before != NULL && before->number == s->parent;
            status = purge_snapshot(p, &s, follows ? before : NULL, err);
        }
        for (uint32_t k = 0; status == SLUICE_OK && k < s->n_shards; k++) {
            json_object_set_new(p->named, s->shards[k].file, json_true());
        }
        snapshot_destroy(before);
        before = s;
    }
    snapshot_destroy(before);
    free(numbers);
    return status;
}

/* ---- files ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool may_go(const struct purging *p, const struct reach_place *place)
{
    bool may = false;

    for (size_t k = 0; k < sizeof removable / sizeof *removable; k++) {
        may = may || strcmp(place->kind, removable[k]) == 0;
    }
    return may && place->unsearched == NULL &&
           (strcmp(place->kind, "data") != 0 ||
            json_object_get(p->named, base_name(place->path)) == NULL);
}

static sluice_status on_place(void *ctx, const struct reach_place *place, struct sluice_error *err)
{
    struct purging *p = ctx;
    const bool ours = strcmp(place->kind, "data") == 0 || strcmp(place->kind, "public") == 0;
    uint64_t bytes = 0;
    bool found = false;
    char key[25];

    if (!may_go(p, place)) {
        return json_array_append_new(p->purge->left, reach_json(place)) == 0
                   ? SLUICE_OK
                   : error_nomem(err, "facts");
    }
    TRY(store_size(place->path, &bytes, &found, err));
    TRY(store_remove(place->path, err));
    p->purge->files += ours;
    p->purge->run_files += !ours;
    p->purge->bytes += bytes;
    snprintf(key, sizeof key, "%.24s", base_name(place->path));
    return json_object_set_new(p->keys, key, json_true()) == 0 ? SLUICE_OK
                                                               : error_nomem(err, "facts");
}

/* Records of tasks whose files went: they are not done any more. */
static sluice_status drop_records(struct purging *p, struct sluice_error *err)
{
    char *tasks = store_join(p->purge->run, "tasks");
    struct store_list list = { NULL, 0 };
    sluice_status status =
        tasks == NULL ? error_nomem(err, "a path") : store_list(tasks, STORE_DEEP, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char key[25];
        char *path;
        snprintf(key, sizeof key, "%.24s", base_name(list.entries[i].name));
        if (json_object_get(p->keys, key) == NULL) {
            continue;
        }
        path = store_join(tasks, list.entries[i].name);
        status = path == NULL ? error_nomem(err, "a path") : store_remove(path, err);
        free(path);
    }
    store_list_deinit(&list);
    free(tasks);
    return status;
}

/* ---- the record ---- */

static sluice_status put_record(const struct purge *purge, const char *state,
                                struct sluice_error *err)
{
    const struct idsearch *search = purge->search;
    struct buf text = BUF_INIT;
    time_t now = time(NULL);
    struct tm tm;
    char date[40];
    char *path = str_printf("%s/purges/%.16s.json", search->dir, search->ids->sha256);
    json_t *record;
    sluice_status status;

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    record = json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:O, s:I, s:I, s:I}", "state", state, "date",
                       date, "column", search->column, "ids", (json_int_t)search->ids->n, "sha256",
                       search->ids->sha256, "rows", (json_int_t)purge->rows, "snapshots",
                       purge->snapshots, "files", (json_int_t)purge->files, "run_files",
                       (json_int_t)purge->run_files, "bytes", (json_int_t)purge->bytes);
    jsontext_put_value(&text, record, 1);
    buf_putc(&text, '\n');
    status = record == NULL || path == NULL ? error_nomem(err, "a record") : buf_status(&text, err);
    if (status == SLUICE_OK) {
        status = store_replace(path, text.data, text.size, 0, err);
    }
    json_decref(record);
    buf_deinit(&text);
    free(path);
    return status;
}

/* Whether a purge with this list came to its end. */
static sluice_status was_done(const struct purge *purge, bool *done, struct sluice_error *err)
{
    char *path = str_printf("%s/purges/%.16s.json", purge->search->dir, purge->search->ids->sha256);
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, 1u << 20, &text, &found, err);
    json_t *record =
        found && status == SLUICE_OK ? json_loadb(text.data, text.size, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(record, "state"));

    *done = state != NULL && strcmp(state, "done") == 0;
    json_decref(record);
    buf_deinit(&text);
    free(path);
    return status;
}

sluice_status purge(struct purge *purge, struct sluice_error *err)
{
    struct purging p = { .purge = purge, .named = json_object(), .keys = json_object() };
    struct reach reach = { .search = purge->search, .found = on_place, .ctx = &p };
    bool done = false;
    sluice_status status = was_done(purge, &done, err);

    purge->snapshots = json_array();
    purge->left = json_array();
    if (status == SLUICE_OK && !done) {
        status = put_record(purge, "begun", err);
    }
    if (status == SLUICE_OK &&
        (status = bytesearch_init(&reach.bytes, purge->search->ids, err)) == SLUICE_OK &&
        (status = purge_snapshots(&p, err)) == SLUICE_OK) {
        status = reach_dataset(&reach, err);
    }
    if (status == SLUICE_OK && purge->run != NULL &&
        (status = reach_run(&reach, purge->run, err)) == SLUICE_OK) {
        status = drop_records(&p, err);
    }
    if (status == SLUICE_OK &&
        (!done || purge->rows > 0 || purge->files > 0 || purge->run_files > 0)) {
        status = put_record(purge, "done", err);
    }
    bytesearch_deinit(&reach.bytes);
    json_decref(p.named);
    json_decref(p.keys);
    return status;
}

void purge_deinit(struct purge *purge)
{
    json_decref(purge->snapshots);
    json_decref(purge->left);
    memset(purge, 0, sizeof *purge);
}
