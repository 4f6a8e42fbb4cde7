/* Rows in memory, and their way through a plan (try_plan.c): its chains on all processors. See
 * try.h.
 *
 * Why not a run, with its directory: one takes 20 ms of a processor and 50 to 100 ms until files
 * and records are synced, reads and parses the sample again, and works on it as one task, on one
 * processor; a sweep would do that once for each threshold. A chain needs none of it: where it has
 * no place to spill to, it keeps no tables. */
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/pool.h"
#include "run/source/sources.h"

#define BATCH ((uint64_t)256 << 10) /* bytes: a small sample keeps all processors busy */

/* Refers to the batch; false = out of memory. */
static bool rows_keep(struct rows *rows, struct batch *batch)
{
    if (rows->n == rows->capacity) {
        uint32_t capacity = rows->capacity * 2 + 16;
        struct batch **more = realloc(rows->batches, capacity * sizeof(struct batch *));
        if (more == NULL) {
            return false;
        }
        rows->batches = more;
        rows->capacity = capacity;
    }
    rows->batches[rows->n++] = batch_ref(batch);
    return true;
}

void rows_deinit(struct rows *rows)
{
    for (uint32_t b = 0; b < rows->n; b++) {
        batch_unref(rows->batches[b]);
    }
    free(rows->batches);
    memset(rows, 0, sizeof *rows);
}

uint64_t rows_number(int32_t slot, const struct batch *batch, int64_t k)
{
    const uint64_t *numbers = batch->columns[slot]->array.buffers[1];

    return numbers[batch->rows == NULL ? (uint32_t)k : batch->rows[k]];
}

/* ---- through the chains ---- */

struct passing {
    const struct rows_pass *pass;
    struct rows *parts;          /* of each batch or task, where rows are kept */
    struct source_inputs inputs; /* where tasks are read */
    atomic_uint_fast32_t next;
};

struct thread {
    struct passing *passing;
    uint32_t at; /* batch or task */
};

static sluice_status keep(void *ctx, const struct op *op, struct batch *batch, bool *held,
                          struct sluice_error *err)
{
    const struct thread *thread = ctx;
    const struct rows_pass *pass = thread->passing->pass;

    *held = op == pass->until;
    return !*held || rows_keep(&thread->passing->parts[thread->at], batch)
               ? SLUICE_OK
               : error_nomem(err, "rows");
}

static sluice_status refuse(void *ctx, const struct op *op, const struct bad_record *bad,
                            struct sluice_error *err)
{
    (void)ctx;
    return bad->has_row
               ? error_set(err, SLUICE_E_DATA, "'%s' fails in row %llu: %s: %s", op->name,
                           (unsigned long long)bad->row, bad->reason, bad->detail)
               : error_set(err, SLUICE_E_DATA,
                           "the record at byte %llu: %s: %s; expected JSON Lines, as `sluice "
                           "sample` writes",
                           (unsigned long long)bad->begin, bad->reason, bad->detail);
}

/* Gives batches until none are left. */
static sluice_status give(struct thread *thread, struct chain *chain, struct sluice_error *err)
{
    const struct rows_pass *pass = thread->passing->pass;
    uint32_t b;

    while ((b = (uint32_t)atomic_fetch_add(&thread->passing->next, 1)) < pass->rows->n) {
        if (atomic_load(&session_drain) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "stopped");
        }
        thread->at = b;
        TRY(chain_emit(chain, pass->from->index, pass->rows->batches[b], err));
    }
    return pass->observer == NULL ? SLUICE_OK : chain_finish(chain, err);
}

static sluice_status work(void *ctx, void *state, uint32_t i, bool *taken, struct sluice_error *err)
{
    struct passing *passing = ctx;
    const struct rows_pass *pass = passing->pass;
    struct thread thread = { .passing = passing, .at = i };
    const struct chain_observer keeper = { .ctx = &thread, .given = keep, .refused = refuse };
    struct worker_cache *cache = worker_cache_create(pass->plan->plan);
    const struct chain_options options = {
        .plan = pass->plan->plan,
        .phase = pass->plan->phase,
        .task = pass->rows == NULL ? i : 0,
        .cache = cache,
        .metrics = pass->plan->metrics.phases,
        .cancelled = &session_cancelled,
        .observer = pass->observer == NULL ? &keeper : pass->observer,
    };
    struct chain *chain = NULL;
    sluice_status status =
        cache == NULL ? error_nomem(err, "a worker") : chain_create(&options, &chain, err);

    (void)state;
    (void)taken;
    if (status == SLUICE_OK) {
        status = pass->rows == NULL ? sources_drive(chain, &passing->inputs, err)
                                    : give(&thread, chain, err);
    }
    if (status != SLUICE_OK && pass->rows != NULL) {
        atomic_store(&passing->next, pass->rows->n); /* nobody goes on */
    }
    chain_destroy(chain);
    worker_cache_destroy(cache);
    err->code = error_known(err->code); /* a crash or time-out is nothing that others know */
    return error_known(status);
}

static sluice_status pool(struct passing *passing, struct sluice_error *err)
{
    const struct rows_pass *pass = passing->pass;
    struct pool_job job = { .ctx = passing, .n_threads = pass->workers, .run = work };
    bool drained;

    job.n = pass->rows == NULL              ? pass->plan->phase->n_tasks
            : pass->workers < pass->rows->n ? pass->workers
                                            : pass->rows->n;
    return pool_run(&job, &drained, err);
}

static sluice_status read_tasks(struct passing *passing, struct sluice_error *err)
{
    const struct lane *lane = passing->pass->plan->phase->lanes[0];
    const struct feeder_options options = { .max_idle = passing->pass->workers };
    struct source_files *files = NULL;
    sluice_status status = source_files_create(&lane->files, lane->hashes, NULL, &files, err);

    if (status == SLUICE_OK) {
        passing->inputs.files = source_files_all(files);
        status = feeder_create(&options, &passing->inputs.feeder, err);
    }
    passing->inputs.batch_bytes = BATCH;
    if (status == SLUICE_OK) {
        status = pool(passing, err);
    }
    feeder_destroy(passing->inputs.feeder);
    source_files_destroy(files);
    return status;
}

sluice_status rows_pass(const struct rows_pass *pass, struct rows *out, struct sluice_error *err)
{
    struct passing passing = { .pass = pass };
    uint32_t n = pass->rows == NULL ? pass->plan->phase->n_tasks : pass->rows->n;
    sluice_status status;

    passing.parts = calloc(n + 1u, sizeof *passing.parts);
    if (passing.parts == NULL) {
        return error_nomem(err, "rows");
    }
    status = pass->rows == NULL ? read_tasks(&passing, err) : pool(&passing, err);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t b = 0; status == SLUICE_OK && b < passing.parts[i].n; b++) {
            if (!rows_keep(out, passing.parts[i].batches[b])) {
                status = error_nomem(err, "rows");
            }
        }
        rows_deinit(&passing.parts[i]);
    }
    free(passing.parts);
    return status;
}
