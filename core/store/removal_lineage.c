/* Which rows of which files are gone, as a manifest's lineage tells: see removal.h. */
#include <stdlib.h>
#include <string.h>

#include "store/compact.h"
#include "store/jsontext.h"
#include "store/removalInt.h"

/* A member of the lineage, made if need be. NULL = out of memory. Borrowed. */
static json_t *part_of(json_t *lineage, const char *key, bool array)
{
    json_t *part = json_object_get(lineage, key);

    if (part == NULL) {
        json_object_set_new(lineage, key, array ? json_array() : json_object());
        part = json_object_get(lineage, key);
    }
    return part;
}

static json_int_t row_at(const json_t *rows, size_t i)
{
    return json_integer_value(json_array_get(rows, i));
}

/* Two ascending lists as one, each row once. NULL = out of memory. Gives. */
static json_t *merge(const json_t *a, const json_t *b)
{
    json_t *out = json_array();
    size_t n = json_array_size(a);
    size_t m = json_array_size(b);
    size_t i = 0;
    size_t k = 0;

    while (out != NULL && (i < n || k < m)) {
        json_int_t x = i < n ? row_at(a, i) : INT64_MAX;
        json_int_t y = k < m ? row_at(b, k) : INT64_MAX;
        if (json_array_append_new(out, json_integer(x < y ? x : y)) != 0) {
            json_decref(out);
            return NULL;
        }
        i += x <= y;
        k += y <= x;
    }
    return out;
}

static json_t *rows_of(const json_t *entry)
{
    return json_object_get(entry, "rows");
}

/* Adds rows to those of a file, whose hash (NULL: nobody knows) is told once. Takes rows. */
static bool add_rows(json_t *removed, const char *file, const char *hash, json_t *rows)
{
    json_t *entry = json_object_get(removed, file);
    json_t *all = rows == NULL ? NULL : merge(rows_of(entry), rows);
    bool added = all != NULL;

    if (added && entry == NULL) {
        entry = json_pack("{s:s?}", "hash", hash);
        added = entry != NULL && json_object_set_new(removed, file, entry) == 0;
    }
    added = added && json_object_set(entry, "rows", all) == 0;
    json_decref(all);
    json_decref(rows);
    return added;
}

/* The hash of a file of data/; found false: it is gone. */
static sluice_status hash_file(const char *dataset_dir, const char *file, char hex[33], bool *found,
                               struct sluice_error *err)
{
    char *path = str_printf("%s/data/%s", dataset_dir, file);
    struct hash128 hash;
    uint64_t bytes;
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : store_hash(path, &bytes, &hash, found, err);

    if (status == SLUICE_OK && *found) {
        hash_hex(hash, hex);
    }
    free(path);
    return status;
}

bool removal_origin(const struct snapshot *s, const char **file, uint64_t *row)
{
    const char *first =
        json_string_value(json_object_get(json_object_get(s->lineage, "rewritten"), *file));
    json_t *gone;

    *file = first != NULL ? first : *file;
    gone = rows_of(json_object_get(json_object_get(s->lineage, "removed"), *file));
    for (size_t i = 0; i < json_array_size(gone) && row_at(gone, i) <= (json_int_t)*row; i++) {
        ++*row;
    }
    return gone != NULL;
}

/* The members of a joined file without these rows. NULL = out of memory. Gives. */
static json_t *shrink_members(const json_t *members, const struct removal_shard *gone)
{
    json_t *out = json_deep_copy(members);
    uint64_t before = 0;
    uint64_t at = 0;

    for (size_t i = 0; out != NULL && i < json_array_size(out); i++) {
        json_t *member = json_array_get(out, i);
        uint64_t rows = (uint64_t)json_integer_value(json_array_get(member, 1));
        uint64_t n = 0;
        for (; at < gone->n && gone->rows[at] < before + rows; at++) {
            n++;
        }
        json_array_set_new(member, 1, json_integer((json_int_t)(rows - n)));
        before += rows;
    }
    return out;
}

/* What stands for the file: joined as it was, or written again. */
static bool tell_file(json_t *lineage, const struct snapshot *from,
                      const struct snapshot_shard *shard, const struct removal_shard *gone,
                      const char *file)
{
    json_t *joined = json_object_get(json_object_get(from->lineage, "joined"), shard->file);
    json_t *first = json_object_get(json_object_get(from->lineage, "rewritten"), shard->file);
    bool good = true;

    if (joined != NULL) {
        json_t *left = shrink_members(joined, gone);
        good = left != NULL && (file == NULL || json_object_set(part_of(lineage, "joined", false),
                                                                file, left) == 0);
        json_decref(left);
        (void)json_object_del(json_object_get(lineage, "joined"), shard->file);
        return good;
    }
    if (file != NULL) {
        json_t *rewritten = part_of(lineage, "rewritten", false);
        good = json_object_set_new(rewritten, file,
                                   first != NULL ? json_incref(first)
                                                 : jsontext_string(shard->file)) == 0;
    }
    return good;
}

/* Adds rows (taken) of a task's file, which stood in the shard. */
static sluice_status tell_rows(const char *dataset_dir, json_t *removed, const char *file,
                               const struct snapshot_shard *shard, json_t *rows,
                               struct sluice_error *err)
{
    bool found = true;
    char hex[33];

    if (json_object_get(removed, file) == NULL) {
        if (strcmp(file, shard->file) == 0) {
            hash_hex(shard->hash, hex);
        } else {
            sluice_status status = hash_file(dataset_dir, file, hex, &found, err);
            if (status != SLUICE_OK) {
                json_decref(rows);
                return status;
            }
        }
    }
    return add_rows(removed, file, found ? hex : NULL, rows) ? SLUICE_OK
                                                             : error_nomem(err, "a manifest");
}

sluice_status removal_tell(const char *dataset_dir, struct snapshot *out,
                           const struct snapshot *from, const struct snapshot_shard *shard,
                           const struct removal_shard *gone, const char *file,
                           struct sluice_error *err)
{
    json_t *removed = part_of(out->lineage, "removed", false);
    json_t *rows = json_array();
    const char *last = NULL;

    /* Rows of one file of a task stand one behind the other. */
    for (uint64_t i = 0; removed != NULL && i < gone->n; i++) {
        const char *origin = shard->file;
        uint64_t row = gone->rows[i];
        (void)compact_origin(from, &origin, &row);
        (void)removal_origin(from, &origin, &row);
        if (last != NULL && strcmp(last, origin) != 0) {
            TRY(tell_rows(dataset_dir, removed, last, shard, rows, err));
            rows = json_array();
        }
        last = origin;
        if (rows == NULL || json_array_append_new(rows, json_integer((json_int_t)row)) != 0) {
            break;
        }
    }
    if (last == NULL || rows == NULL) {
        json_decref(rows);
        return error_nomem(err, "a manifest");
    }
    TRY(tell_rows(dataset_dir, removed, last, shard, rows, err));
    return tell_file(out->lineage, from, shard, gone, file) ? SLUICE_OK
                                                            : error_nomem(err, "a manifest");
}

/* ---- what is gone of a file that comes again ---- */

/* The entry of a file of this hash. Of one of which only the name is known (hash NULL) the file is
 * looked at, if the part of the name that its bytes decide is the same. */
static sluice_status find_entry(const char *dataset_dir, const struct snapshot *newest,
                                const char *file, const char *hash, const json_t **out,
                                struct sluice_error *err)
{
    const json_t *removed = json_object_get(newest->lineage, "removed");
    const char *name;
    json_t *entry;
    char hex[33];

    *out = json_object_get(removed, file);
    if (*out != NULL) {
        return SLUICE_OK;
    }
    json_object_foreach((json_t *)(uintptr_t)removed, name, entry)
    {
        const char *theirs = json_string_value(json_object_get(entry, "hash"));
        bool found = true;
        if (theirs == NULL || *out != NULL) {
            continue;
        }
        if (hash == NULL && strcmp(derive_hash_part(file), derive_hash_part(name)) == 0) {
            TRY(hash_file(dataset_dir, file, hex, &found, err));
            hash = found ? hex : NULL;
        }
        *out = hash != NULL && strcmp(hash, theirs) == 0 ? entry : NULL;
    }
    return SLUICE_OK;
}

/* Adds the rows of an entry, moved by those before. */
static sluice_status add_gone(const json_t *entry, const char *file, uint64_t before, uint64_t most,
                              struct removal_shard *out, struct sluice_error *err)
{
    const json_t *rows = rows_of(entry);
    size_t n = json_array_size(rows);
    uint64_t *more = n == 0 ? NULL : realloc(out->rows, (out->n + n) * sizeof *more);

    if (n > 0 && more == NULL) {
        return error_nomem(err, "rows that are gone");
    }
    out->rows = n == 0 ? out->rows : more;
    for (size_t i = 0; i < n; i++) {
        json_int_t row = row_at(rows, i);
        if (row < 0 || (uint64_t)row >= most) {
            return error_set(err, SLUICE_E_DATA,
                             "a lineage says that row %lld of %s was removed, which has %llu",
                             (long long)row, file, (unsigned long long)most);
        }
        out->rows[out->n++] = before + (uint64_t)row;
    }
    return SLUICE_OK;
}

sluice_status removal_rows(const char *dataset_dir, const struct snapshot *newest,
                           const struct snapshot *s, const struct snapshot_shard *shard,
                           struct removal_shard *gone, struct sluice_error *err)
{
    json_t *members = json_object_get(json_object_get(s->lineage, "joined"), shard->file);
    const json_t *entry;
    uint64_t before = 0;
    char hex[33];

    if (members == NULL) {
        hash_hex(shard->hash, hex);
        TRY(find_entry(dataset_dir, newest, shard->file, hex, &entry, err));
        return add_gone(entry, shard->file, 0, shard->rows, gone, err);
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        json_t *member = json_array_get(members, i);
        const char *name = json_string_value(json_array_get(member, 0));
        uint64_t rows = (uint64_t)json_integer_value(json_array_get(member, 1));
        if (name != NULL) {
            TRY(find_entry(dataset_dir, newest, name, NULL, &entry, err));
            TRY(add_gone(entry, name, before, rows, gone, err));
        }
        before += rows;
    }
    return SLUICE_OK;
}

/* Whether s names the file. */
static bool names_file(const struct snapshot *s, const char *file)
{
    for (uint32_t i = 0; i < s->n_shards; i++) {
        if (strcmp(s->shards[i].file, file) == 0) {
            return true;
        }
    }
    return false;
}

static bool carry_joined(const json_t *joined, struct snapshot *out)
{
    const char *file;
    json_t *members;
    bool good = true;

    json_object_foreach((json_t *)(uintptr_t)joined, file, members)
    {
        if (good && names_file(out, file)) {
            json_t *ours = part_of(out->lineage, "joined", false);
            good = ours != NULL && (json_object_get(ours, file) != NULL ||
                                    json_object_set(ours, file, members) == 0);
        }
    }
    return good;
}

/* An entry of the newest one's, unless out has told the same of a file of these bytes. */
static bool carry_entry(json_t *removed, const char *file, const json_t *entry)
{
    const char *hash = json_string_value(json_object_get(entry, "hash"));
    const char *name;
    json_t *ours;

    json_object_foreach(removed, name, ours)
    {
        const char *theirs = json_string_value(json_object_get(ours, "hash"));
        if (hash != NULL && theirs != NULL && strcmp(hash, theirs) == 0) {
            return true;
        }
    }
    return add_rows(removed, file, hash, json_incref(rows_of(entry)));
}

sluice_status removal_carry(const struct snapshot *newest, struct snapshot *out,
                            struct sluice_error *err)
{
    json_t *removed = part_of(out->lineage, "removed", false);
    json_t *rewritten = part_of(out->lineage, "rewritten", false);
    const char *file;
    json_t *value;
    bool good = removed != NULL && rewritten != NULL;

    json_object_foreach(json_object_get(newest->lineage, "removed"), file, value)
    {
        good = good && carry_entry(removed, file, value);
    }
    json_object_foreach(json_object_get(newest->lineage, "rewritten"), file, value)
    {
        good = good && (json_object_get(rewritten, file) != NULL ||
                        json_object_set(rewritten, file, value) == 0);
    }
    good = good && carry_joined(json_object_get(newest->lineage, "joined"), out);
    value = json_object_get(newest->lineage, "removals");
    good = good && (value == NULL || json_object_set(out->lineage, "removals", value) == 0);
    return good ? SLUICE_OK : error_nomem(err, "a manifest");
}

sluice_status removal_note(struct snapshot *s, json_t *note, struct sluice_error *err)
{
    json_t *notes = part_of(s->lineage, "removals", true);

    if (notes == NULL || note == NULL) {
        json_decref(note);
        return error_nomem(err, "a manifest");
    }
    return json_array_append_new(notes, note) == 0 ? SLUICE_OK : error_nomem(err, "a manifest");
}
