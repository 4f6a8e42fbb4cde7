/* Rows that go to folders of their own: see parts.h. What a part writes depends on its own rows
 * and their order alone, and their files are numbered by the names of the folders, so that nothing
 * tells how rows came in batches. */
#include "run/chain/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "run/chain/chainInt.h"

static void part_destroy(struct part *part)
{
    stage_worker_close(part->worker);
    shards_destroy(part->shards);
    buf_deinit(&part->traced);
    free(part->folder);
    free(part->rows);
    free(part);
}

void parts_destroy(struct parts *parts)
{
    if (parts == NULL) {
        return;
    }
    for (uint32_t k = 0; k < parts->n; k++) {
        part_destroy(parts->items[k]);
    }
    shards_codecs_destroy(parts->codecs);
    folders_deinit(&parts->folders);
    buf_deinit(&parts->folder);
    free(parts->touched);
    free(parts->index);
    free(parts->items);
    free(parts);
}

sluice_status parts_open(const struct op *writer, const struct op *from, struct parts **out,
                         struct sluice_error *err)
{
    struct parts *parts;
    sluice_status status;

    *out = NULL;
    if (folders_note(writer) == NULL) {
        return SLUICE_OK;
    }
    if (op_asks(writer)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "stage '%s' asks servers, and notes partitions: a writer can't do both",
                         writer->name);
    }
    parts = calloc(1, sizeof *parts);
    if (parts == NULL) {
        return error_nomem(err, "partitions");
    }
    parts->writer = writer;
    status = folders_init(&parts->folders, writer, from, err);
    if (status == SLUICE_OK) {
        status = shards_codecs_create(writer, &parts->codecs, err);
    }
    if (status != SLUICE_OK) {
        parts_destroy(parts);
        return status;
    }
    *out = parts;
    return SLUICE_OK;
}

/* Where a folder is, or would be, in the index. */
static struct part **find(struct part **index, uint32_t n_index, const char *folder, size_t n)
{
    uint32_t at = (uint32_t)hash_bytes(folder, n).lo & (n_index - 1);

    while (index[at] != NULL &&
           (strlen(index[at]->folder) != n || memcmp(index[at]->folder, folder, n) != 0)) {
        at = (at + 1) & (n_index - 1);
    }
    return &index[at];
}

/* Room for another part: the index is half full at most. */
static sluice_status make_room(struct parts *parts, struct sluice_error *err)
{
    uint32_t capacity = parts->capacity == 0 ? 16 : parts->capacity * 2;
    struct part **items;
    struct part **index;
    uint32_t *touched;

    if (parts->n < parts->capacity) {
        return SLUICE_OK;
    }
    items = realloc(parts->items, capacity * sizeof(struct part *));
    if (items == NULL) {
        return error_nomem(err, "partitions");
    }
    parts->items = items;
    touched = realloc(parts->touched, capacity * sizeof *touched);
    if (touched == NULL) {
        return error_nomem(err, "partitions");
    }
    parts->touched = touched;
    index = calloc(capacity * (size_t)2, sizeof(struct part *));
    if (index == NULL) {
        return error_nomem(err, "partitions");
    }
    for (uint32_t k = 0; k < parts->n; k++) {
        *find(index, capacity * 2, items[k]->folder, strlen(items[k]->folder)) = items[k];
    }
    free(parts->index);
    parts->index = index;
    parts->n_index = capacity * 2;
    parts->capacity = capacity;
    return SLUICE_OK;
}

static sluice_status add_part(struct parts *parts, struct part **out, struct sluice_error *err)
{
    struct part *part;
    sluice_status status;

    if (parts->n >= parts->folders.most) {
        return error_set(err, SLUICE_E_CONFIG,
                         "stage '%s': the rows of one input split fall into more than %u "
                         "partitions ('%.100s' is one more), and each has files open; raise "
                         "max_partitions if so many are meant, or partition by hash(COLUMN, N)",
                         parts->writer->name, (unsigned)parts->folders.most,
                         buf_str(&parts->folder));
    }
    TRY(make_room(parts, err));
    part = calloc(1, sizeof *part);
    if (part == NULL) {
        return error_nomem(err, "partitions");
    }
    part->folder = str_copy(parts->folder.data, parts->folder.size);
    status = part->folder == NULL
                 ? error_nomem(err, "partitions")
                 : shards_open_sharing(parts->writer, parts->codecs, parts->n, &part->shards, err);
    if (status != SLUICE_OK) {
        part_destroy(part);
        return status;
    }
    parts->items[parts->n++] = part;
    *find(parts->index, parts->n_index, part->folder, parts->folder.size) = part;
    *out = part;
    return SLUICE_OK;
}

sluice_status parts_add(struct parts *parts, const char *folder, struct part **out,
                        struct sluice_error *err)
{
    buf_clear(&parts->folder);
    buf_puts(&parts->folder, folder);
    TRY(buf_status(&parts->folder, err));
    if (parts->n > 0 && *find(parts->index, parts->n_index, folder, parts->folder.size) != NULL) {
        return error_set(err, SLUICE_E_DATA, "a partition was saved twice");
    }
    return add_part(parts, out, err);
}

static sluice_status add_row(struct part *part, uint32_t row, struct sluice_error *err)
{
    if (part->n == part->capacity) {
        int64_t capacity = part->capacity == 0 ? 64 : part->capacity * 2;
        uint32_t *rows = realloc(part->rows, (size_t)capacity * sizeof *rows);
        if (rows == NULL) {
            return error_nomem(err, "partitions");
        }
        part->rows = rows;
        part->capacity = capacity;
    }
    part->rows[part->n++] = row;
    return SLUICE_OK;
}

sluice_status parts_assign(struct parts *parts, const struct batch *batch, struct sluice_error *err)
{
    for (uint32_t k = 0; k < parts->n; k++) {
        parts->items[k]->n = 0;
    }
    parts->n_touched = 0;
    for (int64_t k = 0; k < batch->n_rows; k++) {
        int64_t row = batch->rows == NULL ? k : batch->rows[k];
        struct part *part = NULL;
        TRY(folders_of(&parts->folders, batch, row, &parts->folder, err));
        if (parts->n > 0) {
            part = *find(parts->index, parts->n_index, parts->folder.data, parts->folder.size);
        }
        if (part == NULL) {
            TRY(add_part(parts, &part, err));
        }
        TRY(add_row(part, (uint32_t)row, err));
    }
    for (uint32_t k = 0; k < parts->n; k++) {
        if (parts->items[k]->n > 0) {
            parts->touched[parts->n_touched++] = k;
        }
    }
    return SLUICE_OK;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *const *x = a;
    const struct part *const *y = b;

    return strcmp((*x)->folder, (*y)->folder);
}

void parts_sort(struct parts *parts)
{
    if (parts->n > 1) {
        qsort(parts->items, parts->n, sizeof(struct part *), compare_parts);
    }
}
