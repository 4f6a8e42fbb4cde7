/* Columnar files written again: see rewrite.h. */
#include "cmd/dataset/rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common.h"
#include "cmd/look/rowsof.h"
#include "cmd/scripted.h"
#include "store/store.h"
#include "store/temp.h"

/* The stage that writes files of this stored name; NULL: they are not written again. */
static const char *writer_of(const char *file)
{
    static const char *const writers[][2] = { { ".parquet", "write_parquet" },
                                              { ".arrow", "write_arrow" },
                                              { ".arrows", "write_arrow" } };

    for (size_t k = 0; k < sizeof writers / sizeof writers[0]; k++) {
        if (strcmp(derive_suffix(file), writers[k][0]) == 0) {
            return writers[k][1];
        }
    }
    return NULL;
}

bool rewrite_takes(const char *file)
{
    return writer_of(file) != NULL;
}

/* ---- the script ---- */

static void put_value(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        scripted_text(out, json_string_value(value));
    } else if (json_is_array(value)) {
        buf_puts(out, "{");
        for (size_t i = 0; i < json_array_size(value); i++) {
            put_value(out, json_array_get(value, i));
            buf_puts(out, ",");
        }
        buf_puts(out, "}");
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_puts(out, text == NULL ? "nil" : text);
        free(text);
    }
}

static bool is_listed(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_is_string(json_array_get(list, i)) &&
            strcmp(json_string_value(json_array_get(list, i)), name) == 0) {
            return true;
        }
    }
    return false;
}

/* The columns of the option, but those whose values name folders: no file has them. */
static json_t *columns_left(const json_t *options, const json_t *columns)
{
    const json_t *folders = json_object_get(options, "partition_by");
    json_t *left = json_array();

    for (size_t i = 0; i < json_array_size(columns); i++) {
        json_t *name = json_array_get(columns, i);
        if (json_is_true(json_object_get(options, "keep_partitions")) ||
            !is_listed(folders, json_string_value(name))) {
            json_array_append(left, name);
        }
    }
    return left;
}

/* What says how rows stand in a file; where files end and what they are called is said here. */
static void put_options(struct buf *out, const struct snapshot *s, const char *writer)
{
    static const char *const taken[] = { "compression", "level",     "row_group",  "page",
                                         "bloom",       "sorted_by", "dictionary", "batch" };
    const json_t *said = json_object_get(s->lineage, "writer");
    const char *stage = json_string_value(json_object_get(said, "stage"));
    const json_t *options = json_object_get(said, "options");

    if (stage == NULL || strcmp(stage, writer) != 0) {
        return; /* a manifest of before: as is the default */
    }
    for (size_t k = 0; k < sizeof taken / sizeof taken[0]; k++) {
        const json_t *value = json_object_get(options, taken[k]);
        if (value != NULL) {
            buf_printf(out, ", %s = ", taken[k]);
            put_value(out, value);
        }
    }
    if (json_object_get(options, "columns") != NULL) {
        json_t *columns = columns_left(options, json_object_get(options, "columns"));
        buf_puts(out, ", columns = ");
        put_value(out, columns);
        json_decref(columns);
    }
}

/* Rows are counted, and those of the list left out. */
static void put_gone(struct buf *out, const struct removal_shard *gone)
{
    buf_puts(out, "local gone = {");
    for (uint64_t k = 0; k < gone->n; k++) {
        buf_printf(out, "[%llu]=true,", (unsigned long long)gone->rows[k]);
    }
    buf_puts(out,
             "}\nlocal row = -1\nlocal function left(doc)\n  row = row + 1\n  if gone[row] then "
             "return \"removed\" end\nend\n");
}

struct again {
    const char *dir; /* of the dataset */
    const struct snapshot *snapshot;
    const struct snapshot_shard *shards;
    uint32_t n;
    const struct removal_shard *gone; /* of the only one, or NULL */
    char *work;
};

/* Files are read in the order of their names: a member has one that says its place. It is a link,
 * or a copy of what is no file of this machine. */
static sluice_status place(const struct again *again, uint32_t i, struct buf *script,
                           struct sluice_error *err)
{
    char *path = snapshot_shard_path(again->dir, &again->shards[i]);
    char *here =
        str_printf("%s/%08u%s", again->work, (unsigned)i, derive_suffix(again->shards[i].file));
    sluice_status status = path == NULL || here == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK && !store_is_local(path)) {
        struct buf bytes = BUF_INIT;
        status = store_read_all(path, again->shards[i].bytes, &bytes, NULL, err);
        if (status == SLUICE_OK) {
            status = common_write(here, bytes.data, bytes.size, err);
        }
        buf_deinit(&bytes);
    } else if (status == SLUICE_OK && symlink(path, here) != 0) {
        status = error_errno(err, errno, "can't make the link %s", here);
    }
    if (status == SLUICE_OK) {
        scripted_text(script, here);
        buf_puts(script, ", ");
    }
    free(path);
    free(here);
    return status;
}

/* made: the dataset that it writes. */
static sluice_status write_script(const struct again *again, const char *made, struct buf *out,
                                  struct sluice_error *err)
{
    const char *file = again->shards[0].file;
    const char *reader = rowsof_reader(file);
    const char *writer = writer_of(file);

    buf_puts(out, "local s = require \"sluice\"\n");
    if (again->gone != NULL) {
        put_gone(out, again->gone);
    }
    buf_puts(out, "local rows = s.files {");
    for (uint32_t i = 0; i < again->n; i++) {
        TRY(place(again, i, out, err));
    }
    buf_printf(out, "split = \"1TiB\"} | s.%s { as_is = true%s }\n", reader,
               strcmp(reader, "read_parquet") == 0 ? ", partitions = false" : "");
    if (again->gone != NULL) {
        buf_puts(out, "rows = rows | s.filter { \"left\", left, run = \"ordered\" }\n");
    }
    buf_puts(out, "return s.pipeline { \"rewrite\", max_bad = 0, rows | s.");
    buf_printf(out, "%s { ", writer);
    scripted_text(out, made);
    buf_puts(out, ", shard_size = \"1000TB\"");
    buf_puts(out, strcmp(derive_suffix(file), ".arrows") == 0 ? ", layout = \"stream\"" : "");
    put_options(out, again->snapshot, writer);
    buf_puts(out, " } }\n");
    return buf_status(out, err);
}

/* ---- the run ---- */

/* The rows that must be in the one file that was made, and its bytes. */
static sluice_status take(const struct again *again, uint64_t rows, struct pending *pending,
                          struct sluice_error *err)
{
    struct snapshot *made = NULL;
    struct store_file *file = NULL;
    char *dir = store_join(again->work, "made");
    char *path = NULL;
    sluice_status status =
        dir == NULL ? error_nomem(err, "a path") : snapshot_open(dir, 0, &made, err);

    if (status == SLUICE_OK && (made->n_shards != 1 || made->rows != rows)) {
        status = error_set(
            err, SLUICE_E_DATA, "%s: %llu rows came out of it, expected %llu; see sluice verify",
            again->shards[0].name, (unsigned long long)made->rows, (unsigned long long)rows);
    }
    if (status == SLUICE_OK) {
        path = snapshot_shard_path(dir, &made->shards[0]);
        status = path == NULL ? error_nomem(err, "a path") : store_open(path, &file, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = store_pieces(file, pending_piece, pending, err);
    }
    store_close(file);
    free(path);
    free(dir);
    snapshot_destroy(made);
    return status;
}

static sluice_status run(const struct again *again, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    char *made = store_join(again->work, "made");
    sluice_status status =
        made == NULL ? error_nomem(err, "a path") : write_script(again, made, &text, err);

    if (status == SLUICE_OK) {
        status = scripted_run(again->work, "rewrite", &text, 0, err);
    }
    buf_deinit(&text);
    free(made);
    return status;
}

static sluice_status write_again(struct again *again, uint64_t rows, struct pending *pending,
                                 struct sluice_error *err)
{
    struct sluice_error removal = ERROR_INIT;
    const char *name;
    char *folder =
        store_is_local(again->dir) ? store_parent(again->dir, &name) : realpath(".", NULL);
    sluice_status status =
        folder == NULL ? error_nomem(err, "a path") : temp_folder(folder, &again->work, err);

    free(folder);
    if (status == SLUICE_OK) {
        status = run(again, err);
    }
    if (status == SLUICE_OK) {
        status = take(again, rows, pending, err);
    }
    if (again->work != NULL && temp_remove(again->work, &removal) != SLUICE_OK &&
        status == SLUICE_OK) {
        status = error_set(err, removal.code, "%s", removal.message);
    }
    free(again->work);
    return status;
}

sluice_status rewrite_without(const char *dataset_dir, const struct snapshot *s,
                              const struct snapshot_shard *shard, const struct removal_shard *gone,
                              struct pending *pending, struct sluice_error *err)
{
    struct again again = {
        .dir = dataset_dir, .snapshot = s, .shards = shard, .n = 1, .gone = gone
    };

    return write_again(&again, shard->rows - gone->n, pending, err);
}

sluice_status rewrite_joined(const char *dataset_dir, const struct snapshot *s,
                             const struct snapshot_shard *shards, uint32_t n,
                             struct pending *pending, struct sluice_error *err)
{
    struct again again = { .dir = dataset_dir, .snapshot = s, .shards = shards, .n = n };
    uint64_t rows = 0;

    for (uint32_t i = 0; i < n; i++) {
        rows += shards[i].rows;
    }
    return write_again(&again, rows, pending, err);
}
