/* A run: see run.h. Opening, phases on the pool, and the whole. */
#include <stdlib.h>
#include <string.h>

#include "run/chain.h"
#include "run/floor.h"
#include "run/runInt.h"

static sluice_status make_folder(const struct run *run, const char *name, char **out,
                                 struct sluice_error *err)
{
    *out = disk_join(run->options.run_dir, name);
    return *out == NULL ? error_nomem(err, "a path") : disk_mkdirs(*out, err);
}

static sluice_status make_states(struct run *run, struct sluice_error *err)
{
    const struct plan *plan = run->plan;

    run->tasks = calloc(plan->n_phases + 1u, sizeof *run->tasks);
    run->n_stores = calloc(plan->n_phases + 1u, sizeof *run->n_stores);
    run->ledgers = calloc(plan->n_phases + 1u, sizeof *run->ledgers);
    run->sorter_memory = calloc(plan->n_phases + 1u, sizeof *run->sorter_memory);
    run->lane_files = calloc(plan->n_lanes + 1u, sizeof *run->lane_files);
    if (run->tasks == NULL || run->n_stores == NULL || run->ledgers == NULL ||
        run->sorter_memory == NULL || run->lane_files == NULL) {
        return error_nomem(err, "the run");
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        run->tasks[p] = calloc(plan->phases[p]->n_tasks + 1u, sizeof **run->tasks);
        if (run->tasks[p] == NULL) {
            return error_nomem(err, "the run");
        }
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            run->n_stores[p] += plan->phases[p]->ops[i]->kind == OP_STORE;
        }
        run->sorter_memory[p] = floor_sorter(plan, plan->phases[p], run->options.workers,
                                             run->options.batch_bytes, run->options.memory);
    }
    for (uint32_t k = 0; k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        run->lane_files[k] = calloc(lane->files.n + 1, sizeof **run->lane_files);
        if (run->lane_files[k] == NULL) {
            return error_nomem(err, "the run");
        }
        for (size_t i = 0; i < lane->files.n; i++) {
            run->lane_files[k][i] = (struct source_file){ &lane->files.files[i], &lane->infos[i] };
        }
    }
    return SLUICE_OK;
}

static int32_t is_cancelled(void *ctx)
{
    const struct run *run = ctx;
    return run->options.cancelled != NULL &&
           atomic_load_explicit(run->options.cancelled, memory_order_relaxed) != 0;
}

static sluice_status sweep_below(const char *dir, const char *name, struct sluice_error *err)
{
    char *path = disk_join(dir, name);
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : pending_sweep(path, NULL, err);

    free(path);
    return status;
}

/* Removes what killed processes left half-made, wherever this run makes files. */
static sluice_status sweep_all(const struct run *run, struct sluice_error *err)
{
    static const char *const folders[] = { ".", "cache", "history" };

    TRY(pending_sweep(run->spill_dir, NULL, err));
    TRY(pending_sweep(run->options.scratch, NULL, err));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        TRY(sweep_below(run->options.run_dir, folders[i], err));
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        TRY(sweep_below(run->tasks_dir, phase->name, err));
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            if (phase->ops[i]->writes) {
                TRY(sweep_below(phase->ops[i]->dataset, "data", err));
            }
        }
    }
    return SLUICE_OK;
}

sluice_status run_open(const struct plan *plan, const struct run_options *options, struct run **out,
                       struct sluice_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    struct feeder_options feeder = { .cancelled = is_cancelled, .ctx = run };
    sluice_status status;

    *out = NULL;
    if (run == NULL) {
        return error_nomem(err, "the run");
    }
    run->plan = plan;
    run->options = *options;
    run->options.batch_bytes = options->batch_bytes > 0 ? options->batch_bytes : SOURCE_CHUNK;
    run->options.workers = options->workers > 0 ? options->workers : 1;
    run->started_ns = clock_ns();
    status = make_folder(run, "tasks", &run->tasks_dir, err);
    if (status == SLUICE_OK) {
        status = make_folder(run, "spill", &run->spill_dir, err);
    }
    if (status == SLUICE_OK) {
        status = make_folder(run, "claims", &run->claims_dir, err);
    }
    if (status == SLUICE_OK) {
        status = disk_mkdirs(run->options.scratch, err);
    }
    if (status == SLUICE_OK && options->lock) {
        status = lock_open(options->run_dir, &run->lock, err);
    }
    if (status == SLUICE_OK && options->lock) {
        status = sweep_all(run, err);
    }
    if (status == SLUICE_OK) {
        status = make_states(run, err);
    }
    if (status == SLUICE_OK) {
        status = metrics_init(&run->metrics, plan, err);
    }
    if (status == SLUICE_OK) {
        feeder.max_idle = run->options.workers;
        status = feeder_create(&feeder, &run->feeder, err);
    }
    if (status != SLUICE_OK) {
        run_close(run);
        return status;
    }
    *out = run;
    return SLUICE_OK;
}

void run_close(struct run *run)
{
    if (run == NULL) {
        return;
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t t = 0;
             run->tasks != NULL && run->tasks[p] != NULL && t < run->plan->phases[p]->n_tasks;
             t++) {
            struct task_state *state = &run->tasks[p][t];
            for (uint32_t k = 0; state->directories != NULL && k < run->n_stores[p]; k++) {
                edge_directory_deinit(&state->directories[k]);
            }
            free(state->directories);
            commit_destroy(state->commit);
            free(state->ledger);
        }
        if (run->tasks != NULL) {
            free(run->tasks[p]);
        }
        if (run->ledgers != NULL) {
            json_decref(run->ledgers[p]);
        }
    }
    for (uint32_t k = 0; run->lane_files != NULL && k < run->plan->n_lanes; k++) {
        free(run->lane_files[k]);
    }
    feeder_destroy(run->feeder);
    metrics_deinit(&run->metrics);
    lock_close(run->lock);
    free(run->tasks);
    free(run->n_stores);
    free(run->sorter_memory);
    free(run->ledgers);
    free(run->lane_files);
    free(run->spill_dir);
    free(run->tasks_dir);
    free(run->claims_dir);
    free(run);
}

sluice_status run_check_memory(const struct run *run, struct sluice_error *err)
{
    return floor_check(run->plan, run->options.workers, run->options.batch_bytes,
                       run->options.memory, err);
}

sluice_status run_prepare_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    char *dir = disk_join(run->tasks_dir, phase->name);
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : disk_mkdirs(dir, err);

    free(dir);
    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        struct task_state *state = &run->tasks[p][t];
        if (state->keyed) {
            continue;
        }
        status = task_key(run, p, t, &state->key, err);
        if (status == SLUICE_OK) {
            state->keyed = true;
            if (!run->options.fresh) {
                status = task_find(run, p, t, err);
            }
        }
        if (state->done) {
            METRIC_ADD(run->metrics.phases[p].done, 1);
            METRIC_ADD(run->metrics.phases[p].reused, 1);
        }
    }
    return status;
}

/* ---- a phase on the pool ---- */

struct phase_job {
    struct run *run;
    uint32_t phase;
    uint32_t *todo; /* task numbers */
    bool claims;
};

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

static sluice_status run_one(void *ctx, void *state, uint32_t i, bool *taken,
                             struct sluice_error *err)
{
    struct phase_job *job = ctx;
    struct run *run = job->run;
    uint32_t task = job->todo[i];
    struct phase_metrics *metrics = &run->metrics.phases[job->phase];
    struct claim *claim = NULL;
    sluice_status status;

    if (state == NULL) {
        return error_nomem(err, "a worker");
    }
    if (job->claims) {
        TRY(claim_try(run->claims_dir, run->tasks[job->phase][task].key, &claim, err));
        TRY(task_find(run, job->phase, task, err));
        if (run->tasks[job->phase][task].done || claim == NULL) {
            *taken = run->tasks[job->phase][task].done;
            claim_close(claim);
            return SLUICE_OK;
        }
    }
    METRIC_ADD(metrics->running, 1);
    status = run_task(run, job->phase, task, state, err);
    METRIC_ADD(metrics->running, -1);
    if (status == SLUICE_OK) {
        METRIC_ADD(metrics->done, 1);
    }
    claim_close(claim);
    return status;
}

static void tick(void *ctx)
{
    struct phase_job *job = ctx;

    if (job->run->options.events.progress != NULL) {
        job->run->options.events.progress(job->run->options.events.ctx, job->run, job->phase,
                                          false);
    }
}

/* Test hook: SLUICE_TEST_DELAY also shuffles the order in which tasks begin. */
static void test_shuffle(uint32_t *todo, uint32_t n)
{
    const char *text = getenv("SLUICE_TEST_DELAY");
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

sluice_status run_phase(struct run *run, uint32_t p, bool claims, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct phase_job job = { .run = run, .phase = p, .claims = claims };
    struct pool_job pool = { .ctx = &job,
                             .n_threads = run->options.workers,
                             .thread_open = thread_open,
                             .thread_close = thread_close,
                             .run = run_one,
                             .tick = tick,
                             .drain = run->options.drain };
    bool drained = false;
    sluice_status status;

    job.todo = calloc(phase->n_tasks + 1u, sizeof *job.todo);
    if (job.todo == NULL) {
        return error_nomem(err, "the run");
    }
    for (uint32_t t = 0; t < phase->n_tasks; t++) {
        bool twin = false;
        /* Tasks with one key are one task: the work is done once. */
        for (uint32_t k = 0; pool.n < 64 && k < pool.n && !twin; k++) {
            twin = hash_equal(run->tasks[p][t].key, run->tasks[p][job.todo[k]].key);
        }
        if (!run->tasks[p][t].done && !twin) {
            job.todo[pool.n++] = t;
        }
    }
    test_shuffle(job.todo, pool.n);
    tick(&job);
    status = pool_run(&pool, &drained, err);
    free(job.todo);
    feeder_trim(run->feeder); /* the next phase has other uses for the memory */
    if (status == SLUICE_OK && drained) {
        status = error_set(err, SLUICE_E_CANCELLED,
                           "stopped; run the same command again to go on where it stopped");
    }
    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        if (!run->tasks[p][t].done) {
            status = task_find(run, p, t, err);
            if (status == SLUICE_OK && !run->tasks[p][t].done) {
                status = error_set(err, SLUICE_E_INTERNAL, "task %u of phase %s has no commit", t,
                                   phase->name);
            }
            METRIC_ADD(run->metrics.phases[p].done, 1);
        }
    }
    if (run->options.events.progress != NULL) {
        run->options.events.progress(run->options.events.ctx, run, p, status == SLUICE_OK);
    }
    return status;
}

sluice_status run_all(struct run *run, bool claims, struct run_published **list, size_t *n,
                      struct sluice_error *err)
{
    *list = NULL;
    *n = 0;
    TRY(run_check_memory(run, err));
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        TRY(run_prepare_phase(run, p, err));
        TRY(run_phase(run, p, claims, err));
        TRY(run_barrier(run, p, err));
    }
    return run_publish(run, list, n, err);
}
