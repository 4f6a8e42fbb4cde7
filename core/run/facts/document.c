/* The documents that an id or a row names, and the way of each (way.c) through the stages of a
 * run. */
#include <stdlib.h>
#include <string.h>

#include "run/facts/factsInt.h"

#define MATCHES_MOST 100u /* documents with one id */

struct matching {
    const struct facts_query *query;
    const char *id;
    size_t length;
    const struct lane *lane;
    uint32_t split;
    struct place *places;
    size_t n;
    bool any_id, any_done;
};

static sluice_status match_id(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct matching *matching = ctx;
    size_t n;
    const char *id;

    (void)err;
    if (runview_null(batch, ORIGIN_ID, row)) {
        return SLUICE_OK;
    }
    matching->any_id = true;
    id = runview_text(batch, 4, row, &n);
    if (n == matching->length && memcmp(id, matching->id, n) == 0) {
        matching->places[matching->n++] =
            (struct place){ .lane = matching->lane,
                            .split = matching->split,
                            .row = runview_u64(batch, ORIGIN_ROW, row) };
        *stop = matching->n == MATCHES_MOST;
    }
    return SLUICE_OK;
}

/* A quarantined record has no id any more, but its bytes may hold it. */
struct raw_search {
    struct matching *matching;
    uint32_t phase, task;
    uint64_t found;
};

static sluice_status match_raw(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                               struct sluice_error *err)
{
    struct raw_search *search = ctx;
    size_t n;
    const char *raw;

    (void)stop;
    (void)err;
    if (runview_null(batch, BAD_RAW, row)) {
        return SLUICE_OK;
    }
    raw = runview_text(batch, 7, row, &n);
    search->found += memmem(raw, n, search->matching->id, search->matching->length) != NULL;
    return SLUICE_OK;
}

static sluice_status not_found(struct matching *matching, struct sluice_error *err)
{
    const struct run *run = matching->query->run;
    struct raw_search search = { .matching = matching };

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].done) {
                TRY(runview_table(run, p, t, TABLE_BAD, match_raw, &search, err));
            }
        }
    }
    if (search.found > 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "no document has the id '%s', but %llu quarantined record%s hold%s that "
                         "text: sluice why %s --quarantine",
                         matching->id, (unsigned long long)search.found,
                         search.found == 1 ? "" : "s", search.found == 1 ? "s" : "",
                         matching->query->name);
    }
    if (!matching->any_done) {
        return error_set(err, SLUICE_E_CONFIG,
                         "no reading task of this run is done, so nothing is known of its "
                         "documents; run the pipeline first");
    }
    if (!matching->any_id) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the documents of this run have no ids (their reader makes no column id); "
                         "name one by --task N --row N");
    }
    return error_set(err, SLUICE_E_CONFIG, "no document of this run has the id '%s'", matching->id);
}

static sluice_status tell_all(const struct run *run, struct place *places, size_t n, json_t **out,
                              struct sluice_error *err)
{
    json_t *documents = json_array();
    sluice_status status = places_fill(run, places, n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        json_t *way = NULL;
        json_t *json = json_object();
        status = way_of(run, &places[i], &way, err);
        place_json(&places[i], json);
        json_object_set_new(json, "way", way);
        json_array_append_new(documents, json);
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:O}", "documents", documents);
        status = *out == NULL ? error_nomem(err, "documents") : SLUICE_OK;
    }
    json_decref(documents);
    return status;
}

sluice_status facts_document(const struct facts_query *query, const char *id, json_t **out,
                             struct sluice_error *err)
{
    const struct run *run = query->run;
    struct matching matching = { .query = query, .id = id, .length = strlen(id) };
    sluice_status status;

    *out = NULL;
    matching.places = calloc(MATCHES_MOST, sizeof *matching.places);
    status = matching.places == NULL ? error_nomem(err, "places") : SLUICE_OK;
    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        for (uint32_t t = 0;
             status == SLUICE_OK && matching.n < MATCHES_MOST && t < run->plan->phases[p]->n_tasks;
             t++) {
            matching.lane = phase_lane(run->plan->phases[p], t, &matching.split);
            if (run->tasks[p][t].done && matching.lane->kind == LANE_SPLITS) {
                matching.any_done = true;
                status = runview_table(run, p, t, TABLE_ORIGIN, match_id, &matching, err);
            }
        }
    }
    if (status == SLUICE_OK) {
        status = matching.n == 0 ? not_found(&matching, err)
                                 : tell_all(run, matching.places, matching.n, out, err);
    }
    if (status == SLUICE_OK && matching.n == MATCHES_MOST) {
        json_object_set_new(*out, "more", json_true());
    }
    for (size_t i = 0; matching.places != NULL && i < matching.n; i++) {
        place_deinit(&matching.places[i]);
    }
    free(matching.places);
    return status;
}

sluice_status facts_row(const struct facts_query *query, uint64_t task, uint64_t row, json_t **out,
                        struct sluice_error *err)
{
    const struct plan *plan = query->run->plan;
    struct place place = { .row = row };
    struct task_id id;
    sluice_status status;

    *out = NULL;
    if (task >= plan->n_tasks) {
        return error_set(err, SLUICE_E_CONFIG, "found task %llu, the run has tasks 0 to %u",
                         (unsigned long long)task, plan->n_tasks - 1);
    }
    id = plan_task(plan, (uint32_t)task);
    place.lane = phase_lane(plan->phases[id.phase], id.task, &place.split);
    if (place.lane == NULL || place.lane->kind != LANE_SPLITS) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "task %llu reads no input files; give one that does (sluice plan --tasks lists them)",
            (unsigned long long)task);
    }
    status = places_fill(query->run, &place, 1, err);
    if (status == SLUICE_OK && !place.found) {
        status = error_set(err, SLUICE_E_CONFIG, "task %llu has no row %llu, or is not done",
                           (unsigned long long)task, (unsigned long long)row);
    }
    if (status == SLUICE_OK) {
        status = tell_all(query->run, &place, 1, out, err);
    }
    place_deinit(&place);
    return status;
}
