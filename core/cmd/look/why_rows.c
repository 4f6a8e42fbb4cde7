/* sluice why: lists of dropped documents and of quarantined records. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/look/whyInt.h"
#include "run/chain/quarantine.h"

#define EXCERPT 160u /* bytes of a record shown in lists, unless the terminal says otherwise */

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

void drop_print(const struct drop *drop, struct buf *out)
{
    buf_puts(out, drop->reason);
    if (compares(drop)) {
        buf_printf(out, ", value %.6g, limit %.6g", drop->value, drop->limit);
    }
    if (drop->dup_of != NULL) {
        buf_puts(out, ", duplicate of ");
        look_excerpt(out, drop->dup_of, strlen(drop->dup_of), 0);
        if (drop->has_similarity) {
            buf_printf(out, " (similarity %.3g)", drop->similarity);
        }
    }
}

void drop_json(const struct drop *drop, json_t *object)
{
    json_object_set_new(object, "reason", look_string(drop->reason, strlen(drop->reason)));
    if (compares(drop)) {
        json_object_set_new(object, "value", json_real(drop->value));
        json_object_set_new(object, "limit", json_real(drop->limit));
    }
    if (drop->dup_of != NULL) {
        json_object_set_new(object, "dup_of", look_string(drop->dup_of, strlen(drop->dup_of)));
    }
    if (drop->has_similarity) {
        json_object_set_new(object, "similarity", json_real(drop->similarity));
    }
}

void place_json(const struct place *place, json_t *object)
{
    const char *task = place->lane->splits.items[place->split].name;

    json_object_set_new(object, "split", look_string(task, strlen(task)));
    json_object_set_new(object, "row", json_integer((json_int_t)place->row));
    if (place->found) {
        json_object_set_new(object, "uri",
                            look_string(place->file->name, strlen(place->file->name)));
        json_object_set_new(object, "path",
                            look_string(place->file->path, strlen(place->file->path)));
        json_object_set_new(object, "begin", json_integer((json_int_t)place->begin));
        json_object_set_new(object, "end", json_integer((json_int_t)place->end));
    }
    if (place->id != NULL) {
        json_object_set_new(object, "id", look_string(place->id, strlen(place->id)));
    }
}

void place_print(const struct place *place, struct buf *out)
{
    const char *task = place->lane->splits.items[place->split].name;

    if (place->found) {
        look_excerpt(out, place->file->name, strlen(place->file->name), 0);
        buf_printf(out, " bytes %llu to %llu", (unsigned long long)place->begin,
                   (unsigned long long)place->end);
    } else {
        buf_printf(out, "row %llu of ", (unsigned long long)place->row);
        look_excerpt(out, task, strlen(task), 0);
    }
}

void why_incomplete(const struct why *why)
{
    const struct run *run = why->look.run;
    uint32_t missing = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
            missing += !run->tasks[p][t].done;
        }
    }
    if (why->old > 0) {
        say_to(stderr,
               "sluice: note: stages of %u of %u tasks changed since they ran; this is what they "
               "did then (sluice plan %s says what changed)\n",
               why->old, run->plan->n_tasks, why->run_text);
    }
    if (missing > 0) {
        say_to(stderr,
               "sluice: note: %u of %u tasks are not done, or their input changed; nothing is "
               "known of them (sluice plan %s says why)\n",
               missing, run->plan->n_tasks, why->run_text);
    }
}

/* ---- documents by reason ---- */

struct reasons {
    struct why *why;
    const char *reason;
    uint32_t phase, task;
    struct drop *drops; /* at most why->n; near: sorted by closeness */
    size_t n;
    uint64_t total;
};

static double closeness(const struct drop *drop)
{
    double scale = fabs(drop->limit) > 0 ? fabs(drop->limit) : 1;

    if (drop->dup_of != NULL && drop->has_similarity) {
        return drop->similarity; /* the least similar are the nearest to staying */
    }
    return drop->has_value && drop->has_limit ? fabs(drop->value - drop->limit) / scale : HUGE_VAL;
}

static sluice_status add_drop(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct reasons *reasons = ctx;
    struct why *why = reasons->why;
    size_t n;
    const char *text = runview_text(batch, 2, row, &n);
    struct drop drop;
    size_t at;

    (void)stop;
    if (strlen(reasons->reason) != n || memcmp(reasons->reason, text, n) != 0) {
        return SLUICE_OK;
    }
    text = runview_text(batch, 1, row, &n);
    if (why->stage != NULL && (strlen(why->stage) != n || memcmp(why->stage, text, n) != 0)) {
        return SLUICE_OK;
    }
    reasons->total++;
    if (!why->near && reasons->n == why->n) {
        return SLUICE_OK;
    }
    TRY(drop_copy(why->look.run, reasons->phase, reasons->task, batch, row, &drop, err));
    at = reasons->n;
    while (why->near && at > 0 && closeness(&drop) < closeness(&reasons->drops[at - 1])) {
        at--;
    }
    if (at == why->n) {
        drop_deinit(&drop);
        return SLUICE_OK;
    }
    if (reasons->n == why->n) {
        drop_deinit(&reasons->drops[--reasons->n]);
    }
    memmove(reasons->drops + at + 1, reasons->drops + at, (reasons->n - at) * sizeof drop);
    reasons->drops[at] = drop;
    reasons->n++;
    return SLUICE_OK;
}

/* A name that is no stage or reason of this run. */
static sluice_status check_names(const struct why *why, const char *reason,
                                 struct sluice_error *err)
{
    const struct plan *plan = why->look.run->plan;
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
            near == NULL ? "" : "'?", why->run_text);
    }
    return SLUICE_OK;
}

static sluice_status print_reasons(const struct reasons *reasons, struct place *places,
                                   const size_t *place_of, struct sluice_error *err)
{
    const struct why *why = reasons->why;
    json_t *list = json_array();

    for (size_t i = 0; i < reasons->n; i++) {
        const struct drop *drop = &reasons->drops[i];
        const struct place *place = place_of[i] == SIZE_MAX ? NULL : &places[place_of[i]];
        struct buf line = BUF_INIT;
        struct buf bytes = BUF_INIT;
        sluice_status status = SLUICE_OK;
        if (why->text && place != NULL && place->found) {
            status = place_read(place, why->json ? UINT64_C(1) << 30 : 4 * EXCERPT, &bytes, err);
        }
        if (status == SLUICE_OK && why->json) {
            json_t *json = json_object();
            json_object_set_new(json, "stage",
                                json_string(drop->stage == NULL ? "?" : drop->stage->name));
            drop_json(drop, json);
            if (place != NULL) {
                place_json(place, json);
            }
            if (bytes.size > 0) {
                json_object_set_new(json, "text", look_string(bytes.data, bytes.size));
            }
            json_array_append_new(list, json);
        } else if (status == SLUICE_OK) {
            if (place != NULL && place->id != NULL) {
                look_excerpt(&line, place->id, strlen(place->id), 0);
                buf_puts(&line, "  ");
            }
            drop_print(drop, &line);
            if (place != NULL) {
                buf_puts(&line, "  ");
                place_print(place, &line);
            } else {
                buf_printf(&line, "  row %llu of the rows that '%s' reads",
                           (unsigned long long)drop->row,
                           drop->stage == NULL ? "?" : drop->stage->name);
            }
            say("%s\n", buf_str(&line));
            if (bytes.size > 0) {
                buf_clear(&line);
                buf_puts(&line, "    ");
                look_excerpt(&line, bytes.data, bytes.size,
                             why->columns > 4 ? why->columns - 4 : EXCERPT);
                say("%s\n", buf_str(&line));
            }
        }
        buf_deinit(&line);
        buf_deinit(&bytes);
        if (status != SLUICE_OK) {
            json_decref(list);
            return status;
        }
    }
    if (why->json) {
        look_print("why", json_pack("{s:s, s:I, s:o}", "reason", reasons->reason, "total",
                                    (json_int_t)reasons->total, "documents", list));
        return SLUICE_OK;
    }
    json_decref(list);
    say("%zu of %llu document%s dropped for %s%s%s%s\n", reasons->n,
        (unsigned long long)reasons->total, plural(reasons->total), reasons->reason,
        why->stage == NULL ? "" : " by ", why->stage == NULL ? "" : why->stage,
        why->near ? ", the nearest to the limit" : "");
    return SLUICE_OK;
}

static sluice_status list_reasons(struct reasons *reasons, struct sluice_error *err)
{
    struct why *why = reasons->why;
    const struct run *run = why->look.run;
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
    if (status == SLUICE_OK) {
        status = print_reasons(reasons, places, place_of, err);
    }
    for (size_t i = 0; places != NULL && i < n; i++) {
        place_deinit(&places[i]);
    }
    free(places);
    free(place_of);
    return status;
}

sluice_status why_reason(struct why *why, const char *reason, struct sluice_error *err)
{
    const struct run *run = why->look.run;
    struct reasons reasons = { .why = why, .reason = reason };
    sluice_status status;

    TRY(check_names(why, reason, err));
    reasons.drops = calloc(why->n + 2, sizeof *reasons.drops);
    status = reasons.drops == NULL ? error_nomem(err, "dropped rows") : SLUICE_OK;
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
        status = list_reasons(&reasons, err);
    }
    for (size_t i = 0; reasons.drops != NULL && i < reasons.n; i++) {
        drop_deinit(&reasons.drops[i]);
    }
    free(reasons.drops);
    if (status == SLUICE_OK) {
        why_incomplete(why);
    }
    return status;
}

/* ---- quarantine ---- */

struct quarantine {
    struct why *why;
    uint32_t phase, task;
    uint64_t shown, total;
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
    return look_string(text, n);
}

static const struct listing_file *file_of(const struct quarantine *quarantine,
                                          const struct batch *batch, int64_t row)
{
    const struct phase *phase = quarantine->why->look.run->plan->phases[quarantine->phase];
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, quarantine->task, &index);

    if (runview_null(batch, BAD_FILE, row) || lane == NULL || lane->kind != LANE_SPLITS ||
        runview_u32(batch, BAD_FILE, row) >= lane->splits.items[index].n_ranges) {
        return NULL;
    }
    return &lane->files
                .files[lane->splits.items[index].ranges[runview_u32(batch, BAD_FILE, row)].file];
}

/* Where the row is kept for `sluice replay`, or NULL. Gives. */
static char *kept_at(const struct quarantine *quarantine, const struct batch *batch, int64_t row)
{
    const struct run *run = quarantine->why->look.run;
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

static void print_bad(const struct quarantine *quarantine, const struct batch *batch, int64_t row)
{
    const struct phase *phase = quarantine->why->look.run->plan->phases[quarantine->phase];
    const struct listing_file *file = file_of(quarantine, batch, row);
    struct buf line = BUF_INIT;
    char buffer[64];
    size_t n;
    const char *text = runview_text(batch, 1, row, &n);

    look_excerpt(&line, text, n, 0);
    buf_puts(&line, " in ");
    text = runview_text(batch, 0, row, &n);
    look_excerpt(&line, text, n, 0);
    if (file != NULL) {
        buf_puts(&line, ": ");
        look_excerpt(&line, file->name, strlen(file->name), 0);
        buf_printf(&line, " bytes %llu to %llu",
                   (unsigned long long)runview_u64(batch, BAD_BEGIN, row),
                   (unsigned long long)runview_u64(batch, BAD_END, row));
    } else if (!runview_null(batch, BAD_ROW, row)) {
        const char *task = phase_task_name(phase, quarantine->task, buffer);
        buf_printf(&line, ": row %llu of ", (unsigned long long)runview_u64(batch, BAD_ROW, row));
        look_excerpt(&line, task, strlen(task), 0);
    }
    say("%s\n", buf_str(&line));
    buf_clear(&line);
    text = runview_text(batch, 2, row, &n);
    if (n > 0) {
        look_excerpt(&line, text, n, 0);
        say("    %s\n", buf_str(&line));
        buf_clear(&line);
    }
    if (!runview_null(batch, BAD_RAW, row)) {
        text = runview_text(batch, 7, row, &n);
        look_excerpt(&line, text, n,
                     quarantine->why->columns > 4 ? quarantine->why->columns - 4 : EXCERPT);
        say("    %s\n", buf_str(&line));
    }
    text = kept_at(quarantine, batch, row);
    if (text != NULL) {
        say("    sluice replay %s\n", text);
        free((char *)(uintptr_t)text);
    }
    buf_deinit(&line);
}

static sluice_status add_bad(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                             struct sluice_error *err)
{
    struct quarantine *quarantine = ctx;
    const struct why *why = quarantine->why;
    const struct listing_file *file = file_of(quarantine, batch, row);
    json_t *json;
    char *kept;
    size_t n;
    const char *stage = runview_text(batch, 0, row, &n);

    (void)stop;
    (void)err;
    if (why->stage != NULL && (strlen(why->stage) != n || memcmp(why->stage, stage, n) != 0)) {
        return SLUICE_OK;
    }
    quarantine->total++;
    if (quarantine->shown == why->n) {
        return SLUICE_OK;
    }
    quarantine->shown++;
    if (!why->json) {
        print_bad(quarantine, batch, row);
        return SLUICE_OK;
    }
    json = json_object();
    json_object_set_new(json, "stage", cell(batch, BAD_STAGE, row));
    json_object_set_new(json, "reason", cell(batch, BAD_REASON, row));
    json_object_set_new(json, "detail", cell(batch, BAD_DETAIL, row));
    json_object_set_new(
        json, "task",
        json_integer(plan_task_number(why->look.run->plan,
                                      (struct task_id){ quarantine->phase, quarantine->task })));
    if (file != NULL) {
        json_object_set_new(json, "uri", look_string(file->name, strlen(file->name)));
        json_object_set_new(json, "path", look_string(file->path, strlen(file->path)));
        json_object_set_new(json, "begin",
                            json_integer((json_int_t)runview_u64(batch, BAD_BEGIN, row)));
        json_object_set_new(json, "end",
                            json_integer((json_int_t)runview_u64(batch, BAD_END, row)));
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
        json_object_set_new(json, "kept", look_string(kept, strlen(kept)));
        free(kept);
    }
    json_array_append_new(quarantine->list, json);
    return SLUICE_OK;
}

sluice_status why_quarantine(struct why *why, struct sluice_error *err)
{
    const struct run *run = why->look.run;
    struct quarantine quarantine = { .why = why, .list = json_array() };
    sluice_status status = quarantine.list == NULL ? error_nomem(err, "the quarantine") : SLUICE_OK;

    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        for (uint32_t t = 0; status == SLUICE_OK && t < run->plan->phases[p]->n_tasks; t++) {
            if (run->tasks[p][t].done) {
                quarantine.phase = p;
                quarantine.task = t;
                status = runview_table(run, p, t, TABLE_BAD, add_bad, &quarantine, err);
            }
        }
    }
    if (status == SLUICE_OK && why->json) {
        look_print("why", json_pack("{s:I, s:O}", "quarantined", (json_int_t)quarantine.total,
                                    "records", quarantine.list));
    } else if (status == SLUICE_OK) {
        say("%llu of %llu quarantined record%s\n", (unsigned long long)quarantine.shown,
            (unsigned long long)quarantine.total, plural(quarantine.total));
    }
    json_decref(quarantine.list);
    if (status == SLUICE_OK) {
        why_incomplete(why);
    }
    return status;
}
