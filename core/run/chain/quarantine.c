/* Kept rows: see quarantine.h. */
#include "run/chain/quarantine.h"

#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "store/saved.h"
#include "store/pending.h"
#include "store/store.h"

#define HEAD_MAX 65536u

/* ---- keeping ---- */

static void name_row(struct hash128 task_key, const char *stage, uint64_t row, char name[33])
{
    struct buf text = BUF_INIT;
    char key[33];

    hash_hex(task_key, key);
    buf_printf(&text, "%s %s %llu", key, stage, (unsigned long long)row);
    hash_hex(hash_bytes(buf_str(&text), text.size), name);
    name[16] = '\0'; /* for people to type */
    buf_deinit(&text);
}

static const struct schema *input_schema(const struct quarantine_row *row)
{
    return &phase_input(row->phase, row->op, 0)->out;
}

static json_t *head_json(const struct quarantine_row *row)
{
    const struct schema *schema = input_schema(row);
    const struct registry_entry *entry = stage_entry(op_code(row->op)->stage);
    json_t *columns = json_array();
    json_t *head = NULL;
    char buffer[SPLIT_NAME];
    char *kind = str_printf("%s.%s", entry->plugin_name, entry->stage.name);

    for (uint32_t k = 0; columns != NULL && k < op_stage(row->op)->n_need[0]; k++) {
        int32_t slot = op_stage(row->op)->need[0][k];
        char *type = slot < 0 ? NULL : type_print(schema->fields[slot].type);
        json_array_append_new(columns,
                              slot < 0 ? json_null()
                                       : json_pack("{s:s, s:s}", "name", schema->fields[slot].name,
                                                   "type", type == NULL ? "" : type));
        free(type);
    }
    head = json_pack("{s:i, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:O}", "format", QUARANTINE_FORMAT,
                     "stage", row->op->name, "kind", kind == NULL ? "" : kind, "phase",
                     row->phase->name, "task", phase_task_name(row->phase, row->task, buffer),
                     "row", (json_int_t)row->row, "reason", row->reason, "detail", row->detail,
                     "columns", columns);
    json_decref(columns);
    free(kind);
    return head;
}

/* The file: a line of the head with the task's key, then the frame. */
static sluice_status file_bytes(const struct quarantine_item *item, struct hash128 task_key,
                                struct buf *out, struct sluice_error *err)
{
    char key[33];
    char *text = NULL;
    bool good;

    hash_hex(task_key, key);
    good = json_object_set_new(item->head, "task_key", json_string(key)) == 0 &&
           (text = json_dumps(item->head, JSON_COMPACT | JSON_SORT_KEYS)) != NULL;
    if (good) {
        buf_puts(out, text);
        buf_putc(out, '\n');
        buf_append(out, item->frame.data, item->frame.size);
    }
    free(text);
    return good ? buf_status(out, err) : error_nomem(err, "a quarantined row");
}

/* Appends the row's frame. */
static sluice_status encode_row(const struct quarantine_row *row, const struct batch *batch,
                                uint32_t at, struct buf *out, struct sluice_error *err)
{
    const struct schema *schema = input_schema(row);
    uint32_t n = op_stage(row->op)->n_need[0];
    struct column **columns = calloc(n + 1u, sizeof(struct column *));
    const struct type **types = calloc(n + 1u, sizeof(const struct type *));
    struct frame_codec *codec = frame_codec_create();
    struct batch *all = NULL;
    struct batch *one = NULL;
    uint32_t used = 0;
    sluice_status status = SLUICE_OK;

    if (columns == NULL || types == NULL || codec == NULL) {
        status = error_nomem(err, "a quarantined row");
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < n; k++) {
        int32_t slot = op_stage(row->op)->need[0][k];
        if (slot >= 0) {
            columns[used] = column_ref(batch->columns[slot]);
            types[used++] = schema->fields[slot].type;
        }
    }
    if (status == SLUICE_OK) {
        all = batch_create(batch->length, used, columns);
        one = all == NULL ? NULL : batch_select(all, &at, 1);
        status = one == NULL ? error_nomem(err, "a quarantined row")
                             : frame_encode(codec, one, types, out, err);
    }
    batch_unref(one);
    batch_unref(all);
    frame_codec_destroy(codec);
    free(columns);
    free(types);
    return status;
}

static void item_deinit(struct quarantine_item *item)
{
    json_decref(item->head);
    buf_deinit(&item->frame);
}

sluice_status quarantine_add(struct kept_rows *kept, const struct quarantine_row *row,
                             const struct batch *batch, uint32_t at, struct sluice_error *err)
{
    struct quarantine_item *item;
    json_t *head;
    sluice_status status;

    if (kept->n == QUARANTINE_ROWS_MAX || kept->bytes >= QUARANTINE_BYTES_MAX ||
        (op_declared(row->op)->flags & SLUICE_STAGE_SIDE_INPUT) != 0) {
        return SLUICE_OK;
    }
    if (kept->items == NULL) {
        kept->items = calloc(QUARANTINE_ROWS_MAX, sizeof *kept->items);
    }
    head = head_json(row);
    if (kept->items == NULL || head == NULL) {
        json_decref(head);
        return error_nomem(err, "a quarantined row");
    }
    item = &kept->items[kept->n];
    *item = (struct quarantine_item){ .head = head, .stage = row->op->name, .row = row->row };
    status = encode_row(row, batch, at, &item->frame, err);
    if (status == SLUICE_OK) {
        status = buf_status(&item->frame, err);
    }
    if (status != SLUICE_OK || kept->bytes + item->frame.size > QUARANTINE_BYTES_MAX) {
        item_deinit(item);
        return status;
    }
    kept->bytes += item->frame.size;
    kept->n++;
    return SLUICE_OK;
}

sluice_status quarantine_write(const struct kept_rows *kept, struct hash128 task_key,
                               const char *run_dir, struct sluice_error *err)
{
    char *folder;
    sluice_status status = SLUICE_OK;

    if (kept->n == 0) {
        return SLUICE_OK;
    }
    folder = store_join(run_dir, QUARANTINE_FOLDER);
    status = folder == NULL ? error_nomem(err, "a path") : store_make_folder(folder, true, err);
    for (size_t k = 0; status == SLUICE_OK && k < kept->n; k++) {
        struct published published;
        const struct quarantine_item *item = &kept->items[k];
        struct buf bytes = BUF_INIT;
        char name[33];
        name_row(task_key, item->stage, item->row, name);
        status = file_bytes(item, task_key, &bytes, err);
        if (status == SLUICE_OK) {
            status = pending_put(folder, name, bytes.data, bytes.size, 0, &published, err);
        }
        buf_deinit(&bytes);
    }
    free(folder);
    return status;
}

sluice_status quarantine_save(const struct kept_rows *kept, struct saved *out,
                              struct sluice_error *err)
{
    saved_put(out, kept->n);
    for (size_t k = 0; k < kept->n; k++) {
        const struct quarantine_item *item = &kept->items[k];
        char *head = json_dumps(item->head, JSON_COMPACT | JSON_SORT_KEYS);
        if (head == NULL) {
            return error_nomem(err, "a quarantined row");
        }
        saved_put_bytes(out, item->stage, strlen(item->stage));
        saved_put(out, item->row);
        saved_put_bytes(out, head, strlen(head));
        saved_put_bytes(out, item->frame.data, item->frame.size);
        free(head);
    }
    return saved_status(out, err);
}

static sluice_status restore_item(struct quarantine_item *item, const struct phase *phase,
                                  struct restored *in, struct sluice_error *err)
{
    struct buf text = BUF_INIT;

    restored_get_bytes(in, HEAD_MAX, &text);
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (strcmp(phase->ops[i]->name, buf_str(&text)) == 0) {
            item->stage = phase->ops[i]->name;
        }
    }
    item->row = restored_get(in, UINT64_MAX);
    restored_get_bytes(in, HEAD_MAX * 16, &text);
    item->head = json_loadb(buf_str(&text), text.size, 0, NULL);
    restored_get_bytes(in, QUARANTINE_BYTES_MAX, &item->frame);
    if (item->stage == NULL || !json_is_object(item->head)) {
        restored_refuse(in, "a kept row of no stage");
    }
    buf_deinit(&text);
    return restored_status(in, err);
}

sluice_status quarantine_restore(struct kept_rows *kept, const struct phase *phase,
                                 struct restored *in, struct sluice_error *err)
{
    size_t n = (size_t)restored_get(in, QUARANTINE_ROWS_MAX);

    if (n > 0 && kept->items == NULL) {
        kept->items = calloc(QUARANTINE_ROWS_MAX, sizeof *kept->items);
        if (kept->items == NULL) {
            return error_nomem(err, "a quarantined row");
        }
    }
    for (kept->n = 0; kept->n < n;) {
        struct quarantine_item *item = &kept->items[kept->n++];
        TRY(restore_item(item, phase, in, err));
        kept->bytes += item->frame.size;
    }
    return restored_status(in, err);
}

void quarantine_deinit(struct kept_rows *kept)
{
    for (size_t k = 0; k < kept->n; k++) {
        item_deinit(&kept->items[k]);
    }
    free(kept->items);
    memset(kept, 0, sizeof *kept);
}

/* ---- reading ---- */

static bool take_text(const json_t *head, const char *name, char **out)
{
    const char *text = json_string_value(json_object_get(head, name));

    *out = text == NULL ? NULL : str_copy(text, strlen(text));
    return *out != NULL;
}

static bool take_columns(const json_t *columns, struct quarantined *out)
{
    size_t n = json_array_size(columns);

    if (!json_is_array(columns) || n > 4096) {
        return false;
    }
    out->names = calloc(n + 1, sizeof *out->names);
    out->types = calloc(n + 1, sizeof *out->types);
    if (out->names == NULL || out->types == NULL) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        const json_t *column = json_array_get(columns, k);
        const char *type = json_string_value(json_object_get(column, "type"));
        out->n_columns++;
        if (json_is_null(column)) {
            continue;
        }
        if (type == NULL || !take_text(column, "name", &out->names[k]) ||
            type_parse(type, &out->types[k], NULL) != SLUICE_OK || !type_supported(out->types[k])) {
            return false;
        }
    }
    return true;
}

static sluice_status read_frame(const char *data, size_t n, struct quarantined *out,
                                struct sluice_error *err)
{
    const struct type **types = calloc(out->n_columns + 1u, sizeof(const struct type *));
    struct frame_codec *codec = frame_codec_create();
    uint32_t used = 0;
    sluice_status status = SLUICE_OK;

    if (types == NULL || codec == NULL) {
        status = error_nomem(err, "a quarantined row");
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < out->n_columns; k++) {
        if (out->types[k] != NULL) {
            types[used++] = out->types[k];
        }
    }
    if (status == SLUICE_OK) {
        status = frame_decode(codec, data, n, used, types, 0, &out->batch, err);
    }
    if (status == SLUICE_OK && out->batch->length != 1) {
        status = error_set(err, SLUICE_E_DATA, "it has %lld rows, expected 1",
                           (long long)out->batch->length);
    }
    frame_codec_destroy(codec);
    free(types);
    return status;
}

sluice_status quarantine_read(const char *path, bool head_only, struct quarantined *out,
                              struct sluice_error *err)
{
    struct buf bytes = BUF_INIT;
    bool found = false;
    const char *end;
    json_t *head = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    status = store_read_all(path, 2 * QUARANTINE_BYTES_MAX, &bytes, &found, err);
    if (status == SLUICE_OK && !found) {
        status = error_set(
            err, SLUICE_E_CONFIG,
            "%s is not there; `sluice why RUN --quarantine` lists the rows in quarantine, and "
            "where each is kept",
            path);
    }
    if (status == SLUICE_OK) {
        end = bytes.size == 0
                  ? NULL
                  : memchr(bytes.data, '\n', bytes.size < HEAD_MAX ? bytes.size : HEAD_MAX);
        head = end == NULL ? NULL : json_loadb(bytes.data, (size_t)(end - bytes.data), 0, NULL);
        if (json_integer_value(json_object_get(head, "format")) != QUARANTINE_FORMAT ||
            !take_text(head, "stage", &out->stage) || !take_text(head, "kind", &out->kind) ||
            !take_text(head, "phase", &out->phase) || !take_text(head, "task", &out->task) ||
            !take_text(head, "task_key", &out->task_key) ||
            !take_text(head, "reason", &out->reason) || !take_text(head, "detail", &out->detail) ||
            !take_columns(json_object_get(head, "columns"), out)) {
            status = error_set(err, SLUICE_E_DATA,
                               "%s is no quarantined row that this version knows", path);
        } else {
            out->row = (uint64_t)json_integer_value(json_object_get(head, "row"));
        }
        if (status == SLUICE_OK && !head_only) {
            end++;
            status = read_frame(end, bytes.size - (size_t)(end - bytes.data), out, err);
            if (status != SLUICE_OK) {
                (void)error_prefix(err, "%s is damaged", path);
            }
        }
    }
    json_decref(head);
    buf_deinit(&bytes);
    return status;
}

void quarantined_deinit(struct quarantined *row)
{
    for (uint32_t k = 0; k < row->n_columns; k++) {
        free(row->names[k]);
        type_destroy(row->types[k]);
    }
    free(row->names);
    free(row->types);
    free(row->stage);
    free(row->kind);
    free(row->phase);
    free(row->task);
    free(row->task_key);
    free(row->reason);
    free(row->detail);
    batch_unref(row->batch);
    memset(row, 0, sizeof *row);
}

char *quarantine_path(const char *run_dir, struct hash128 task_key, const char *stage, uint64_t row)
{
    char name[33];
    char *path;
    uint64_t bytes;
    bool found = false;

    name_row(task_key, stage, row, name);
    path = str_printf("%s/" QUARANTINE_FOLDER "/%s", run_dir, name);
    if (path != NULL && (store_size(path, &bytes, &found, NULL) != SLUICE_OK || !found)) {
        free(path);
        path = NULL;
    }
    return path;
}
