/* A stage over a sample: its plan's chains are given batches that are kept in memory, and an
 * observer notes what becomes of each row. See try.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"

/* The text that an annotator gave a row, where it is another one. */
static sluice_status note_text(const struct type *added, const struct ArrowArray *columns,
                               const struct sample *sample, uint64_t number, int64_t row,
                               struct fate *fate, struct sluice_error *err)
{
    for (uint32_t k = 0; k < added->n_children; k++) {
        char buffer[64];
        size_t n = 0;
        size_t n_before = 0;
        const char *after;
        const char *before;
        if (strcmp(added->names[k], "text") != 0) {
            continue;
        }
        after = value_text(added->children[k], columns->children[k], row, &n, buffer);
        before = sample_text(sample, number, &n_before);
        if (after == NULL || (n == n_before && memcmp(after, before, n) == 0)) {
            return SLUICE_OK;
        }
        fate->after = str_copy(after, n);
        fate->n_after = n;
        return fate->after == NULL ? error_nomem(err, "texts") : SLUICE_OK;
    }
    return SLUICE_OK;
}

struct running {
    const struct try_plan *plan;
    const struct sample *sample;
    const struct op *from; /* the stage's input */
    struct outcome *out;
    atomic_uint_fast64_t emitted;
};

/* ---- what the chains tell ---- */

static sluice_status note_answer(void *ctx, const struct op *op, const struct batch *batch,
                                 const struct stage_result *result, struct sluice_error *err)
{
    const struct running *running = ctx;
    bool adds = op_declared(op)->role == SLUICE_ROLE_ANNOTATOR && result->n_batches == 1;

    for (int64_t k = 0; op == running->plan->op && k < batch->n_rows; k++) {
        uint64_t row = rows_number(running->from->row_slot, batch, k);
        struct fate *fate = &running->out->fates[row];
        if (result->has_verdicts) {
            const struct sluice_verdict *verdict = &result->verdicts[k];
            fate->reason = verdict->reason;
            fate->value = verdict->value;
            fate->limit = verdict->limit;
            fate->valued = verdict->reason != SLUICE_VERDICT_BAD &&
                           (verdict->value != 0 || verdict->limit != 0); /* else not measured */
        }
        if (adds && fate->reason == 0) {
            fate->note = outcome_note(stage_output(op_code(op)->stage), &result->batches[0],
                                      running->sample, row, k);
            if (fate->note == NULL) {
                return error_nomem(err, "values");
            }
            TRY(note_text(stage_output(op_code(op)->stage), &result->batches[0], running->sample,
                          row, k, fate, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status note_fault(void *ctx, const struct op *op, const struct bad_record *bad,
                                struct sluice_error *err)
{
    struct fate *fate = &((struct running *)ctx)->out->fates[bad->row];

    (void)op;
    fate->reason = SLUICE_VERDICT_BAD;
    fate->note = str_printf("%s: %s", bad->reason, bad->detail);
    return fate->note == NULL ? error_nomem(err, "verdicts") : SLUICE_OK;
}

static sluice_status count_given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                                 struct sluice_error *err)
{
    struct running *running = ctx;

    (void)held;
    (void)err;
    if (op == running->plan->op) {
        atomic_fetch_add(&running->emitted, (uint64_t)batch->n_rows);
    }
    return SLUICE_OK;
}

/* ---- what its providers give ---- */

/* Plans with one key give the stage equal rows. */
static sluice_status rows_key(const struct try_plan *plan, const struct op *from,
                              struct hash128 *key, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status;

    for (uint32_t i = 0; i <= from->index; i++) {
        buf_append(&text, (const char *)&plan->phase->ops[i]->key, sizeof *key);
    }
    status = buf_status(&text, err);
    *key = hash_bytes(buf_str(&text), text.size);
    buf_deinit(&text);
    return status;
}

/* Runs the providers before the stage over the sample; what they give stays for later plans. */
static sluice_status derive(const struct try_plan *plan, const struct op *from,
                            struct sample *sample, uint32_t workers, struct sluice_error *err)
{
    const struct rows_pass pass = { .plan = plan,
                                    .rows = &sample->rows,
                                    .from = plan->phase->ops[0],
                                    .until = from,
                                    .workers = workers };
    struct hash128 key;

    TRY(rows_key(plan, from, &key, err));
    if (sample->derived.n > 0 && hash_equal(key, sample->derived_key)) {
        return SLUICE_OK;
    }
    rows_deinit(&sample->derived);
    sample->derived_key = key;
    return rows_pass(&pass, &sample->derived, err);
}

/* ---- the run ---- */

static sluice_status init_outcome(const struct running *running, const struct rows *rows,
                                  struct sluice_error *err)
{
    struct outcome *out = running->out;
    const struct stage *stage = op_code(running->plan->op)->stage;

    for (uint32_t b = 0; b < rows->n; b++) {
        out->n += (uint64_t)rows->batches[b]->n_rows;
    }
    for (uint64_t row = 0; row < out->n; row++) {
        out->bytes += sample_row_bytes(running->sample, row);
    }
    out->fates = calloc(out->n + 1, sizeof *out->fates);
    out->reasons = calloc(stage_n_reasons(stage) + 1u, sizeof *out->reasons);
    out->transforms = stage_kind(stage)->role == SLUICE_ROLE_TRANSFORM;
    out->annotates = stage_kind(stage)->role == SLUICE_ROLE_ANNOTATOR;
    if (out->fates == NULL || out->reasons == NULL) {
        return error_nomem(err, "verdicts");
    }
    for (uint32_t k = 0; k < stage_n_reasons(stage); k++) {
        const char *reason = stage_reason(stage, k + 1);
        out->reasons[out->n_reasons++] = str_copy(reason, strlen(reason));
        if (out->reasons[k] == NULL) {
            return error_nomem(err, "reasons");
        }
    }
    return SLUICE_OK;
}

/* A kept row of a heuristic with two limits carries the upper one; the nearer one says more. */
static sluice_status near_limits(const struct trial *trial, struct outcome *out,
                                 struct sluice_error *err)
{
    double below = 0;
    bool whole;

    if (trial->above == NULL && trial->below == NULL) {
        return SLUICE_OK;
    }
    if (trial->below != NULL) {
        TRY(trial_number(trial, trial->below, &below, &whole, err));
    }
    for (uint64_t i = 0; i < out->n; i++) {
        struct fate *fate = &out->fates[i];
        fate->valued = fate->reason != SLUICE_VERDICT_BAD;
        if (trial->below != NULL && trial->above != NULL && fate->reason == 0 &&
            fabs(fate->value - below) < fabs(fate->limit - fate->value)) {
            fate->limit = below;
        }
    }
    return SLUICE_OK;
}

/* A sample without texts is as good as any other for a stage that looks at none. */
static sluice_status check_text(const struct try_plan *plan, const struct sample *sample,
                                struct sluice_error *err)
{
    for (uint32_t i = 1; !sample->has_text && i < plan->phase->n_ops; i++) {
        const struct op_stage *stage = op_stage(plan->phase->ops[i]);
        const struct op *from = phase_input(plan->phase, plan->phase->ops[i], 0);
        for (uint32_t k = 0; k < stage->n_need[0]; k++) {
            int32_t slot = stage->need[0][k];
            if (slot >= 0 && strcmp(from->out.fields[slot].name, "text") == 0) {
                return error_set(
                    err, SLUICE_E_SCHEMA,
                    "no record of %s has a text, which '%s' reads; make another sample",
                    sample->path, plan->op->name);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status run_plan(struct trial *trial, struct sample *sample,
                              const struct try_plan *plan, struct outcome *out,
                              struct sluice_error *err)
{
    const struct op *from = phase_input(plan->phase, plan->op, 0);
    bool ordered = op_declared(plan->op)->mode != SLUICE_MODE_STATELESS;
    struct rows rows;
    struct running running = { .plan = plan, .sample = sample, .from = from, .out = out };
    const struct chain_observer observer = {
        .ctx = &running, .answered = note_answer, .given = count_given, .refused = note_fault
    };
    const struct rows_pass pass = { .plan = plan,
                                    .rows = &rows,
                                    .from = from,
                                    .workers = ordered ? 1 : trial->workers,
                                    .observer = &observer };
    uint64_t start;

    TRY(check_text(plan, sample, err));
    if (from->kind != OP_READ) {
        TRY(derive(plan, from, sample, trial->workers, err));
    }
    rows = from->kind == OP_READ ? sample->rows : sample->derived;
    for (uint32_t b = 0; trial->most_rows > 0 && b < rows.n; b++) {
        if (rows_number(from->row_slot, rows.batches[b], 0) >= trial->most_rows) {
            rows.n = b;
        }
    }
    TRY(init_outcome(&running, &rows, err));
    start = clock_ns();
    TRY(rows_pass(&pass, NULL, err));
    out->seconds = (double)(clock_ns() - start) / 1e9;
    out->emitted = atomic_load(&running.emitted);
    return near_limits(trial, out, err);
}

sluice_status trial_run(struct trial *trial, struct sample *sample, struct outcome *out,
                        struct sluice_error *err)
{
    struct options *options = NULL;
    struct try_plan plan;
    sluice_status status;

    memset(out, 0, sizeof *out);
    TRY(trial_options(trial, &options, err)); /* what is wrong on the command line has no place */
    options_destroy(options);
    status = try_plan_open(sample, &trial->session, trial, &plan, err);
    if (status == SLUICE_OK) {
        status = run_plan(trial, sample, &plan, out, err);
    }
    try_plan_close(&plan);
    if (status != SLUICE_OK) {
        outcome_deinit(out);
    }
    return status;
}
