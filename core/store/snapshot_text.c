/* Text form of manifests (see snapshot.h): JSON with sorted keys, one space of indentation.
 * `content` is the XXH3-128 of the compact form without content, number, parent, added and removed.
 */
#include <stdlib.h>
#include <string.h>

#include "store/jsontext.h"
#include "store/snapshotInt.h"

/* ---- sums ---- */

static sluice_status add_measures(json_t *totals, const json_t *measures, struct sluice_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)measures, key, value)
    {
        json_int_t sum = json_integer_value(value);
        json_t *before = json_object_get(totals, key);
        if (before != NULL && __builtin_add_overflow(sum, json_integer_value(before), &sum)) {
            return error_set(err, SLUICE_E_DATA,
                             "the sum of measure '%s' over the shards overflows", key);
        }
        if (json_object_set_new(totals, key, json_integer(sum)) != 0) {
            return error_nomem(err, "a manifest");
        }
    }
    return SLUICE_OK;
}

sluice_status snapshot_add_up(struct snapshot *s, struct sluice_error *err)
{
    json_t *measures = json_object();
    sluice_status status = measures == NULL ? error_nomem(err, "a manifest") : SLUICE_OK;

    s->rows = 0;
    s->bytes = 0;
    for (size_t i = 0; i < s->n_shards && status == SLUICE_OK; i++) {
        const struct snapshot_shard *shard = &s->shards[i];
        if (shard->rows > INT64_MAX - s->rows || shard->bytes > INT64_MAX - s->bytes) {
            status = error_set(err, SLUICE_E_DATA, "the rows or bytes of all shards overflow");
            break;
        }
        s->rows += shard->rows;
        s->bytes += shard->bytes;
        status = add_measures(measures, shard->measures, err);
    }
    json_decref(s->measures);
    s->measures = measures;
    return status;
}

/* ---- printing ---- */

/* Takes value. False = out of memory. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *number_json(uint64_t n)
{
    return n > INT64_MAX ? NULL : json_integer((json_int_t)n);
}

static json_t *hash_json(struct hash128 hash)
{
    char hex[33];

    hash_hex(hash, hex);
    return json_string(hex);
}

/* A new reference to value; null for NULL. */
static json_t *or_null(json_t *value)
{
    return value == NULL ? json_null() : json_incref(value);
}

static json_t *shard_json(const struct snapshot_shard *shard)
{
    json_t *object = json_object();

    if (object == NULL || !put(object, "name", jsontext_string(shard->name)) ||
        !put(object, "file", jsontext_string(shard->file)) ||
        !put(object, "rows", number_json(shard->rows)) ||
        !put(object, "bytes", number_json(shard->bytes)) ||
        !put(object, "hash", hash_json(shard->hash)) ||
        (shard->measures != NULL && !put(object, "measures", json_incref(shard->measures)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *totals_json(const struct snapshot *s)
{
    json_t *object = json_object();

    if (object == NULL || !put(object, "rows", number_json(s->rows)) ||
        !put(object, "bytes", number_json(s->bytes)) ||
        !put(object, "shards", number_json(s->n_shards)) ||
        !put(object, "measures", or_null(s->measures))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *owner_json(const struct snapshot *s)
{
    json_t *object = json_object();

    if (object == NULL || !put(object, "pipeline", jsontext_string(s->pipeline)) ||
        !put(object, "node", jsontext_string(s->node))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* What `content` covers. NULL = out of memory. */
static json_t *content_json(const struct snapshot *s)
{
    json_t *root = json_object();
    json_t *shards = json_array();
    bool good = root != NULL && shards != NULL;

    for (size_t i = 0; i < s->n_shards && good; i++) {
        good = json_array_append_new(shards, shard_json(&s->shards[i])) == 0;
    }
    if (good) {
        good = put(root, "shards", shards);
        shards = NULL;
    }
    good = good && put(root, "format", json_integer(s->node == NULL ? 1 : SNAPSHOT_FORMAT)) &&
           (s->node == NULL || put(root, "owner", owner_json(s))) &&
           put(root, "dataset", jsontext_string(s->dataset)) &&
           put(root, "totals", totals_json(s)) && put(root, "ledger", or_null(s->ledger)) &&
           put(root, "lineage", or_null(s->lineage)) && put(root, "notes", or_null(s->notes));
    if (!good) {
        json_decref(shards);
        json_decref(root);
        return NULL;
    }
    return root;
}

static sluice_status hash_json_text(const json_t *root, struct hash128 *out,
                                    struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status;

    jsontext_put_value(&text, root, 0);
    status = buf_status(&text, err);
    if (status == SLUICE_OK) {
        *out = hash_bytes(text.data, text.size);
    }
    buf_deinit(&text);
    return status;
}

sluice_status snapshot_hash(struct snapshot *s, struct sluice_error *err)
{
    json_t *root = content_json(s);
    sluice_status status =
        root == NULL ? error_nomem(err, "a manifest") : hash_json_text(root, &s->content, err);

    json_decref(root);
    return status;
}

static json_t *names_json(const char *const *names, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n && array != NULL; i++) {
        if (json_array_append_new(array, jsontext_string(names[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

sluice_status snapshot_print(const struct snapshot *s, struct buf *out, struct sluice_error *err)
{
    json_t *root = content_json(s);
    sluice_status status;

    if (root == NULL || !put(root, "content", hash_json(s->content)) ||
        !put(root, "number", number_json(s->number)) ||
        !put(root, "parent", s->parent == 0 ? json_null() : number_json(s->parent)) ||
        !put(root, "added", names_json(s->added, s->n_added)) ||
        !put(root, "removed", names_json(s->removed, s->n_removed))) {
        json_decref(root);
        return error_nomem(err, "a manifest");
    }
    jsontext_put_value(out, root, 1);
    buf_putc(out, '\n');
    status = buf_status(out, err);
    json_decref(root);
    return status;
}

/* ---- parsing ---- */

static sluice_status parse_shard(const json_t *value, struct snapshot *s, struct sluice_error *err)
{
    json_t *measures = json_object_get(value, "measures");
    const char *name;
    const char *file;
    uint64_t rows;
    uint64_t bytes;
    struct hash128 hash;
    sluice_status status;

    if (!jsontext_get_text(value, "name", &name) || !jsontext_get_text(value, "file", &file) ||
        !jsontext_get_u64(value, "rows", &rows) || !jsontext_get_u64(value, "bytes", &bytes) ||
        !jsontext_get_hash(value, "hash", &hash)) {
        return error_set(err, SLUICE_E_DATA, "a shard without name, file, rows, bytes or hash");
    }
    status = snapshot_add_shard(s, name, file, rows, bytes, hash, json_incref(measures), err);
    if (status != SLUICE_OK && status != SLUICE_E_NOMEM && err != NULL) {
        err->code = SLUICE_E_DATA;
    }
    return status == SLUICE_OK || status == SLUICE_E_NOMEM ? status : SLUICE_E_DATA;
}

static sluice_status parse_names(struct snapshot *s, const json_t *root, const char *key,
                                 const char ***names, size_t *n, struct sluice_error *err)
{
    json_t *array;

    if (!jsontext_get_array(root, key, &array)) {
        return error_set(err, SLUICE_E_DATA, "a manifest without %s", key);
    }
    *names = ARENA_ARRAY(&s->arena, const char *, json_array_size(array));
    for (size_t i = 0; i < json_array_size(array) && *names != NULL; i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (name == NULL || !disk_name_valid(name)) {
            return error_set(err, SLUICE_E_DATA,
                             "a manifest whose %s hold something else than names of files", key);
        }
        (*names)[(*n)++] = arena_copy(&s->arena, name, strlen(name));
    }
    return arena_status(&s->arena, err, "a manifest");
}

static json_t *get_value(const json_t *root, const char *key)
{
    json_t *value = json_object_get(root, key);

    return json_is_null(value) ? NULL : json_incref(value);
}

/* Removes from root what content doesn't cover, and compares. */
static sluice_status check_content(json_t *root, const struct snapshot *s, struct sluice_error *err)
{
    static const char *const others[] = { "content", "number", "parent", "added", "removed" };
    struct hash128 hash;
    char is[33];
    char was[33];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        (void)json_object_del(root, others[i]);
    }
    TRY(hash_json_text(root, &hash, err));
    if (!hash_equal(hash, s->content)) {
        hash_hex(hash, is);
        hash_hex(s->content, was);
        return error_set(err, SLUICE_E_DATA,
                         "its content hash is %s, but it says %s: it was damaged or edited", is,
                         was);
    }
    return SLUICE_OK;
}

static sluice_status parse_owner(struct snapshot *s, const json_t *owner, struct sluice_error *err)
{
    const char *pipeline;
    const char *node;

    if (!jsontext_get_text(owner, "pipeline", &pipeline) ||
        !jsontext_get_text(owner, "node", &node)) {
        return error_set(err, SLUICE_E_DATA,
                         "a manifest without the pipeline and node of its owner");
    }
    return snapshot_own(s, pipeline, node, err);
}

static sluice_status parse_members(json_t *root, struct snapshot **out, struct sluice_error *err)
{
    const char *dataset;
    json_t *shards;
    uint64_t format;
    struct snapshot *s;

    if (!jsontext_get_u64(root, "format", &format) || format < 1 || format > SNAPSHOT_FORMAT) {
        return error_set(err, SLUICE_E_DATA,
                         "a manifest of another format than 1 to %d; a newer version of Sluice may "
                         "read it",
                         SNAPSHOT_FORMAT);
    }
    if (!jsontext_get_text(root, "dataset", &dataset) ||
        !jsontext_get_array(root, "shards", &shards)) {
        return error_set(err, SLUICE_E_DATA, "a manifest without dataset or shards");
    }
    s = snapshot_create(dataset);
    if (s == NULL) {
        return error_nomem(err, "a manifest");
    }
    *out = s;
    if (format > 1) {
        TRY(parse_owner(s, json_object_get(root, "owner"), err));
    }
    if (!jsontext_get_u32(root, "number", &s->number) || s->number == 0 ||
        s->number > SNAPSHOT_MAX || !jsontext_get_hash(root, "content", &s->content)) {
        return error_set(err, SLUICE_E_DATA, "a manifest without number or content");
    }
    if (!json_is_null(json_object_get(root, "parent")) &&
        (!jsontext_get_u32(root, "parent", &s->parent) || s->parent == 0 ||
         s->parent >= s->number)) {
        return error_set(err, SLUICE_E_DATA, "a manifest with an impossible parent");
    }
    /* Who publishes takes the number behind the newest one's. */
    if (s->parent != s->number - 1) {
        return error_set(err, SLUICE_E_DATA, "a manifest %u whose parent is %u, not %u",
                         (unsigned)s->number, (unsigned)s->parent, (unsigned)s->number - 1);
    }
    for (size_t i = 0; i < json_array_size(shards); i++) {
        TRY(parse_shard(json_array_get(shards, i), s, err));
    }
    TRY(parse_names(s, root, "added", &s->added, &s->n_added, err));
    TRY(parse_names(s, root, "removed", &s->removed, &s->n_removed, err));
    s->ledger = get_value(root, "ledger");
    s->lineage = get_value(root, "lineage");
    s->notes = get_value(root, "notes");
    /* Sums are made anew and the content's hash is compared: a manifest edited by hand is not
     * believed. */
    TRY(snapshot_add_up(s, err));
    return check_content(root, s, err);
}

sluice_status snapshot_parse(const char *data, size_t n, struct snapshot **out,
                             struct sluice_error *err)
{
    json_t *root;
    sluice_status status;

    *out = NULL;
    TRY(jsontext_parse(data, n, &root, err));
    status = parse_members(root, out, err);
    json_decref(root);
    if (status != SLUICE_OK) {
        snapshot_destroy(*out);
        *out = NULL;
    }
    return status;
}
