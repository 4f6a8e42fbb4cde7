/* Text form of commit records (see commit.h):
 *   {"check":"H","format":1,"key":K,"ledger":L,"notes":N,"outputs":[…],"parts":[[name,value]…],
 *    "phase":P,"states":[…],"task":T}\n    (all on one line)
 * H is the XXH3-128 of all bytes behind `"check":"H",`. An output with "partitions":N has its
 * partition directory on a line of its own behind, in the order of the outputs, so that a large one
 * is not read as JSON: "BASE64"\n (thus the whole is a stream of JSON values for other tools). It
 * is base64 of one entry after another; an entry is LEB128 numbers: bytes << 2 | has_rows << 1 |
 * has_offset, then offset if it isn't the end of the entry before, then rows and 16 bytes of hash
 * (lo, hi, little-endian) unless all of them are zero, as they are for empty partitions: one byte
 * each. */
#include <stdlib.h>
#include <string.h>

#include "store/commitInt.h"
#include "store/jsontext.h"

#define CHECK_START "{\"check\":\""
#define CHECK_BYTES (sizeof CHECK_START - 1 + 32 + 2) /* up to and with the comma */

/* ---- partition directories ---- */

static void put_varint(struct buf *out, uint64_t n)
{
    while (n >= 0x80) {
        buf_putc(out, (char)(unsigned char)(n | 0x80));
        n >>= 7;
    }
    buf_putc(out, (char)(unsigned char)n);
}

static void put_word(struct buf *out, uint64_t n)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(n >> (8 * i));
    }
    buf_append(out, bytes, sizeof bytes);
}

static sluice_status pack_partitions(const struct commit_output *output, struct buf *out,
                                     struct sluice_error *err)
{
    uint64_t expected = 0;

    for (uint32_t i = 0; i < output->n_partitions; i++) {
        const struct commit_partition *p = &output->partitions[i];
        bool rows = p->rows > 0 || !hash_is_zero(p->hash);
        bool offset = p->offset != expected;
        if (p->bytes > INT64_MAX / 2 || p->offset > INT64_MAX - p->bytes) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "partition %u of output %s has an impossible place", (unsigned)i,
                             output->port);
        }
        put_varint(out, p->bytes << 2 | (uint64_t)rows << 1 | (uint64_t)offset);
        if (offset) {
            put_varint(out, p->offset);
        }
        if (rows) {
            put_varint(out, p->rows);
            put_word(out, p->hash.lo);
            put_word(out, p->hash.hi);
        }
        expected = p->offset + p->bytes;
    }
    return SLUICE_OK;
}

struct packed {
    const unsigned char *p;
    const unsigned char *end;
};

static bool get_varint(struct packed *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && in->p < in->end; shift += 7) {
        unsigned char byte = *in->p++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return byte != 0 || shift == 0; /* one text for one number: no empty high groups */
        }
    }
    return false;
}

static bool get_word(struct packed *in, uint64_t *out)
{
    if (in->end - in->p < 8) {
        return false;
    }
    *out = 0;
    for (int i = 7; i >= 0; i--) {
        *out = *out << 8 | in->p[i];
    }
    in->p += 8;
    return true;
}

static bool get_partition(struct packed *in, uint64_t *expected, struct commit_partition *out)
{
    uint64_t head;

    memset(out, 0, sizeof *out);
    if (!get_varint(in, &head)) {
        return false;
    }
    out->bytes = head >> 2;
    out->offset = *expected;
    if ((head & 1) != 0 && !get_varint(in, &out->offset)) {
        return false;
    }
    if ((head & 2) != 0 && (!get_varint(in, &out->rows) || !get_word(in, &out->hash.lo) ||
                            !get_word(in, &out->hash.hi))) {
        return false;
    }
    if (out->bytes > INT64_MAX / 2 || out->offset > INT64_MAX - out->bytes) {
        return false;
    }
    *expected = out->offset + out->bytes;
    return true;
}

/* The lines behind the record's first one that are not used yet. */
struct lines {
    const char *p;
    const char *end;
};

/* The text between the quotes of the next line. */
static bool next_line(struct lines *lines, const char **text, size_t *n)
{
    const char *end = memchr(lines->p, '\n', (size_t)(lines->end - lines->p));

    if (end == NULL || end - lines->p < 2 || lines->p[0] != '"' || end[-1] != '"') {
        return false;
    }
    *text = lines->p + 1;
    *n = (size_t)(end - lines->p) - 2;
    lines->p = end + 1;
    return true;
}

static sluice_status parse_partitions(uint32_t n, struct lines *lines, struct commit_output *output,
                                      struct sluice_error *err)
{
    const char *text;
    size_t length;
    unsigned char *bytes;
    size_t size;
    uint64_t expected = 0;
    struct packed in;
    bool good = true;

    if (!next_line(lines, &text, &length)) {
        return error_set(err, SLUICE_E_DATA,
                         "a commit record without the line of a partition directory");
    }
    TRY(jsontext_decode_base64(text, length, &bytes, &size, err));
    /* An entry takes at least a byte, so a record cannot ask for more memory than its own size
     * allows. */
    if (n > size || n == 0) {
        free(bytes);
        return error_set(err, SLUICE_E_DATA,
                         "a partition directory that says it has %u entries, in %zu bytes",
                         (unsigned)n, size);
    }
    output->partitions = malloc(n * sizeof *output->partitions);
    if (output->partitions == NULL) {
        free(bytes);
        return error_nomem(err, "a partition directory");
    }
    in.p = bytes;
    in.end = bytes + size;
    output->n_partitions = n;
    for (uint32_t i = 0; i < n && good; i++) {
        good = get_partition(&in, &expected, &output->partitions[i]);
    }
    good = good && in.p == in.end;
    free(bytes);
    return good ? SLUICE_OK
                : error_set(err, SLUICE_E_DATA, "a partition directory with broken entries");
}

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
    if (output->n_partitions > 0) {
        buf_printf(out, ",\"partitions\":%u", (unsigned)output->n_partitions);
    }
    buf_puts(out, ",\"port\":");
    jsontext_put_string(out, output->port);
    buf_puts(out, ",\"rows\":");
    fits = jsontext_put_u64(out, output->rows) && fits;
    buf_puts(out, "}");
    return fits ? SLUICE_OK
                : error_set(err, SLUICE_E_INTERNAL, "output %s has an impossible size",
                            output->port);
}

static sluice_status print_partitions(const struct commit *commit, struct buf *out,
                                      struct sluice_error *err)
{
    struct buf packed = BUF_INIT;
    sluice_status status = SLUICE_OK;

    for (uint32_t i = 0; i < commit->n_outputs && status == SLUICE_OK; i++) {
        if (commit->outputs[i].n_partitions > 0) {
            buf_clear(&packed);
            status = pack_partitions(&commit->outputs[i], &packed, err);
            if (status == SLUICE_OK) {
                status = buf_status(&packed, err);
            }
            if (status == SLUICE_OK) {
                buf_putc(out, '"');
                jsontext_put_base64(out, packed.data, packed.size);
                buf_puts(out, "\"\n");
            }
        }
    }
    buf_deinit(&packed);
    return status;
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
    buf_puts(out, "],\"task\":");
    jsontext_put_string(out, commit->task);
    buf_puts(out, "}\n");
    return print_partitions(commit, out, err);
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

static sluice_status parse_output(const json_t *value, struct lines *lines, struct commit *commit,
                                  struct sluice_error *err)
{
    uint32_t n_partitions = 0;
    const char *port;
    const char *file;
    struct commit_output output;
    sluice_status status = SLUICE_OK;

    memset(&output, 0, sizeof output);
    if (!jsontext_get_text(value, "port", &port) || !jsontext_get_text(value, "file", &file) ||
        !jsontext_get_u64(value, "bytes", &output.bytes) ||
        !jsontext_get_u64(value, "rows", &output.rows) ||
        !jsontext_get_hash(value, "hash", &output.hash)) {
        return error_set(err, SLUICE_E_DATA, "an output without port, file, bytes, rows or hash");
    }
    if (file[0] != '\0' && !disk_name_valid(file)) {
        return error_set(err, SLUICE_E_DATA, "an output whose file has an impossible name");
    }
    output.port = (char *)(uintptr_t)port;
    output.file = (char *)(uintptr_t)file;
    if (json_object_get(value, "partitions") != NULL) {
        if (!jsontext_get_u32(value, "partitions", &n_partitions)) {
            return error_set(err, SLUICE_E_DATA, "an output whose partitions are no number");
        }
        status = parse_partitions(n_partitions, lines, &output, err);
    }
    if (status == SLUICE_OK) {
        /* The directory is large and already ours: hand it over instead of copying it. */
        struct commit_partition *partitions = output.partitions;
        uint32_t n = output.n_partitions;
        output.partitions = NULL;
        output.n_partitions = 0;
        status = commit_add_output(commit, &output, err);
        if (status == SLUICE_OK) {
            commit->outputs[commit->n_outputs - 1].partitions = partitions;
            commit->outputs[commit->n_outputs - 1].n_partitions = n;
            return SLUICE_OK;
        }
        output.partitions = partitions;
    }
    free(output.partitions);
    return status;
}

static sluice_status parse_part(const json_t *value, struct lines *lines, struct commit *commit,
                                struct sluice_error *err)
{
    const char *name = json_string_value(json_array_get(value, 0));
    const char *text = json_string_value(json_array_get(value, 1));

    (void)lines;
    if (name == NULL || text == NULL || json_array_size(value) != 2) {
        return error_set(err, SLUICE_E_DATA, "a key part that is no pair of texts");
    }
    return commit_add_part(commit, name, text, err);
}

static sluice_status parse_state(const json_t *value, struct lines *lines, struct commit *commit,
                                 struct sluice_error *err)
{
    const json_t *text = json_object_get(value, "data");
    const char *name;
    unsigned char *data;
    size_t size;
    sluice_status status;

    (void)lines;
    if (!jsontext_get_text(value, "name", &name) || !json_is_string(text)) {
        return error_set(err, SLUICE_E_DATA, "a state without name or data");
    }
    TRY(jsontext_decode_base64(json_string_value(text), json_string_length(text), &data, &size,
                               err));
    status = commit_add_state(commit, name, data, size, err);
    free(data);
    return status;
}

static sluice_status parse_members(const json_t *root, struct lines *lines, struct commit **out,
                                   struct sluice_error *err)
{
    static const struct {
        const char *key;
        sluice_status (*parse)(const json_t *, struct lines *, struct commit *,
                               struct sluice_error *);
    } arrays[] = { { "outputs", parse_output },
                   { "parts", parse_part },
                   { "states", parse_state } };
    struct hash128 key;
    uint64_t format;
    const char *phase;
    const char *task;

    if (!jsontext_get_u64(root, "format", &format) || format != COMMIT_FORMAT) {
        return error_set(
            err, SLUICE_E_DATA,
            "a commit record of another format than %d; a newer version of Sluice may read it",
            COMMIT_FORMAT);
    }
    if (!jsontext_get_hash(root, "key", &key) || !jsontext_get_text(root, "phase", &phase) ||
        !jsontext_get_text(root, "task", &task)) {
        return error_set(err, SLUICE_E_DATA, "a commit record without key, phase or task");
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
            TRY(arrays[k].parse(json_array_get(array, i), lines, *out, err));
        }
    }
    if (lines->p != lines->end) {
        return error_set(err, SLUICE_E_DATA,
                         "a commit record with more lines than partition directories");
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
    const char *first_end;
    struct lines lines;
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
    first_end = memchr(data, '\n', n);
    lines.p = first_end == NULL ? data + n : first_end + 1;
    lines.end = data + n;
    TRY(jsontext_parse(data, (size_t)(lines.p - data), &root, err));
    status = parse_members(root, &lines, out, err);
    json_decref(root);
    if (status != SLUICE_OK) {
        commit_destroy(*out);
        *out = NULL;
    }
    return status;
}
