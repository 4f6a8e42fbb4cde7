/* A stage over a sample: the chain of its plan (try_plan.c) on all processors, each fed batches
 * that are kept in memory, with an observer that notes what becomes of each row. See try.h.
 *
 * Why not a run, with its directory: one takes 20 ms of a processor and 50 to 100 ms until files
 * and records are synced, reads and parses the sample again, and works on it as one task, on one
 * processor; a sweep would do that once for each threshold. A chain needs none of it: where it has
 * no place to spill to, it keeps no tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/pool.h"

struct running {
    const struct try_plan *plan;
    const struct sample *sample;
    const struct rows *rows; /* what `from` gives */
    const struct op *from;
    struct outcome *out; /* what the stage says; NULL: what its providers give is kept */
    struct rows *parts;  /* of each batch */
    atomic_uint_fast32_t next;
    atomic_uint_fast64_t emitted;
};

struct thread {
    struct running *running;
    uint32_t batch;
};

/* ---- what the chains tell ---- */

static sluice_status note_answer(void *ctx, const struct op *op, const struct batch *batch,
                                 const struct stage_result *result, struct sluice_error *err)
{
    const struct running *running = ((const struct thread *)ctx)->running;
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
        }
    }
    return SLUICE_OK;
}

static sluice_status note_fault(void *ctx, const struct op *op, const struct bad_record *bad,
                                struct sluice_error *err)
{
    struct fate *fate = &((struct thread *)ctx)->running->out->fates[bad->row];

    (void)op;
    fate->reason = SLUICE_VERDICT_BAD;
    fate->note = str_printf("%s: %s", bad->reason, bad->detail);
    return fate->note == NULL ? error_nomem(err, "verdicts") : SLUICE_OK;
}

static sluice_status count_given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                                 struct sluice_error *err)
{
    struct running *running = ((struct thread *)ctx)->running;

    (void)held;
    (void)err;
    if (op == running->plan->op) {
        atomic_fetch_add(&running->emitted, (uint64_t)batch->n_rows);
    }
    return SLUICE_OK;
}

/* The stage itself is not asked yet. */
static sluice_status keep_given(void *ctx, const struct op *op, struct batch *batch, bool *held,
                                struct sluice_error *err)
{
    const struct thread *thread = ctx;
    struct running *running = thread->running;

    *held = op->index == op_input(running->plan->op, 0);
    return !*held || rows_keep(&running->parts[thread->batch], batch)
               ? SLUICE_OK
               : error_nomem(err, "derived columns");
}

static sluice_status refuse(void *ctx, const struct op *op, const struct bad_record *bad,
                            struct sluice_error *err)
{
    (void)ctx;
    return error_set(err, SLUICE_E_DATA, "'%s' fails in row %llu: %s: %s", op->name,
                     (unsigned long long)bad->row, bad->reason, bad->detail);
}

/* ---- chains on all processors ---- */

/* A thread takes batches until none are left. */
static sluice_status work(void *ctx, void *state, uint32_t i, bool *taken, struct sluice_error *err)
{
    struct running *running = ctx;
    struct thread thread = { .running = running };
    const bool judged = running->out != NULL;
    const struct chain_observer observer = { .ctx = &thread,
                                             .answered = judged ? note_answer : NULL,
                                             .given = judged ? count_given : keep_given,
                                             .refused = judged ? note_fault : refuse };
    struct worker_cache *cache = worker_cache_create(running->plan->plan);
    const struct chain_options options = { .plan = running->plan->plan,
                                           .phase = running->plan->phase,
                                           .cache = cache,
                                           .metrics = running->plan->metrics.phases,
                                           .cancelled = &session_cancelled,
                                           .observer = &observer };
    struct chain *chain = NULL;
    sluice_status status =
        cache == NULL ? error_nomem(err, "a worker") : chain_create(&options, &chain, err);

    (void)state;
    (void)i;
    (void)taken;
    while (status == SLUICE_OK &&
           (thread.batch = (uint32_t)atomic_fetch_add(&running->next, 1)) < running->rows->n) {
        status = atomic_load(&session_drain) != 0
                     ? error_set(err, SLUICE_E_CANCELLED, "stopped")
                     : chain_emit(chain, running->from->index, running->rows->batches[thread.batch],
                                  err);
    }
    if (status == SLUICE_OK && judged) {
        status = chain_finish(chain, err);
    }
    if (status != SLUICE_OK) {
        atomic_store(&running->next, running->rows->n); /* nobody goes on */
    }
    chain_destroy(chain);
    worker_cache_destroy(cache);
    if (err != NULL) {
        err->code = error_known(err->code); /* a crash or time-out is nothing that others know */
    }
    return error_known(status);
}

static sluice_status run_chains(struct running *running, uint32_t workers, struct sluice_error *err)
{
    bool ordered = op_declared(running->plan->op)->mode != SLUICE_MODE_STATELESS;
    uint32_t n = ordered ? 1 : workers < running->rows->n ? workers : running->rows->n;
    struct pool_job job = { .ctx = running, .n = n, .n_threads = n, .run = work };
    bool drained;

    return pool_run(&job, &drained, err);
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
    buf_append(&text, (const char *)from->live, from->out.n * sizeof *from->live);
    status = buf_status(&text, err);
    *key = hash_bytes(buf_str(&text), text.size);
    buf_deinit(&text);
    return status;
}

/* Runs the providers before the stage over the sample; what they give stays for later plans. */
static sluice_status derive(const struct try_plan *plan, const struct op *from,
                            struct sample *sample, uint32_t workers, struct sluice_error *err)
{
    struct running running = {
        .plan = plan, .sample = sample, .rows = &sample->rows, .from = plan->phase->ops[0]
    };
    struct hash128 key;
    sluice_status status;

    TRY(rows_key(plan, from, &key, err));
    if (sample->derived.n > 0 && hash_equal(key, sample->derived_key)) {
        return SLUICE_OK;
    }
    rows_deinit(&sample->derived);
    sample->derived_key = key;
    running.parts = calloc(sample->rows.n + 1u, sizeof *running.parts);
    if (running.parts == NULL) {
        return error_nomem(err, "derived columns");
    }
    status = run_chains(&running, workers, err);
    for (uint32_t b = 0; b < sample->rows.n; b++) {
        for (uint32_t k = 0; status == SLUICE_OK && k < running.parts[b].n; k++) {
            if (!rows_keep(&sample->derived, running.parts[b].batches[k])) {
                status = error_nomem(err, "derived columns");
            }
        }
        rows_deinit(&running.parts[b]);
    }
    free(running.parts);
    return status;
}

/* ---- the run ---- */

static sluice_status init_outcome(const struct running *running, struct outcome *out,
                                  struct sluice_error *err)
{
    const struct stage *stage = op_code(running->plan->op)->stage;

    for (uint32_t b = 0; b < running->rows->n; b++) {
        out->n += (uint64_t)running->rows->batches[b]->n_rows;
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
    return sample->has_text || !plan->phase->ops[0]->live[sample->text]
               ? SLUICE_OK
               : error_set(err, SLUICE_E_SCHEMA,
                           "no record of %s has a text, which '%s' reads; make another sample",
                           sample->path, plan->op->name);
}

static sluice_status run_plan(struct trial *trial, struct sample *sample,
                              const struct try_plan *plan, struct outcome *out,
                              struct sluice_error *err)
{
    const struct op *from = phase_input(plan->phase, plan->op, 0);
    struct rows rows;
    struct running running = {
        .plan = plan, .sample = sample, .rows = &rows, .from = from, .out = out
    };
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
    TRY(init_outcome(&running, out, err));
    start = clock_ns();
    TRY(run_chains(&running, trial->workers, err));
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
