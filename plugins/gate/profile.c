/* What the values of columns are like: see profile.h. */
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IS_BOOL, IS_WHOLE, IS_REAL, IS_TEXT, IS_JSON, IS_KINDS };
static const char *const kind_names[IS_KINDS] = { "bool", "whole", "real", "text", "json" };

struct column {
    char *name, *type;          /* owned */
    uint64_t kinds[IS_KINDS];   /* values of each kind; the rest of the rows are nulls */
    long double least, most;    /* of numbers */
    bool unbounded;             /* there is a nan or an infinity */
    uint64_t shortest, longest; /* characters of texts */
    json_t *values;             /* sorted by their JSON texts */
    bool many;                  /* more than are kept */
};

struct profile {
    uint64_t rows;
    struct column *columns; /* sorted by name */
    size_t n;
};

struct profile *profile_create(void)
{
    return calloc(1, sizeof(struct profile));
}

void profile_destroy(struct profile *profile)
{
    for (size_t i = 0; profile != NULL && i < profile->n; i++) {
        free(profile->columns[i].name);
        free(profile->columns[i].type);
        json_decref(profile->columns[i].values);
    }
    free(profile != NULL ? profile->columns : NULL);
    free(profile);
}

void profile_row(struct profile *profile)
{
    profile->rows++;
}

static char *copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *made = malloc(n);

    return made == NULL ? NULL : memcpy(made, text, n);
}

static struct column *column_of(struct profile *profile, const char *name, const char *type)
{
    size_t lo = 0;
    size_t hi = profile->n;
    struct column *more;
    struct column *column;

    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        int order = strcmp(profile->columns[middle].name, name);
        if (order == 0) {
            return &profile->columns[middle];
        }
        lo = order < 0 ? middle + 1 : lo;
        hi = order < 0 ? hi : middle;
    }
    more = realloc(profile->columns, (profile->n + 1) * sizeof *more);
    if (more == NULL) {
        return NULL;
    }
    profile->columns = more;
    column = &more[lo];
    memmove(column + 1, column, (profile->n - lo) * sizeof *more);
    memset(column, 0, sizeof *column);
    profile->n++;
    column->name = copy(name);
    column->type = copy(type);
    column->values = json_array();
    return column->name == NULL || column->type == NULL || column->values == NULL ? NULL : column;
}

/* ---- values ---- */

static int compare_json(const json_t *a, const json_t *b)
{
    char *left = json_dumps(a, JSON_ENCODE_ANY);
    char *right = json_dumps(b, JSON_ENCODE_ANY);
    int order = left == NULL || right == NULL ? 0 : strcmp(left, right);

    free(left);
    free(right);
    return order;
}

/* Keeps a value among the column's; takes it. */
static bool keep(struct column *column, json_t *value)
{
    size_t n = json_array_size(column->values);
    size_t at = 0;
    bool known = value == NULL;

    for (size_t i = 0; !known && i < n; i++) {
        known = json_equal(json_array_get(column->values, i), value) != 0;
    }
    if (known || n == PROFILE_VALUES) {
        column->many = column->many || !known;
        json_decref(value);
        return value != NULL;
    }
    while (at < n && compare_json(json_array_get(column->values, at), value) < 0) {
        at++;
    }
    return json_array_insert_new(column->values, at, value) == 0;
}

static void number(struct column *column, long double value)
{
    bool first = column->kinds[IS_WHOLE] + column->kinds[IS_REAL] == 0;

    if (!isfinite(value)) {
        column->unbounded = true;
        return;
    }
    /* A column that began with a nan has no bounds anyway. */
    column->least = first || value < column->least ? value : column->least;
    column->most = first || value > column->most ? value : column->most;
}

static void text(struct column *column, const struct cast_value *value)
{
    uint64_t n = 0;
    bool first = column->kinds[IS_TEXT] == 0;

    for (size_t i = 0; i < value->n; i++) {
        n += ((unsigned char)value->text[i] & 0xc0) != 0x80;
    }
    column->shortest = first || n < column->shortest ? n : column->shortest;
    column->longest = first || n > column->longest ? n : column->longest;
    column->many = column->many || value->n > PROFILE_TEXT;
}

bool profile_value(struct profile *profile, const char *name, const char *type,
                   const struct cast_value *value, bool json)
{
    struct column *column = column_of(profile, name, type);

    if (column == NULL) {
        return false;
    }
    if (json) {
        column->kinds[IS_JSON]++;
        return true;
    }
    switch (value->is) {
    case VALUE_NONE:
        return true;
    case VALUE_BOOLEAN:
        column->kinds[IS_BOOL]++;
        return true;
    case VALUE_WHOLE:
        number(column,
               value->negative ? -(long double)value->magnitude : (long double)value->magnitude);
        column->kinds[IS_WHOLE]++;
        return column->many || value->magnitude > INT64_MAX ||
               keep(column, json_integer(value->negative ? -(json_int_t)value->magnitude
                                                         : (json_int_t)value->magnitude));
    case VALUE_REAL:
        number(column, (long double)value->real);
        column->kinds[IS_REAL]++;
        return true;
    case VALUE_TEXT:
        break;
    }
    text(column, value);
    column->kinds[IS_TEXT]++;
    return column->many || keep(column, json_stringn(value->text, value->n));
}

/* ---- profiles as JSON ---- */

static json_t *exact(long double value)
{
    char digits[64];

    (void)snprintf(digits, sizeof digits, "%.21Lg", value);
    return json_string(digits);
}

json_t *profile_print(const struct profile *profile)
{
    json_t *columns = json_object();
    json_t *all = json_object();

    for (size_t i = 0; i < profile->n; i++) {
        const struct column *column = &profile->columns[i];
        json_t *kinds = json_object();
        for (int k = 0; k < IS_KINDS; k++) {
            json_object_set_new(kinds, kind_names[k], json_integer((json_int_t)column->kinds[k]));
        }
        json_object_set_new(columns, column->name,
                            json_pack("{s:s, s:o, s:o, s:o, s:b, s:I, s:I, s:O, s:b}", "type",
                                      column->type, "kinds", kinds, "least", exact(column->least),
                                      "most", exact(column->most), "unbounded", column->unbounded,
                                      "shortest", (json_int_t)column->shortest, "longest",
                                      (json_int_t)column->longest, "values", column->values, "many",
                                      column->many));
    }
    json_object_set_new(all, "rows", json_integer((json_int_t)profile->rows));
    json_object_set_new(all, "columns", columns);
    return all;
}

static bool add_column(struct column *to, json_t *from)
{
    json_t *kinds = json_object_get(from, "kinds");
    uint64_t numbers = to->kinds[IS_WHOLE] + to->kinds[IS_REAL];
    uint64_t texts = to->kinds[IS_TEXT];
    uint64_t more[IS_KINDS];
    long double least = strtold(json_string_value(json_object_get(from, "least")), NULL);
    long double most = strtold(json_string_value(json_object_get(from, "most")), NULL);
    uint64_t shortest = (uint64_t)json_integer_value(json_object_get(from, "shortest"));
    uint64_t longest = (uint64_t)json_integer_value(json_object_get(from, "longest"));
    json_t *values = json_object_get(from, "values");
    bool ok = true;

    for (int k = 0; k < IS_KINDS; k++) {
        more[k] = (uint64_t)json_integer_value(json_object_get(kinds, kind_names[k]));
        to->kinds[k] += more[k];
    }
    if (more[IS_WHOLE] + more[IS_REAL] > 0) {
        to->least = numbers == 0 || least < to->least ? least : to->least;
        to->most = numbers == 0 || most > to->most ? most : to->most;
    }
    if (more[IS_TEXT] > 0) {
        to->shortest = texts == 0 || shortest < to->shortest ? shortest : to->shortest;
        to->longest = texts == 0 || longest > to->longest ? longest : to->longest;
    }
    to->unbounded = to->unbounded || json_is_true(json_object_get(from, "unbounded"));
    to->many = to->many || json_is_true(json_object_get(from, "many"));
    for (size_t i = 0; ok && !to->many && i < json_array_size(values); i++) {
        ok = keep(to, json_incref(json_array_get(values, i)));
    }
    return ok;
}

/* Is it what profile_print made? */
static bool is_profile(const json_t *json)
{
    json_t *columns = json_object_get(json, "columns");
    const char *name;
    json_t *column;

    json_object_foreach(columns, name, column)
    {
        if (!json_is_string(json_object_get(column, "type")) ||
            !json_is_string(json_object_get(column, "least")) ||
            !json_is_string(json_object_get(column, "most")) ||
            !json_is_array(json_object_get(column, "values"))) {
            return false;
        }
    }
    return json_is_object(columns) && json_is_integer(json_object_get(json, "rows"));
}

bool profile_add(struct profile *profile, const json_t *from, bool *damaged)
{
    const char *name;
    json_t *column;
    bool ok = true;

    *damaged = !is_profile(from);
    if (*damaged) {
        return true;
    }
    profile->rows += (uint64_t)json_integer_value(json_object_get(from, "rows"));
    json_object_foreach(json_object_get(from, "columns"), name, column)
    {
        struct column *to =
            column_of(profile, name, json_string_value(json_object_get(column, "type")));
        ok = ok && to != NULL && add_column(to, column);
    }
    return ok;
}

/* ---- the contract ---- */

/* The type of a column, of members of JSON the narrowest that holds all. */
static const char *type_of(const struct column *column, char room[128])
{
    const uint64_t *n = column->kinds;
    int kinds = 0;
    size_t size = strlen(column->type);

    if (size > 0) {
        (void)snprintf(room, 128, "%.127s", column->type);
        size = strlen(room);
        room[size - (room[size - 1] == '?')] = '\0';
        return room;
    }
    for (int k = 0; k < IS_KINDS; k++) {
        kinds += n[k] > 0;
    }
    if (kinds == 0) {
        return "any";
    }
    if (kinds == 2 && n[IS_WHOLE] > 0 && n[IS_REAL] > 0) {
        return "float64";
    }
    return kinds > 1        ? "json"
           : n[IS_BOOL] > 0 ? "bool"
           : n[IS_WHOLE] > 0
               ? (column->least < -9223372036854775808.0L || column->most > 9223372036854775807.0L
                      ? "float64"
                      : "int64")
           : n[IS_REAL] > 0 ? "float64"
           : n[IS_TEXT] > 0 ? "utf8"
                            : "json";
}

static json_t *bound(const struct column *column, long double value)
{
    char digits[64];

    if (column->kinds[IS_REAL] > 0) {
        return json_real((double)value);
    }
    if (fabsl(value) <= 9223372036854775807.0L) {
        return json_integer((json_int_t)value);
    }
    (void)snprintf(digits, sizeof digits, "%.0Lf", value);
    return json_string(digits);
}

json_t *profile_contract(const struct profile *profile)
{
    json_t *columns = json_object();
    json_t *required = json_array();
    json_t *range = json_object();
    json_t *length = json_object();
    json_t *allowed = json_object();

    for (size_t i = 0; i < profile->n; i++) {
        const struct column *column = &profile->columns[i];
        char room[128];
        const char *type = type_of(column, room);
        uint64_t there = 0;
        size_t n = json_array_size(column->values);
        for (int k = 0; k < IS_KINDS; k++) {
            there += column->kinds[k];
        }
        if (there == 0 && strcmp(column->name, "text") == 0) {
            continue; /* readers give it where there is none */
        }
        json_object_set_new(columns, column->name, json_string(type));
        if (there == profile->rows && there > 0) {
            json_array_append_new(required, json_string(column->name));
        }
        if (strcmp(column->name, "id") == 0 || strcmp(type, "json") == 0 || there == 0) {
            continue;
        }
        /* Few values that come again and again are a set: each ten times on average. */
        if (!column->many && n > 0 && n <= there / 10 && column->kinds[IS_REAL] == 0 &&
            (column->kinds[IS_TEXT] == there || column->kinds[IS_WHOLE] == there)) {
            json_object_set(allowed, column->name, column->values);
        } else if (column->kinds[IS_TEXT] == there) {
            json_object_set_new(
                length, column->name,
                json_pack("[I, I]", (json_int_t)column->shortest, (json_int_t)column->longest));
        } else if (column->kinds[IS_WHOLE] + column->kinds[IS_REAL] == there &&
                   !column->unbounded) {
            json_object_set_new(
                range, column->name,
                json_pack("[o, o]", bound(column, column->least), bound(column, column->most)));
        }
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:s}", "contract", 1, "columns", columns,
                     "required", required, "range", range, "length", length, "allowed", allowed,
                     "evolution", "add");
}
