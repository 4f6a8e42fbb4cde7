/* Names of partitions: see folders.h. */
#include "run/chain/folders.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NOTHING "__HIVE_DEFAULT_PARTITION__"

const char *folders_note(const struct op *writer)
{
    for (uint32_t k = 0; k < op_stage(writer)->n_notes; k++) {
        if (strcmp(op_stage(writer)->notes[k].key, "partition") == 0) {
            return op_stage(writer)->notes[k].json;
        }
    }
    return NULL;
}

uint32_t folders_most(const struct op *writer)
{
    const char *note = folders_note(writer);
    json_t *json = note == NULL ? NULL : json_loads(note, 0, NULL);
    const json_int_t most = json_integer_value(json_object_get(json, "most"));

    json_decref(json);
    return most < 0 || most > UINT32_MAX ? 0 : (uint32_t)most;
}

static void put_escaped(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || strchr("\"#%'*/:=?\\{[]^", c) != NULL) {
            buf_printf(out, "%%%02X", (unsigned)c);
        } else {
            buf_putc(out, text[i]);
        }
    }
}

/* A level of the note. Columns are looked for by name, which the stage has asked for. */
static sluice_status read_level(const struct op *writer, const struct op *from, json_t *json,
                                struct folder_level *level, struct sluice_error *err)
{
    const char *column;
    struct buf prefix = BUF_INIT;
    json_int_t buckets;

    if (json_unpack(json, "{s:s, s:I !}", "column", &column, "buckets", &buckets) != 0 ||
        buckets < 0 || buckets > UINT16_MAX + 1) {
        return error_set(err, SLUICE_E_CONFIG,
                         "stage '%s' notes a partition that is none; expected columns with a "
                         "number of buckets each",
                         writer->name);
    }
    level->slot = schema_find(&from->out, column);
    if (level->slot < 0 || !from->live[level->slot]) {
        return error_set(err, SLUICE_E_SCHEMA,
                         "stage '%s' partitions by the column '%s', which it does not need",
                         writer->name, column);
    }
    level->kind = from->out.fields[level->slot].type->kind;
    level->buckets = (uint32_t)buckets;
    /* A name must not begin with a dot: such files are hidden. */
    buf_puts(&prefix, column[0] == '.' ? "%2E" : "");
    put_escaped(&prefix, column + (column[0] == '.'), strlen(column) - (column[0] == '.'));
    buf_puts(&prefix, buckets > 0 ? "_bucket=" : "=");
    level->prefix = buf_take(&prefix);
    return level->prefix == NULL ? error_nomem(err, "partitions") : SLUICE_OK;
}

sluice_status folders_init(struct folders *folders, const struct op *writer, const struct op *from,
                           struct sluice_error *err)
{
    json_t *json = json_loads(folders_note(writer), 0, NULL);
    json_t *by = NULL;
    json_int_t most = 0;
    sluice_status status = SLUICE_OK;

    memset(folders, 0, sizeof *folders);
    if (json_unpack(json, "{s:o, s:I !}", "by", &by, "most", &most) != 0 || most < 1 ||
        most > UINT32_MAX || json_array_size(by) == 0) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "stage '%s' notes a partition that is none; expected an object with "
                           "`by`, a list of columns, and `most`",
                           writer->name);
    }
    if (status == SLUICE_OK) {
        folders->most = (uint32_t)most;
        folders->levels = calloc(json_array_size(by), sizeof *folders->levels);
        status = folders->levels == NULL ? error_nomem(err, "partitions") : SLUICE_OK;
    }
    for (size_t k = 0; status == SLUICE_OK && k < json_array_size(by); k++) {
        folders->n++;
        status = read_level(writer, from, json_array_get(by, k), &folders->levels[k], err);
    }
    json_decref(json);
    return status;
}

void folders_deinit(struct folders *folders)
{
    for (uint32_t k = 0; k < folders->n; k++) {
        free(folders->levels[k].prefix);
    }
    free(folders->levels);
    memset(folders, 0, sizeof *folders);
}

/* A value's text as it stands in CSV or SQL: in *text, or in `digits`. */
static void value_text(enum type_kind kind, const struct ArrowArray *array, int64_t row,
                       char digits[32], const char **text, size_t *n)
{
    const void *values = array->buffers[1];
    int64_t whole = 0;

    switch (kind) {
    case TYPE_UTF8:
        *text = array_bytes(array, row, n);
        return;
    case TYPE_BOOL:
        *text = (((const uint8_t *)values)[row >> 3] >> (row & 7) & 1) != 0 ? "true" : "false";
        *n = strlen(*text);
        return;
    case TYPE_UINT64:
        *n = (size_t)snprintf(digits, 32, "%" PRIu64, ((const uint64_t *)values)[row]);
        *text = digits;
        return;
    case TYPE_INT8:
        whole = ((const int8_t *)values)[row];
        break;
    case TYPE_INT16:
        whole = ((const int16_t *)values)[row];
        break;
    case TYPE_INT32:
        whole = ((const int32_t *)values)[row];
        break;
    case TYPE_UINT8:
        whole = ((const uint8_t *)values)[row];
        break;
    case TYPE_UINT16:
        whole = ((const uint16_t *)values)[row];
        break;
    case TYPE_UINT32:
        whole = ((const uint32_t *)values)[row];
        break;
    default: /* INT64: the stage asked for one of these kinds */
        whole = ((const int64_t *)values)[row];
        break;
    }
    *n = (size_t)snprintf(digits, 32, "%" PRId64, whole);
    *text = digits;
}

sluice_status folders_of(const struct folders *folders, const struct batch *batch, int64_t row,
                         struct buf *out, struct sluice_error *err)
{
    buf_clear(out);
    for (uint32_t k = 0; k < folders->n; k++) {
        const struct folder_level *level = &folders->levels[k];
        const struct ArrowArray *array = &batch->columns[level->slot]->array;
        const size_t begin = out->size + (k > 0);
        const char *text = "";
        char digits[32];
        size_t n = 0;
        if (!array_is_null(array, row)) {
            value_text(level->kind, array, row, digits, &text, &n);
        }
        buf_puts(out, k > 0 ? "/" : "");
        buf_puts(out, level->prefix);
        if (array_is_null(array, row) || (n == 0 && level->buckets == 0)) {
            buf_puts(out, NOTHING);
        } else if (level->buckets > 0) {
            buf_printf(out, "%u", (unsigned)(hash_bytes(text, n).lo % level->buckets));
        } else {
            put_escaped(out, text, n);
        }
        TRY(buf_status(out, err));
        if (out->size - begin > FOLDER_MOST) {
            return error_set(err, SLUICE_E_CONFIG,
                             "can't call a folder '%.60s…': the name would have %zu bytes, at most "
                             "%d are possible; partition by a hash of the column (hash(COLUMN, "
                             "N)), or by another column",
                             buf_str(out) + begin, out->size - begin, FOLDER_MOST);
        }
    }
    return SLUICE_OK;
}
