/* One file over all shards of a snapshot: see catalogue.h. */
#include "run/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "store/input.h"
#include "store/pending.h"
#include "store/store.h"

#define MARK_MOST 64 /* bytes of a suffix between two @ */

struct catalogue {
    const char *file, *begin, *entries, *separator, *end;
};

static sluice_status read_note(const struct op *op, json_t *note, struct catalogue *out,
                               struct sluice_error *err)
{
    if (json_unpack(note, "{s:s, s:s, s:s, s:s, s:s !}", "file", &out->file, "begin", &out->begin,
                    "entries", &out->entries, "separator", &out->separator, "end",
                    &out->end) != 0 ||
        out->file[0] == '\0' || out->file[0] == '.' || strchr(out->file, '/') != NULL ||
        strncmp(out->file, "part-", 5) == 0) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "stage '%s' notes a catalogue that is none; expected an object with the texts "
            "file (a name that is not a shard's), begin, entries, separator and end",
            op->name);
    }
    return SLUICE_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The entry with each @SUFFIX@ replaced by the public name of the shard beside it; `name` is the
 * entry's own public name. */
static void add_entry(const char *name, const char *text, size_t n, struct buf *out)
{
    size_t stem = strcspn(name, ".");
    size_t at = 0;

    while (at < n) {
        const char *mark = memchr(text + at, '@', n - at);
        const char *close =
            mark == NULL ? NULL : memchr(mark + 1, '@', (size_t)(text + n - mark) - 1);
        if (close == NULL || close - mark > MARK_MOST || mark[1] != '.') {
            size_t size = mark == NULL ? n - at : (size_t)(mark + 1 - (text + at));
            buf_append(out, text + at, size);
            at += size;
            continue;
        }
        buf_append(out, text + at, (size_t)(mark - (text + at)));
        buf_append(out, name, stem);
        buf_append(out, mark + 1, (size_t)(close - mark) - 1);
        at = (size_t)(close + 1 - text);
    }
}

static sluice_status gather(const struct op *op, const struct catalogue *catalogue,
                            const struct snapshot *snapshot, struct buf *out,
                            struct sluice_error *err)
{
    bool first = true;

    buf_puts(out, catalogue->begin);
    for (size_t k = 0; k < snapshot->n_shards; k++) {
        const struct snapshot_shard *shard = &snapshot->shards[k];
        void *text = NULL;
        uint64_t n = 0;
        char *path;
        sluice_status status;
        if (!ends_with(shard->file, catalogue->entries)) {
            continue;
        }
        path = snapshot_shard_path(op_stage(op)->dataset, shard);
        status =
            path == NULL ? error_nomem(err, "a catalogue") : input_read_all(path, &text, &n, err);
        if (status == SLUICE_OK) {
            buf_puts(out, first ? "" : catalogue->separator);
            add_entry(shard->name, text, n, out);
        }
        free(text);
        free(path);
        TRY(status);
        first = false;
    }
    buf_puts(out, catalogue->end);
    return buf_status(out, err);
}

static sluice_status put(const struct op *op, const char *file, const struct buf *text,
                         struct snapshot *snapshot, struct sluice_error *err)
{
    char *folder = store_join(op_stage(op)->dataset, "data");
    struct published published;
    char hex[33];
    char *stored;
    sluice_status status;

    hash_hex(hash_bytes(text->data, text->size), hex);
    stored = str_printf("%.24s-%s", hex, file);
    if (folder == NULL || stored == NULL) {
        status = error_nomem(err, "a catalogue");
    } else {
        status = store_make_folder(folder, true, err);
    }
    if (status == SLUICE_OK) {
        status = pending_put(folder, stored, text->data, text->size, 0, &published, err);
    }
    if (status == SLUICE_OK) {
        status = snapshot_add_shard(snapshot, file, stored, 0, published.bytes, published.hash,
                                    NULL, err);
    }
    free(folder);
    free(stored);
    return status;
}

sluice_status catalogue_add(const struct op *op, const char *note, struct snapshot *snapshot,
                            struct sluice_error *err)
{
    json_t *json = json_loads(note, 0, NULL);
    struct catalogue catalogue;
    struct buf text = BUF_INIT;
    sluice_status status = read_note(op, json, &catalogue, err);

    if (status == SLUICE_OK) {
        status = gather(op, &catalogue, snapshot, &text, err);
    }
    if (status == SLUICE_OK) {
        status = put(op, catalogue.file, &text, snapshot, err);
    }
    buf_deinit(&text);
    json_decref(json);
    return status;
}
