/* What was measured of dropped rows, by stage and reason: histograms, limits, the rows nearest to
 * them. Reads the tables of drops twice: what there is, then how it is spread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/edge/table.h"
#include "run/facts/factsInt.h"
#include "run/facts/histogram.h"

/* The rows that one stage dropped for one reason. */
struct pair {
    char *stage, *reason; /* owned */
    uint64_t rows;
    bool similarity, chosen;
    bool consumed; /* not dropped: they go on elsewhere */
    struct histogram measured;
    uint64_t bins[HISTOGRAM_BINS];
    struct reasons near; /* chosen */
};

struct values {
    const struct facts_query *query;
    struct facts_query nearest; /* what query asks, of each pair */
    uint32_t phase, task;
    json_t *index; /* "stage/reason": number in pairs */
    struct pair *pairs;
    size_t n, room, n_dropped;
    struct buf key;
};

/* Whether the stage of this name hands what it drops to others of its composite. */
static bool is_consumed(const struct values *values, const char *stage)
{
    const struct phase *phase = values->query->run->plan->phases[values->phase];

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (strcmp(phase->ops[i]->name, stage) == 0) {
            return facts_consumes(phase->ops[i]);
        }
    }
    return false;
}

static sluice_status pair_of(struct values *values, const struct batch *batch, int64_t row,
                             struct pair **out, struct sluice_error *err)
{
    size_t n_stage;
    size_t n_reason;
    const char *stage = runview_text(batch, DROPS_STAGE, row, &n_stage);
    const char *reason = runview_text(batch, DROPS_REASON, row, &n_reason);
    const json_t *known;

    buf_clear(&values->key);
    buf_append(&values->key, stage, n_stage);
    buf_putc(&values->key, 0x2f);
    buf_append(&values->key, reason, n_reason);
    TRY(buf_status(&values->key, err));
    known = json_object_get(values->index, buf_str(&values->key));
    if (known == NULL) {
        struct pair *pair;
        if (values->n == values->room) {
            size_t room = values->room == 0 ? 16 : 2 * values->room;
            pair = realloc(values->pairs, room * sizeof *pair);
            if (pair == NULL) {
                return error_nomem(err, "reasons");
            }
            values->pairs = pair;
            values->room = room;
        }
        pair = &values->pairs[values->n];
        *pair = (struct pair){ .stage = str_copy(stage, n_stage),
                               .reason = str_copy(reason, n_reason) };
        values->n++;
        if (pair->stage == NULL || pair->reason == NULL ||
            json_object_set_new_nocheck(values->index, buf_str(&values->key),
                                        json_integer((json_int_t)values->n - 1)) != 0) {
            return error_nomem(err, "reasons");
        }
        pair->consumed = is_consumed(values, pair->stage);
        *out = pair;
        return SLUICE_OK;
    }
    *out = &values->pairs[json_integer_value(known)];
    return SLUICE_OK;
}

/* What was measured of a row: false = nothing that can be drawn. */
static bool measured(const struct batch *batch, int64_t row, double *value, double *limit,
                     bool *similarity)
{
    *limit = NAN;
    *similarity = !runview_null(batch, DROPS_SIMILARITY, row);
    if (*similarity) {
        *value = runview_f64(batch, DROPS_SIMILARITY, row);
        return isfinite(*value);
    }
    if (runview_null(batch, DROPS_VALUE, row) || !runview_null(batch, DROPS_DUP_OF, row)) {
        return false;
    }
    *value = runview_f64(batch, DROPS_VALUE, row);
    if (!runview_null(batch, DROPS_LIMIT, row)) {
        *limit = runview_f64(batch, DROPS_LIMIT, row);
    }
    return isfinite(*value) && (fabs(*value) > 0 || fabs(*limit) > 0);
}

static sluice_status look_first(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                struct sluice_error *err)
{
    struct values *values = ctx;
    struct pair *pair;
    double value;
    double limit;

    (void)stop;
    TRY(pair_of(values, batch, row, &pair, err));
    pair->rows++;
    if (measured(batch, row, &value, &limit, &pair->similarity)) {
        histogram_see(&pair->measured, value, limit);
    }
    return SLUICE_OK;
}

static sluice_status look_again(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                struct sluice_error *err)
{
    struct values *values = ctx;
    struct pair *pair;
    double value;
    double limit;
    bool similarity;

    (void)stop;
    TRY(pair_of(values, batch, row, &pair, err));
    if (!pair->chosen) {
        return SLUICE_OK;
    }
    if (measured(batch, row, &value, &limit, &similarity)) {
        pair->bins[histogram_bin(&pair->measured, value)]++;
    }
    pair->near.phase = values->phase;
    pair->near.task = values->task;
    return reasons_add(&pair->near, batch, row, err);
}

static sluice_status look(struct values *values, runview_row *fn, struct sluice_error *err)
{
    const struct run *run = values->query->run;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            values->phase = p;
            values->task = t;
            if (run->tasks[p][t].done) {
                TRY(runview_table(run, p, t, TABLE_DROPS, fn, values, err));
            }
        }
    }
    return SLUICE_OK;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = *(struct pair *const *)a;
    const struct pair *y = *(struct pair *const *)b;
    int order;

    if (x->rows != y->rows) {
        return x->rows > y->rows ? -1 : 1;
    }
    order = strcmp(x->stage, y->stage);
    return order != 0 ? order : strcmp(x->reason, y->reason);
}

static sluice_status pair_json(const struct pair *pair, json_t **out, struct sluice_error *err)
{
    json_t *json = json_object();
    json_t *documents = json_array();

    *out = json;
    json_object_set_new(json, "stage", facts_text(pair->stage, strlen(pair->stage)));
    json_object_set_new(json, "reason", facts_text(pair->reason, strlen(pair->reason)));
    json_object_set_new(json, "rows", json_integer((json_int_t)pair->rows));
    if (pair->measured.n > 0) {
        histogram_json(&pair->measured, json);
        json_object_set_new(json, "bins", histogram_counts(pair->bins));
    }
    if (pair->similarity) {
        json_object_set_new(json, "similarity", json_true());
    }
    json_object_set_new(json, "documents", documents);
    return reasons_list(&pair->near, documents, err);
}

static sluice_status list_pairs(struct values *values, json_t *list, struct sluice_error *err)
{
    struct pair **sorted = calloc(values->n + 1, sizeof *sorted);
    size_t n_sorted = 0;
    size_t n;
    sluice_status status = sorted == NULL ? error_nomem(err, "reasons") : SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < values->n; k++) {
        if (!values->pairs[k].consumed) {
            sorted[n_sorted++] = &values->pairs[k];
        }
    }
    if (status == SLUICE_OK && n_sorted > 0) {
        qsort(sorted, n_sorted, sizeof *sorted, compare_pairs);
    }
    values->n_dropped = n_sorted;
    n = n_sorted < values->query->most ? n_sorted : (size_t)values->query->most;
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        sorted[k]->chosen = true;
        histogram_scale(&sorted[k]->measured);
        status = reasons_init(&sorted[k]->near, &values->nearest, err);
    }
    if (status == SLUICE_OK) {
        status = look(values, look_again, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        json_t *json;
        status = pair_json(sorted[k], &json, err);
        json_array_append_new(list, json);
    }
    free(sorted);
    return status;
}

sluice_status facts_values(const struct facts_query *query, json_t **out, struct sluice_error *err)
{
    struct values values = { .query = query, .nearest = *query, .index = json_object() };
    json_t *list = json_array();
    sluice_status status;

    *out = NULL;
    values.nearest.most = query->nearest;
    values.nearest.near = true;
    status = values.index == NULL ? error_nomem(err, "reasons") : look(&values, look_first, err);
    if (status == SLUICE_OK) {
        status = list_pairs(&values, list, err);
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:I, s:O}", "pairs", (json_int_t)values.n_dropped, "values", list);
        status = *out == NULL ? error_nomem(err, "reasons") : SLUICE_OK;
    }
    for (size_t k = 0; k < values.n; k++) {
        free(values.pairs[k].stage);
        free(values.pairs[k].reason);
        reasons_deinit(&values.pairs[k].near);
    }
    free(values.pairs);
    json_decref(values.index);
    json_decref(list);
    buf_deinit(&values.key);
    return status;
}
