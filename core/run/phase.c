/* A phase on the pool. Any number of processes may work on it at once: each takes the tasks that no
 * other one has (leases), and takes up what others have committed. Leases and twins save work only:
 * what a task gives is the same whoever does it. A task that fails ends nothing while there are
 * others: the phase fails when they are done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/phaseInt.h"
#include "store/store.h"

#define LOOK_NS \
    UINT64_C(1000000000) /* between two looks at what others have committed, for progress */

static int compare_keys(struct hash128 a, struct hash128 b)
{
    return a.hi != b.hi ? (a.hi < b.hi ? -1 : 1) : a.lo != b.lo ? (a.lo < b.lo ? -1 : 1) : 0;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct keyed_task *x = a;
    const struct keyed_task *y = b;

    return compare_keys(x->key, y->key);
}

/* ---- one task ---- */

static sluice_status run_one(void *ctx, void *state, uint32_t i, bool *taken,
                             struct sluice_error *err)
{
    struct phase_job *job = ctx;

    return hand_task(job, state, job->todo[i], taken, err);
}

/* ---- what others do ---- */

static bool is_ahead(const struct phase_job *job, struct hash128 key)
{
    uint32_t low = 0;
    uint32_t high = job->n_keyed;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_keys(job->by_key[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < job->n_keyed && hash_equal(job->by_key[low].key, key) &&
           !atomic_load(&job->ended[job->by_key[low].task]);
}

/* Counts the records that others have committed and this process has not come to: for progress
 * only. */
static void look_ahead(struct phase_job *job)
{
    struct run *run = job->run;
    uint64_t now = clock_ns();
    struct sluice_error err = ERROR_INIT;
    struct hash128 *keys = NULL;
    uint32_t ahead = 0;
    size_t n = 0;
    char *dir;

    if (!shift_shared(job->shift) || run->options.fresh || now - job->looked_ns < LOOK_NS) {
        return;
    }
    job->looked_ns = now;
    dir = store_join(run->tasks_dir, run->plan->phases[job->phase]->name);
    if (dir != NULL && commit_list(dir, &keys, &n, &err) == SLUICE_OK) {
        for (size_t i = 0; i < n; i++) {
            ahead += is_ahead(job, keys[i]);
        }
        if (job->unread) {
            uint64_t mine = METRIC_GET(run->metrics.phases[job->phase].done) -
                            METRIC_GET(run->metrics.phases[job->phase].reused);
            uint64_t more = n > job->n_records ? n - job->n_records : 0;
            ahead = (uint32_t)(more > mine ? more - mine : 0);
        }
        atomic_store(&run->metrics.phases[job->phase].ahead, ahead);
    }
    free(keys);
    free(dir);
}

static void idle(void *ctx)
{
    struct phase_job *job = ctx;

    atomic_store(&job->idle_ns, member_clock());
}

static void tick(void *ctx)
{
    struct phase_job *job = ctx;

    hands_tick(job);
    if (job->run->options.events.progress != NULL) {
        look_ahead(job);
        job->run->options.events.progress(job->run->options.events.ctx, job->run, job->phase,
                                          false);
    }
}

/* ---- the phase ---- */

/* Test hook: SLUICE_TEST_DELAY also shuffles the order in which tasks begin. */
static void test_shuffle(uint32_t *todo, uint32_t n)
{
    const char *text = hook_text("SLUICE_TEST_DELAY");
    uint64_t x = text == NULL ? 0 : strtoull(text, NULL, 10) * 2 + 1;

    for (uint32_t i = n; text != NULL && i > 1; i--) {
        uint32_t j;
        uint32_t swap;
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        j = (uint32_t)((x >> 33) % i);
        swap = todo[i - 1];
        todo[i - 1] = todo[j];
        todo[j] = swap;
    }
}

/* What is to be done: of tasks with one key the first, as the work is the same. */
static sluice_status job_init(struct phase_job *job, struct sluice_error *err)
{
    const struct task_state *tasks = job->run->tasks[job->phase];
    uint32_t n = job->run->plan->phases[job->phase]->n_tasks;

    job->by_key = calloc(n + 1u, sizeof *job->by_key);
    job->ended = calloc(n + 1u, sizeof *job->ended);
    job->todo = calloc(n + 1u, sizeof *job->todo);
    if (job->by_key == NULL || job->ended == NULL || job->todo == NULL) {
        return error_nomem(err, "the run");
    }
    for (uint32_t t = 0; t < n; t++) {
        /* Nothing is to be done for a twin, for now. */
        bool twin = tasks[t].keyed && tasks[t].first != t;
        job->unread = job->unread || !tasks[t].keyed;
        if (tasks[t].keyed && !twin) {
            job->by_key[job->n_keyed++] = (struct keyed_task){ tasks[t].key, t };
        }
        atomic_init(&job->ended[t], tasks[t].done || twin);
        if (!tasks[t].done && !twin) {
            job->todo[job->n_todo++] = t;
        }
    }
    qsort(job->by_key, job->n_keyed, sizeof *job->by_key, compare_tasks);
    test_shuffle(job->todo, job->n_todo);
    return SLUICE_OK;
}

static struct hash128 phase_name(const struct run *run, uint32_t p)
{
    char text[64];
    char hex[33];

    hash_hex(run->plan->key, hex);
    snprintf(text, sizeof text, "phase %s %u", hex, p);
    return hash_bytes(text, strlen(text));
}

/* Joins those at work on the phase. */
static sluice_status job_begin(struct phase_job *job, struct sluice_error *err)
{
    struct run *run = job->run;
    struct shift_options options = { .crew = run->crew,
                                     .name = phase_name(run, job->phase),
                                     .n_tasks = run->plan->phases[job->phase]->n_tasks,
                                     .single = job->single,
                                     /* those whose failures wait for a decision, too */
                                     .n_hands = 2 * run->options.workers };

    job->hands = calloc(run->options.workers + 1u, sizeof *job->hands);
    if (job->hands == NULL) {
        return error_nomem(err, "the run");
    }
    TRY(run_attempts(run, err));
    TRY(troubles_open(run->options.run_dir, options.name, &job->troubles, err));
    return shift_begin(&options, &job->shift, err);
}

static void job_deinit(struct phase_job *job, bool complete)
{
    failing_end(job);
    shift_end(job->shift, complete);
    troubles_close(job->troubles);
    pthread_mutex_destroy(&job->lock);
    free(job->watched);
    free(job->sizes);
    free(job->hands);
    free(job->by_key);
    free(job->ended);
    free(job->todo);
}

/* Tasks take up what their twins committed. */
static sluice_status find_twins(struct run *run, uint32_t p, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];

    for (uint32_t t = 0; t < phase->n_tasks; t++) {
        if (run->tasks[p][t].done) {
            continue;
        }
        TRY(task_find(run, p, t, false, err));
        if (!run->tasks[p][t].done) {
            return error_set(err, SLUICE_E_INTERNAL, "task %u of phase %s has no commit", t,
                             phase->name);
        }
        METRIC_ADD(run->metrics.phases[p].done, 1);
    }
    return SLUICE_OK;
}

static sluice_status run_pool(struct phase_job *job, struct sluice_error *err)
{
    struct run *run = job->run;
    struct pool_job pool = { .ctx = job,
                             .n = job->n_todo,
                             .n_threads = run->options.workers,
                             .thread_open = hand_open,
                             .thread_close = hand_close,
                             .run = run_one,
                             .idle = idle,
                             .tick = tick,
                             .drain = run->options.drain };
    uint64_t start = clock_ns();
    uint64_t possible;
    bool drained = false;
    sluice_status status = pool_run(&pool, &drained, err);

    possible = (clock_ns() - start) * run->options.workers;
    if (possible > METRIC_GET(job->busy_ns)) {
        METRIC_ADD(run->metrics.phases[job->phase].idle_ns, possible - METRIC_GET(job->busy_ns));
    }
    atomic_store(&run->metrics.phases[job->phase].ahead, 0);
    if (status == SLUICE_E_CANCELLED || (status == SLUICE_OK && drained)) {
        status = run_stopped(err); /* whatever words the task that was stopped has for it */
    }
    return status;
}

/* The tasks that were given up, and in the error the first of them. */
static sluice_status tell_failures(struct phase_job *job, struct sluice_error *err)
{
    struct run *run = job->run;
    const struct phase *phase = run->plan->phases[job->phase];
    struct trouble *list = NULL;
    size_t n = 0;
    sluice_status status = troubles_given_up(job->troubles, &list, &n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        char buffer[SPLIT_NAME];
        const char *name = phase_task_name(phase, list[i].task, buffer);
        json_array_append_new(
            run->failures,
            json_pack(
                "{s:i, s:o, s:s, s:s, s:i, s:s, s:o}", "task",
                (int)plan_task_number(run->plan, (struct task_id){ job->phase, list[i].task }),
                "name", json_stringn_nocheck(name, strlen(name)), "phase", phase->name, "class",
                trouble_word(list[i].kind), "attempts", (int)list[i].n, "host", list[i].host,
                "message", json_stringn_nocheck(list[i].message, strlen(list[i].message))));
    }
    if (status == SLUICE_OK && n > 0) {
        status = error_known(list[0].code);
        if (n == 1 && list[0].n == 1) {
            error_set(err, status, "%s", list[0].message);
        } else {
            error_set(
                err, status,
                "%.900s (%zu of %u tasks of the phase failed, this one %u time%s; what others "
                "did is kept, and running again tries these alone)",
                list[0].message, n, phase->n_tasks, list[0].n, list[0].n == 1 ? "" : "s");
        }
    }
    free(list);
    return status;
}

sluice_status run_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    struct phase_job job = { .run = run, .phase = p, .looked_ns = clock_ns() };
    sluice_status status;

    atomic_store(&run->phase, p);
    pthread_mutex_init(&job.lock, NULL);
    status = job_init(&job, err);
    if (status == SLUICE_OK && job.n_todo > 0) {
        status = job_begin(&job, err);
    }
    if (status == SLUICE_OK && job.n_todo > 0) {
        if (job.unread) {
            job.n_records = run_records(run, p);
        }
        tick(&job);
        status = run_pool(&job, err);
        if (status == SLUICE_OK) {
            status = tell_failures(&job, err);
        }
        if (status == SLUICE_OK) {
            shift_settle(job.shift);
        }
    }
    if (attempts_flush(run->attempts, NULL) != SLUICE_OK) {
        /* What waits is put with what comes next; who can't write it then says so. */
    }
    job_deinit(&job, status == SLUICE_OK);
    feeder_trim(run->feeder); /* the next phase has other uses for the memory */
    if (status == SLUICE_OK) {
        status = find_twins(run, p, err);
    }
    if (run->options.events.progress != NULL) {
        run->options.events.progress(run->options.events.ctx, run, p, status == SLUICE_OK);
    }
    return status;
}

/* ---- some tasks alone ---- */

sluice_status run_tasks(struct run *run, struct task_range range, struct sluice_error *err)
{
    struct phase_job job = {
        .run = run, .phase = range.phase, .looked_ns = clock_ns(), .single = true
    };
    sluice_status status = SLUICE_OK;

    atomic_store(&run->phase, range.phase);
    pthread_mutex_init(&job.lock, NULL);
    job.ended = calloc(run->plan->phases[range.phase]->n_tasks + 1u, sizeof *job.ended);
    job.todo = calloc(range.end - range.first + 1u, sizeof *job.todo);
    if (job.ended == NULL || job.todo == NULL) {
        status = error_nomem(err, "the run");
    }
    for (uint32_t t = range.first; status == SLUICE_OK && t < range.end; t++) {
        if (!run->tasks[range.phase][t].done) {
            job.todo[job.n_todo++] = t;
        }
    }
    if (status == SLUICE_OK && job.n_todo > 0) {
        status = job_begin(&job, err);
        if (status == SLUICE_OK) {
            status = run_pool(&job, err);
        }
    }
    job_deinit(&job, false);
    return status;
}
