/* Lists of dropped documents and of quarantined records. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/chain/quarantine.h"
#include "run/facts/factsInt.h"

/* ---- one drop ---- */

void drop_deinit(struct drop *drop)
{
    free(drop->reason);
    free(drop->dup_of);
    drop->reason = NULL;
    drop->dup_of = NULL;
}

static const struct op *op_named(const struct phase *phase, const char *name, size_t n)
{
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (strlen(phase->ops[i]->name) == n && memcmp(phase->ops[i]->name, name, n) == 0) {
            return phase->ops[i];
        }
    }
    return NULL;
}

sluice_status drop_copy(const struct run *run, uint32_t p, uint32_t task, const struct batch *batch,
                        int64_t row, struct drop *drop, struct sluice_error *err)
{
    size_t n;
    const char *stage = runview_text(batch, 1, row, &n);
    const char *text;

    memset(drop, 0, sizeof *drop);
    drop->phase = p;
    drop->task = task;
    drop->row = runview_u64(batch, DROPS_ROW, row);
    drop->stage = op_named(run->plan->phases[p], stage, n);
    text = runview_text(batch, 2, row, &n);
    drop->reason = str_copy(text, n);
    drop->has_value =
        !runview_null(batch, DROPS_VALUE, row) && !isnan(runview_f64(batch, DROPS_VALUE, row));
    drop->value = drop->has_value ? runview_f64(batch, DROPS_VALUE, row) : 0;
    drop->has_limit =
        !runview_null(batch, DROPS_LIMIT, row) && !isnan(runview_f64(batch, DROPS_LIMIT, row));
    drop->limit = drop->has_limit ? runview_f64(batch, DROPS_LIMIT, row) : 0;
    if (!runview_null(batch, DROPS_DUP_OF, row)) {
        text = runview_text(batch, 5, row, &n);
        drop->dup_of = str_copy(text, n);
    }
    drop->has_similarity = !runview_null(batch, DROPS_SIMILARITY, row);
    drop->similarity = drop->has_similarity ? runview_f64(batch, DROPS_SIMILARITY, row) : 0;
    if (drop->reason == NULL || (drop->dup_of == NULL && !runview_null(batch, DROPS_DUP_OF, row))) {
        drop_deinit(drop);
        return error_nomem(err, "dropped rows");
    }
    return SLUICE_OK;
}

/* Stages that compare with nothing say 0 and 0. */
static bool compares(const struct drop *drop)
{
    return drop->has_value && drop->has_limit && (fabs(drop->value) > 0 || fabs(drop->limit) > 0) &&
           drop->dup_of == NULL;
}

void drop_json(const struct drop *drop, json_t *object)
{
    json_object_set_new(object, "reason", facts_text(drop->reason, strlen(drop->reason)));
    if (compares(drop)) {
        json_object_set_new(object, "value", json_real(drop->value));
        json_object_set_new(object, "limit", json_real(drop->limit));
    }
    if (drop->dup_of != NULL) {
        json_object_set_new(object, "dup_of", facts_text(drop->dup_of, strlen(drop->dup_of)));
    }
    if (drop->has_similarity) {
        json_object_set_new(object, "similarity", json_real(drop->similarity));
    }
}

void place_json(const struct place *place, json_t *object)
{
    char name[SPLIT_NAME];
    const char *task = lane_split_name(place->lane, place->split, name);

    json_object_set_new(object, "split", facts_text(task, strlen(task)));
    json_object_set_new(object, "row", json_integer((json_int_t)place->row));
    if (place->found) {
        json_object_set_new(object, "uri",
                            facts_text(place->file->name, strlen(place->file->name)));
        json_object_set_new(object, "path",
                            facts_text(place->file->path, strlen(place->file->path)));
        json_object_set_new(object, "begin", json_integer((json_int_t)place->begin));
        json_object_set_new(object, "end", json_integer((json_int_t)place->end));
        if (place->unit) {
            json_object_set_new(object, "unit_row", json_integer((json_int_t)place->unit_row));
        }
    }
    if (place->id != NULL) {
        json_object_set_new(object, "id", facts_text(place->id, strlen(place->id)));
    }
}

/* ---- documents by reason ---- */

sluice_status reasons_init(struct reasons *reasons, const struct facts_query *query,
                           struct sluice_error *err)
{
    *reasons = (struct reasons){ .query = query,
                                 .drops = calloc(query->most + 2, sizeof *reasons->drops) };
    return reasons->drops == NULL ? error_nomem(err, "dropped rows") : SLUICE_OK;
}

void reasons_deinit(struct reasons *reasons)
{
    for (size_t i = 0; i < reasons->n; i++) {
        drop_deinit(&reasons->drops[i]);
    }
    free(reasons->drops);
    reasons->drops = NULL;
    reasons->n = 0;
}

static double closeness(const struct drop *drop)
{
    double scale = fabs(drop->limit) > 0 ? fabs(drop->limit) : 1;

    if (drop->dup_of != NULL && drop->has_similarity) {
        return drop->similarity; /* the least similar are the nearest to staying */
    }
    return drop->has_value && drop->has_limit ? fabs(drop->value - drop->limit) / scale : HUGE_VAL;
}

sluice_status reasons_add(struct reasons *reasons, const struct batch *batch, int64_t row,
                          struct sluice_error *err)
{
    const struct facts_query *query = reasons->query;
    struct drop drop;
    size_t at;

    reasons->total++;
    if (!query->near && reasons->n == query->most) {
        return SLUICE_OK;
    }
    TRY(drop_copy(query->run, reasons->phase, reasons->task, batch, row, &drop, err));
    at = reasons->n;
    while (query->near && at > 0 && closeness(&drop) < closeness(&reasons->drops[at - 1])) {
        at--;
    }
    if (at == query->most) {
        drop_deinit(&drop);
        return SLUICE_OK;
    }
    if (reasons->n == query->most) {
        drop_deinit(&reasons->drops[--reasons->n]);
    }
    memmove(reasons->drops + at + 1, reasons->drops + at, (reasons->n - at) * sizeof drop);
    reasons->drops[at] = drop;
    reasons->n++;
    return SLUICE_OK;
}

static bool is_text(const struct batch *batch, uint32_t column, int64_t row, const char *wanted)
{
    size_t n;
    const char *text = runview_text(batch, column, row, &n);

    return strlen(wanted) == n && memcmp(wanted, text, n) == 0;
}

static sluice_status add_drop(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct reasons *reasons = ctx;
    const char *stage = reasons->query->stage;

    (void)stop;
    if (!is_text(batch, DROPS_REASON, row, reasons->reason) ||
        (stage != NULL && !is_text(batch, DROPS_STAGE, row, stage))) {
        return SLUICE_OK;
    }
    return reasons_add(reasons, batch, row, err);
}

/* A name that is no stage or reason of this run. */
static sluice_status check_names(const struct facts_query *query, const char *reason,
                                 struct sluice_error *err)
{
    const struct plan *plan = query->run->plan;
    const char *names[256];
    size_t n = 0;
    bool found = false;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            for (uint32_t k = 1; op_code(op) != NULL && k <= stage_n_reasons(op_code(op)->stage);
                 k++) {
                const char *name = stage_reason(op_code(op)->stage, k);
                found = found || strcmp(name, reason) == 0;
                if (n < 256) {
                    names[n++] = name;
                }
            }
        }
    }
    if (!found) {
        const char *near = error_suggest(reason, names, n);
        return error_set(
            err, SLUICE_E_CONFIG,
            "no stage of this run drops for '%s'%s%s%s; sluice why %s --dropped lists all reasons",
            reason, near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
            near == NULL ? "" : "'?", query->name);
    }
    return SLUICE_OK;
}

/* place: NULL where none is known. */
static json_t *dropped_json(const struct facts_query *query, const struct drop *drop,
                            const struct place *place, struct sluice_error *err)
{
    json_t *json = json_object();
    struct buf bytes = BUF_INIT;

    json_object_set_new(json, "stage", json_string(drop->stage == NULL ? "?" : drop->stage->name));
    drop_json(drop, json);
    if (place == NULL) {
        json_object_set_new(json, "stage_row", json_integer((json_int_t)drop->row));
        return json;
    }
    place_json(place, json);
    if (query->text > 0 && place->found) {
        if (place_read(place, query->text, &bytes, err) != SLUICE_OK) {
            json_decref(json);
            buf_deinit(&bytes);
            return NULL;
        }
        if (bytes.size > 0) {
            json_object_set_new(json, "text", facts_text(bytes.data, bytes.size));
        }
    }
    buf_deinit(&bytes);
    return json;
}

sluice_status reasons_list(const struct reasons *reasons, json_t *list, struct sluice_error *err)
{
    const struct run *run = reasons->query->run;
    struct place *places = calloc(reasons->n + 1, sizeof *places);
    size_t *place_of = calloc(reasons->n + 1, sizeof *place_of);
    size_t n = 0;
    sluice_status status =
        places == NULL || place_of == NULL ? error_nomem(err, "places") : SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < reasons->n; i++) {
        const struct drop *drop = &reasons->drops[i];
        const struct phase *phase = run->plan->phases[drop->phase];
        uint32_t split = 0;
        const struct lane *lane = phase_lane(phase, drop->task, &split);
        place_of[i] = SIZE_MAX;
        if (drop->stage != NULL && lane != NULL && lane->kind == LANE_SPLITS &&
            places_numbers(run->plan, phase, drop->stage)) {
            places[n] = (struct place){ .lane = lane, .split = split, .row = drop->row };
            place_of[i] = n++;
        }
    }
    if (status == SLUICE_OK) {
        status = places_fill(run, places, n, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < reasons->n; i++) {
        json_t *json = dropped_json(reasons->query, &reasons->drops[i],
                                    place_of[i] == SIZE_MAX ? NULL : &places[place_of[i]], err);
        if (json == NULL) {
            status = error_known(err->code);
        }
        json_array_append_new(list, json);
    }
    for (size_t i = 0; places != NULL && i < n; i++) {
        place_deinit(&places[i]);
    }
    free(places);
    free(place_of);
    return status;
}

sluice_status facts_reason(const struct facts_query *query, const char *reason, json_t **out,
                           struct sluice_error *err)
{
    const struct run *run = query->run;
    struct reasons reasons = { 0 };
    json_t *list = json_array();
    sluice_status status = check_names(query, reason, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        status = reasons_init(&reasons, query, err);
        reasons.reason = reason;
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; status == SLUICE_OK && t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].done) {
                reasons.phase = p;
                reasons.task = t;
                status = runview_table(run, p, t, TABLE_DROPS, add_drop, &reasons, err);
            }
        }
    }
    if (status == SLUICE_OK) {
        status = reasons_list(&reasons, list, err);
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:s, s:I, s:O}", "reason", reason, "total", (json_int_t)reasons.total,
                         "documents", list);
        status = *out == NULL ? error_nomem(err, "dropped rows") : SLUICE_OK;
    }
    reasons_deinit(&reasons);
    json_decref(list);
    return status;
}

/* ---- quarantine ---- */

struct quarantine {
    const struct facts_query *query;
    uint32_t phase, task;
    uint64_t total;
    json_t *list;
};

static json_t *cell(const struct batch *batch, uint32_t column, int64_t row)
{
    size_t n;
    const char *text;

    if (runview_null(batch, column, row)) {
        return NULL;
    }
    text = runview_text(batch, column, row, &n);
    return facts_text(text, n);
}

/* Where the row is kept for `sluice replay`, or NULL. Gives. */
static char *kept_at(const struct quarantine *quarantine, const struct batch *batch, int64_t row)
{
    const struct run *run = quarantine->query->run;
    size_t n;
    const char *text = runview_text(batch, 0, row, &n);
    char *stage = runview_null(batch, BAD_ROW, row) ? NULL : str_copy(text, n);
    char *path = stage == NULL
                     ? NULL
                     : quarantine_path(run->options.run_dir,
                                       run->tasks[quarantine->phase][quarantine->task].key, stage,
                                       runview_u64(batch, BAD_ROW, row));

    free(stage);
    return path;
}

static sluice_status add_bad(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                             struct sluice_error *err)
{
    struct quarantine *quarantine = ctx;
    const struct facts_query *query = quarantine->query;
    const struct listing_file *file =
        runview_bad_file(query->run->plan->phases[quarantine->phase], quarantine->task, batch, row);
    json_t *json;
    char *kept;
    char buffer[SPLIT_NAME];
    size_t n;
    const char *stage = runview_text(batch, 0, row, &n);

    (void)stop;
    (void)err;
    if (query->stage != NULL &&
        (strlen(query->stage) != n || memcmp(query->stage, stage, n) != 0)) {
        return SLUICE_OK;
    }
    quarantine->total++;
    if (json_array_size(quarantine->list) == query->most) {
        return SLUICE_OK;
    }
    json = json_object();
    json_object_set_new(json, "stage", cell(batch, BAD_STAGE, row));
    json_object_set_new(json, "reason", cell(batch, BAD_REASON, row));
    json_object_set_new(json, "detail", cell(batch, BAD_DETAIL, row));
    json_object_set_new(
        json, "task",
        json_integer(plan_task_number(query->run->plan,
                                      (struct task_id){ quarantine->phase, quarantine->task })));
    if (file != NULL) {
        json_object_set_new(json, "uri", facts_text(file->name, strlen(file->name)));
        json_object_set_new(json, "path", facts_text(file->path, strlen(file->path)));
        json_object_set_new(json, "begin",
                            json_integer((json_int_t)runview_u64(batch, BAD_BEGIN, row)));
        json_object_set_new(json, "end",
                            json_integer((json_int_t)runview_u64(batch, BAD_END, row)));
    } else if (query->names) {
        const char *split =
            phase_task_name(query->run->plan->phases[quarantine->phase], quarantine->task, buffer);
        json_object_set_new(json, "split", facts_text(split, strlen(split)));
    }
    if (!runview_null(batch, BAD_ROW, row)) {
        json_object_set_new(json, "row",
                            json_integer((json_int_t)runview_u64(batch, BAD_ROW, row)));
    }
    if (!runview_null(batch, BAD_RAW, row)) {
        json_object_set_new(json, "raw", cell(batch, BAD_RAW, row));
    }
    kept = kept_at(quarantine, batch, row);
    if (kept != NULL) {
        json_object_set_new(json, "kept", facts_text(kept, strlen(kept)));
        free(kept);
    }
    json_array_append_new(quarantine->list, json);
    return SLUICE_OK;
}

sluice_status facts_quarantine(const struct facts_query *query, json_t **out,
                               struct sluice_error *err)
{
    const struct run *run = query->run;
    struct quarantine quarantine = { .query = query, .list = json_array() };
    sluice_status status = quarantine.list == NULL ? error_nomem(err, "the quarantine") : SLUICE_OK;

    *out = NULL;
    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; status == SLUICE_OK && t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].done) {
                quarantine.phase = p;
                quarantine.task = t;
                status = runview_table(run, p, t, TABLE_BAD, add_bad, &quarantine, err);
            }
        }
    }
    if (status == SLUICE_OK) {
        *out = json_pack("{s:I, s:O}", "quarantined", (json_int_t)quarantine.total, "records",
                         quarantine.list);
        status = *out == NULL ? error_nomem(err, "the quarantine") : SLUICE_OK;
    }
    json_decref(quarantine.list);
    return status;
}
