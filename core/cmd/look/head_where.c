/* Which rows `sluice head --where` shows: expressions (sdk/where), and FIELD=VALUE as it was before
 * there were any. Rows are JSON of any shape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/look/field.h"
#include "cmd/look/headInt.h"

/* ---- FIELD=VALUE ---- */

/* A number as it is written, or any other value as text. */
static bool value_is(const json_t *value, const char *text)
{
    char number[64];
    char *end;

    switch (json_typeof(value)) {
    case JSON_STRING:
        return strcmp(json_string_value(value), text) == 0;
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return strcmp(number, text) == 0;
    case JSON_REAL: {
        double given = strtod(text, &end);
        return end != text && *end == '\0' && given >= json_real_value(value) &&
               given <= json_real_value(value);
    }
    case JSON_TRUE:
        return strcmp(text, "true") == 0;
    case JSON_FALSE:
        return strcmp(text, "false") == 0;
    case JSON_NULL:
        return strcmp(text, "null") == 0;
    default:
        return false;
    }
}

/* Is it written that way? Without blanks beside the sign, and without quotes behind it, where an
 * expression would begin a text. */
static bool is_plain(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals != NULL && equals != text && equals[-1] != ' ' &&
           strcspn(text, "<>!~'\"()") >= (size_t)(equals - text) &&
           (equals[1] == '\0' || strchr("='\" ", equals[1]) == NULL);
}

/* ---- expressions ---- */

/* The item, or the member whose name is the next steps joined by dots: the longest that is
 * there. */
static const json_t *find_path(const json_t *at, const struct where_step *steps, size_t n)
{
    char name[256];
    size_t used = 0;
    const json_t *found = NULL;

    if (n == 0 || at == NULL) {
        return at;
    }
    if (steps[0].name == NULL) {
        return find_path(json_array_get(at, (size_t)steps[0].index), steps + 1, n - 1);
    }
    for (size_t k = 0; k < n && steps[k].name != NULL; k++) {
        const json_t *below;
        int size =
            snprintf(name + used, sizeof name - used, "%s%s", k > 0 ? "." : "", steps[k].name);
        if (size < 0 || (size_t)size >= sizeof name - used) {
            break;
        }
        used += (size_t)size;
        below = find_path(json_object_get(at, name), steps + k + 1, n - k - 1);
        found = below != NULL ? below : found;
    }
    return found;
}

static struct where_value find_value(void *ctx, const struct where_path *path)
{
    const json_t *value = find_path(ctx, path->steps, path->n);
    struct where_value out = { .kind = WHERE_NONE };

    if (value == NULL) {
        return out;
    }
    switch (json_typeof(value)) {
    case JSON_STRING:
        out.kind = WHERE_TEXT;
        out.as.text = json_string_value(value);
        out.n = json_string_length(value);
        break;
    case JSON_INTEGER:
        out.kind = WHERE_INT;
        out.as.whole = json_integer_value(value);
        break;
    case JSON_REAL:
        out.kind = WHERE_REAL;
        out.as.real = json_real_value(value);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        out.kind = WHERE_BOOL;
        out.as.truth = json_is_true(value);
        break;
    case JSON_NULL:
        break;
    default:
        out.kind = WHERE_OTHER;
        break;
    }
    return out;
}

/* ---- all of them ---- */

bool conditions_hold(const struct conditions *conditions, const json_t *row)
{
    for (size_t k = 0; k < conditions->n; k++) {
        const struct condition *condition = &conditions->items[k];
        bool holds;
        if (condition->where != NULL) {
            holds = where_holds(condition->where, find_value, (void *)(uintptr_t)row);
        } else {
            const json_t *value = field_find(row, condition->path);
            holds = value == NULL ? strcmp(condition->value, "null") == 0
                                  : value_is(value, condition->value);
        }
        if (!holds) {
            return false;
        }
    }
    return true;
}

sluice_status conditions_parse(const struct args *args, struct conditions *conditions,
                               struct sluice_error *err)
{
    const char *given[ARGS_MAX];
    const size_t n = args_all(args, "--where", given);

    for (size_t k = 0; k < n; k++) {
        struct condition *condition = &conditions->items[conditions->n++];
        const char *equals = strchr(given[k], '=');
        sluice_status status = where_parse(given[k], &condition->where, err);
        /* One that could be both is the old one, for which 3 is also the text "3". */
        if (status == SLUICE_OK && !(is_plain(given[k]) && where_is_equals(condition->where))) {
            continue;
        }
        if (status != SLUICE_OK && (status != SLUICE_E_CONFIG || !is_plain(given[k]))) {
            return status;
        }
        where_destroy(condition->where);
        condition->where = NULL;
        condition->path = str_copy(given[k], (size_t)(equals - given[k]));
        condition->value = equals + 1;
        if (condition->path == NULL) {
            return error_nomem(err, "conditions");
        }
    }
    return SLUICE_OK;
}

void conditions_deinit(struct conditions *conditions)
{
    for (size_t k = 0; k < conditions->n; k++) {
        where_destroy(conditions->items[k].where);
        free(conditions->items[k].path);
    }
    conditions->n = 0;
}
