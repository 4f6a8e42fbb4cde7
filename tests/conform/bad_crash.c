/* A crash in each call of the lifecycle. */
#include "tests/conform/bad.h"

static volatile uintptr_t nowhere = 8;

static void crash(void)
{
    *(volatile int *)nowhere = 1;
}

static sluice_status open_crash(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **out, struct sluice_error *err)
{
    crash();
    return bad_open(api, host, config, out, err);
}

static sluice_status prepare_crash(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    crash();
    return bad_prepare(state, plan, err);
}

static sluice_status worker_open_crash(void *shared, void **out, struct sluice_error *err)
{
    crash();
    return bad_worker_open(shared, out, err);
}

static sluice_status process_crash(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    if (bad_row(state, batch) >= 0) {
        crash();
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status flush_crash(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)state;
    (void)emit;
    (void)err;
    crash();
    return SLUICE_OK;
}

static void worker_close_crash(void *state)
{
    crash();
    free(state);
}

static void close_crash(void *state)
{
    crash();
    free(state);
}

static sluice_status save_crash(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)state;
    (void)io;
    (void)err;
    crash();
    return SLUICE_OK;
}

static sluice_status save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct bad_worker *worker = state;

    (void)err;
    return io->write(io, &worker->rows, sizeof worker->rows);
}

static sluice_status load(void *state, struct sluice_io *io, uint64_t version,
                          struct sluice_error *err)
{
    struct bad_worker *worker = state;

    (void)version;
    (void)err;
    return io->read(io, &worker->rows, sizeof worker->rows);
}

static sluice_status load_crash(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    crash();
    return load(state, io, version, err);
}

static sluice_status gate_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;

    (void)emit;
    (void)err;
    worker->rows += batch->n;
    return SLUICE_OK;
}

static sluice_status judge_crash(void *state, struct sluice_verdict_io *io,
                                 struct sluice_error *err)
{
    (void)state;
    (void)io;
    (void)err;
    crash();
    return SLUICE_OK;
}

BAD_STAGE(crash_open, "Crashes in open", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS, "short",
          open_crash, bad_prepare, bad_worker_open, bad_process, NULL, free, free);
BAD_STAGE(crash_prepare, "Crashes in prepare", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS, "short",
          bad_open, prepare_crash, bad_worker_open, bad_process, NULL, free, free);
BAD_STAGE(crash_worker_open, "Crashes in worker_open", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS,
          "short", bad_open, bad_prepare, worker_open_crash, bad_process, NULL, free, free);
BAD_FILTER(crash_process, "Crashes in process", process_crash);
BAD_STAGE(crash_flush, "Crashes in flush", SLUICE_ROLE_FILTER, SLUICE_MODE_ORDERED, "short",
          bad_open, bad_prepare, bad_worker_open, bad_process, flush_crash, free, free);
BAD_STAGE(crash_worker_close, "Crashes in worker_close", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS,
          "short", bad_open, bad_prepare, bad_worker_open, bad_process, NULL, worker_close_crash,
          free);
BAD_STAGE(crash_close, "Crashes in close", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS, "short",
          bad_open, bad_prepare, bad_worker_open, bad_process, NULL, free, close_crash);
BAD_STAGE_WITH(crash_save, "Crashes in save", SLUICE_ROLE_FILTER, SLUICE_MODE_ORDERED, "short",
               bad_open, bad_prepare, bad_worker_open, bad_process, NULL, free, free,
               .state_version = 1, .save = save_crash, .load = load);
BAD_STAGE_WITH(crash_load, "Crashes in load", SLUICE_ROLE_FILTER, SLUICE_MODE_ORDERED, "short",
               bad_open, bad_prepare, bad_worker_open, bad_process, NULL, free, free,
               .state_version = 1, .save = save, .load = load_crash);
BAD_STAGE_WITH(crash_judge, "Crashes in judge", SLUICE_ROLE_GATE, SLUICE_MODE_ORDERED, NULL,
               bad_open, bad_prepare, bad_worker_open, gate_process, NULL, free, free,
               .state_version = 1, .save = save, .merge = load, .judge = judge_crash);

BAD_PLUGIN("bad_crash", &crash_open_stage, &crash_prepare_stage, &crash_worker_open_stage,
           &crash_process_stage, &crash_flush_stage, &crash_worker_close_stage, &crash_close_stage,
           &crash_save_stage, &crash_load_stage, &crash_judge_stage)
