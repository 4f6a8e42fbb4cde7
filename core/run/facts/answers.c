/* What servers answered about a document: its record is read again, and goes alone through the
 * stages before the one that asks. That one says again what it asks, and the journal of the run
 * knows the answers. Nobody is asked, and nothing is written. See factsInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin/batch_view.h"
#include "run/asks/asks.h"
#include "run/asks/journal.h"
#include "run/chain/chain.h"
#include "run/facts/factsInt.h"
#include "run/source/feeder.h"
#include "run/source/files.h"
#include "run/source/sources.h"

#define BATCH ((uint64_t)256 << 10)
#define TOLD_MOST 100u /* asks of one document and stage */

struct recalling {
    const struct run *run;
    const struct place *place;
    const struct phase *phase;
    uint32_t task;
    const struct op *asker;
    const struct op *until; /* whose rows are held, and looked through for the document's */
    uint64_t number;        /* of the next row, where rows don't say theirs */
    bool alone;             /* only the document's row is on its way */
    struct batch *rows;     /* the document's */
};

/* ---- the row that the stage saw ---- */

static sluice_status keep(struct recalling *r, struct batch *batch, struct sluice_error *err)
{
    int32_t slot = r->until->row_slot;
    const uint64_t *numbers =
        slot < 0 || batch->columns[slot] == NULL ? NULL : batch->columns[slot]->array.buffers[1];

    if (r->alone) {
        if (r->rows == NULL && batch->n_rows > 0) {
            r->rows = batch_ref(batch);
        }
        return SLUICE_OK;
    }
    for (int64_t k = 0; k < batch->n_rows && r->rows == NULL; k++) {
        uint32_t at = batch->rows == NULL ? (uint32_t)k : batch->rows[k];
        if ((numbers == NULL ? r->number + at : numbers[at]) == r->place->row) {
            r->rows = batch_select(batch, &at, 1);
            return r->rows == NULL ? error_nomem(err, "a row")
                                   : error_set(err, SLUICE_E_CANCELLED, "it is found");
        }
    }
    r->number += (uint64_t)batch->length;
    return SLUICE_OK;
}

static sluice_status given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                           struct sluice_error *err)
{
    struct recalling *r = ctx;

    *held = op == r->until;
    return *held ? keep(r, batch, err) : SLUICE_OK;
}

/* Rows given by `from` (NULL: the task's split) up to r->until. */
static sluice_status drive(struct recalling *r, const struct op *from, struct sluice_error *err)
{
    const struct chain_observer observer = { .ctx = r, .given = given };
    const struct feeder_options feeding = { .max_idle = 1, .alone = true };
    struct metrics metrics = { 0 };
    struct worker_cache *cache = worker_cache_create(r->run->plan);
    struct source_inputs inputs = { .batch_bytes = BATCH };
    struct chain_options options = { .plan = r->run->plan,
                                     .phase = r->phase,
                                     .task = r->task,
                                     .cache = cache,
                                     .observer = &observer };
    struct batch *rows = r->rows;
    struct chain *chain = NULL;
    sluice_status status =
        cache == NULL ? error_nomem(err, "a worker") : metrics_init(&metrics, r->run->plan, err);

    r->rows = NULL;
    options.metrics = metrics.phases == NULL ? NULL : &metrics.phases[r->phase->index];
    inputs.files = source_files_all(r->run->lane_files[r->place->lane->index]);
    if (status == SLUICE_OK) {
        status = chain_create(&options, &chain, err);
    }
    if (status == SLUICE_OK && from == NULL) {
        status = feeder_create(&feeding, &inputs.feeder, err);
    }
    if (status == SLUICE_OK) {
        status = from == NULL ? sources_drive(chain, &inputs, err)
                              : chain_emit(chain, from->index, rows, err);
    }
    status = r->rows != NULL ? SLUICE_OK : status; /* there is no need to go on */
    chain_destroy(chain);
    feeder_destroy(inputs.feeder);
    worker_cache_destroy(cache);
    metrics_deinit(&metrics);
    batch_unref(rows);
    return status;
}

/* The reader of the document; NULL: the stage's phase does not read it. */
static const struct op *reader_of(const struct recalling *r)
{
    for (uint32_t i = 0; i < r->phase->n_ops; i++) {
        const struct op *op = r->phase->ops[i];
        if (op->kind == OP_READ && op_reads_first(op) &&
            r->phase->lanes[op_read(op)->lane] == r->place->lane) {
            return op;
        }
    }
    return NULL;
}

/* Whether rows of the reader come to the stage without another one that asks before it, and nowhere
 * else where something would be written. */
static bool can_go(const struct recalling *r, const struct op *reader)
{
    bool *reached = calloc(r->phase->n_ops + 1u, sizeof *reached);
    bool good = reached != NULL;

    for (uint32_t i = 0; good && i < r->phase->n_ops; i++) {
        const struct op *op = r->phase->ops[i];
        reached[i] = op == reader;
        for (uint32_t k = 0; k < op_n_inputs(op); k++) {
            reached[i] =
                reached[i] || (op_input(op, k) != r->asker->index && reached[op_input(op, k)]);
        }
        if (reached[i] && op != r->asker) {
            good = !op_writes(op) && op->kind != OP_STORE && !op_asks(op);
        }
        if (op_n_inputs(r->asker) > 0 && op == r->asker && !reached[i]) {
            good = false;
        }
    }
    free(reached);
    return good;
}

static sluice_status find(struct recalling *r, bool *told, struct sluice_error *err)
{
    const struct op *reader = reader_of(r);
    const struct op *before = phase_input(r->phase, r->asker, 0);
    sluice_status status;

    *told = reader != NULL && can_go(r, reader);
    if (!*told) {
        return SLUICE_OK;
    }
    r->until = reader;
    status = drive(r, NULL, err);
    if (status == SLUICE_OK && before != reader && r->rows != NULL) {
        r->until = before;
        r->alone = true;
        status = drive(r, reader, err);
    }
    return status;
}

/* ---- what it asks, and was answered ---- */

/* "2026-05-01T10:00:00Z" */
static json_t *when_json(uint64_t ms)
{
    time_t seconds = (time_t)(ms / 1000u);
    struct tm tm;
    char text[80];

    memset(&tm, 0, sizeof tm);
    (void)gmtime_r(&seconds, &tm);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return json_string(text);
}

static json_t *ask_json(const char *text, size_t n, bool found, const struct journal_answer *answer)
{
    const char *line = memchr(text, '\n', n);
    json_t *json =
        json_pack("{s:o, s:b}", "request",
                  facts_text(text, line == NULL ? n : (size_t)(line - text)), "found", found);

    if (found) {
        json_object_set_new(json, "code", json_integer(answer->code));
        json_object_set_new(json, "refused", json_boolean(answer->refused));
        if (answer->when_ms != 0) {
            json_object_set_new(json, "answered_at", when_json(answer->when_ms));
        }
        json_object_set_new(json, "bytes", json_integer((json_int_t)answer->body_n));
        json_object_set_new(json, "type", facts_text(answer->type, strlen(answer->type)));
    }
    return json;
}

/* One round of the call: items and what they borrow from, known, n of each; or *found is false. */
static sluice_status recall(const struct recalling *r, struct journal *journal,
                            const struct stage_result *result, json_t *list,
                            struct sluice_answer *items, struct journal_answer *known, bool *found,
                            struct sluice_error *err)
{
    for (uint32_t k = 0; *found && k < result->n_asks; k++) {
        const struct stage_ask *ask = &result->asks[k];
        const char *text = result->asked.data + ask->offset;
        struct journal_answer *answer = &known[k];
        TRY(journal_read(journal, asks_key(r->asker->key, text, (size_t)ask->size), found, answer,
                         err));
        if (json_array_size(list) < TOLD_MOST) {
            json_array_append_new(list, ask_json(text, (size_t)ask->size, *found, answer));
        }
        items[k] = asks_answer(answer, ask->tag);
    }
    return SLUICE_OK;
}

/* The call over the batch of one row, as far as the journal knows the answers. */
static sluice_status ask_again(const struct recalling *r, struct journal *journal,
                               const struct sluice_batch *batch, json_t *list,
                               struct sluice_error *err)
{
    struct stage_worker *worker = NULL;
    struct stage_result result;
    bool found = true;
    sluice_status status = stage_worker_open(op_code(r->asker)->stage, &worker, err);

    stage_result_init(&result);
    if (status == SLUICE_OK) {
        status = stage_process(worker, batch, &result, err);
    }
    while (status == SLUICE_OK && found && result.n_asks > 0) {
        uint32_t n = result.n_asks;
        struct sluice_answer *items = calloc(n, sizeof *items);
        struct journal_answer *known = calloc(n, sizeof *known);
        status = items == NULL || known == NULL
                     ? error_nomem(err, "answers")
                     : recall(r, journal, &result, list, items, known, &found, err);
        if (status == SLUICE_OK && found) {
            status = stage_resume(worker, items, n, &result, err);
        }
        for (uint32_t k = 0; known != NULL && k < n; k++) {
            free(known[k].body);
        }
        free(items);
        free(known);
    }
    stage_result_deinit(&result);
    stage_worker_close(worker);
    return status;
}

/* The k-th of the rows as the stage's batch. */
static sluice_status ask_row(const struct recalling *r, struct journal *journal, int64_t k,
                             json_t *list, struct sluice_error *err)
{
    const struct op *op = r->asker;
    const struct schema *schema = &phase_input(r->phase, op, 0)->out;
    uint32_t at = r->rows->rows == NULL ? (uint32_t)k : r->rows->rows[k];
    uint32_t n = op_stage(op)->n_need[0];
    struct column **columns = calloc(n + 1u, sizeof(struct column *));
    struct ArrowArray **arrays = calloc(n + 1u, sizeof(struct ArrowArray *));
    struct batch_view view;
    sluice_status status =
        columns == NULL || arrays == NULL ? error_nomem(err, "a row") : SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < n; i++) {
        int32_t slot = op_stage(op)->need[0][i];
        arrays[i] = &view.absent;
        if (slot >= 0) {
            status = column_gather(r->rows->columns[slot], schema->fields[slot].type, &at, 1,
                                   &columns[i], err);
            arrays[i] = status == SLUICE_OK ? &columns[i]->array : NULL;
        }
    }
    if (status == SLUICE_OK) {
        batch_view_init(&view, arrays, n, 1);
        status = ask_again(r, journal, &view.batch, list, err);
    }
    for (uint32_t i = 0; columns != NULL && i < n; i++) {
        column_unref(columns[i]);
    }
    free(columns);
    free(arrays);
    return status;
}

sluice_status answers_of(const struct run *run, const struct place *place, uint32_t phase,
                         uint32_t task, const struct op *asker, json_t **out,
                         struct sluice_error *err)
{
    struct recalling r = {
        .run = run, .place = place, .phase = run->plan->phases[phase], .task = task, .asker = asker
    };
    struct journal *journal = NULL;
    char *folder = str_printf("%s/" ASKS_FOLDER, run->options.run_dir);
    json_t *list = json_array();
    bool told = false;
    sluice_status status =
        folder == NULL || list == NULL ? error_nomem(err, "answers") : find(&r, &told, err);

    if (status == SLUICE_OK && told) {
        status = journal_open(folder, NULL, NULL, &journal, err);
    }
    if (status == SLUICE_OK && told) {
        status = journal_look(journal, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && r.rows != NULL && k < r.rows->n_rows; k++) {
        status = ask_row(&r, journal, k, list, err);
    }
    if (status == SLUICE_OK) {
        *out = told ? json_pack("{s:O, s:o}", "asks", list, "journal",
                                facts_text(folder, strlen(folder)))
                    : NULL;
    }
    batch_unref(r.rows);
    journal_close(journal);
    json_decref(list);
    free(folder);
    return status;
}

json_t *answers_all(const struct run *run, const struct place *place)
{
    json_t *list = NULL;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        uint32_t task;
        if (!places_task(phase, place->lane, place->split, &task)) {
            continue;
        }
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            struct sluice_error why_not = ERROR_INIT;
            json_t *answers = NULL;
            if (!op_asks(phase->ops[i]) ||
                answers_of(run, place, p, task, phase->ops[i], &answers, &why_not) != SLUICE_OK ||
                answers == NULL) {
                continue;
            }
            json_object_set_new(answers, "stage", json_string(phase->ops[i]->name));
            list = list != NULL ? list : json_array();
            json_array_append_new(list, answers);
        }
    }
    return list;
}
