/* Runs that a dataset's rows come from: see appends.h. */
#include "store/appends.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/jsontext.h"
#include "store/statcache.h"

static json_t *entries_of(const struct snapshot *s)
{
    return s == NULL ? NULL : json_object_get(s->lineage, "appends");
}

bool appends_told(const struct snapshot *s)
{
    return json_is_array(entries_of(s));
}

size_t appends_count(const struct snapshot *s)
{
    return json_array_size(entries_of(s));
}

bool appends_hold(const struct snapshot *s, struct hash128 key)
{
    char hex[33];
    json_t *entry;
    size_t i;

    hash_hex(key, hex);
    json_array_foreach(entries_of(s), i, entry)
    {
        const char *text = json_string_value(json_object_get(entry, "key"));
        if (text != NULL && strcmp(text, hex) == 0) {
            return true;
        }
    }
    return false;
}

json_t *appends_file(const char *reader, const char *name, uint64_t bytes, struct hash128 hash)
{
    char hex[33];

    hash_hex(hash, hex);
    return json_pack("[o, o, I, s]", jsontext_string(reader), jsontext_string(name),
                     (json_int_t)bytes, hex);
}

sluice_status appends_add(struct snapshot *s, const struct snapshot *before, struct hash128 key,
                          uint64_t rows, json_t *files, struct sluice_error *err)
{
    json_t *entries = json_array();
    json_t *entry;
    char hex[33];

    hash_hex(key, hex);
    entry = json_pack("{s:s, s:I, s:O}", "key", hex, "rows", (json_int_t)rows, "files", files);
    if (s->lineage == NULL) {
        s->lineage = json_object();
    }
    if (entries == NULL || entry == NULL ||
        (before != NULL && appends_told(before) &&
         json_array_extend(entries, entries_of(before)) != 0)) {
        json_decref(entries);
        json_decref(entry);
        return error_nomem(err, "a manifest");
    }
    return json_array_append_new(entries, entry) != 0 ||
                   json_object_set_new(s->lineage, "appends", entries) != 0
               ? error_nomem(err, "a manifest")
               : SLUICE_OK;
}

/* ---- hashes of files ---- */

#define BYTES_WHAT "bytes "

/* The file as the cache names it: beside what else is known of it. */
static char *cache_name(const struct listing_file *file)
{
    return str_printf("bytes:%s", file->path);
}

static bool recalled(struct statcache *cache, const struct listing_file *entry,
                     struct hash128 *hash)
{
    struct buf what = BUF_INIT;
    bool found = cache != NULL && statcache_find(cache, entry, &what) &&
                 what.size == strlen(BYTES_WHAT) + 32 &&
                 memcmp(what.data, BYTES_WHAT, strlen(BYTES_WHAT)) == 0 &&
                 hash_parse(buf_str(&what) + strlen(BYTES_WHAT), hash);

    buf_deinit(&what);
    return found;
}

static sluice_status check_version(const struct listing_file *file, struct sluice_error *err)
{
    struct store_version now;
    bool found;

    TRY(store_stat(file->path, &now, &found, err));
    if (!found || now.size != file->version.size ||
        (file->version.mtime_ns != 0 && now.mtime_ns != file->version.mtime_ns)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is not what it was when the run began: %s; run again when nobody "
                         "writes to it",
                         file->path, found ? "it changed" : "it is gone");
    }
    return SLUICE_OK;
}

sluice_status appends_hash(struct statcache *cache, const struct listing_file *file,
                           struct hash128 *hash, struct sluice_error *err)
{
    struct listing_file entry = { .version = file->version };
    char what[64] = BYTES_WHAT;
    char *name = cache_name(file);
    uint64_t bytes;
    bool found = false;
    sluice_status status;

    if (name == NULL) {
        return error_nomem(err, "a path");
    }
    entry.path = name;
    if (recalled(cache, &entry, hash)) {
        free(name);
        return SLUICE_OK;
    }
    status = store_hash(file->path, &bytes, hash, &found, err);
    if (status == SLUICE_OK) {
        status = check_version(file, err);
    }
    if (status == SLUICE_OK && cache != NULL && !statcache_young(file)) {
        hash_hex(*hash, what + strlen(BYTES_WHAT));
        status = statcache_add(cache, &entry, what, true, err);
    }
    free(name);
    return status;
}

/* ---- files of a snapshot ---- */

static int by_name(const void *a, const void *b)
{
    const struct appended_file *x = a;
    const struct appended_file *y = b;

    return strcmp(x->name, y->name);
}

static bool read_file(const json_t *item, struct appended_file *out)
{
    const char *hash = json_string_value(json_array_get(item, 3));
    const json_t *bytes = json_array_get(item, 2);

    out->reader = json_string_value(json_array_get(item, 0));
    out->name = json_string_value(json_array_get(item, 1));
    out->bytes = (uint64_t)json_integer_value(bytes);
    return out->reader != NULL && out->name != NULL && json_is_integer(bytes) &&
           json_integer_value(bytes) >= 0 && hash != NULL && hash_parse(hash, &out->hash);
}

void appended_deinit(struct appended *all)
{
    free(all->files);
    json_decref(all->lineage);
    *all = (struct appended){ .n = 0 };
}

sluice_status appended_open(const struct snapshot *s, struct appended *out,
                            struct sluice_error *err)
{
    size_t n = 0;
    size_t i;
    size_t k;
    json_t *entry;
    json_t *item;

    *out = (struct appended){ .n = 0 };
    json_array_foreach(entries_of(s), i, entry)
    {
        n += json_array_size(json_object_get(entry, "files"));
    }
    out->files = calloc(n + 1, sizeof *out->files);
    if (out->files == NULL) {
        return error_nomem(err, "the files of a dataset");
    }
    out->lineage = s == NULL ? NULL : json_incref(s->lineage);
    json_array_foreach(entries_of(s), i, entry)
    {
        json_array_foreach(json_object_get(entry, "files"), k, item)
        {
            if (!read_file(item, &out->files[out->n])) {
                appended_deinit(out);
                return error_set(err, SLUICE_E_DATA,
                                 "the manifest of snapshot %u of '%s' does not say of its input "
                                 "files what it should: reader, name, bytes and hash of each",
                                 (unsigned)s->number, s->dataset);
            }
            out->n++;
        }
    }
    if (out->n > 1) {
        qsort(out->files, out->n, sizeof *out->files, by_name);
    }
    return SLUICE_OK;
}

/* The first file of this name, or where it would stand. */
static size_t first_of(const struct appended *all, const char *name)
{
    size_t low = 0;
    size_t high = all->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(all->files[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool knows_reader(const struct appended *all, const char *reader)
{
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->files[i].reader, reader) == 0) {
            return true;
        }
    }
    return false;
}

static enum appended_state look(const struct appended *all, const char *reader, const char *name,
                                uint64_t bytes, const struct hash128 *hash)
{
    bool likely = false;
    bool own = false;
    bool any = false;

    for (size_t i = first_of(all, name); i < all->n && strcmp(all->files[i].name, name) == 0; i++) {
        const struct appended_file *file = &all->files[i];
        if (file->bytes == bytes && hash != NULL && hash_equal(file->hash, *hash)) {
            return APPENDED_HELD;
        }
        likely = likely || file->bytes == bytes;
        own = own || strcmp(file->reader, reader) == 0;
        any = true;
    }
    if (likely && hash == NULL) {
        return APPENDED_LIKELY;
    }
    return own || (any && !knows_reader(all, reader)) ? APPENDED_CHANGED : APPENDED_NEW;
}

sluice_status appended_look(const struct appended *all, const char *reader, const char *name,
                            uint64_t bytes, const struct hash128 *hash, enum appended_state *state,
                            struct sluice_error *err)
{
    json_t *text = jsontext_utf8(name) ? NULL : jsontext_string(name); /* as manifests have it */

    if (text == NULL && !jsontext_utf8(name)) {
        return error_nomem(err, "the name of a file");
    }
    *state = look(all, reader, text == NULL ? name : json_string_value(text), bytes, hash);
    json_decref(text);
    return SLUICE_OK;
}

sluice_status appended_find(const struct appended *all, const char *reader,
                            const struct listing_file *file, const struct hash128 *known,
                            struct statcache *cache, enum appended_state *state,
                            struct hash128 *hash, struct sluice_error *err)
{
    TRY(appended_look(all, reader, file->name, file->version.size, known, state, err));
    if (known != NULL) {
        *hash = *known;
    }
    if (*state != APPENDED_LIKELY) {
        return SLUICE_OK;
    }
    TRY(appends_hash(cache, file, hash, err));
    return appended_look(all, reader, file->name, file->version.size, hash, state, err);
}
