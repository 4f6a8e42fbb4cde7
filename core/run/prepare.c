/* What of a phase is done already: keys of its tasks, as far as it is known what they read, and
 * records under these keys. A split that was read once and is not remembered as it is now (its
 * files were touched, or what was remembered is lost) is read, by all workers: that costs less than
 * doing its task again. */
#include <stdlib.h>

#include "run/identity.h"
#include "run/runInt.h"
#include "store/store.h"

struct looking {
    struct run *run;
    uint32_t phase;
    enum key_effort effort;
    const uint32_t *tasks;
};

static sluice_status look(void *ctx, void *state, uint32_t i, bool *taken, struct sluice_error *err)
{
    const struct looking *looking = ctx;

    (void)state;
    (void)taken;
    return task_try_key(looking->run, looking->phase, looking->tasks[i], looking->effort, err);
}

/* Tasks that have no key. */
static uint32_t gather(const struct run *run, uint32_t p, uint32_t *tasks)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        if (!run->tasks[p][t].keyed) {
            tasks[n++] = t;
        }
    }
    return n;
}

/* Tasks whose splits are not remembered; tasks: room for the numbers of all. */
static sluice_status look_into(struct run *run, uint32_t p, enum key_effort effort, uint32_t *tasks,
                               struct sluice_error *err)
{
    struct looking looking = { .run = run, .phase = p, .effort = effort, .tasks = tasks };
    struct pool_job pool = { .ctx = &looking,
                             .n = gather(run, p, tasks),
                             .n_threads = run->options.workers,
                             .run = look,
                             .drain = run->options.drain };
    bool drained = false;

    TRY(pool_run(&pool, &drained, err));
    return drained ? run_stopped(err) : SLUICE_OK;
}

static int compare_twins(const void *a, const void *b, void *ctx)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    const struct task_state *tasks = ctx;
    struct hash128 p = tasks[*x].key;
    struct hash128 q = tasks[*y].key;

    return p.hi != q.hi   ? (p.hi < q.hi ? -1 : 1)
           : p.lo != q.lo ? (p.lo < q.lo ? -1 : 1)
                          : (*x > *y) - (*x < *y);
}

/* Of tasks with one key the first gives its name, whoever does the work; in whatever process. */
static void find_twins(struct task_state *states, uint32_t n_tasks, uint32_t *tasks)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < n_tasks; t++) {
        states[t].first = t;
        if (states[t].keyed) {
            tasks[n++] = t;
        }
    }
    if (n > 1) {
        qsort_r(tasks, n, sizeof *tasks, compare_twins, states);
    }
    for (uint32_t i = 1; i < n; i++) {
        if (hash_equal(states[tasks[i]].key, states[tasks[i - 1]].key)) {
            states[tasks[i]].first = states[tasks[i - 1]].first;
        }
    }
}

static sluice_status find_records(struct run *run, uint32_t p, const uint32_t *tasks, uint32_t n,
                                  struct sluice_error *err)
{
    for (uint32_t i = 0; i < n && !run->options.fresh; i++) {
        struct task_state *state = &run->tasks[p][tasks[i]];
        TRY(run_heed(run, err)); /* files may have to be hashed */
        if (state->keyed) {
            TRY(task_find(run, p, tasks[i], true, err));
        }
        if (state->done) {
            METRIC_ADD(run->metrics.phases[p].done, 1);
            METRIC_ADD(run->metrics.phases[p].reused, 1);
        }
    }
    return SLUICE_OK;
}

static sluice_status prepare_phase(struct run *run, uint32_t p, enum key_effort effort,
                                   struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    uint32_t *tasks = calloc(2 * (size_t)phase->n_tasks + 1, sizeof *tasks);
    char *dir = store_join(run->tasks_dir, phase->name);
    uint32_t n = tasks == NULL ? 0 : gather(run, p, tasks);
    sluice_status status = tasks == NULL || dir == NULL ? error_nomem(err, "the run")
                                                        : store_make_folder(dir, false, err);

    for (uint32_t i = 0; status == SLUICE_OK && i < n; i++) {
        status = task_try_key(run, p, tasks[i], KEY_RECALL, err);
    }
    if (status == SLUICE_OK && !run->options.fresh) {
        status = look_into(run, p, effort, tasks + phase->n_tasks, err);
    }
    if (status == SLUICE_OK) {
        find_twins(run->tasks[p], phase->n_tasks, tasks + phase->n_tasks);
        status = find_records(run, p, tasks, n, err);
    }
    free(dir);
    free(tasks);
    return status;
}

sluice_status run_prepare_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    return prepare_phase(run, p, KEY_DOUBT, err);
}

sluice_status run_find_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    return prepare_phase(run, p, run_records(run, p) > 0 ? KEY_READ : KEY_DOUBT, err);
}
