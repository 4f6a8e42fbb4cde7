/* One task in the hands of one thread: taken by a lease, tried, logged, given back. What becomes of
 * a failure is decided on the run's thread (failing.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/phaseInt.h"

/* ---- hands ---- */

void *hand_open(void *ctx)
{
    struct phase_job *job = ctx;
    struct hand *hand = calloc(1, sizeof *hand);
    uint32_t n_ops = job->run->plan->phases[job->phase]->n_ops;

    if (hand == NULL) {
        return NULL;
    }
    hand->job = job;
    hand->cache = worker_cache_create(job->run->plan);
    if (hand->cache == NULL || metrics_part_init(&hand->part, n_ops, NULL) != SLUICE_OK ||
        metrics_part_init(&hand->total, n_ops, NULL) != SLUICE_OK) {
        hand_close(NULL, hand);
        return NULL;
    }
    hand->part.whole = &job->run->metrics.phases[job->phase];
    pthread_mutex_lock(&job->lock);
    job->hands[job->n_hands++] = hand;
    pthread_mutex_unlock(&job->lock);
    return hand;
}

void hand_close(void *ctx, void *state)
{
    struct phase_job *job = ctx;
    struct hand *hand = state;

    if (hand == NULL) {
        return;
    }
    if (job != NULL) {
        pthread_mutex_lock(&job->lock);
        for (uint32_t i = 0; i < job->n_hands; i++) {
            if (job->hands[i] == hand) {
                job->hands[i] = job->hands[--job->n_hands];
            }
        }
        pthread_mutex_unlock(&job->lock);
    }
    worker_cache_destroy(hand->cache);
    metrics_part_deinit(&hand->part);
    metrics_part_deinit(&hand->total);
    free(hand);
}

/* ---- the log ---- */

static void zero_total(struct phase_metrics *total, uint32_t n_ops)
{
    struct op_metrics *ops = total->ops;

    memset(ops, 0, n_ops * sizeof *ops);
    memset(total, 0, sizeof *total);
    total->ops = ops;
}

static void begin_attempt(struct phase_job *job, struct hand *hand, uint32_t task,
                          struct hold *hold)
{
    uint32_t n_ops = job->run->plan->phases[job->phase]->n_ops;

    pthread_mutex_lock(&job->lock);
    zero_total(&hand->total, n_ops);
    atomic_store(&hand->part.bad, 0);
    atomic_store(&hand->cancelled, run_cancelled(job->run));
    atomic_store(&hand->save, SAVING_NONE);
    atomic_store(&hand->rival, shift_is_twin(hold));
    atomic_store(&hand->beaten, false);
    hand->task = task;
    hand->hold = hold;
    hand->looked_ns = 0;
    hand->begun_ns = clock_ns();
    hand->active = true;
    hand->weighed = false;
    pthread_mutex_unlock(&job->lock);
}

static void end_attempt(struct phase_job *job, struct hand *hand)
{
    struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];

    pthread_mutex_lock(&job->lock);
    hand->active = false;
    metrics_move(&hand->part, job->run->plan->phases[job->phase]->n_ops, metrics, &hand->total);
    pthread_mutex_unlock(&job->lock);
}

/* What a task stored. */
static uint64_t stored_bytes(const struct commit *commit)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; commit != NULL && k < commit->n_outputs; k++) {
        bytes += commit->outputs[k].bytes;
    }
    return bytes;
}

/* What it read: of files, or the most that one of its ops saw. */
static void sum_work(const struct phase *phase, const struct phase_metrics *total,
                     struct attempt *attempt)
{
    attempt->bytes_in = METRIC_GET(total->raw_bytes);
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        uint64_t bytes = METRIC_GET(total->ops[i].bytes_in);
        if (METRIC_GET(total->raw_bytes) == 0 && bytes > attempt->bytes_in) {
            attempt->bytes_in = bytes;
        }
        if (op_reads_first(phase->ops[i]) || phase->ops[i]->kind == OP_LOAD) {
            attempt->rows += METRIC_GET(total->ops[i].rows_out);
        }
    }
}

static void log_attempt(struct phase_job *job, uint32_t task, struct attempt *attempt)
{
    const struct run *run = job->run;
    const struct task_state *state = &run->tasks[job->phase][task];
    struct sluice_error err = ERROR_INIT;
    char buffer[SPLIT_NAME];

    attempt->number = plan_task_number(run->plan, (struct task_id){ job->phase, task });
    attempt->phase = run->plan->phases[job->phase]->name;
    attempt->task = phase_task_name(run->plan->phases[job->phase], task, buffer);
    attempt->keyed = state->keyed;
    attempt->key = state->key;
    if (attempts_add(run->attempts, attempt, &err) != SLUICE_OK) {
        run_warn(run, err.message);
    }
}

static void log_work(struct phase_job *job, const struct hand *hand, uint32_t task,
                     struct attempt *attempt)
{
    const struct phase *phase = job->run->plan->phases[job->phase];
    const struct task_state *state = &job->run->tasks[job->phase][task];

    attempt->wall_ns = clock_ns() - hand->begun_ns;
    attempt->from_row = hand->from_row;
    attempt->saved_row = hand->saved_row;
    attempt->metrics = &hand->total;
    attempt->n_ops = phase->n_ops;
    sum_work(phase, &hand->total, attempt);
    attempt->bytes_out = state->done ? stored_bytes(state->commit) : 0;
    log_attempt(job, task, attempt);
}

/* ---- failures ---- */

/* The one that had the task died with it, or stood still too long. */
static sluice_status report_lost(struct phase_job *job, uint32_t task, struct hold *hold,
                                 const struct lease_found *lost, struct sluice_error *err)
{
    struct trouble trouble = { .task = task, .kind = TROUBLE_LOST, .code = SLUICE_E_IO };
    struct attempt attempt = { .outcome = ATTEMPT_LOST_WORKER, .other = &lost->holder };

    clock_gettime(CLOCK_REALTIME, &attempt.begin);
    snprintf(trouble.message, sizeof trouble.message, "%.190s died with the task",
             lost->holder.words[0] == '\0' ? "its worker" : lost->holder.words);
    memcpy(trouble.worker, lost->holder.id, sizeof trouble.worker);
    memcpy(trouble.host, lost->holder.host, sizeof trouble.host);
    log_attempt(job, task, &attempt);
    return failing_put(job, &trouble, hold, err);
}

/* Whether one who died with the task is known already: its file tells of each once. */
static sluice_status is_news(struct phase_job *job, uint32_t task, const struct lease_found *lost,
                             bool *news, struct sluice_error *err)
{
    struct trouble probe = { .task = task, .kind = TROUBLE_LOST };
    struct trouble_count count;

    TRY(troubles_read(job->troubles, task, err));
    troubles_count(job->troubles, &probe, &count);
    *news = lost->lost > count.by_kind[TROUBLE_LOST] - 1;
    return SLUICE_OK;
}

/* ---- the task ---- */

static void job_ended(struct phase_job *job, uint32_t task, bool other)
{
    struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];

    atomic_store(&job->ended[task], true);
    METRIC_ADD(metrics->done, 1);
    METRIC_ADD(metrics->others, other);
}

static bool is_doubtful(void *ctx)
{
    const struct hand *hand = ctx;
    return atomic_load(&hand->rival) || shift_doubtful(hand->job->shift, hand->hold);
}

/* It is done, by this process or by another one meanwhile. */
static void settle(struct phase_job *job, struct hand *hand, uint32_t task,
                   const struct task_attempt *tried, struct attempt *attempt, bool doubtful)
{
    char text[400];
    char buffer[SPLIT_NAME];

    attempt->outcome = !tried->existed             ? ATTEMPT_COMMITTED
                       : shift_is_twin(hand->hold) ? ATTEMPT_SPECULATIVE
                       : atomic_load(&hand->rival) ? ATTEMPT_LOST_TWIN
                                                   : ATTEMPT_LOST_RACE;
    if (!tried->existed) {
        twin_won(job, hand, task);
    }
    if (tried->existed && doubtful) {
        snprintf(text, sizeof text,
                 "%s, %.100s: this process stood still for so long that another one took the task; "
                 "what that one committed stands",
                 job->run->plan->phases[job->phase]->name,
                 phase_task_name(job->run->plan->phases[job->phase], task, buffer));
        run_warn(job->run, text);
    }
    job_ended(job, task, tried->existed);
    log_work(job, hand, task, attempt);
}

static sluice_status fail(struct phase_job *job, struct hand *hand, uint32_t task,
                          struct attempt *attempt, struct sluice_error *err)
{
    const struct holder *self = member_self(crew_member(job->run->crew));
    struct trouble trouble = { .task = task, .kind = trouble_kind(err), .code = err->code };
    bool twin = shift_is_twin(hand->hold);

    METRIC_ADD(job->run->metrics.phases[job->phase].bad,
               -(uint_fast64_t)METRIC_GET(hand->part.bad));
    attempt->outcome = err->code == SLUICE_E_CANCELLED ? ATTEMPT_DRAINED : ATTEMPT_FAILED;
    attempt->kind = err->code == SLUICE_E_CANCELLED ? NULL : trouble_word(trouble.kind);
    attempt->message = err->code == SLUICE_E_CANCELLED ? NULL : err->message;
    log_work(job, hand, task, attempt);
    if (twin && trouble.kind != TROUBLE_FATAL) {
        run_warn(job->run, err->message);
    }
    if (twin || trouble.kind == TROUBLE_FATAL) {
        shift_give(job->shift, hand->hold, false);
        /* What becomes of a task is up to whoever has it in hand. */
        return trouble.kind == TROUBLE_FATAL ? err->code : SLUICE_OK;
    }
    snprintf(trouble.message, sizeof trouble.message, "%s", err->message);
    memcpy(trouble.worker, self->id, sizeof trouble.worker);
    memcpy(trouble.host, self->host, sizeof trouble.host);
    return failing_put(job, &trouble, hand->hold, err);
}

static sluice_status try_task(struct phase_job *job, struct hand *hand, uint32_t task,
                              struct hold *hold, bool *taken, struct sluice_error *err)
{
    struct run *run = job->run;
    struct phase_metrics *metrics = &run->metrics.phases[job->phase];
    struct task_attempt tried = {
        .metrics = &hand->part, .cancelled = &hand->cancelled, .doubtful = is_doubtful, .ctx = hand
    };
    struct attempt attempt = { .outcome = "", .twin = shift_is_twin(hold) };
    bool doubtful;
    sluice_status status;

    clock_gettime(CLOCK_REALTIME, &attempt.begin);
    METRIC_ADD(metrics->running, 1);
    begin_attempt(job, hand, task, hold);
    tried.save = shift_is_twin(hold) ? NULL : &hand->save;
    status = run_task(run, job->phase, task, hand->cache, &tried, err);
    hand->from_row = tried.from_row;
    hand->saved_row = tried.saved_row;
    doubtful = shift_doubtful(job->shift, hold);
    end_attempt(job, hand);
    METRIC_ADD(metrics->running, -1);
    METRIC_ADD(job->busy_ns, clock_ns() - hand->begun_ns);
    if (status != SLUICE_OK && atomic_load(&hand->beaten)) {
        METRIC_ADD(metrics->bad, -(uint_fast64_t)METRIC_GET(hand->part.bad));
        TRY(twin_yield(job, task, &tried.existed, err));
        if (!tried.existed) {
            attempt.outcome = ATTEMPT_DRAINED;
            log_work(job, hand, task, &attempt);
            shift_give(job->shift, hold, false);
            *taken = false;
            return SLUICE_OK;
        }
        status = SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        settle(job, hand, task, &tried, &attempt, doubtful);
        shift_give(job->shift, hold, true);
        return SLUICE_OK;
    }
    err->code = status;
    status = fail(job, hand, task, &attempt, err);
    *taken = status != SLUICE_OK; /* else it comes back, to be tried again or given up */
    return status;
}

/* One that came to nothing is still another one's. */
static sluice_status try_twin(struct phase_job *job, struct hand *hand, uint32_t task,
                              struct hold *hold, bool *taken, struct sluice_error *err)
{
    TRY(try_task(job, hand, task, hold, taken, err));
    *taken = job->run->tasks[job->phase][task].done;
    return SLUICE_OK;
}

/* One that was committed meanwhile is done. */
static sluice_status find_task(struct phase_job *job, uint32_t task, struct sluice_error *err)
{
    struct run *run = job->run;
    const struct task_state *mine = &run->tasks[job->phase][task];
    sluice_status status = SLUICE_OK;

    if (!mine->keyed) {
        status = task_try_key(run, job->phase, task, KEY_SHARE, err);
    }
    if (status == SLUICE_OK && mine->keyed && !run->options.fresh) {
        status = task_find(run, job->phase, task, mine->doubted, err);
    }
    return status;
}

/* Somebody has done it. */
static void was_done(struct phase_job *job, uint32_t task)
{
    struct attempt found = { .outcome = ATTEMPT_FOUND };

    clock_gettime(CLOCK_REALTIME, &found.begin);
    log_attempt(job, task, &found);
    job_ended(job, task, true);
}

static sluice_status take_task(struct phase_job *job, struct hand *hand, uint32_t task,
                               struct hold *hold, const struct lease_found *lost, bool *taken,
                               struct sluice_error *err)
{
    bool alone = troubles_alone(job->troubles, task); /* known before: nothing is beside it */
    bool news = false;
    sluice_status status = find_task(job, task, err);

    if (status == SLUICE_OK && job->run->tasks[job->phase][task].done) {
        was_done(job, task);
        shift_give(job->shift, hold, true);
        return SLUICE_OK;
    }
    if (status == SLUICE_OK && lost->lost > 0) {
        status = is_news(job, task, lost, &news, err);
    } else if (status == SLUICE_OK && shift_shared(job->shift)) {
        status = troubles_read(job->troubles, task, err);
    }
    if (status == SLUICE_OK && news) {
        *taken = false;
        return report_lost(job, task, hold, lost, err);
    }
    if (status != SLUICE_OK || troubles_state(job->troubles, task) != TASK_READY ||
        (troubles_alone(job->troubles, task) && !alone)) {
        *taken = status != SLUICE_OK;
        shift_give(job->shift, hold, false);
        return status;
    }
    return try_task(job, hand, task, hold, taken, err);
}

static bool is_broken(struct phase_job *job, struct sluice_error *err)
{
    bool broken;

    pthread_mutex_lock(&job->lock);
    broken = job->broken;
    if (broken && err != NULL) {
        *err = job->error;
    }
    pthread_mutex_unlock(&job->lock);
    return broken;
}

static sluice_status begin_task(struct phase_job *job, struct hand *hand, uint32_t task,
                                bool *taken, struct sluice_error *err)
{
    struct lease_found lost = { .lost = 0 };
    struct hold *hold = NULL;

    TRY(shift_take(job->shift, task, &hold, &lost, err));
    if (hold == NULL) {
        /* What is done is done, whoever's lease is left of it: one whose request was late, behind
         * that of its removal, nobody drops any more. */
        *taken = false;
        TRY(find_task(job, task, err));
        if (job->run->tasks[job->phase][task].done) {
            was_done(job, task);
            *taken = true;
            return SLUICE_OK;
        }
        TRY(twin_refused(job, task, &lost.holder, &hold, err));
        return hold == NULL ? SLUICE_OK : try_twin(job, hand, task, hold, taken, err);
    }
    twin_taken(job, task);
    return take_task(job, hand, task, hold, &lost, taken, err);
}

sluice_status hand_task(struct phase_job *job, struct hand *hand, uint32_t task, bool *taken,
                        struct sluice_error *err)
{
    enum trouble_state state;
    sluice_status status;

    if (hand == NULL) {
        return error_nomem(err, "a worker");
    }
    if (is_broken(job, err)) {
        return job->error.code;
    }
    state = troubles_state(job->troubles, task);
    if (state != TASK_READY) {
        *taken = state == TASK_GIVEN_UP;
        atomic_store(&job->ended[task], *taken);
        beside_forget(job, task);
        return SLUICE_OK;
    }
    if (!beside_enter(job, task)) {
        *taken = false;
        return SLUICE_OK;
    }
    status = begin_task(job, hand, task, taken, err);
    beside_leave(job, task);
    return status;
}

/* ---- the run's thread ---- */

void hands_tick(struct phase_job *job)
{
    struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];
    uint32_t n_ops = job->run->plan->phases[job->phase]->n_ops;
    bool cancelled = run_cancelled(job->run);

    failing_decide(job);
    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->n_hands; i++) {
        struct hand *hand = job->hands[i];
        if (hand->active) {
            metrics_move(&hand->part, n_ops, metrics, &hand->total);
        }
        if (cancelled) {
            atomic_store(&hand->cancelled, 1);
        }
    }
    pthread_mutex_unlock(&job->lock);
    twins_tick(job);
    drain_tick(job);
    shift_tick(job->shift);
}
