/* sluice why --id: finds the documents that are meant, and prints the way of each (why_way.c)
 * through the stages of a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"

#include "cmd/look/whyInt.h"

#define MATCHES_MOST 100u /* documents with one id */

/* ---- printing ---- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static void print_event(const json_t *one)
{
    const char *fate = text_of(one, "fate");
    const json_t *tokens;
    struct buf line = BUF_INIT;

    if (json_is_true(json_object_get(one, "hidden"))) {
        return; /* part of a composite, or nothing that could have dropped it */
    }
    if (strcmp(fate, "not done yet") == 0) {
        say("  phase %lld: not done yet (task %lld)\n",
            (long long)json_integer_value(json_object_get(one, "phase")),
            (long long)json_integer_value(json_object_get(one, "task")));
        return;
    }
    buf_printf(&line, "  %-28s %s", text_of(one, "stage"), fate);
    if (strcmp(fate, "dropped") == 0) {
        struct drop drop = { .reason = (char *)(uintptr_t)text_of(one, "reason"),
                             .dup_of = (char *)(uintptr_t)json_string_value(
                                 json_object_get(one, "dup_of")),
                             .has_value = json_object_get(one, "value") != NULL,
                             .has_limit = json_object_get(one, "limit") != NULL,
                             .has_similarity = json_object_get(one, "similarity") != NULL,
                             .value = json_number_value(json_object_get(one, "value")),
                             .limit = json_number_value(json_object_get(one, "limit")),
                             .similarity = json_number_value(json_object_get(one, "similarity")) };
        buf_puts(&line, ": ");
        drop_print(&drop, &line);
    } else if (strcmp(fate, "quarantined") == 0) {
        buf_printf(&line, ": %s: %s", text_of(one, "reason"), text_of(one, "detail"));
    } else if (strcmp(fate, "written") == 0) {
        buf_puts(&line, ": ");
        look_excerpt(&line, text_of(one, "dataset"), strlen(text_of(one, "dataset")), 0);
        if (json_object_get(one, "shard") != NULL) {
            buf_printf(&line, "@%lld %s",
                       (long long)json_integer_value(json_object_get(one, "snapshot")),
                       text_of(one, "shard"));
        } else {
            buf_printf(&line, " %s (not published)", text_of(one, "file"));
        }
        buf_printf(&line, " row %lld", (long long)json_integer_value(json_object_get(one, "row")));
        tokens = json_object_get(one, "tokens");
        if (tokens != NULL) {
            buf_printf(&line, ", tokens %lld to %lld",
                       (long long)json_integer_value(json_array_get(tokens, 0)),
                       (long long)json_integer_value(json_array_get(tokens, 1)));
        }
    }
    say("%s\n", buf_str(&line));
    buf_deinit(&line);
}

static sluice_status tell(struct why *why, const struct place *place, json_t *documents,
                          struct sluice_error *err)
{
    json_t *events = NULL;
    json_t *json;
    size_t i;
    json_t *one;
    struct buf line = BUF_INIT;
    sluice_status status = why_way(why, place, &events, err);

    if (status != SLUICE_OK) {
        json_decref(events);
        return status;
    }
    if (why->json) {
        json = json_object();
        place_json(place, json);
        json_object_set_new(json, "way", events);
        json_array_append_new(documents, json);
        return SLUICE_OK;
    }
    if (place->id != NULL) {
        look_excerpt(&line, place->id, strlen(place->id), 0);
        buf_puts(&line, ": ");
    }
    buf_printf(&line, "row %llu of %s", (unsigned long long)place->row,
               place->lane->splits.items[place->split].name);
    if (place->found) {
        buf_puts(&line, ", ");
        place_print(place, &line);
    }
    say("%s\n", buf_str(&line));
    buf_deinit(&line);
    json_array_foreach(events, i, one)
    {
        print_event(one);
    }
    json_decref(events);
    return SLUICE_OK;
}

/* ---- finding ---- */

struct matching {
    struct why *why;
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
    const struct run *run = matching->why->look.run;
    struct raw_search search = { .matching = matching };

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].done) {
                TRY(runview_table(run, p, t, TABLE_BAD, match_raw, &search, err));
            }
        }
    }
    why_incomplete(matching->why);
    if (search.found > 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "no document has the id '%s', but %llu quarantined record%s hold%s that "
                         "text: sluice why %s --quarantine",
                         matching->id, (unsigned long long)search.found, plural(search.found),
                         search.found == 1 ? "s" : "", matching->why->run_text);
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

static sluice_status tell_all(struct why *why, struct place *places, size_t n,
                              struct sluice_error *err)
{
    json_t *documents = json_array();
    sluice_status status = places_fill(why->look.run, places, n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        status = tell(why, &places[i], documents, err);
    }
    if (status == SLUICE_OK && why->json) {
        look_print("why", json_pack("{s:O}", "documents", documents));
    }
    if (status == SLUICE_OK) {
        why_incomplete(why);
    }
    json_decref(documents);
    return status;
}

sluice_status why_id(struct why *why, const char *id, struct sluice_error *err)
{
    const struct run *run = why->look.run;
    struct matching matching = { .why = why, .id = id, .length = strlen(id) };
    sluice_status status;

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
                                 : tell_all(why, matching.places, matching.n, err);
    }
    if (status == SLUICE_OK && matching.n == MATCHES_MOST && !why->json) {
        say("these are %u documents with this id; there may be more\n", MATCHES_MOST);
    }
    for (size_t i = 0; matching.places != NULL && i < matching.n; i++) {
        place_deinit(&matching.places[i]);
    }
    free(matching.places);
    return status;
}

sluice_status why_row(struct why *why, uint64_t task, uint64_t row, struct sluice_error *err)
{
    const struct plan *plan = why->look.run->plan;
    struct place place = { .row = row };
    struct task_id id;
    sluice_status status;

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
    status = places_fill(why->look.run, &place, 1, err);
    if (status == SLUICE_OK && !place.found) {
        status = error_set(err, SLUICE_E_CONFIG, "task %llu has no row %llu, or is not done",
                           (unsigned long long)task, (unsigned long long)row);
    }
    if (status == SLUICE_OK) {
        status = tell_all(why, &place, 1, err);
    }
    place_deinit(&place);
    return status;
}
