/* A phase on the pool. Any number of processes may work on it at once: each takes the tasks that no
 * other one has (claims), and takes up what others have committed. Claims and twins save work only:
 * what a task gives is the same whoever does it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/chain/chain.h"
#include "run/runInt.h"
#include "store/store.h"

#define LOOK_NS \
    UINT64_C(1000000000) /* between two looks at what others have committed, for progress */

/* Tasks in order of their keys. */
struct keyed_task {
    struct hash128 key;
    uint32_t task;
};

struct phase_job {
    struct run *run;
    uint32_t phase;
    struct keyed_task *by_key; /* tasks whose keys are known, each key once */
    uint32_t n_keyed;
    bool unread;        /* of some it is not */
    atomic_bool *ended; /* by task: done as far as this process knows */
    uint32_t *todo;     /* task numbers */
    uint32_t n_todo;
    atomic_uint_fast64_t busy_ns; /* of workers with a task */
    atomic_bool company;          /* another process was seen to work on the phase */
    uint64_t looked_ns;
    size_t n_records;      /* in its folder, when it began; for tasks without a key */
    struct hash128 claims; /* of this plan and phase */
};

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

static void *thread_open(void *ctx)
{
    struct phase_job *job = ctx;
    return worker_cache_create(job->run->plan);
}

static void thread_close(void *ctx, void *state)
{
    (void)ctx;
    worker_cache_destroy(state);
}

static void task_ended(struct phase_job *job, uint32_t task, bool other)
{
    struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];

    atomic_store(&job->ended[task], true);
    METRIC_ADD(metrics->done, 1);
    METRIC_ADD(metrics->others, other);
}

static sluice_status run_mine(struct phase_job *job, uint32_t task, struct worker_cache *cache,
                              struct sluice_error *err)
{
    struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];
    uint64_t start = clock_ns();
    sluice_status status;

    METRIC_ADD(metrics->running, 1);
    status = run_task(job->run, job->phase, task, cache, err);
    METRIC_ADD(metrics->running, -1);
    METRIC_ADD(job->busy_ns, clock_ns() - start);
    if (status == SLUICE_OK) {
        task_ended(job, task, false);
    }
    return status;
}

/* Until it is read, a task is a number of its plan: the same in all processes. */
static struct hash128 claim_of(const struct phase_job *job, uint32_t task)
{
    return (struct hash128){ job->claims.lo ^ task, job->claims.hi };
}

/* A task that another process has in hand is not taken; one that was committed meanwhile is
 * done. */
static sluice_status run_one(void *ctx, void *state, uint32_t i, bool *taken,
                             struct sluice_error *err)
{
    struct phase_job *job = ctx;
    struct run *run = job->run;
    uint32_t task = job->todo[i];
    const struct task_state *mine = &run->tasks[job->phase][task];
    struct claim *claim = NULL;
    sluice_status status = SLUICE_OK;

    if (state == NULL) {
        return error_nomem(err, "a worker");
    }
    TRY(claim_try(run->claims_dir, claim_of(job, task), &claim, err));
    if (claim == NULL) {
        *taken = false;
        atomic_store(&job->company, true);
        return SLUICE_OK;
    }
    if (!mine->keyed) {
        status = task_try_key(run, job->phase, task, KEY_SHARE, err);
    }
    if (status == SLUICE_OK && mine->keyed && !run->options.fresh) {
        status = task_find(run, job->phase, task, mine->doubted, err);
    }
    if (status == SLUICE_OK && mine->done) {
        atomic_store(&job->company, true);
        task_ended(job, task, true);
    } else if (status == SLUICE_OK) {
        status = run_mine(job, task, state, err);
    }
    claim_close(claim);
    return status;
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

    if (!atomic_load(&job->company) || run->options.fresh || now - job->looked_ns < LOOK_NS) {
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

static void tick(void *ctx)
{
    struct phase_job *job = ctx;

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

static struct hash128 claims_name(const struct run *run, uint32_t p)
{
    char text[64];
    char hex[33];

    hash_hex(run->plan->key, hex);
    snprintf(text, sizeof text, "claim %s %u", hex, p);
    return hash_bytes(text, strlen(text));
}

static void job_deinit(struct phase_job *job)
{
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
                             .thread_open = thread_open,
                             .thread_close = thread_close,
                             .run = run_one,
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

sluice_status run_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    struct phase_job job = {
        .run = run, .phase = p, .looked_ns = clock_ns(), .claims = claims_name(run, p)
    };
    sluice_status status = job_init(&job, err);

    if (status == SLUICE_OK && job.n_todo > 0) {
        status = finish_join(run, true, err);
    }
    if (status == SLUICE_OK) {
        if (job.unread) {
            job.n_records = run_records(run, p);
        }
        tick(&job);
        status = run_pool(&job, err);
    }
    job_deinit(&job);
    feeder_trim(run->feeder); /* the next phase has other uses for the memory */
    if (status == SLUICE_OK) {
        status = find_twins(run, p, err);
    }
    if (run->options.events.progress != NULL) {
        run->options.events.progress(run->options.events.ctx, run, p, status == SLUICE_OK);
    }
    return status;
}
