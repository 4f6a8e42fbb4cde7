/* Expressions on a schema: which columns their paths mean, and values as these columns have
 * them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/where_lex.h"

struct binder {
    struct where_bound *bound;
    const char *text;
    uint32_t flags;
    struct sluice_error *err;
    size_t room; /* for ends */
};

bool where_has_reals(enum where_class how)
{
    return how == WHERE_OF_FLOAT16 || how == WHERE_OF_FLOAT32 || how == WHERE_OF_FLOAT64;
}

/* ---- types ---- */

static enum where_class class_of(const struct ArrowSchema *leaf, size_t *width)
{
    static const char letters[] = "bcsilCSILefguzUZ";
    static const enum where_class classes[] = {
        WHERE_OF_BOOLS,  WHERE_OF_INT8,    WHERE_OF_INT16,       WHERE_OF_INT32,
        WHERE_OF_INT64,  WHERE_OF_UINT8,   WHERE_OF_UINT16,      WHERE_OF_UINT32,
        WHERE_OF_UINT64, WHERE_OF_FLOAT16, WHERE_OF_FLOAT32,     WHERE_OF_FLOAT64,
        WHERE_OF_TEXTS,  WHERE_OF_TEXTS,   WHERE_OF_LARGE_TEXTS, WHERE_OF_LARGE_TEXTS
    };
    const char *format = leaf->format;
    const char *letter = format[0] == '\0' ? NULL : strchr(letters, format[0]);

    *width = 0;
    if (leaf->dictionary != NULL) {
        return WHERE_OF_OTHERS;
    }
    if (letter != NULL && format[1] == '\0') {
        return classes[letter - letters];
    }
    if (strcmp(format, "n") == 0) {
        return WHERE_OF_NULLS;
    }
    if (format[0] == 'w' && format[1] == ':') {
        *width = (size_t)strtoull(format + 2, NULL, 10);
        return WHERE_OF_FIXED;
    }
    if (strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 || strcmp(format, "ttm") == 0) {
        return WHERE_OF_INT32;
    }
    if (strcmp(format, "tdm") == 0 || strncmp(format, "tt", 2) == 0 ||
        strncmp(format, "ts", 2) == 0) {
        return WHERE_OF_INT64;
    }
    return WHERE_OF_OTHERS;
}

static int digits_of(char unit)
{
    return unit == 's' ? 0 : unit == 'm' ? 3 : unit == 'u' ? 6 : 9;
}

static bool is_time(const char *format)
{
    return format[0] == 't' && format[1] != '\0' && format[2] != '\0';
}

static const char *type_text(const char *format, char out[64])
{
    static const char *const names[][2] = {
        { "b", "bool" },        { "c", "int8" },       { "s", "int16" },   { "i", "int32" },
        { "l", "int64" },       { "C", "uint8" },      { "S", "uint16" },  { "I", "uint32" },
        { "L", "uint64" },      { "e", "float16" },    { "f", "float32" }, { "g", "float64" },
        { "u", "utf8" },        { "U", "utf8" },       { "z", "binary" },  { "Z", "binary" },
        { "w:", "fixed" },      { "+s", "a struct" },  { "+l", "a list" }, { "+L", "a list" },
        { "+m", "a map" },      { "d:", "a decimal" }, { "td", "a date" }, { "tt", "a time" },
        { "ts", "a timestamp" }
    };

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const size_t n = strlen(names[k][0]);
        if (n > 1 ? strncmp(format, names[k][0], n) == 0 : strcmp(format, names[k][0]) == 0) {
            return names[k][1];
        }
    }
    snprintf(out, 64, "of the type %.40s", format);
    return out;
}

/* ---- paths ---- */

static const char *name_of(const struct ArrowSchema *schema)
{
    return schema->name == NULL ? "" : schema->name;
}

/* Does the name consist of the steps [from, to), with dots between them? */
static bool is_joined(const char *name, const struct where_path *path, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        const size_t n = strlen(path->steps[k].name);
        if ((k > from && *name++ != '.') || strncmp(name, path->steps[k].name, n) != 0) {
            return false;
        }
        name += n;
    }
    return *name == '\0';
}

/* The deepest place that a search came to, for messages. */
struct search {
    struct where_turn *turns;
    const struct ArrowSchema *leaf;
    size_t n;
    const struct ArrowSchema *deepest;
    size_t step;
};

/* The longest name that fits is tried first, and others where it leads nowhere. */
static bool search(const struct ArrowSchema *schema, const struct where_path *path, size_t step,
                   struct search *at)
{
    const size_t n = at->n;

    if (at->deepest == NULL || step > at->step) {
        at->deepest = schema;
        at->step = step;
    }
    if (step == path->n) {
        at->leaf = schema;
        return true;
    }
    if (path->steps[step].name == NULL) {
        const bool map = strcmp(schema->format, "+m") == 0;
        if (!map && strcmp(schema->format, "+l") != 0 && strcmp(schema->format, "+L") != 0) {
            return false;
        }
        at->turns[at->n++] =
            (struct where_turn){ strcmp(schema->format, "+L") == 0 ? WHERE_LARGE_ITEM : WHERE_ITEM,
                                 path->steps[step].index };
        if (search(schema->children[0], path, step + 1, at)) {
            return true;
        }
        at->n = n;
        return false;
    }
    if (strcmp(schema->format, "+s") != 0) {
        return false;
    }
    for (size_t to = path->n; to > step; to--) {
        bool names = true;
        for (size_t k = step; k < to; k++) {
            names = names && path->steps[k].name != NULL;
        }
        for (int64_t k = 0; names && k < schema->n_children; k++) {
            if (is_joined(name_of(schema->children[k]), path, step, to)) {
                at->turns[at->n++] = (struct where_turn){ WHERE_MEMBER, (uint64_t)k };
                if (search(schema->children[k], path, to, at)) {
                    return true;
                }
                at->n = n;
            }
        }
    }
    return false;
}

/* How much of one name has to change to make it the other; names of up to 60 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64];
    const size_t n = strlen(b);

    if (n > 60 || strlen(a) > 60) {
        return SIZE_MAX;
    }
    for (size_t k = 0; k <= n; k++) {
        row[k] = k;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t before = row[0]++;
        for (size_t k = 1; k <= n; k++) {
            size_t here = before + (a[i - 1] != b[k - 1]);
            before = row[k];
            here = row[k] + 1 < here ? row[k] + 1 : here;
            row[k] = row[k - 1] + 1 < here ? row[k - 1] + 1 : here;
        }
    }
    return row[n];
}

static sluice_status absent(const struct binder *b, const struct where_node *node,
                            const struct search *at)
{
    const struct ArrowSchema *schema = at->deepest;
    const struct where_step *step = &node->path.steps[at->step];
    char path[200];
    char told[500] = "";
    char type[64];
    const char *near = NULL;
    size_t nearest;
    size_t n = 0;

    where_path_text(&node->path, path, sizeof path);
    if (strcmp(schema->format, "+s") != 0 || step->name == NULL) {
        return where_fail(b->err, SLUICE_E_SCHEMA, b->text, node->at,
                          "found %s, but what %s is to be found in is %s", path,
                          step->name == NULL ? "an item" : step->name,
                          type_text(schema->format, type));
    }
    nearest = 1 + strlen(step->name) / 3;
    for (int64_t k = 0; k < schema->n_children; k++) {
        const char *other = name_of(schema->children[k]);
        if (n + strlen(other) + 12 < sizeof told) {
            n += (size_t)snprintf(told + n, sizeof told - n, "%s%s", k > 0 ? ", " : "", other);
        } else if (k > 0 && n < sizeof told - 10 && strstr(told, " and more") == NULL) {
            snprintf(told + n, sizeof told - n, " and more");
            n = sizeof told;
        }
        if (distance(step->name, other) <= nearest) {
            nearest = distance(step->name, other);
            near = other;
        }
    }
    return where_fail(b->err, SLUICE_E_SCHEMA, b->text, node->at,
                      "found %s, expected a column: there is no '%s' among %s%s%s%s", path,
                      step->name, told[0] == '\0' ? "none" : told,
                      near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                      near == NULL ? "" : "'?");
}

static bool same_end(const struct where_end *end, const struct search *at)
{
    if (end->shown.n != at->n) {
        return false;
    }
    for (size_t k = 0; k < at->n; k++) {
        if (end->turns[k].way != at->turns[k].way || end->turns[k].index != at->turns[k].index) {
            return false;
        }
    }
    return true;
}

static sluice_status add_end(struct binder *b, const struct search *at, size_t *out)
{
    struct where_bound *bound = b->bound;
    struct where_end *end;
    uint32_t *children = where_alloc(&bound->blocks, (at->n + 1) * sizeof *children);

    for (*out = 0; *out < bound->n_ends; ++*out) {
        if (same_end(&bound->ends[*out], at)) {
            return SLUICE_OK;
        }
    }
    if (bound->n_ends == b->room) {
        struct where_end *more = where_alloc(&bound->blocks, (2 * b->room + 4) * sizeof *more);
        if (more == NULL) {
            return lex_no_memory(b->err);
        }
        if (bound->n_ends > 0) {
            memcpy(more, bound->ends, bound->n_ends * sizeof *more);
        }
        bound->ends = more;
        b->room = 2 * b->room + 4;
    }
    if (children == NULL) {
        return lex_no_memory(b->err);
    }
    end = &bound->ends[bound->n_ends++];
    memset(end, 0, sizeof *end);
    end->turns = at->turns;
    for (size_t k = 0; k < at->n; k++) {
        children[k] = at->turns[k].way == WHERE_MEMBER ? (uint32_t)at->turns[k].index : 0;
        end->shown.listed |= at->turns[k].way != WHERE_MEMBER;
    }
    end->shown.children = children;
    end->shown.n = at->n;
    if (at->leaf != NULL) {
        end->how = class_of(at->leaf, &end->width);
        snprintf(end->shown.format, sizeof end->shown.format, "%s", at->leaf->format);
    }
    return SLUICE_OK;
}

/* ---- values ---- */

static sluice_status wrong_value(const struct binder *b, const struct where_node *node,
                                 const struct where_end *end, const struct where_value *value)
{
    const char *format = end->shown.format;
    char path[200];
    char type[64];
    const char *expected =
        where_has_reals(end->how) || (end->how >= WHERE_OF_INT8 && end->how <= WHERE_OF_UINT64)
            ? "a number"
        : end->how == WHERE_OF_BOOLS  ? "true or false"
        : end->how == WHERE_OF_OTHERS ? "a column of numbers, texts or bool"
                                      : "a text in quotes";

    where_path_text(&node->path, path, sizeof path);
    if (is_time(format)) {
        expected = format[1] == 'd'   ? "a text such as '2024-02-29'"
                   : format[1] == 't' ? "a text such as '23:59:59.5'"
                                      : "a text such as '2024-02-29T23:59:59.5Z'";
    }
    return where_fail(b->err, SLUICE_E_SCHEMA, b->text, node->at,
                      "%s, which is %s, is compared with %s, expected %s", path,
                      type_text(format, type),
                      value->kind == WHERE_TEXT   ? "a text"
                      : value->kind == WHERE_BOOL ? "true or false"
                                                  : "a number",
                      expected);
}

static bool convert(const struct where_end *end, struct where_value *value)
{
    const char *format = end->shown.format;

    if (end->how == WHERE_OF_NULLS) {
        return true; /* compares with nothing */
    }
    if (is_time(format)) {
        const int digits = format[1] == 'd' ? (format[2] == 'D' ? -1 : 3) : digits_of(format[2]);
        return value->kind == WHERE_TEXT &&
               (format[1] == 'd'   ? where_date(value->as.text, value->n, digits, value)
                : format[1] == 't' ? where_clock(value->as.text, value->n, digits, value)
                                   : where_stamp(value->as.text, value->n, digits, value));
    }
    switch (end->how) {
    case WHERE_OF_OTHERS:
        return false;
    case WHERE_OF_BOOLS:
        return value->kind == WHERE_BOOL;
    case WHERE_OF_TEXTS:
    case WHERE_OF_LARGE_TEXTS:
    case WHERE_OF_FIXED:
        return value->kind == WHERE_TEXT;
    case WHERE_OF_FLOAT32:
        if (where_is_number(value->kind)) {
            const float nearest = value->kind == WHERE_INT   ? (float)value->as.whole
                                  : value->kind == WHERE_BIG ? (float)value->as.big
                                                             : (float)value->as.real;
            value->kind = WHERE_REAL;
            value->as.real = (double)nearest;
        }
        return value->kind == WHERE_REAL;
    default:
        return where_is_number(value->kind);
    }
}

/* The whole numbers for which a comparison holds; 1 to 0: none. */
static void set_range(struct where_node *node)
{
    struct where_value greatest = { .kind = WHERE_INT, .as = { .whole = INT64_MAX } };
    struct where_value least = { .kind = WHERE_INT, .as = { .whole = INT64_MIN } };
    const struct where_value *value = node->values;
    const bool up = node->op == WHERE_GREATER || node->op == WHERE_GREATER_EQUAL;
    const bool down = node->op == WHERE_LESS || node->op == WHERE_LESS_EQUAL;
    int64_t floor_of;
    bool whole;

    node->ranged = true;
    node->lo = INT64_MIN;
    node->hi = INT64_MAX;
    if (where_compare(value, &greatest) > 0 || where_compare(value, &least) < 0) {
        if (where_compare(value, &least) < 0 ? !up : !down) {
            node->lo = 1;
            node->hi = 0;
        }
        return;
    }
    floor_of = value->kind == WHERE_REAL ? (int64_t)floor(value->as.real) : value->as.whole;
    whole = value->kind == WHERE_REAL ? floor(value->as.real) >= value->as.real : !value->above;
    if ((node->op == WHERE_EQUAL && !whole) ||
        (node->op == WHERE_LESS && whole && floor_of == INT64_MIN) ||
        (floor_of == INT64_MAX && (node->op == WHERE_GREATER || (up && !whole)))) {
        node->lo = 1;
        node->hi = 0;
        return;
    }
    if (!up) {
        node->hi = node->op == WHERE_LESS && whole ? floor_of - 1 : floor_of;
    }
    if (!down) {
        node->lo = node->op == WHERE_GREATER || !whole ? floor_of + 1 : floor_of;
    }
}

static sluice_status bind_values(struct binder *b, struct where_node *node)
{
    const struct where_end *end = &b->bound->ends[node->leaf];
    struct where_value *values;

    if (node->op == WHERE_NULL || end->how == WHERE_OF_NULLS) {
        return SLUICE_OK;
    }
    if (node->op == WHERE_LIKE) {
        const struct where_value text = { .kind = WHERE_TEXT };
        return end->how == WHERE_OF_TEXTS || end->how == WHERE_OF_LARGE_TEXTS ||
                       end->how == WHERE_OF_FIXED
                   ? SLUICE_OK
                   : wrong_value(b, node, end, &text);
    }
    values = where_alloc(&b->bound->blocks, (node->n_values + 1) * sizeof *values);
    if (values == NULL) {
        return lex_no_memory(b->err);
    }
    for (size_t k = 0; k < node->n_values; k++) {
        values[k] = node->values[k];
        if (!convert(end, &values[k])) {
            return wrong_value(b, node, end, &node->values[k]);
        }
    }
    node->values = values;
    if (node->op == WHERE_IN) {
        node->n_values = where_sort(values, node->n_values);
    } else if (end->how >= WHERE_OF_INT8 && end->how <= WHERE_OF_UINT32) {
        set_range(node);
    }
    return SLUICE_OK;
}

/* ---- the tree ---- */

static sluice_status bind_node(struct binder *b, const struct ArrowSchema *schema,
                               const struct where_node *from, struct where_node **out)
{
    struct where_node *node = where_alloc(&b->bound->blocks, sizeof *node);
    struct search at = { 0 };
    sluice_status status = SLUICE_OK;

    *out = node;
    if (node == NULL) {
        return lex_no_memory(b->err);
    }
    *node = *from;
    if (node->op == WHERE_AND || node->op == WHERE_OR) {
        node->parts = where_alloc(&b->bound->blocks, node->n_parts * sizeof *node->parts);
        if (node->parts == NULL) {
            return lex_no_memory(b->err);
        }
        for (size_t k = 0; k < node->n_parts && status == SLUICE_OK; k++) {
            status = bind_node(b, schema, from->parts[k], &node->parts[k]);
        }
        return status;
    }
    at.turns = where_alloc(&b->bound->blocks, (node->path.n + 1) * sizeof *at.turns);
    if (at.turns == NULL) {
        return lex_no_memory(b->err);
    }
    if (!search(schema, &node->path, 0, &at) &&
        ((b->flags & WHERE_ABSENT_IS_NULL) == 0 || strcmp(at.deepest->format, "+s") != 0)) {
        return absent(b, from, &at);
    }
    status = add_end(b, &at, &node->leaf);
    return status == SLUICE_OK ? bind_values(b, node) : status;
}

sluice_status where_bind(const struct where *where, const struct ArrowSchema *schema,
                         uint32_t flags, struct where_bound **out, struct sluice_error *err)
{
    struct binder b = { .text = where->text, .flags = flags, .err = err };
    sluice_status status;

    *out = NULL;
    b.bound = calloc(1, sizeof *b.bound);
    if (b.bound == NULL) {
        return lex_no_memory(err);
    }
    b.bound->where = where;
    status = bind_node(&b, schema, where->root, &b.bound->root);
    if (status != SLUICE_OK) {
        where_unbind(b.bound);
        return status;
    }
    *out = b.bound;
    return SLUICE_OK;
}

void where_unbind(struct where_bound *bound)
{
    if (bound != NULL) {
        where_free(bound->blocks);
        free(bound);
    }
}

size_t where_leaves(const struct where_bound *bound)
{
    return bound->n_ends;
}

const struct where_leaf *where_leaf_at(const struct where_bound *bound, size_t k)
{
    return &bound->ends[k].shown;
}
