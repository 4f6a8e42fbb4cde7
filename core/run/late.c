/* Second copies of tasks that others are late with. Only a process that has nothing else to do
 * begins one, of a task that another process has in hand; whether one is late a policy decides
 * (events.speculate; scripts/policies/speculate.lua if the pipeline has none), from these facts:
 *
 *   { "phase": "…", "task": "…", "tasks": 100, "done": 90,      of the phase
 *     "known": 85,                of which the log of attempts tells how long they took
 *     "seconds": 40.5,            since this process saw that one have it (of its own clock)
 *     "pace": 2e-6,               seconds a byte, so far (work/pace.h)
 *     "mean": 1e-7, "deviation": 1e-8, "median": 1e-7,    of those that are known
 *     "asks": ["…"] }             stages that ask servers
 *
 * The first of the two that commits stands: files have the names that task and content give them,
 * and the record is put if absent. Whoever commits a task of which there is a copy leaves a note
 * (shift_win), and the other one, when it sees that, stops and takes up the record. What it had
 * made goes as that of any task which is given up. Nothing that a run makes depends on it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "run/phaseInt.h"
#include "store/store.h"

#define LONG_NS UINT64_C(1000000000) /* of a task that took less there is no copy */
#define LOOK_NS UINT64_C(500000000)  /* between two looks at files of one that takes longer */
#define LOOK_FAR_NS UINT64_C(5000000000)
#define LOG_MAX ((uint64_t)64 << 20) /* of the logs; of a longer one nothing is known */
#define JUDGE_SHARE 20u /* of the time at least passes between two looks at all that was done */

static uint64_t look_ns(const struct phase_job *job)
{
    return store_is_local(job->run->options.run_dir) ? LOOK_NS : LOOK_FAR_NS;
}

/* ---- what others have in hand ---- */

/* Held: lock. */
static struct watched *find_watched(struct phase_job *job, uint32_t task)
{
    for (size_t i = 0; i < job->n_watched; i++) {
        if (job->watched[i].task == task) {
            return &job->watched[i];
        }
    }
    return NULL;
}

/* Without memory one less is watched. */
static void watch(struct phase_job *job, uint32_t task, const struct holder *holder)
{
    struct watched *watched;

    pthread_mutex_lock(&job->lock);
    watched = find_watched(job, task);
    if (watched == NULL && job->n_watched == job->watched_room) {
        size_t room = job->watched_room == 0 ? 16 : 2 * job->watched_room;
        struct watched *more = realloc(job->watched, room * sizeof *more);
        job->watched = more == NULL ? job->watched : more;
        job->watched_room = more == NULL ? job->watched_room : room;
    }
    if (watched == NULL && job->n_watched < job->watched_room) {
        watched = &job->watched[job->n_watched++];
        *watched = (struct watched){ .task = task };
    }
    if (watched != NULL && strcmp(watched->holder, holder->id) != 0) {
        memcpy(watched->holder, holder->id, sizeof watched->holder);
        watched->since_ns = member_clock();
    }
    pthread_mutex_unlock(&job->lock);
}

void twin_taken(struct phase_job *job, uint32_t task)
{
    struct watched *watched;

    atomic_store(&job->idle_ns, 0);
    pthread_mutex_lock(&job->lock);
    watched = find_watched(job, task);
    if (watched != NULL) {
        *watched = job->watched[--job->n_watched];
    }
    pthread_mutex_unlock(&job->lock);
}

sluice_status twin_refused(struct phase_job *job, uint32_t task, const struct holder *holder,
                           struct hold **hold, struct sluice_error *err)
{
    uint_fast32_t late = task + 1u;

    *hold = NULL;
    if (holder->id[0] == '\0' || strcmp(holder->id, member_id(crew_member(job->run->crew))) == 0) {
        return SLUICE_OK;
    }
    watch(job, task, holder);
    return atomic_load(&job->idle_ns) != 0 && atomic_compare_exchange_strong(&job->late, &late, 0)
               ? shift_twin(job->shift, task, hold, err)
               : SLUICE_OK;
}

/* ---- who is late ---- */

double late_split(const struct run *run, uint32_t p, uint32_t task)
{
    uint32_t index = 0;
    const struct lane *reads = task_reads(run->plan->phases[p], task, &index);

    return reads == NULL ? 0 : (double)reads->splits.items[index].weight;
}

/* What a task reads and loads, as far as it is known before. */
static double size_of(const struct run *run, uint32_t p, uint32_t task)
{
    const struct phase *phase = run->plan->phases[p];
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        struct slice_range range;
        if (phase->ops[i]->kind != OP_LOAD) {
            continue;
        }
        range = task_slices(run, phase, phase->ops[i], task);
        for (uint32_t t = 0; range.active && t < range.n_tasks; t++) {
            const struct edge_directory *directory =
                task_directory(run, op_load(phase->ops[i])->edge, range.first_task + t);
            const struct edge_slice *slice = &directory->slices[range.partition];
            for (uint32_t k = 0; k < slice->n_frames; k++) {
                bytes += directory->frames[slice->first_frame + k].bytes;
            }
        }
    }
    return late_split(run, p, task) + (double)bytes;
}

double late_size(struct phase_job *job, uint32_t task)
{
    if (job->sizes[task] < 0) {
        job->sizes[task] = size_of(job->run, job->phase, task);
    }
    return job->sizes[task];
}

/* The tasks of the phase that are in the log. */
struct reading {
    struct phase_job *job;
    struct pace_task *list;
    uint32_t first; /* number of the phase's first task in the plan */
    size_t n;
};

static void read_line(void *ctx, const json_t *line)
{
    struct reading *reading = ctx;
    struct phase_job *job = reading->job;
    const struct phase *phase = job->run->plan->phases[job->phase];
    const char *name = json_string_value(json_object_get(line, "phase"));
    const char *outcome = json_string_value(json_object_get(line, "outcome"));
    json_int_t task = json_integer_value(json_object_get(line, "task")) - reading->first;

    if (name != NULL && outcome != NULL && strcmp(name, phase->name) == 0 &&
        strcmp(outcome, ATTEMPT_COMMITTED) == 0 && task >= 0 && task < phase->n_tasks &&
        reading->n < phase->n_tasks) {
        reading->list[reading->n++] =
            (struct pace_task){ json_number_value(json_object_get(line, "wall")),
                                late_size(job, (uint32_t)task) };
    }
}

sluice_status late_paces(struct phase_job *job, struct paces *paces, struct sluice_error *err)
{
    const struct run *run = job->run;
    const uint32_t n = run->plan->phases[job->phase]->n_tasks;
    struct reading reading = { .job = job,
                               .list = calloc(n + 1u, sizeof *reading.list),
                               .first =
                                   plan_task_number(run->plan, (struct task_id){ job->phase, 0 }) };
    sluice_status status = SLUICE_OK;

    if (job->sizes == NULL) {
        job->sizes = calloc(n + 1u, sizeof *job->sizes);
        for (uint32_t t = 0; job->sizes != NULL && t < n; t++) {
            job->sizes[t] = -1;
        }
    }
    if (reading.list == NULL || job->sizes == NULL) {
        status = error_nomem(err, "the times of tasks");
    } else {
        status =
            attempts_read(run->options.run_dir, run->execution, LOG_MAX, read_line, &reading, err);
    }
    if (status == SLUICE_OK) {
        status = paces_sum(reading.list, reading.n, paces, err);
    }
    free(reading.list);
    return status;
}

static char *facts_text(struct phase_job *job, const struct paces *paces, uint32_t task,
                        double seconds)
{
    const struct phase *phase = job->run->plan->phases[job->phase];
    const struct phase_metrics *metrics = &job->run->metrics.phases[job->phase];
    uint64_t done = METRIC_GET(metrics->reused) + paces->n;
    uint64_t seen = METRIC_GET(metrics->done); /* in this process; those of others are in the log */
    char buffer[SPLIT_NAME];
    const char *name = phase_task_name(phase, task, buffer);
    json_t *asks = json_array();
    json_t *json;
    char *text;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (op_asks(phase->ops[i])) {
            json_array_append_new(asks, json_string(phase->ops[i]->name));
        }
    }
    json = json_pack("{s:s, s:o, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "phase",
                     phase->name, "task", json_stringn_nocheck(name, strlen(name)), "tasks",
                     (int)phase->n_tasks, "done", (json_int_t)(done > seen ? done : seen), "known",
                     (json_int_t)paces->n, "seconds", seconds, "pace",
                     paces_of(paces, seconds, late_size(job, task)), "mean", paces->mean,
                     "deviation", paces->deviation, "median", paces->median, "asks", asks);
    text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

/* The slowest of those that others have, of which there is no copy and that did not fail. false:
 * there is none. */
static bool find_slowest(struct phase_job *job, const struct paces *paces, uint32_t *task,
                         double *seconds)
{
    uint64_t now = member_clock();
    struct watched *list;
    double worst = 0;
    size_t n;

    pthread_mutex_lock(&job->lock);
    n = job->n_watched;
    list = calloc(n + 1u, sizeof *list);
    if (list != NULL && n > 0) {
        memcpy(list, job->watched, n * sizeof *list);
    }
    pthread_mutex_unlock(&job->lock);
    for (size_t i = 0; list != NULL && i < n; i++) {
        struct trouble probe = { .task = list[i].task, .kind = TROUBLE_TRANSIENT };
        struct trouble_count count;
        double elapsed = (double)(now - list[i].since_ns) / 1e9;
        double pace = paces_of(paces, elapsed, late_size(job, list[i].task));
        if (pace <= worst || now - list[i].since_ns < LONG_NS ||
            atomic_load(&job->ended[list[i].task]) || shift_has_twin(job->shift, list[i].task) ||
            troubles_read(job->troubles, list[i].task, NULL) != SLUICE_OK) {
            continue;
        }
        troubles_count(job->troubles, &probe, &count);
        if (count.n == 1) { /* the probe alone */
            worst = pace;
            *task = list[i].task;
            *seconds = elapsed;
        }
    }
    free(list);
    return worst > 0;
}

static sluice_status judge(struct phase_job *job, struct sluice_error *err)
{
    const struct run_events *events = &job->run->options.events;
    struct paces paces;
    uint32_t task = 0;
    double seconds = 0;
    bool wanted = false;
    char *facts;
    sluice_status status;

    atomic_store(&job->late, 0);
    TRY(late_paces(job, &paces, err));
    if (paces.n == 0 || !find_slowest(job, &paces, &task, &seconds)) {
        return SLUICE_OK;
    }
    facts = facts_text(job, &paces, task, seconds);
    status = facts == NULL ? error_nomem(err, "a task")
                           : events->speculate(events->ctx, facts, &wanted, err);
    free(facts);
    if (status == SLUICE_OK && wanted) {
        atomic_store(&job->late, task + 1u);
    }
    return status;
}

/* Once a second at most, and a twentieth of the time. */
static void look_for_late(struct phase_job *job)
{
    const struct run_events *events = &job->run->options.events;
    uint64_t now = member_clock();
    struct sluice_error err = ERROR_INIT;
    uint64_t pause = look_ns(job) * 2;

    pause = pause > JUDGE_SHARE * job->judging_ns ? pause : JUDGE_SHARE * job->judging_ns;
    if (events->speculate == NULL || job->single || atomic_load(&job->idle_ns) == 0 ||
        now - job->judged_ns < pause || run_heed(job->run, NULL) != SLUICE_OK) {
        return;
    }
    if (judge(job, &err) != SLUICE_OK) {
        run_warn(job->run, err.message); /* nothing is late then */
    }
    job->judged_ns = member_clock();
    job->judging_ns = job->judged_ns - now;
}

/* ---- two copies ---- */

/* Looks whether there is another copy of a task in hand, and whether that was committed. */
static void look_beside(struct phase_job *job, struct hand *hand, uint32_t task, uint64_t begun_ns,
                        bool rival)
{
    bool there = rival || shift_has_twin(job->shift, task);
    bool won = shift_won(job->shift, task);

    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->n_hands; i++) {
        if (job->hands[i] != hand || !hand->active || hand->begun_ns != begun_ns) {
            continue; /* it is at something else by now */
        }
        if (there || won) {
            atomic_store(&hand->rival, true);
        }
        if (won) {
            atomic_store(&hand->beaten, true);
            atomic_store(&hand->cancelled, 1);
        }
    }
    pthread_mutex_unlock(&job->lock);
}

void twins_tick(struct phase_job *job)
{
    uint64_t now = clock_ns();

    /* Where what is there is ignored, nothing tells a copy's record from an old one. */
    if (!shift_shared(job->shift) || job->run->options.fresh) {
        return;
    }
    for (uint32_t i = 0;; i++) {
        struct hand *hand;
        uint32_t task = 0;
        uint64_t begun = 0;
        bool due = false;
        bool rival = false;
        pthread_mutex_lock(&job->lock);
        hand = i < job->n_hands ? job->hands[i] : NULL;
        if (hand != NULL && hand->active) {
            task = hand->task;
            begun = hand->begun_ns;
            rival = atomic_load(&hand->rival);
            due = (rival || now - begun >= LONG_NS) && now - hand->looked_ns >= look_ns(job) &&
                  !atomic_load(&hand->beaten);
            hand->looked_ns = due ? now : hand->looked_ns;
        }
        pthread_mutex_unlock(&job->lock);
        if (hand == NULL) {
            break;
        }
        if (due) {
            look_beside(job, hand, task, begun, rival);
        }
    }
    look_for_late(job);
}

sluice_status twin_yield(struct phase_job *job, uint32_t task, bool *done, struct sluice_error *err)
{
    struct run *run = job->run;
    const struct task_state *state = &run->tasks[job->phase][task];

    if (!state->keyed) {
        TRY(task_try_key(run, job->phase, task, KEY_SHARE, err));
    }
    if (state->keyed) {
        TRY(task_find(run, job->phase, task, false, err));
    }
    *done = state->done;
    if (!state->done) {
        shift_unwin(job->shift, task); /* it is done again, to its end */
    }
    return SLUICE_OK;
}

void twin_won(struct phase_job *job, const struct hand *hand, uint32_t task)
{
    if (atomic_load(&hand->rival) ||
        (shift_shared(job->shift) && clock_ns() - hand->begun_ns >= LONG_NS &&
         shift_has_twin(job->shift, task))) {
        /* What the split holds, so that the other one can tell the record's name. */
        statcache_exchange(job->run->options.inputs);
        shift_win(job->shift, task);
    }
}
