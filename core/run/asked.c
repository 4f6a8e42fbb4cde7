/* What is asked of a run while it works: whether it is to stop, what there is of it, and what it
 * may take. Reading may find that it takes more than was reckoned with before (floor.h): then all
 * reckonings are made again. */
#include <stdlib.h>

#include "run/floor.h"
#include "run/runInt.h"
#include "store/store.h"

sluice_status run_stopped(struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CANCELLED,
                     "stopped; run the same command again to go on where it stopped");
}

void run_warn(const struct run *run, const char *message)
{
    if (run->options.events.warn != NULL) {
        run->options.events.warn(run->options.events.ctx, message);
    }
}

sluice_status run_heed(const struct run *run, struct sluice_error *err)
{
    return run->options.drain != NULL && atomic_load(run->options.drain) != 0 ? run_stopped(err)
                                                                              : SLUICE_OK;
}

bool run_cancelled(const struct run *run)
{
    return run->options.cancelled != NULL &&
           atomic_load_explicit(run->options.cancelled, memory_order_relaxed) != 0;
}

size_t run_records(const struct run *run, uint32_t p)
{
    char *dir = store_join(run->tasks_dir, run->plan->phases[p]->name);
    struct hash128 *keys = NULL;
    size_t n = 0;

    if (dir != NULL && commit_list(dir, &keys, &n, NULL) != SLUICE_OK) {
        n = 0;
    }
    free(keys);
    free(dir);
    return n;
}

uint64_t run_sorter_memory(struct run *run, uint32_t p)
{
    uint64_t bytes;

    pthread_mutex_lock(&run->mutex);
    bytes = run->sorter_memory[p];
    pthread_mutex_unlock(&run->mutex);
    return bytes;
}

sluice_status run_decoding(void *ctx, uint64_t window, struct sluice_error *err)
{
    struct run *run = ctx;
    sluice_status status = SLUICE_OK;

    pthread_mutex_lock(&run->mutex);
    if (window > run->window || !run->decodes) {
        struct floor_found found = { .decodes = true,
                                     .window = window > run->window ? window : run->window };
        status = floor_check(run->plan, &found, run->options.workers, run->options.batch_bytes,
                             run->options.memory, err);
        for (uint32_t p = 0; status == SLUICE_OK && p < run->n_rooms; p++) {
            floor_shrink(run->plan, run->plan->phases[p], &found, run->options.workers,
                         run->options.batch_bytes, run->options.memory, &run->rooms[p]);
            run->sorter_memory[p] =
                floor_sorter(run->plan, run->plan->phases[p], &found, run->options.workers,
                             run->options.batch_bytes, run->options.memory);
        }
        run->window = found.window;
        run->decodes = true;
    }
    pthread_mutex_unlock(&run->mutex);
    return status;
}
