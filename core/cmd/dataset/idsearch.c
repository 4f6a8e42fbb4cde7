/* Rows by their ids: see idsearch.h. */
#include "cmd/dataset/idsearch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/rewrite.h"
#include "cmd/dataset/rowfield.h"
#include "cmd/look/lines.h"
#include "cmd/look/rowsof.h"
#include "run/facts/facts.h"

struct search_rows {
    struct idsearch *search;
    const char *name; /* in messages */
    struct idsearch_file found;
    uint64_t capacity, row;
    struct buf scratch;
};

static sluice_status add_hit(struct search_rows *rows, size_t id, struct sluice_error *err)
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

static sluice_status check_stop(const struct idsearch *search, struct sluice_error *err)
{
    return search->stop != NULL && atomic_load(search->stop) != 0
               ? error_set(err, SLUICE_E_CANCELLED, "stopped")
               : SLUICE_OK;
}

/* The next row's id; NULL: it has none. */
static sluice_status take_id(struct search_rows *rows, const char *value, size_t size,
                             struct sluice_error *err)
{
    const struct idsearch *search = rows->search;
    size_t id = value == NULL ? search->ids->n : ids_find(search->ids, value, size);

    rows->found.without += value == NULL;
    if (id < search->ids->n) {
        TRY(add_hit(rows, id, err));
    }
    rows->row++;
    return SLUICE_OK;
}

static sluice_status take_line(void *ctx, const char *text, size_t n, bool *stop,
                               struct sluice_error *err)
{
    struct search_rows *rows = ctx;
    const struct idsearch *search = rows->search;
    const char *value = NULL;
    size_t size = 0;

    (void)stop;
    TRY(check_stop(search, err));
    switch (rowfield_find(text, n, search->column, &rows->scratch, &value, &size)) {
    case ROWFIELD_TEXT:
        return take_id(rows, value, size, err);
    case ROWFIELD_NO_JSON:
        return error_set(err, SLUICE_E_DATA, "%s, row %llu is no JSON object; see sluice verify",
                         rows->name, (unsigned long long)rows->row);
    case ROWFIELD_NONE:
    case ROWFIELD_OTHER:
        break;
    }
    return take_id(rows, NULL, 0, err);
}

/* ---- columnar files ---- */

/* The column of that name, or of the part of it before a dot; -1 = there is none. */
static int32_t find_field(const struct schema *schema, const char *path, bool *whole)
{
    int32_t found = schema_find(schema, path);

    *whole = found >= 0;
    for (uint32_t k = 0; found < 0 && k < schema->n; k++) {
        size_t n = strlen(schema->fields[k].name);
        if (strncmp(schema->fields[k].name, path, n) == 0 && path[n] == '.') {
            found = (int32_t)k;
        }
    }
    return found;
}

/* Nested values, and texts that are JSON objects (as json columns are in Parquet). */
static sluice_status take_nested(struct search_rows *rows, const struct field *field,
                                 const struct ArrowArray *array, int64_t at,
                                 struct sluice_error *err)
{
    json_t *value = facts_value(field->type, array, at);
    json_t *inner =
        !json_is_string(value)
            ? NULL
            : json_loadb(json_string_value(value), json_string_length(value), JSON_ALLOW_NUL, NULL);
    json_t *json = json_pack("{s:O}", field->name, inner != NULL ? inner : value);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    bool stop = false;
    sluice_status status =
        text == NULL ? error_nomem(err, "a row") : take_line(rows, text, strlen(text), &stop, err);

    free(text);
    json_decref(json);
    json_decref(inner);
    json_decref(value);
    return status;
}

static sluice_status take_batch(void *ctx, const struct op *op, struct batch *batch, bool *held,
                                struct sluice_error *err)
{
    struct search_rows *rows = ctx;
    const struct schema *schema = &op->out;
    bool whole = false;
    int32_t k = find_field(schema, rows->search->column, &whole);
    const struct ArrowArray *array =
        k < 0 || batch->columns[k] == NULL ? NULL : &batch->columns[k]->array;

    (void)held;
    TRY(check_stop(rows->search, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        int64_t at = batch->rows == NULL ? i : (int64_t)batch->rows[i];
        char buffer[64];
        size_t n = 0;
        if (array == NULL || array_is_null(array, at)) {
            TRY(take_id(rows, NULL, 0, err));
        } else if (!whole) {
            TRY(take_nested(rows, &schema->fields[k], array, at, err));
        } else {
            const char *value = value_text(schema->fields[k].type, array, at, &n, buffer);
            TRY(take_id(rows, value, n, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status read_columns(struct search_rows *rows, const char *path,
                                  struct sluice_error *err)
{
    struct idsearch *search = rows->search;
    const struct chain_observer observer = { .ctx = rows, .given = take_batch };

    if (search->columns == NULL) {
        search->columns = calloc(1, sizeof *search->columns);
        if (search->columns == NULL) {
            return error_nomem(err, "a reader");
        }
    }
    TRY(rowsof_open_file(search->columns, path, err));
    return rowsof_read(search->columns, rows->name, &observer, err);
}

/* ---- files ---- */

bool idsearch_takes(const char *file)
{
    return derive_is_lines(file) || rewrite_takes(file);
}

static sluice_status read_rows(struct search_rows *rows, const char *path, struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    bool stop = false;

    return derive_is_lines(slash == NULL ? path : slash + 1)
               ? lines_read(path, take_line, rows, &stop, err)
               : read_columns(rows, path, err);
}

static sluice_status search_rows(struct idsearch *search, const struct snapshot_shard *shard,
                                 struct idsearch_file *out, struct sluice_error *err)
{
    struct search_rows rows = { .search = search, .name = shard->name };
    char *path = snapshot_shard_path(search->dir, shard);
    sluice_status status = path == NULL ? error_nomem(err, "a path") : read_rows(&rows, path, err);

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
    struct search_rows rows = { .search = search, .name = path };
    sluice_status status = read_rows(&rows, path, err);

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
    if (!idsearch_takes(shard->file)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s can't be searched for ids: JSON Lines can (.jsonl, .jsonl.gz, "
                         ".jsonl.zst), Parquet and Arrow",
                         shard->name);
    }
    return search_rows(search, shard, out, err);
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
    if (search->columns != NULL) {
        rowsof_end(search->columns);
        free(search->columns);
    }
    memset(search, 0, sizeof *search);
}
