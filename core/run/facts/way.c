/* The way of one document through a run, as events in order. The plan says which stages stand in
 * it; the tables of its split's tasks say where it was dropped, quarantined or written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/factsInt.h"
#include "sluice_arrays.h"

struct written {
    const struct op *writer;
    uint32_t ordinal;
    uint64_t row;
    uint32_t item;       /* of the row's origins */
    struct place tokens; /* which tokens of the document */
};

/* What the tables of one task say about one row. */
struct marks {
    const struct run *run;
    const struct place *place; /* the document */
    uint32_t phase, task;
    uint64_t row;
    struct drop *drops;
    size_t n_drops;
    json_t *bad;             /* {stage, reason, detail} of its quarantine, or NULL */
    struct written *written; /* all rows of writers that hold parts of the document */
    size_t n_written, written_room;
};

static void marks_deinit(struct marks *marks)
{
    for (size_t i = 0; i < marks->n_drops; i++) {
        drop_deinit(&marks->drops[i]);
    }
    free(marks->drops);
    json_decref(marks->bad);
    free(marks->written);
}

static sluice_status mark_drop(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                               struct sluice_error *err)
{
    struct marks *marks = ctx;
    struct drop *more;

    (void)stop;
    if (runview_u64(batch, DROPS_ROW, row) != marks->row) {
        return SLUICE_OK;
    }
    more = realloc(marks->drops, (marks->n_drops + 1) * sizeof *more);
    if (more == NULL) {
        return error_nomem(err, "dropped rows");
    }
    marks->drops = more;
    TRY(drop_copy(marks->run, marks->phase, marks->task, batch, row, &more[marks->n_drops], err));
    if (more[marks->n_drops].stage == NULL ||
        !places_numbers(marks->run->plan, marks->run->plan->phases[marks->phase],
                        more[marks->n_drops].stage)) {
        drop_deinit(&more[marks->n_drops]); /* a row that a transform made */
    } else {
        marks->n_drops++;
    }
    return SLUICE_OK;
}

static json_t *cell(const struct batch *batch, uint32_t column, int64_t row)
{
    size_t n;
    const char *text = runview_text(batch, column, row, &n);

    return facts_text(text, n);
}

static sluice_status mark_bad(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    struct marks *marks = ctx;

    if (runview_null(batch, BAD_ROW, row) || runview_u64(batch, BAD_ROW, row) != marks->row) {
        return SLUICE_OK;
    }
    marks->bad = json_pack("{s:o, s:o, s:o}", "stage", cell(batch, BAD_STAGE, row), "reason",
                           cell(batch, BAD_REASON, row), "detail", cell(batch, BAD_DETAIL, row));
    *stop = true;
    return marks->bad == NULL ? error_nomem(err, "a document's way") : SLUICE_OK;
}

/* What a row of the tables of writers names: a writer, and numbers. */
struct named {
    const char *writer; /* n bytes */
    size_t n;
    const uint64_t *items;
    size_t count;
};

static struct named named_in(const struct batch *batch, int64_t row)
{
    struct named named;

    named.writer = runview_text(batch, 0, row, &named.n);
    named.items = sluice_list_u64(&batch->columns[TRACE_LIST]->array, row, &named.count);
    return named;
}

static bool is_named(const struct op *op, const struct named *named)
{
    return strlen(op->name) == named->n && memcmp(op->name, named->writer, named->n) == 0;
}

/* The writer of that name. */
static const struct op *writer_named(const struct marks *marks, const struct named *named)
{
    const struct phase *phase = marks->run->plan->phases[marks->phase];

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (is_named(phase->ops[i], named)) {
            return phase->ops[i];
        }
    }
    return NULL;
}

/* Notes the rows of writers that the document is in. What the numbers there name is found out for
 * those that could be its row. */
static sluice_status mark_written(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                  struct sluice_error *err)
{
    struct marks *marks = ctx;
    const struct named named = named_in(batch, row);

    (void)stop;
    for (size_t k = 0; k < named.count; k++) {
        struct sluice_error why_not = ERROR_INIT;
        struct place place;
        const struct op *op;
        if ((named.items[k] & ((UINT64_C(1) << 40) - 1)) != marks->row) {
            continue; /* _pos is task << 40 | row */
        }
        op = writer_named(marks, &named);
        if (op == NULL || places_origin(marks->run, marks->phase, marks->task, op, named.items[k],
                                        &place, &why_not) != SLUICE_OK) {
            continue;
        }
        if (place.lane == marks->place->lane && place.split == marks->place->split &&
            place.row == marks->place->row) {
            if (marks->n_written == marks->written_room) {
                size_t room = marks->written_room == 0 ? 16 : marks->written_room * 2;
                struct written *more = realloc(marks->written, room * sizeof *more);
                if (more == NULL) {
                    return error_nomem(err, "rows of a document");
                }
                marks->written = more;
                marks->written_room = room;
            }
            marks->written[marks->n_written++] =
                (struct written){ .writer = op,
                                  .ordinal = runview_u32(batch, TRACE_SHARD, row),
                                  .row = runview_u64(batch, TRACE_ROW, row),
                                  .item = (uint32_t)k };
        }
    }
    return SLUICE_OK;
}

/* Which tokens of the document are in the rows that were noted. */
static sluice_status mark_spans(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                struct sluice_error *err)
{
    struct marks *marks = ctx;
    const struct named named = named_in(batch, row);

    (void)stop;
    (void)err;
    for (size_t k = 0; k < marks->n_written; k++) {
        struct written *written = &marks->written[k];
        if (written->ordinal == runview_u32(batch, TRACE_SHARD, row) &&
            written->row == runview_u64(batch, TRACE_ROW, row) &&
            is_named(written->writer, &named) && written->item < named.count) {
            place_span(&written->tokens, named.items[written->item]);
        }
    }
    return SLUICE_OK;
}

/* The rows of one task that the document is in. */
static sluice_status mark_all_written(struct marks *marks, struct sluice_error *err)
{
    TRY(runview_table(marks->run, marks->phase, marks->task, TABLE_TRACE, mark_written, marks,
                      err));
    return marks->n_written == 0 ? SLUICE_OK
                                 : runview_table(marks->run, marks->phase, marks->task, TABLE_SPANS,
                                                 mark_spans, marks, err);
}

/* ---- the way ---- */

struct way {
    const struct run *run;
    const struct place *place;
    bool **present; /* [phase][op]: the document left this op */
    json_t *events;
};

static json_t *event(struct way *way, uint32_t p, const struct op *op, const char *fate)
{
    json_t *json =
        json_pack("{s:i, s:s, s:s}", "phase", (int)p + 1, "stage", op->name, "fate", fate);

    json_array_append_new(way->events, json);
    return json;
}

static sluice_status written_event(struct way *way, const struct marks *marks, const struct op *op,
                                   struct sluice_error *err)
{
    const struct commit *commit = way->run->tasks[marks->phase][marks->task].commit;

    for (size_t k = 0; k < marks->n_written; k++) {
        const struct written *written = &marks->written[k];
        const struct commit_output *output;
        char *name = NULL;
        uint32_t number = 0;
        json_t *json;
        if (written->writer != op) {
            continue;
        }
        json = event(way, marks->phase, op, "written");
        output = places_output(commit, op->name, written->ordinal);
        if (output != NULL) {
            TRY(places_public(op_stage(op)->dataset, output->file, &name, &number, err));
            json_object_set_new(json, "dataset",
                                facts_text(op_stage(op)->dataset, strlen(op_stage(op)->dataset)));
            json_object_set_new(json, "file", json_string(output->file));
        }
        if (name != NULL) {
            json_object_set_new(json, "shard", json_string(name));
            json_object_set_new(json, "snapshot", json_integer((json_int_t)number));
        }
        json_object_set_new(json, "row", json_integer((json_int_t)written->row));
        if (written->tokens.tokens > 0) {
            json_object_set_new(
                json, "tokens",
                json_pack("[I, I]", (json_int_t)written->tokens.first,
                          (json_int_t)(written->tokens.first + written->tokens.tokens)));
        }
        free(name);
    }
    return SLUICE_OK;
}

/* Whether the document reaches port 0 of op. */
static bool arrives(const struct way *way, uint32_t p, const struct op *op)
{
    return op_n_inputs(op) > 0 && way->present[p][op_input(op, 0)];
}

/* The stage that put the document into quarantine; "" = none did. */
static const char *bad_stage(const struct marks *marks)
{
    const char *stage = json_string_value(json_object_get(marks->bad, "stage"));
    return stage == NULL ? "" : stage;
}

/* Says of the last event what servers answered the stage. That it can't be found out is no reason
 * not to tell the rest. */
static void tell_answers(struct way *way, const struct marks *marks, const struct op *op)
{
    json_t *last = json_array_get(way->events, json_array_size(way->events) - 1);
    struct sluice_error why_not = ERROR_INIT;
    json_t *answers = NULL;

    json_object_set_new(last, "recorded", json_true());
    if (answers_of(way->run, way->place, marks->phase, marks->task, op, &answers, &why_not) ==
            SLUICE_OK &&
        answers != NULL) {
        json_object_set_new(last, "answers", answers);
    }
}

static sluice_status pass_known(struct way *way, const struct marks *marks, const struct op *op,
                                struct sluice_error *err);

static sluice_status pass_stage(struct way *way, const struct marks *marks, const struct op *op,
                                struct sluice_error *err)
{
    size_t before = json_array_size(way->events);

    TRY(pass_known(way, marks, op, err));
    if (op_asks(op) && json_array_size(way->events) > before) {
        tell_answers(way, marks, op);
    }
    return SLUICE_OK;
}

static sluice_status pass_known(struct way *way, const struct marks *marks, const struct op *op,
                                struct sluice_error *err)
{
    bool *present = &way->present[marks->phase][op->index];

    if (op_declared(op)->role == SLUICE_ROLE_WRITER) {
        return written_event(way, marks, op, err);
    }
    if (!arrives(way, marks->phase, op)) {
        return SLUICE_OK;
    }
    if (op_declared(op)->role == SLUICE_ROLE_TRANSFORM) {
        json_t *json = event(way, marks->phase, op, "consumed");
        if ((op_declared(op)->flags & SLUICE_STAGE_HIDDEN) != 0) {
            json_object_set_new(json, "hidden", json_true());
        }
        return SLUICE_OK;
    }
    for (size_t k = 0; k < marks->n_drops; k++) {
        if (marks->drops[k].stage == op) {
            drop_json(&marks->drops[k], event(way, marks->phase, op, "dropped"));
            return SLUICE_OK;
        }
    }
    if (strcmp(op->name, bad_stage(marks)) == 0) {
        json_t *json = event(way, marks->phase, op, "quarantined");
        json_object_set(json, "reason", json_object_get(marks->bad, "reason"));
        json_object_set(json, "detail", json_object_get(marks->bad, "detail"));
        return SLUICE_OK;
    }
    *present = true;
    if (stage_n_reasons(op_code(op)->stage) > 0) {
        event(way, marks->phase, op, "kept");
    } else {
        json_object_set_new(event(way, marks->phase, op, "passed"), "hidden", json_true());
    }
    return SLUICE_OK;
}

static bool collected(const struct marks *marks, const struct phase *phase, const struct op *op)
{
    for (uint32_t d = 0; d < op_collect(op)->n_stages; d++) {
        for (size_t k = 0; k < marks->n_drops; k++) {
            if (marks->drops[k].stage == phase->ops[op_collect(op)->stages[d].op]) {
                return true;
            }
        }
    }
    return false;
}

static sluice_status pass_phase(struct way *way, struct marks *marks, struct sluice_error *err)
{
    const struct phase *phase = way->run->plan->phases[marks->phase];
    bool *present = way->present[marks->phase];

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        switch (op->kind) {
        case OP_READ:
            present[i] = op_reads_first(op) && phase->lanes[op_read(op)->lane] == way->place->lane;
            if (present[i]) {
                event(way, marks->phase, op, "read");
            }
            break;
        case OP_LOAD:
            present[i] =
                op_load(op)->edge->load == LOAD_SAME &&
                way->present[op_load(op)->edge->producer_phase][op_load(op)->edge->producer_op];
            break;
        case OP_UNION:
            for (uint32_t k = 0; k < op_n_inputs(op); k++) {
                present[i] = present[i] || present[op_input(op, k)];
            }
            break;
        case OP_COLLECT:
            present[i] = (op_earlier_drops(op) != NULL && present[op_earlier_drops(op)->op]) ||
                         collected(marks, phase, op);
            break;
        case OP_STORE:
            break;
        case OP_STAGE:
            TRY(pass_stage(way, marks, op, err));
            break;
        }
    }
    return SLUICE_OK;
}

/* ---- behind an exchange ---- */

/* Rows that an exchange moved to the tasks of another lane are found by what writers there say of
 * their origin. */
static sluice_status follow_behind(struct way *way, uint32_t p, struct sluice_error *err)
{
    const struct run *run = way->run;
    const struct phase *phase = run->plan->phases[p];

    for (uint32_t t = 0; t < phase->n_tasks; t++) {
        struct marks marks = {
            .run = run, .place = way->place, .phase = p, .task = t, .row = way->place->row
        };
        uint32_t split;
        const struct lane *lane = phase_lane(phase, t, &split);
        sluice_status status;
        if (!run->tasks[p][t].done || lane == NULL || lane->kind == LANE_SPLITS) {
            continue;
        }
        status = mark_all_written(&marks, err);
        for (uint32_t i = 0; status == SLUICE_OK && marks.n_written > 0 && i < phase->n_ops; i++) {
            status = written_event(way, &marks, phase->ops[i], err);
        }
        marks_deinit(&marks);
        TRY(status);
    }
    return SLUICE_OK;
}

static sluice_status follow(struct way *way, struct sluice_error *err)
{
    const struct run *run = way->run;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        struct marks marks = {
            .run = run, .place = way->place, .phase = p, .row = way->place->row
        };
        sluice_status status = SLUICE_OK;
        if (!places_task(run->plan->phases[p], way->place->lane, way->place->split, &marks.task)) {
            TRY(follow_behind(way, p, err));
            continue;
        }
        if (!run->tasks[p][marks.task].done) {
            json_array_append_new(
                way->events,
                json_pack("{s:i, s:s, s:i}", "phase", (int)p + 1, "fate", "not done yet", "task",
                          (int)plan_task_number(run->plan, (struct task_id){ p, marks.task })));
            continue;
        }
        status = runview_table(run, p, marks.task, TABLE_DROPS, mark_drop, &marks, err);
        if (status == SLUICE_OK) {
            status = runview_table(run, p, marks.task, TABLE_BAD, mark_bad, &marks, err);
        }
        if (status == SLUICE_OK) {
            status = mark_all_written(&marks, err);
        }
        if (status == SLUICE_OK) {
            status = pass_phase(way, &marks, err);
        }
        marks_deinit(&marks);
        TRY(status);
        TRY(follow_behind(way, p, err));
    }
    return SLUICE_OK;
}

sluice_status way_of(const struct run *run, const struct place *place, json_t **events,
                     struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    struct way way = { .run = run, .place = place, .events = json_array() };
    sluice_status status = SLUICE_OK;

    way.present = calloc(plan->n_phases + 1u, sizeof *way.present);
    if (way.present == NULL || way.events == NULL) {
        status = error_nomem(err, "a document's way");
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < plan->n_phases; p++) {
        way.present[p] = calloc(plan->phases[p]->n_ops + 1u, sizeof **way.present);
        status = way.present[p] == NULL ? error_nomem(err, "a document's way") : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = follow(&way, err);
    }
    for (uint32_t p = 0; way.present != NULL && p < plan->n_phases; p++) {
        free(way.present[p]);
    }
    free(way.present);
    *events = way.events;
    return status;
}
