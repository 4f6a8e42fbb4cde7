/* A run: see run.h. Opening, keys of a phase, and the whole; a phase on the pool is in phase.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/asks/asks.h"
#include "run/chain/chain.h"
#include "run/floor.h"
#include "run/identity.h"
#include "run/runInt.h"
#include "run/saving.h"
#include "store/store.h"
#include "store/temp.h"
#include "run/work/shift.h"
#include "run/work/stop.h"

static sluice_status make_folder(const char *dir, const char *name, char **out,
                                 struct sluice_error *err)
{
    *out = store_join(dir, name);
    return *out == NULL ? error_nomem(err, "a path") : store_make_folder(*out, false, err);
}

static sluice_status make_states(struct run *run, struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    const struct floor_found nothing = { .decodes = false };

    run->tasks = calloc(plan->n_phases + 1u, sizeof *run->tasks);
    run->n_stores = calloc(plan->n_phases + 1u, sizeof *run->n_stores);
    run->ledgers = calloc(plan->n_phases + 1u, sizeof *run->ledgers);
    run->sums = calloc(plan->n_phases + 1u, sizeof *run->sums);
    run->sums_lack = calloc(plan->n_phases + 1u, sizeof *run->sums_lack);
    run->sorter_memory = calloc(plan->n_phases + 1u, sizeof *run->sorter_memory);
    run->lane_files = calloc(plan->n_lanes + 1u, sizeof *run->lane_files);
    run->rooms = calloc(plan->n_phases + 1u, sizeof *run->rooms);
    run->failures = json_array();
    if (run->tasks == NULL || run->n_stores == NULL || run->ledgers == NULL || run->sums == NULL ||
        run->sums_lack == NULL || run->sorter_memory == NULL || run->rooms == NULL ||
        run->lane_files == NULL || run->failures == NULL) {
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
        run->sorter_memory[p] = floor_sorter(plan, plan->phases[p], &nothing, run->options.workers,
                                             run->options.batch_bytes, run->options.memory);
        TRY(floor_rooms(plan, plan->phases[p], run->options.workers, run->options.batch_bytes,
                        run->options.memory, &run->rooms[p], err));
        run->n_rooms = p + 1;
    }
    for (uint32_t k = 0; k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        TRY(source_files_create(&lane->files, lane->hashes, run->options.inputs,
                                &run->lane_files[k], err));
        source_files_watch(run->lane_files[k], run_decoding, run);
    }
    return identities_create(run, &run->identities, err);
}

static int32_t is_cancelled(void *ctx)
{
    return run_cancelled(ctx);
}

static sluice_status sweep_below(const char *dir, const char *name, struct sluice_error *err)
{
    char *path = store_join(dir, name);
    sluice_status status = path == NULL ? error_nomem(err, "a path") : temp_sweep(path, NULL, err);

    free(path);
    return status;
}

/* Removes what killed processes left half-made, wherever this run makes files. */
static sluice_status sweep_all(const struct run *run, struct sluice_error *err)
{
    static const char *const folders[] = { ".", "history", ASKS_CLAIMS, SAVED_FOLDER };

    TRY(temp_sweep(run->spill_dir, NULL, err));
    TRY(temp_sweep(run->options.scratch, NULL, err));
    TRY(sweep_below(run->options.local_dir, "cache", err));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        TRY(sweep_below(run->options.run_dir, folders[i], err));
    }
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        TRY(sweep_below(run->tasks_dir, phase->name, err));
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            if (op_writes(phase->ops[i])) {
                TRY(sweep_below(op_stage(phase->ops[i])->dataset, "data", err));
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status open_vouch(struct run *run, struct sluice_error *err)
{
    char *folder = NULL;
    char *path = NULL;
    sluice_status status = make_folder(run->options.local_dir, "cache", &folder, err);

    if (status == SLUICE_OK) {
        path = store_join(folder, "outputs");
        status = path == NULL ? error_nomem(err, "a path") : vouch_open(path, &run->vouch, err);
    }
    free(folder);
    free(path);
    return status;
}

/* Where a stage asks servers, their answers are kept in RUN/answers, and RUN/claims says who asks
 * what. */
static sluice_status open_asks(struct run *run, struct sluice_error *err)
{
    struct asks_options options = { .seed = run->plan->graph->seed,
                                    .cancelled = run->options.cancelled,
                                    .warn = run->options.events.warn,
                                    .ctx = run->options.events.ctx };
    bool asks = false;
    char *folder;
    char *claims;
    sluice_status status;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
            asks = asks || op_asks(run->plan->phases[p]->ops[i]);
        }
    }
    if (!asks) {
        return SLUICE_OK;
    }
    folder = store_join(run->options.run_dir, ASKS_FOLDER);
    claims = store_join(run->options.run_dir, ASKS_CLAIMS);
    options.recorded = run->options.answers != NULL;
    options.folder = options.recorded ? run->options.answers : folder;
    options.claims = options.recorded ? NULL : claims;
    options.member = crew_member(run->crew);
    status = folder == NULL || claims == NULL ? error_nomem(err, "a path")
                                              : asks_create(&options, &run->asks, err);
    free(folder);
    free(claims);
    return status;
}

/* What this process does, for its heartbeat. */
static char *say_state(void *ctx)
{
    const struct run *run = ctx;
    uint32_t p = atomic_load(&run->phase);
    const struct phase_metrics *metrics;

    if (p >= run->plan->n_phases || run->metrics.phases == NULL) {
        return NULL;
    }
    metrics = &run->metrics.phases[p];
    return str_printf("{\"phase\":%u,\"running\":%llu,\"done\":%llu,\"text_bytes\":%llu}", p,
                      (unsigned long long)METRIC_GET(metrics->running),
                      (unsigned long long)METRIC_GET(metrics->done),
                      (unsigned long long)METRIC_GET(metrics->text_bytes));
}

static void heed_stop(void *ctx, bool now)
{
    const struct run *run = ctx;

    if (run->options.events.stop != NULL) {
        run->options.events.stop(run->options.events.ctx, now);
    }
}

/* Joins those who work on the run. Whoever leads takes back an order to stop; who begins while
 * nobody else works on it tries everything that failed again. */
static sluice_status join(struct run *run, struct sluice_error *err)
{
    struct crew_events events = { .ctx = run, .stop = heed_stop, .state = say_state };
    const char *kind = run->options.kind == NULL ? "run" : run->options.kind;
    size_t others = 0;

    if (!run->options.lock) {
        TRY(stop_refuse(run->options.run_dir, err));
    }
    TRY(crew_join(run->options.run_dir, kind, &events, &run->crew, err));
    if (run->options.lock) {
        TRY(crew_lead(run->crew, run->options.drain, err));
        TRY(stop_undo(run->options.run_dir, err));
    }
    TRY(member_others(crew_member(run->crew), false, NULL, NULL, &others, err));
    if (others == 0) {
        TRY(shift_sweep(run->crew, err));
        TRY(troubles_sweep(run->options.run_dir, err));
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
    pthread_mutex_init(&run->mutex, NULL);
    status = make_folder(options->run_dir, "tasks", &run->tasks_dir, err);
    if (status == SLUICE_OK) {
        status = make_folder(options->run_dir, "spill", &run->spill_dir, err);
    }
    if (status == SLUICE_OK) {
        status = store_make_folder(run->options.scratch, false, err);
    }
    if (status == SLUICE_OK) {
        status = open_vouch(run, err);
    }
    if (status == SLUICE_OK) {
        status = join(run, err);
    }
    if (status == SLUICE_OK && options->lock) {
        /* One cleans up for all. `work` processes go on meanwhile: what belongs to the living
         * stays. */
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
        feeder.alone = run->options.workers == 1;
        status = feeder_create(&feeder, &run->feeder, err);
    }
    if (status == SLUICE_OK) {
        status = open_asks(run, err);
    }
    if (status != SLUICE_OK) {
        run_close(run);
        return status;
    }
    *out = run;
    return SLUICE_OK;
}

/* Also for a run that run_open gave up half-way: any part may be missing. */
void run_close(struct run *run)
{
    if (run == NULL) {
        return;
    }
    run_finished(run);
    attempts_close(run->attempts);
    asks_destroy(run->asks); /* while the others take this process for living */
    crew_leave(run->crew);   /* its heart beats no more: it looks at the rest */
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
        if (run->sums != NULL) {
            json_decref(run->sums[p]);
        }
    }
    for (uint32_t k = 0; run->lane_files != NULL && k < run->plan->n_lanes; k++) {
        source_files_destroy(run->lane_files[k]);
    }
    identities_destroy(run->identities);
    pthread_mutex_destroy(&run->mutex);
    feeder_destroy(run->feeder);
    metrics_deinit(&run->metrics);
    vouch_close(run->vouch);
    free(run->tasks);
    free(run->n_stores);
    free(run->sorter_memory);
    for (uint32_t p = 0; p < run->n_rooms; p++) {
        rooms_deinit(&run->rooms[p]);
    }
    free(run->rooms);
    free(run->ledgers);
    free(run->sums);
    free(run->sums_lack);
    json_decref(run->failures);
    free(run->lane_files);
    free(run->spill_dir);
    free(run->tasks_dir);
    free(run);
}

sluice_status run_check_memory(const struct run *run, struct sluice_error *err)
{
    const struct floor_found nothing = { .decodes = false };

    return floor_check(run->plan, &nothing, run->options.workers, run->options.batch_bytes,
                       run->options.memory, err);
}

/* ---- the whole ---- */

sluice_status run_all(struct run *run, struct run_published **list, size_t *n,
                      struct sluice_error *err)
{
    bool mine;

    *list = NULL;
    *n = 0;
    TRY(finish_join(run, run->options.lock, err));
    TRY(run_check_memory(run, err));
    TRY(run_check_owners(run, err));
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        TRY(run_prepare_phase(run, p, err));
        TRY(run_phase(run, p, err));
        TRY(run_barrier(run, p, err));
        TRY(run_heed(run, err));
    }
    TRY(run_finish(run, &mine, err));
    TRY(run_publish(run, list, n, err));
    return run_heed(run, err);
}
