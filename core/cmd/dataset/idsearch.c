/* Rows by their ids: see idsearch.h. */
#include "cmd/dataset/idsearch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/rowfield.h"
#include "cmd/look/lines.h"

struct rows {
    struct idsearch *search;
    const char *name; /* in messages */
    struct idsearch_file found;
    uint64_t capacity, row;
    struct buf scratch;
};

static sluice_status add_hit(struct rows *rows, size_t id, struct sluice_error *err)
{
    struct removal_shard *hits = &rows->found.hits;

    if (hits->n == rows->capacity) {
        uint64_t capacity = rows->capacity == 0 ? 64 : rows->capacity * 2;
        uint64_t *more = realloc(hits->rows, capacity * sizeof *more);
        uint64_t *which;
        hits->rows = more == NULL ? hits->rows : more;
        which = more == NULL ? NULL : realloc(rows->found.which, capacity * sizeof *which);
        if (which == NULL) {
            return error_nomem(err, "rows that were found");
        }
        rows->found.which = which;
        rows->capacity = capacity;
    }
    hits->rows[hits->n] = rows->row;
    rows->found.which[hits->n++] = id;
    return SLUICE_OK;
}

static sluice_status take_line(void *ctx, const char *text, size_t n, bool *stop,
                               struct sluice_error *err)
{
    struct rows *rows = ctx;
    const struct idsearch *search = rows->search;
    const char *value;
    size_t size;
    size_t id;

    (void)stop;
    if (search->stop != NULL && atomic_load(search->stop) != 0) {
        return error_set(err, SLUICE_E_CANCELLED, "stopped");
    }
    switch (rowfield_find(text, n, search->column, &rows->scratch, &value, &size)) {
    case ROWFIELD_TEXT:
        id = ids_find(search->ids, value, size);
        if (id < search->ids->n) {
            TRY(add_hit(rows, id, err));
        }
        break;
    case ROWFIELD_NO_JSON:
        return error_set(err, SLUICE_E_DATA, "%s, row %llu is no JSON object; see sluice verify",
                         rows->name, (unsigned long long)rows->row);
    case ROWFIELD_NONE:
    case ROWFIELD_OTHER:
        rows->found.without++;
        break;
    }
    rows->row++;
    return SLUICE_OK;
}

static sluice_status search_lines(struct idsearch *search, const struct snapshot_shard *shard,
                                  struct idsearch_file *out, struct sluice_error *err)
{
    struct rows rows = { .search = search, .name = shard->name };
    char *path = snapshot_shard_path(search->dir, shard);
    bool stop = false;
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : lines_read(path, take_line, &rows, &stop, err);

    if (status == SLUICE_OK && rows.row != shard->rows) {
        status = error_set(
            err, SLUICE_E_DATA, "%s has %llu rows, the manifest says %llu; see sluice verify",
            shard->name, (unsigned long long)rows.row, (unsigned long long)shard->rows);
    }
    buf_deinit(&rows.scratch);
    free(path);
    *out = rows.found;
    return status;
}

sluice_status idsearch_count(struct idsearch *search, const char *path, uint64_t *n,
                             struct sluice_error *err)
{
    struct rows rows = { .search = search, .name = path };
    bool stop = false;
    sluice_status status = lines_read(path, take_line, &rows, &stop, err);

    *n = rows.found.hits.n;
    search->counted += rows.row;
    search->lacking += rows.found.without;
    buf_deinit(&rows.scratch);
    free(rows.found.hits.rows);
    free(rows.found.which);
    return status;
}

static sluice_status search_file(struct idsearch *search, const struct snapshot_shard *shard,
                                 struct idsearch_file *out, struct sluice_error *err)
{
    if (!derive_is_lines(shard->file)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s can't be searched for ids: JSON Lines can (.jsonl, .jsonl.gz, "
                         ".jsonl.zst)",
                         shard->name);
    }
    return search_lines(search, shard, out, err);
}

sluice_status idsearch_shard(struct idsearch *search, const struct snapshot_shard *shard,
                             const struct idsearch_file **out, struct sluice_error *err)
{
    const json_t *at;
    struct idsearch_file *file;

    search->seen = search->seen == NULL ? json_object() : search->seen;
    at = json_object_get(search->seen, shard->file);
    if (at != NULL) {
        *out = &search->files[json_integer_value(at)];
        return SLUICE_OK;
    }
    if (search->n_files == search->capacity) {
        size_t capacity = search->capacity == 0 ? 64 : search->capacity * 2;
        struct idsearch_file *more = realloc(search->files, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "files that were searched");
        }
        search->files = more;
        search->capacity = capacity;
    }
    file = &search->files[search->n_files++];
    memset(file, 0, sizeof *file);
    TRY(search_file(search, shard, file, err));
    *out = file;
    return json_object_set_new(search->seen, shard->file,
                               json_integer((json_int_t)search->n_files - 1)) == 0
               ? SLUICE_OK
               : error_nomem(err, "files that were searched");
}

sluice_status idsearch_check(const struct idsearch *search, uint64_t rows, uint64_t without,
                             struct sluice_error *err)
{
    return rows == 0 || without < rows
               ? SLUICE_OK
               : error_set(
                     err, SLUICE_E_CONFIG,
                     "no row of %s has a field '%s' with an id; give --column, the name under "
                     "which its rows have theirs",
                     search->dir, search->column);
}

sluice_status idsearch_snapshot(struct idsearch *search, const struct snapshot *s,
                                struct removal_shard **shards, uint64_t *without,
                                struct sluice_error *err)
{
    *without = 0;
    *shards = calloc(s->n_shards + 1u, sizeof **shards);
    if (*shards == NULL) {
        return error_nomem(err, "rows that were found");
    }
    for (uint32_t i = 0; i < s->n_shards; i++) {
        const struct idsearch_file *file;
        TRY(idsearch_shard(search, &s->shards[i], &file, err));
        (*shards)[i] = file->hits;
        *without += file->without;
        for (uint64_t k = 0; k < file->hits.n; k++) {
            search->ids->found[file->which[k]]++;
        }
    }
    return idsearch_check(search, s->rows, *without, err);
}

void idsearch_deinit(struct idsearch *search)
{
    for (size_t i = 0; i < search->n_files; i++) {
        free(search->files[i].hits.rows);
        free(search->files[i].which);
    }
    free(search->files);
    json_decref(search->seen);
    memset(search, 0, sizeof *search);
}
