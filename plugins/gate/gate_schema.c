/* The rules on the columns of an edge: see gate_schema.h. */
#include "gate_schema.h"

#include <stdio.h>

bool gate_type_among(const char *found, const char *asked)
{
    size_t n = strlen(found);

    if (strcmp(asked, "any") == 0) {
        return true;
    }
    n -= n > 0 && found[n - 1] == '?';
    while (*asked != '\0') {
        size_t at = 0;
        bool equal = true;
        while (*asked != '\0' && *asked != '|') {
            char c = *asked++;
            if (c == ' ' || c == '\t' ||
                (c == '?' && (*asked == '\0' || *asked == '|' || *asked == ' '))) {
                continue;
            }
            equal = equal && at < n && found[at] == c;
            at++;
        }
        if (equal && at == n) {
            return true;
        }
        asked += *asked == '|';
    }
    return false;
}

/* ---- names ---- */

#define NAME_MOST 64

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Letters to change, add or leave out, of names without case. */
static size_t distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t row[NAME_MOST + 1];

    for (size_t j = 0; j <= n_b; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t change = corner + (lower(a[i - 1]) != lower(b[j - 1]));
            size_t fewer = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = change < fewer ? change : fewer;
        }
    }
    return row[n_b];
}

/* Does the longer one begin as the shorter one ("lang" and "language")? */
static bool begins(const char *part, size_t n, const char *whole)
{
    size_t k = 0;

    while (k < n && lower(part[k]) == lower(whole[k])) {
        k++;
    }
    return n >= 3 && k == n;
}

/* Is the shorter one a part of the longer one, between words ("text" of "text_clean")? */
static bool is_part(const char *part, size_t n, const char *whole, size_t n_whole)
{
    for (size_t at = 0; n >= 3 && at + n <= n_whole; at++) {
        bool begins = at == 0 || whole[at - 1] == '_' || whole[at - 1] == '.';
        bool ends = at + n == n_whole || whole[at + n] == '_' || whole[at + n] == '.';
        size_t k = 0;
        while (begins && ends && k < n && lower(part[k]) == lower(whole[at + k])) {
            k++;
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

int gate_names_alike(const char *a, const char *b)
{
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);
    size_t longer = n_a > n_b ? n_a : n_b;
    size_t shorter = n_a + n_b - longer;
    size_t d;

    if (longer > NAME_MOST || shorter == 0) {
        return 0;
    }
    if (n_a <= n_b ? is_part(a, n_a, b, n_b) : is_part(b, n_b, a, n_a)) {
        return 100;
    }
    if (n_a <= n_b ? begins(a, n_a, b) : begins(b, n_b, a)) {
        return 90;
    }
    d = distance(a, n_a, b, n_b);
    return d > 1 + longer / 4 ? 0 : 100 - (int)(100 * d / (longer + 1));
}

/* ---- columns ---- */

static bool listed(const struct sluice_list *list, const char *name)
{
    for (uint64_t i = 0; list != NULL && i < list->n; i++) {
        if (strcmp(list->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has(const struct sluice_map *types, const char *name)
{
    for (uint64_t i = 0; i < types->n; i++) {
        if (strcmp(types->keys[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status unlisted(const struct gate_schema *schema, sluice_status status,
                              struct sluice_error *err)
{
    return sluice_fail(err, status, schema->field, "the columns of the input can't be listed");
}

/* What a column that is not there may be called now: of those that nobody expects and that have its
 * type, the one whose name is alike, or the only one. */
static sluice_status likely(const struct gate_schema *schema, struct sluice_plan *plan,
                            const char *wanted, const char *asked, char found[256],
                            char found_type[100], bool *by_name, struct sluice_error *err)
{
    int best = 0;
    unsigned n = 0;
    sluice_status status;

    found[0] = '\0';
    for (uint32_t k = 0;; k++) {
        const char *name;
        const char *type;
        int alike;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK) {
            return unlisted(schema, status, err);
        }
        if (name[0] == '\0') {
            break;
        }
        if (has(schema->types, name) || strcmp(name, "id") == 0 || strcmp(name, "metadata") == 0 ||
            !gate_type_among(type, asked)) {
            continue;
        }
        n++;
        alike = gate_names_alike(wanted, name);
        if (alike > best || (best == 0 && n == 1)) {
            best = alike;
            (void)snprintf(found, 256, "%.255s", name);
            (void)snprintf(found_type, 100, "%.99s", type);
        }
    }
    *by_name = best > 0;
    if (best == 0 && n != 1) {
        found[0] = '\0';
    }
    return SLUICE_OK;
}

static sluice_status missing(const struct gate_schema *schema, struct sluice_plan *plan,
                             const char *wanted, const char *asked, struct sluice_error *err)
{
    char message[900];
    char found[256];
    char type[100];
    bool by_name;
    int32_t index;
    sluice_status status = likely(schema, plan, wanted, asked, found, type, &by_name, err);

    if (status != SLUICE_OK) {
        return status;
    }
    if (found[0] != '\0') {
        (void)snprintf(message, sizeof message,
                       "the column '%.100s' (%.100s) is not there, but '%.100s' (%.100s) is, which "
                       "nobody expects: %s. If it was renamed, put s.rename_columns { { %.100s = "
                       "\"%.100s\" } } before, or expect the new name",
                       wanted, asked, found, type,
                       by_name ? "their names are alike" : "no other column has that type", found,
                       wanted);
        return sluice_fail(err, SLUICE_E_SCHEMA, wanted, message);
    }
    /* Its message says what there is instead; it refuses as there is no such column. */
    status = plan->need(plan, 0, wanted, "", 0, &index, err);
    return status != SLUICE_OK ? status
                               : sluice_fail(err, SLUICE_E_SCHEMA, wanted,
                                             "a hidden or derived column has no place in a schema");
}

static sluice_status check_one(const struct gate_schema *schema, struct sluice_plan *plan,
                               const char *wanted, const char *asked, struct sluice_error *err)
{
    char message[500];

    for (uint32_t k = 0;; k++) {
        const char *name;
        const char *type;
        sluice_status status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK) {
            return unlisted(schema, status, err);
        }
        if (name[0] == '\0') {
            return listed(schema->may_lack, wanted) ? SLUICE_OK
                                                    : missing(schema, plan, wanted, asked, err);
        }
        if (strcmp(name, wanted) != 0) {
            continue;
        }
        if (!gate_type_among(type, asked)) {
            (void)snprintf(message, sizeof message,
                           "the column '%.100s' is %.150s, the schema expects %.150s; "
                           "s.cast_columns makes it so",
                           wanted, type, asked);
            return sluice_fail(err, SLUICE_E_SCHEMA, wanted, message);
        }
        return SLUICE_OK;
    }
}

static sluice_status check_others(const struct gate_schema *schema, struct sluice_plan *plan,
                                  struct sluice_error *err)
{
    char message[500];

    for (uint32_t k = 0;; k++) {
        const char *name;
        const char *type;
        sluice_status status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK) {
            return unlisted(schema, status, err);
        }
        if (name[0] == '\0') {
            return SLUICE_OK;
        }
        /* Every reader gives an id; what it keeps of other members is looked at row by row. */
        if (!has(schema->types, name) && strcmp(name, "metadata") != 0 && strcmp(name, "id") != 0) {
            (void)snprintf(message, sizeof message,
                           "there is a column '%.100s' (%.100s) that the contract does not have, "
                           "and evolution = \"fixed\" lets none in; drop it before with "
                           "s.drop_columns { \"%.100s\" }, or take it into the contract",
                           name, type, name);
            return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
        }
    }
}

sluice_status gate_schema_check(const struct gate_schema *schema, struct sluice_plan *plan,
                                struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < schema->types->n; i++) {
        status = check_one(schema, plan, schema->types->keys[i], schema->types->values[i], err);
    }
    return status == SLUICE_OK && schema->fixed ? check_others(schema, plan, err) : status;
}
