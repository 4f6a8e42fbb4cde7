/* Text form of commit records (see commit.h), one line:
 *   {"check":"H","format":1,"key":K,"ledger":L,"notes":N,"outputs":[…],"parts":[[name,value]…],
 *    "phase":P,"states":[…]}\n
 * with "task":T behind the states in those of earlier versions.
 * H is the XXH3-128 of all bytes behind `"check":"H",`. */
#include <stdlib.h>
#include <string.h>

#include "store/commitInt.h"
#include "store/jsontext.h"

#define CHECK_START "{\"check\":\""
#define CHECK_BYTES (sizeof CHECK_START - 1 + 32 + 2) /* up to and with the comma */

/* ---- printing ---- */

static sluice_status print_output(const struct commit_output *output, struct buf *out,
                                  struct sluice_error *err)
{
    bool fits;

    buf_puts(out, "{\"bytes\":");
    fits = jsontext_put_u64(out, output->bytes);
    buf_puts(out, ",\"file\":");
    jsontext_put_string(out, output->file);
    buf_puts(out, ",\"hash\":");
    jsontext_put_hash(out, output->hash);
    buf_puts(out, ",\"port\":");
    jsontext_put_string(out, output->port);
    buf_puts(out, ",\"rows\":");
    fits = jsontext_put_u64(out, output->rows) && fits;
    buf_puts(out, "}");
    return fits ? SLUICE_OK
                : error_set(err, SLUICE_E_INTERNAL, "output %s has an impossible size",
                            output->port);
}

/* Members in the order of their names: equal records are equal bytes. */
static sluice_status print_rest(const struct commit *commit, struct buf *out,
                                struct sluice_error *err)
{
    buf_printf(out, "\"format\":%d,\"key\":", COMMIT_FORMAT);
    jsontext_put_hash(out, commit->key);
    buf_puts(out, ",\"ledger\":");
    jsontext_put_value(out, commit->ledger, 0);
    buf_puts(out, ",\"notes\":");
    jsontext_put_value(out, commit->notes, 0);
    buf_puts(out, ",\"outputs\":[");
    for (uint32_t i = 0; i < commit->n_outputs; i++) {
        buf_puts(out, i > 0 ? "," : "");
        TRY(print_output(&commit->outputs[i], out, err));
    }
    buf_puts(out, "],\"parts\":[");
    for (uint32_t i = 0; i < commit->n_parts; i++) {
        buf_puts(out, i > 0 ? ",[" : "[");
        jsontext_put_string(out, commit->parts[i].name);
        buf_putc(out, ',');
        jsontext_put_string(out, commit->parts[i].value);
        buf_putc(out, ']');
    }
    buf_puts(out, "],\"phase\":");
    jsontext_put_string(out, commit->phase);
    buf_puts(out, ",\"states\":[");
    for (uint32_t i = 0; i < commit->n_states; i++) {
        buf_puts(out, i > 0 ? ",{\"data\":\"" : "{\"data\":\"");
        jsontext_put_base64(out, commit->states[i].data, commit->states[i].size);
        buf_puts(out, "\",\"name\":");
        jsontext_put_string(out, commit->states[i].name);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
    if (commit->task[0] != '\0') {
        buf_puts(out, ",\"task\":");
        jsontext_put_string(out, commit->task);
    }
    buf_puts(out, "}\n");
    return SLUICE_OK;
}

sluice_status commit_print(const struct commit *commit, struct buf *out, struct sluice_error *err)
{
    size_t start = out->size;
    char hex[33];

    buf_puts(out, CHECK_START "00000000000000000000000000000000\",");
    TRY(print_rest(commit, out, err));
    TRY(buf_status(out, err));
    hash_hex(hash_bytes(out->data + start + CHECK_BYTES, out->size - start - CHECK_BYTES), hex);
    memcpy(out->data + start + sizeof CHECK_START - 1, hex, 32);
    return SLUICE_OK;
}

/* ---- parsing ---- */

static sluice_status parse_output(const json_t *value, struct commit *commit,
                                  struct sluice_error *err)
{
    struct commit_output output = { 0 };

    if (!jsontext_get_text(value, "port", &output.port) ||
        !jsontext_get_text(value, "file", &output.file) ||
        !jsontext_get_u64(value, "bytes", &output.bytes) ||
        !jsontext_get_u64(value, "rows", &output.rows) ||
        !jsontext_get_hash(value, "hash", &output.hash)) {
        return error_set(err, SLUICE_E_DATA, "an output without port, file, bytes, rows or hash");
    }
    if (output.file[0] != '\0' && !disk_name_valid(output.file)) {
        return error_set(err, SLUICE_E_DATA, "an output whose file has an impossible name");
    }
    return commit_add_output(commit, &output, err);
}

static sluice_status parse_part(const json_t *value, struct commit *commit,
                                struct sluice_error *err)
{
    const char *name = json_string_value(json_array_get(value, 0));
    const char *text = json_string_value(json_array_get(value, 1));

    if (name == NULL || text == NULL || json_array_size(value) != 2) {
        return error_set(err, SLUICE_E_DATA, "a key part that is no pair of texts");
    }
    return commit_add_part(commit, name, text, err);
}

static sluice_status parse_state(const json_t *value, struct commit *commit,
                                 struct sluice_error *err)
{
    const json_t *text = json_object_get(value, "data");
    const char *name;
    unsigned char *data;
    size_t size;
    sluice_status status;

    if (!jsontext_get_text(value, "name", &name) || !json_is_string(text)) {
        return error_set(err, SLUICE_E_DATA, "a state without name or data");
    }
    TRY(jsontext_decode_base64(json_string_value(text), json_string_length(text), &data, &size,
                               err));
    status = commit_add_state(commit, name, data, size, err);
    free(data);
    return status;
}

static sluice_status parse_members(const json_t *root, struct commit **out,
                                   struct sluice_error *err)
{
    static const struct {
        const char *key;
        sluice_status (*parse)(const json_t *, struct commit *, struct sluice_error *);
    } arrays[] = { { "outputs", parse_output },
                   { "parts", parse_part },
                   { "states", parse_state } };
    struct hash128 key;
    uint64_t format;
    const char *phase;
    const char *task = "";

    if (!jsontext_get_u64(root, "format", &format) || format != COMMIT_FORMAT) {
        return error_set(
            err, SLUICE_E_DATA,
            "a commit record of another format than %d; a newer version of Sluice may read it",
            COMMIT_FORMAT);
    }
    if (!jsontext_get_hash(root, "key", &key) || !jsontext_get_text(root, "phase", &phase)) {
        return error_set(err, SLUICE_E_DATA, "a commit record without key or phase");
    }
    if (json_object_get(root, "task") != NULL && !jsontext_get_text(root, "task", &task)) {
        return error_set(err, SLUICE_E_DATA, "a commit record whose task is no text");
    }
    *out = commit_create(key, phase, task);
    if (*out == NULL) {
        return error_nomem(err, "a commit record");
    }
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        json_t *array;
        if (!jsontext_get_array(root, arrays[k].key, &array)) {
            return error_set(err, SLUICE_E_DATA, "a commit record without %s", arrays[k].key);
        }
        for (size_t i = 0; i < json_array_size(array); i++) {
            TRY(arrays[k].parse(json_array_get(array, i), *out, err));
        }
    }
    if (!json_is_null(json_object_get(root, "ledger"))) {
        (*out)->ledger = json_incref(json_object_get(root, "ledger"));
    }
    if (!json_is_null(json_object_get(root, "notes"))) {
        (*out)->notes = json_incref(json_object_get(root, "notes"));
    }
    return SLUICE_OK;
}

sluice_status commit_parse(const char *data, size_t n, struct commit **out,
                           struct sluice_error *err)
{
    json_t *root;
    char hex[33];
    const char *end;
    sluice_status status;

    *out = NULL;
    if (n < CHECK_BYTES || memcmp(data, CHECK_START, sizeof CHECK_START - 1) != 0 ||
        data[CHECK_BYTES - 2] != '"' || data[CHECK_BYTES - 1] != ',') {
        return error_set(err, SLUICE_E_DATA, "no commit record: it does not begin with a check");
    }
    hash_hex(hash_bytes(data + CHECK_BYTES, n - CHECK_BYTES), hex);
    if (memcmp(hex, data + sizeof CHECK_START - 1, 32) != 0) {
        return error_set(err, SLUICE_E_DATA,
                         "its check is not that of its bytes (%s): it was damaged or edited", hex);
    }
    end = memchr(data, '\n', n);
    if (end != NULL && end + 1 != data + n) {
        return error_set(err, SLUICE_E_DATA, "a commit record with more than one line");
    }
    TRY(jsontext_parse(data, n, &root, err));
    status = parse_members(root, out, err);
    json_decref(root);
    if (status != SLUICE_OK) {
        commit_destroy(*out);
        *out = NULL;
    }
    return status;
}
