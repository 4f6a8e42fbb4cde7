/* Records with an object `metadata`: see jsonl_layout.h. */
#include "jsonl_layout.h"

#include <string.h>

/* Members of the object itself, by layout; of the flat one all are. */
static const struct outer {
    size_t n;
    const char *names[8];
} outers[] = {
    { 0, { NULL } },
    { 3, { "text", "id", "media" } },
    { 7, { "id", "text", "source", "added", "created", "version", "attributes" } },
};

const char *jsonl_layout_place(int32_t layout, const char *name, bool *inner)
{
    *inner = layout > 0;
    for (size_t k = 0; k < outers[layout].n && *inner; k++) {
        *inner = strcmp(outers[layout].names[k], name) != 0;
    }
    return *inner && strncmp(name, JSONL_METADATA ".", sizeof JSONL_METADATA) == 0
               ? name + sizeof JSONL_METADATA
               : name;
}

/* What the rest of a record goes to: its own object, and `metadata` in it. */
struct parts {
    int32_t layout;
    const struct jsonl_column *columns;
    size_t n;
    struct sluice_bytes *out;
    const struct ArrowArray *array;
    int64_t row;
};

static int put_columns(const struct parts *parts, bool inner, bool *first)
{
    int ok = 1;

    for (size_t k = 0; ok && k < parts->n; k++) {
        const struct jsonl_column *column = &parts->columns[k];
        if (column->inner == inner && !column->spliced) {
            ok = jsonl_column_member(parts->out, column, parts->array->children[k], parts->row,
                                     first);
        }
    }
    return ok;
}

/* Whether a column stands there under the member's name. */
static bool has_column(const struct parts *parts, const struct jsonl_member *member, bool inner)
{
    for (size_t k = 0; k < parts->n; k++) {
        const char *const name = parts->columns[k].name;
        if (!parts->columns[k].spliced && parts->columns[k].inner == inner &&
            jsonl_is_named(member, &name, 1)) {
            return true;
        }
    }
    return false;
}

/* The object `metadata` of the rest; *n = 0: it has none. */
static const char *metadata_of(const char *json, size_t n, size_t *size)
{
    static const char *const name[] = { JSONL_METADATA };
    struct jsonl_walk walk;
    struct jsonl_member member;

    *size = 0;
    if (jsonl_walk_begin(&walk, json, n)) {
        while (jsonl_walk_next(&walk, &member) > 0) {
            if (jsonl_is_named(&member, name, 1) && *member.value == '{') {
                *size = (size_t)(member.value_end - member.value);
                return member.value;
            }
        }
    }
    return "";
}

/* Whether an object has a member that is spelt so. */
static bool has_member(const char *json, size_t n, const struct jsonl_member *wanted)
{
    const size_t size = (size_t)(wanted->key_end - wanted->key);
    struct jsonl_walk walk;
    struct jsonl_member member;

    if (jsonl_walk_begin(&walk, json, n)) {
        while (jsonl_walk_next(&walk, &member) > 0) {
            if ((size_t)(member.key_end - member.key) == size &&
                memcmp(member.key, wanted->key, size) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int put_text(const struct parts *parts, const char *json, size_t n, bool *first)
{
    int ok = (*first || sluice_bytes_add(parts->out, ",", 1)) && jsonl_raw(parts->out, json, n);

    *first = false;
    return ok;
}

/* Members of the rest that no column has and that stand there: those that the layout has outside,
 * or all others; of two of one name the one that was in `metadata`. 0 = no memory. */
static int put_rest(const struct parts *parts, const char *json, size_t n, bool inner, bool *first)
{
    const struct outer *outer = &outers[parts->layout];
    size_t size = 0; /* no layout has `metadata` outside, so it is looked for once */
    const char *metadata = inner ? metadata_of(json, n, &size) : "";
    struct jsonl_walk walk;
    struct jsonl_member member;

    if (!jsonl_walk_begin(&walk, json, n)) { /* a value that is no object keeps its name */
        return !inner || n == 0 ||
               ((*first || sluice_bytes_add(parts->out, ",", 1)) &&
                sluice_bytes_add(parts->out,
                                 "\"" JSONL_METADATA "\":", sizeof JSONL_METADATA + 2) &&
                put_text(parts, json, n, &(bool){ true }));
    }
    while (jsonl_walk_next(&walk, &member) > 0) {
        const bool outside = jsonl_is_named(&member, outer->names, outer->n) != 0;
        if (member.value == metadata || outside == inner || has_column(parts, &member, inner) ||
            has_member(metadata, size, &member)) {
            continue;
        }
        if (!put_text(parts, member.key, (size_t)(member.value_end - member.key), first)) {
            return 0;
        }
    }
    if (!jsonl_walk_begin(&walk, metadata, size)) {
        return 1;
    }
    while (jsonl_walk_next(&walk, &member) > 0) {
        if (!has_column(parts, &member, true) &&
            !put_text(parts, member.key, (size_t)(member.value_end - member.key), first)) {
            return 0;
        }
    }
    return 1;
}

/* The rest: what the reader kept of the record's other members. */
static const char *rest_of(const struct parts *parts, size_t *n)
{
    for (size_t k = 0; k < parts->n; k++) {
        const struct ArrowArray *array = parts->array->children[k];
        if (parts->columns[k].spliced && !sluice_is_null(array, parts->row)) {
            return sluice_text(array, parts->row, n);
        }
    }
    *n = 0;
    return "";
}

int jsonl_layout_put(int32_t layout, const struct jsonl_column *columns, size_t n_columns,
                     struct sluice_bytes *out, const struct ArrowArray *array, int64_t row)
{
    const struct parts parts = { layout, columns, n_columns, out, array, row };
    bool first = true;
    bool inside = true;
    size_t n;
    const char *rest = rest_of(&parts, &n);

    return sluice_bytes_add(out, "{", 1) && put_columns(&parts, false, &first) &&
           put_rest(&parts, rest, n, false, &first) && sluice_bytes_add(out, ",", first ? 0 : 1) &&
           sluice_bytes_add(out, "\"" JSONL_METADATA "\":{", sizeof JSONL_METADATA + 3) &&
           put_columns(&parts, true, &inside) && put_rest(&parts, rest, n, true, &inside) &&
           sluice_bytes_add(out, "}}\n", 3);
}
