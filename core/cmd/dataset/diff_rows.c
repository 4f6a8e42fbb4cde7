/* Rows of two snapshots by their key (sluice diff): all rows of both are read, and of each its key,
 * the hash of its line and the length of its text are kept and sorted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/diffInt.h"
#include "cmd/look/field.h"
#include "cmd/look/lines.h"
#include "cmd/look/rowsof.h"
#include "run/facts/facts.h"
#include "store/derive.h"

#define EXAMPLES_MOST 5u

struct row {
    const char *key; /* in the arena: as JSON */
    uint64_t hash;   /* of its line */
};

struct side_rows {
    const struct diff_side *side;
    const char *key, *column;
    struct arena arena;
    struct row *items;
    uint64_t n, capacity;
    uint64_t *lengths; /* bytes of the texts that there are */
    uint64_t n_lengths, lengths_capacity;
    const struct snapshot_shard *shard;
    uint64_t at;           /* row of the shard */
    struct rowsof columns; /* reads what is no JSON Lines */
};

static sluice_status take_length(struct side_rows *rows, const json_t *value,
                                 struct sluice_error *err)
{
    if (!json_is_string(value)) {
        return SLUICE_OK;
    }
    if (rows->n_lengths == rows->lengths_capacity) {
        uint64_t capacity = rows->lengths_capacity == 0 ? 1024 : rows->lengths_capacity * 2;
        uint64_t *more = realloc(rows->lengths, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "rows");
        }
        rows->lengths = more;
        rows->lengths_capacity = capacity;
    }
    rows->lengths[rows->n_lengths++] = json_string_length(value);
    return SLUICE_OK;
}

static sluice_status take_row(void *ctx, const char *text, size_t n, bool *stop,
                              struct sluice_error *err)
{
    struct side_rows *rows = ctx;
    json_error_t place;
    json_t *row = json_loadb(text, n, JSON_DECODE_ANY, &place);
    const json_t *value = row == NULL ? NULL : field_find(row, rows->key);
    char *key =
        value == NULL ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    sluice_status status = SLUICE_OK;

    (void)stop;
    if (key == NULL) {
        status = row == NULL
                     ? error_set(err, SLUICE_E_DATA,
                                 "%s, row %" PRIu64 " is no JSON: %s; see sluice verify",
                                 rows->shard->name, rows->at, place.text)
                     : error_set(err, SLUICE_E_DATA,
                                 "%s, row %" PRIu64 " has no field '%s', by which rows are to be "
                                 "compared; give another --key",
                                 rows->shard->name, rows->at, rows->key);
    } else if (rows->n == rows->capacity) {
        uint64_t capacity = rows->capacity == 0 ? 1024 : rows->capacity * 2;
        struct row *more = realloc(rows->items, capacity * sizeof *more);
        status = more == NULL ? error_nomem(err, "rows") : SLUICE_OK;
        rows->items = more == NULL ? rows->items : more;
        rows->capacity = more == NULL ? rows->capacity : capacity;
    }
    if (status == SLUICE_OK) {
        rows->items[rows->n++] =
            (struct row){ arena_copy(&rows->arena, key, strlen(key)), hash_bytes(text, n).lo };
        rows->at++;
        status = arena_status(&rows->arena, err, "rows");
    }
    if (status == SLUICE_OK) {
        status = take_length(rows, field_find(row, rows->column), err);
    }
    free(key);
    json_decref(row);
    return status;
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int by_length(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static sluice_status read_file(struct side_rows *rows, const char *path, struct sluice_error *err)
{
    bool stop = false;

    if (derive_is_lines(rows->shard->file)) {
        return lines_read(path, take_row, rows, &stop, err);
    }
    if (rowsof_reader(rows->shard->file) == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is no JSON Lines, Parquet, Arrow or CSV, whose rows --key can compare",
                         rows->shard->name);
    }
    return rowsof_lines(&rows->columns, path, take_row, rows, err);
}

static sluice_status read_side(struct side_rows *rows, struct sluice_error *err)
{
    const struct snapshot *s = rows->side->snapshot;

    for (uint32_t i = 0; i < s->n_shards; i++) {
        char *path;
        sluice_status status;
        rows->shard = &s->shards[i];
        rows->at = 0;
        path = snapshot_shard_path(rows->side->dir, rows->shard);
        status = path == NULL ? error_nomem(err, "a path") : read_file(rows, path, err);
        free(path);
        TRY(status);
        if (rows->at != rows->shard->rows) {
            return error_set(err, SLUICE_E_DATA,
                             "%s has %" PRIu64 " rows, the manifest says %" PRIu64
                             "; see sluice verify",
                             rows->shard->name, rows->at, rows->shard->rows);
        }
    }
    if (rows->n > 1) {
        qsort(rows->items, rows->n, sizeof *rows->items, by_key);
    }
    if (rows->n_lengths > 1) {
        qsort(rows->lengths, rows->n_lengths, sizeof *rows->lengths, by_length);
    }
    return SLUICE_OK;
}

static void side_deinit(struct side_rows *rows)
{
    rowsof_end(&rows->columns);
    arena_deinit(&rows->arena);
    free(rows->items);
    free(rows->lengths);
}

/* ---- comparing ---- */

static uint64_t repeated(const struct side_rows *rows)
{
    uint64_t n = 0;

    for (uint64_t i = 1; i < rows->n; i++) {
        n += strcmp(rows->items[i].key, rows->items[i - 1].key) == 0;
    }
    return n;
}

static void count(json_t *examples, const char *what, const struct row *row, uint64_t *n)
{
    json_t *list = json_object_get(examples, what);

    if (++*n <= EXAMPLES_MOST) {
        json_array_append_new(list, json_loads(row->key, JSON_DECODE_ANY, NULL));
    }
}

static json_t *compare(const struct side_rows *a, const struct side_rows *b)
{
    json_t *examples = json_pack("{s:[], s:[], s:[]}", "changed", "added", "removed");
    uint64_t same = 0;
    uint64_t changed = 0;
    uint64_t added = 0;
    uint64_t removed = 0;
    uint64_t i = 0;
    uint64_t k = 0;

    while (i < a->n || k < b->n) {
        int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->items[i].key, b->items[k].key);
        if (order < 0) {
            count(examples, "removed", &a->items[i], &removed);
        } else if (order > 0) {
            count(examples, "added", &b->items[k], &added);
        } else if (a->items[i].hash != b->items[k].hash) {
            count(examples, "changed", &b->items[k], &changed);
        } else {
            same++;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "key",
                     facts_text(a->key, strlen(a->key)), "same", (json_int_t)same, "changed",
                     (json_int_t)changed, "added", (json_int_t)added, "removed",
                     (json_int_t)removed, "repeated", (json_int_t)(repeated(a) + repeated(b)),
                     "examples", examples);
}

static json_t *lengths_json(const struct side_rows *rows)
{
    static const struct {
        const char *name;
        uint64_t percent;
    } points[] = { { "p10", 10 }, { "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "most", 100 } };
    uint64_t bytes = 0;
    json_t *json;

    for (uint64_t i = 0; i < rows->n_lengths; i++) {
        bytes += rows->lengths[i];
    }
    json = json_pack("{s:I, s:I}", "rows", (json_int_t)rows->n_lengths, "bytes", (json_int_t)bytes);
    for (size_t k = 0; rows->n_lengths > 0 && k < sizeof points / sizeof *points; k++) {
        uint64_t at = (rows->n_lengths - 1) * points[k].percent / 100;
        json_object_set_new(json, points[k].name, json_integer((json_int_t)rows->lengths[at]));
    }
    return json;
}

sluice_status diff_rows(const struct diff_side *a, const struct diff_side *b, const char *key,
                        const char *column, json_t **rows, json_t **lengths,
                        struct sluice_error *err)
{
    struct side_rows one = { .side = a, .key = key, .column = column };
    struct side_rows two = { .side = b, .key = key, .column = column };
    sluice_status status = read_side(&one, err);

    if (status == SLUICE_OK) {
        status = read_side(&two, err);
    }
    if (status == SLUICE_OK) {
        *rows = compare(&one, &two);
        *lengths = json_pack("{s:o, s:o, s:o}", "column", facts_text(column, strlen(column)), "a",
                             lengths_json(&one), "b", lengths_json(&two));
        status = *rows == NULL || *lengths == NULL ? error_nomem(err, "facts") : SLUICE_OK;
    }
    side_deinit(&one);
    side_deinit(&two);
    return status;
}
