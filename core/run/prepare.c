/* What of a phase is done already: keys of its tasks, as far as it is known what they read, and
 * records under these keys. A split that was read once and is not remembered as it is now (its
 * files were touched, or what was remembered is lost) is read, by all workers: that costs less than
 * doing its task again. */
#include <stdlib.h>

#include "run/chain/chain.h"
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

/* Tasks of a range that have no key. */
static uint32_t gather(const struct run *run, struct task_range range, uint32_t *tasks)
{
    const uint32_t p = range.phase;
    uint32_t n = 0;

    for (uint32_t t = range.first; t < range.end; t++) {
        if (!run->tasks[p][t].keyed) {
            tasks[n++] = t;
        }
    }
    return n;
}

/* Tasks whose splits are not remembered; tasks: room for the numbers of all. */
static sluice_status look_into(struct run *run, struct task_range range, enum key_effort effort,
                               uint32_t *tasks, struct sluice_error *err)
{
    struct looking looking = { .run = run, .phase = range.phase, .effort = effort, .tasks = tasks };
    struct pool_job pool = { .ctx = &looking,
                             .n = gather(run, range, tasks),
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

/* Of tasks with one key the first does the work. */
static void find_twins(struct task_state *states, struct task_range range, uint32_t *tasks)
{
    uint32_t n = 0;

    for (uint32_t t = range.first; t < range.end; t++) {
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

static sluice_status prepare(struct run *run, struct task_range range, enum key_effort effort,
                             struct sluice_error *err)
{
    const uint32_t p = range.phase;
    const struct phase *phase = run->plan->phases[p];
    const uint32_t room = range.end - range.first;
    uint32_t *tasks = calloc(2 * (size_t)room + 1, sizeof *tasks);
    char *dir = store_join(run->tasks_dir, phase->name);
    uint32_t n = tasks == NULL ? 0 : gather(run, range, tasks);
    sluice_status status = tasks == NULL || dir == NULL ? error_nomem(err, "the run")
                                                        : store_make_folder(dir, false, err);

    for (uint32_t i = 0; status == SLUICE_OK && i < n; i++) {
        status = task_try_key(run, p, tasks[i], KEY_RECALL, err);
    }
    if (status == SLUICE_OK && !run->options.fresh) {
        status = look_into(run, range, effort, tasks + room, err);
    }
    if (status == SLUICE_OK) {
        find_twins(run->tasks[p], range, tasks + room);
        status = find_records(run, p, tasks, n, err);
    }
    free(dir);
    free(tasks);
    return status;
}

static struct task_range whole(const struct run *run, uint32_t p)
{
    return (struct task_range){ .phase = p, .end = run->plan->phases[p]->n_tasks };
}

sluice_status run_prepare_phase(struct run *run, uint32_t p, struct sluice_error *err)
{
    return prepare(run, whole(run, p), KEY_DOUBT, err);
}

/* ---- some tasks alone ---- */

/* Does any task of the range belong to the lane? NULL: to any. */
static bool touches(const struct phase *phase, struct task_range range, const struct lane *lane)
{
    uint32_t first = 0;

    for (uint32_t k = 0; lane != NULL && k < phase->n_lanes && phase->lanes[k] != lane; k++) {
        first += phase->lanes[k]->n_tasks;
    }
    return lane == NULL || (range.first < first + lane->n_tasks && first < range.end);
}

/* What of each phase the range needs, and what that needs in turn; needed: one range a phase. */
static void note_needs(const struct run *run, struct task_range *needed)
{
    for (uint32_t p = run->plan->n_phases; p-- > 0;) {
        const struct phase *phase = run->plan->phases[p];
        for (uint32_t i = 0; i < phase->n_ops && needed[p].end > needed[p].first; i++) {
            const struct op *op = phase->ops[i];
            const struct plan_edge *edge;
            struct task_range *from;
            struct task_range more;
            if (op->kind != OP_LOAD) {
                continue;
            }
            edge = op_load(op)->edge;
            if ((edge->load == LOAD_KEYED || edge->load == LOAD_GATHER) &&
                !touches(phase, needed[p], phase_load_lane(phase, op))) {
                continue;
            }
            from = &needed[edge->producer_phase];
            more = whole(run, edge->producer_phase);
            if (edge->load == LOAD_SAME) {
                more.first = needed[p].first;
                more.end = needed[p].end;
            }
            if (from->first == from->end) {
                *from = more;
            }
            from->first = from->first < more.first ? from->first : more.first;
            from->end = from->end > more.end ? from->end : more.end;
        }
    }
}

/* Earlier tasks must be done. */
static sluice_status check_done(const struct run *run, struct task_range range,
                                struct task_range wanted, struct sluice_error *err)
{
    for (uint32_t t = range.first; t < range.end; t++) {
        if (!run->tasks[range.phase][t].done) {
            return error_set(
                err, SLUICE_E_CONFIG,
                "task %u needs task %u (%s), which is not done; run that one first",
                plan_task_number(run->plan, (struct task_id){ wanted.phase, wanted.first }),
                plan_task_number(run->plan, (struct task_id){ range.phase, t }),
                run->plan->phases[range.phase]->name);
        }
    }
    return SLUICE_OK;
}

sluice_status run_prepare_tasks(struct run *run, struct task_range wanted, struct sluice_error *err)
{
    struct task_range *needed = calloc(run->plan->n_phases + 1u, sizeof *needed);
    sluice_status status = needed == NULL ? error_nomem(err, "the run") : SLUICE_OK;

    for (uint32_t p = 0; status == SLUICE_OK && p < run->plan->n_phases; p++) {
        needed[p].phase = p;
    }
    if (status == SLUICE_OK) {
        needed[wanted.phase] = wanted;
        note_needs(run, needed);
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < wanted.phase; p++) {
        if (needed[p].first == needed[p].end) {
            continue;
        }
        /* Where there are records, splits that nobody remembers are read to find theirs: this
         * process does not do the tasks itself. */
        status = prepare(run, needed[p], run_records(run, p) > 0 ? KEY_READ : KEY_DOUBT, err);
        if (status == SLUICE_OK) {
            status = check_done(run, needed[p], wanted, err);
        }
    }
    if (status == SLUICE_OK) {
        status = prepare(run, wanted, KEY_DOUBT, err);
    }
    free(needed);
    return status;
}
