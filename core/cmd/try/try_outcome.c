/* What came out of a run of `sluice try`: values as text, rows to show, counts by a column. See
 * try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cmd/try/try.h"
#include "sluice_arrays.h"

/* Values that an annotator added to a row: "language=en score=0.3". Long ones are cut by who shows
 * them. */
char *outcome_note(const struct type *added, const struct ArrowArray *columns,
                   const struct sample *sample, uint64_t number, int64_t row)
{
    struct buf text = BUF_INIT;

    for (uint32_t k = 0; k < added->n_children; k++) {
        char buffer[64];
        size_t n = 0;
        const char *value = value_text(added->children[k], columns->children[k], row, &n, buffer);
        buf_printf(&text, "%s%s=", k > 0 ? " " : "", added->names[k]);
        if (value == NULL) {
            buf_puts(&text, "null");
        } else if (strcmp(added->names[k], "text") == 0) {
            buf_printf(&text, "(%llu -> %zu bytes)",
                       (unsigned long long)sample_row_bytes(sample, number), n);
        } else {
            buf_append(&text, value, n < 200 ? n : 200);
        }
    }
    return buf_take(&text);
}

void outcome_deinit(struct outcome *out)
{
    for (uint64_t i = 0; out->fates != NULL && i < out->n; i++) {
        free(out->fates[i].note);
        free(out->fates[i].after);
    }
    for (uint32_t k = 0; k < out->n_reasons; k++) {
        free(out->reasons[k]);
    }
    free(out->fates);
    free(out->reasons);
    memset(out, 0, sizeof *out);
}

uint64_t outcome_changed(const struct outcome *out)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < out->n; i++) {
        n += out->fates[i].after != NULL;
    }
    return n;
}

const char *outcome_reason(const struct outcome *out, int32_t reason)
{
    return reason == 0                          ? "kept"
           : reason == SLUICE_VERDICT_BAD       ? "quarantined"
           : (uint32_t)reason <= out->n_reasons ? out->reasons[reason - 1]
                                                : "?";
}

double fate_distance(const struct fate *fate)
{
    double scale = fabs(fate->limit) > 1e-12 ? fabs(fate->limit) : 1;

    return fate->valued ? fabs(fate->value - fate->limit) / scale : INFINITY;
}

/* ---- picking ---- */

struct pick {
    double distance;
    uint64_t order, row;
};

static int compare_picks(const void *a, const void *b)
{
    const struct pick *x = a;
    const struct pick *y = b;

    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    if (x->order != y->order) {
        return x->order < y->order ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

sluice_status outcome_pick(const struct outcome *out, int fate, uint64_t most, uint64_t **rows,
                           uint64_t *n, struct sluice_error *err)
{
    struct pick *picks = malloc((out->n + 1) * sizeof *picks);
    uint64_t found = 0;

    *n = 0;
    *rows = NULL;
    if (picks == NULL) {
        return error_nomem(err, "examples");
    }
    for (uint64_t i = 0; i < out->n; i++) {
        int32_t reason = out->fates[i].reason;
        if ((reason == SLUICE_VERDICT_BAD ? -1 : reason > 0) == fate) {
            picks[found++] = (struct pick){ fate_distance(&out->fates[i]),
                                            out->fates[i].valued || out->fates[i].after != NULL
                                                ? 0
                                                : hash_bytes(&i, sizeof i).lo,
                                            i };
        }
    }
    qsort(picks, found, sizeof *picks, compare_picks);
    *n = found < most ? found : most;
    *rows = malloc((*n + 1) * sizeof **rows);
    for (uint64_t i = 0; *rows != NULL && i < *n; i++) {
        (*rows)[i] = picks[i].row;
    }
    free(picks);
    return *rows == NULL ? error_nomem(err, "examples") : SLUICE_OK;
}

/* ---- counts by a column ---- */

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;

    return x->rows != y->rows ? (x->rows > y->rows ? -1 : 1) : strcmp(x->value, y->value);
}

/* The group of a value; a new one where it is the first of its kind. */
static sluice_status find_group(struct groups *groups, json_t *places, const char *value, size_t n,
                                uint32_t *out, struct sluice_error *err)
{
    char *key = value == NULL ? str_copy("null", 4) : str_copy(value, n < 200 ? n : 200);
    const json_t *place = key == NULL ? NULL : json_object_get(places, key);
    struct group *more = NULL;

    *out = place != NULL ? (uint32_t)json_integer_value(place) : (uint32_t)groups->n;
    if (place != NULL) {
        free(key);
        return SLUICE_OK;
    }
    if (key != NULL &&
        json_object_set_new_nocheck(places, key, json_integer((json_int_t)groups->n)) == 0) {
        more = realloc(groups->items, (groups->n + 1) * sizeof *more);
    }
    if (more == NULL) {
        free(key);
        return error_nomem(err, "counts");
    }
    groups->items = more;
    more[groups->n++] = (struct group){ .value = key, .found = *out };
    return SLUICE_OK;
}

/* The largest first. */
static sluice_status sort_groups(struct groups *groups, uint64_t n_rows, struct sluice_error *err)
{
    uint32_t *places = calloc(groups->n + 1, sizeof *places);

    if (places == NULL) {
        return error_nomem(err, "counts");
    }
    qsort(groups->items, groups->n, sizeof *groups->items, compare_groups);
    for (uint32_t g = 0; g < groups->n; g++) {
        places[groups->items[g].found] = g;
    }
    for (uint64_t i = 0; i < n_rows; i++) {
        groups->of[i] = places[groups->of[i]];
    }
    free(places);
    return SLUICE_OK;
}

sluice_status groups_make(const struct sample *sample, const struct outcome *out, int32_t column,
                          struct groups *groups, struct sluice_error *err)
{
    json_t *places = json_object();
    sluice_status status;

    memset(groups, 0, sizeof *groups);
    groups->of = calloc(out->n + 1, sizeof *groups->of);
    status = places == NULL || groups->of == NULL ? error_nomem(err, "counts") : SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < out->n; i++) {
        char buffer[64];
        size_t n = 0;
        const char *value = sample_value(sample, column, i, &n, buffer);
        uint64_t bytes = sample_row_bytes(sample, i);
        bool kept = out->fates[i].reason == 0;
        status = find_group(groups, places, value, n, &groups->of[i], err);
        if (status == SLUICE_OK) {
            struct group *group = &groups->items[groups->of[i]];
            group->rows++;
            group->bytes += bytes;
            group->kept += kept;
            group->kept_bytes += kept ? bytes : 0;
        }
    }
    json_decref(places);
    if (status == SLUICE_OK && groups->n > 0) {
        status = sort_groups(groups, out->n, err);
    }
    if (status != SLUICE_OK) {
        groups_deinit(groups);
    }
    return status;
}

void groups_deinit(struct groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        free(groups->items[i].value);
    }
    free(groups->items);
    free(groups->of);
    memset(groups, 0, sizeof *groups);
}
