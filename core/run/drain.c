/* A process that was asked to go, with a while to finish what it has in hand (options.deadline):
 * what can't be done by then is given back at once, so that another one begins it sooner and this
 * one is gone, with its state saved where that can be (saving.h). What seems to be done in time
 * saves its state when two thirds of it are over, for the case that it is not. How long a task
 * takes is told by what it read so far, or by what others of its phase took; of one of which
 * nothing is known the rest is tried until the time is over. */
#include <stdio.h>

#include "run/phaseInt.h"

#define SURE 1.2 /* so much longer than there is time: the rest is a guess */

/* What a hand is at, as it was a moment ago. */
struct glimpse {
    struct hand *hand;
    uint32_t task;
    uint64_t begun_ns;
    double read;
};

/* The next one that was not looked at. */
static bool next_hand(struct phase_job *job, struct glimpse *seen)
{
    bool found = false;

    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->n_hands && !found; i++) {
        struct hand *hand = job->hands[i];
        if (hand->active && !hand->weighed) {
            hand->weighed = true;
            *seen = (struct glimpse){ hand, hand->task, hand->begun_ns,
                                      (double)METRIC_GET(hand->total.text_bytes) };
            found = true;
        }
    }
    pthread_mutex_unlock(&job->lock);
    return found;
}

/* Where it can be saved it saves itself between two batches, and goes. */
static void give_up(struct phase_job *job, const struct glimpse *seen, bool saves)
{
    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->n_hands; i++) {
        struct hand *hand = job->hands[i];
        if (hand == seen->hand && hand->active && hand->begun_ns == seen->begun_ns) {
            if (saves) {
                atomic_store(&hand->save, SAVING_GO);
            } else {
                atomic_store(&hand->cancelled, 1);
            }
        }
    }
    pthread_mutex_unlock(&job->lock);
}

static void weigh(struct phase_job *job, const struct paces *paces, const struct glimpse *seen,
                  double left)
{
    const struct run *run = job->run;
    const struct phase *phase = run->plan->phases[job->phase];
    struct pace_work work = { .seconds = (double)(clock_ns() - seen->begun_ns) / 1e9,
                              .bytes = late_size(job, seen->task),
                              .read = seen->read,
                              .to_read = late_split(run, job->phase, seen->task) };
    double rest = paces_rest(paces, &work);

    if (rest > SURE * left) {
        char text[700];
        char buffer[SPLIT_NAME];
        char how[300] = "; its state is saved";
        const struct op *op;
        bool saves = chain_can_save(phase, &op);
        if (!saves) {
            snprintf(how, sizeof how,
                     "; it will start over, as stage '%.100s' has no functions that save its state",
                     op->name);
        }
        snprintf(text, sizeof text,
                 "%s, %.200s: given back, as it would take about %.0f s more, and there are %.0f%s",
                 phase->name, phase_task_name(phase, seen->task, buffer), rest, left, how);
        run_warn(run, text);
        give_up(job, seen, saves);
    }
}

/* Once, when two thirds of the time are over. */
static void keep_what_is_left(struct phase_job *job, uint64_t now, uint64_t deadline)
{
    if (job->drained_ns == 0) {
        job->drained_ns = now;
    }
    if (job->kept || now - job->drained_ns < (deadline - job->drained_ns) / 3 * 2) {
        return;
    }
    job->kept = true;
    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->n_hands; i++) {
        int none = SAVING_NONE;
        if (job->hands[i]->active) {
            (void)atomic_compare_exchange_strong(&job->hands[i]->save, &none, SAVING_KEEP);
        }
    }
    pthread_mutex_unlock(&job->lock);
}

void drain_tick(struct phase_job *job)
{
    const struct run *run = job->run;
    uint64_t deadline = run->options.deadline == NULL ? 0 : atomic_load(run->options.deadline);
    uint64_t now = clock_ns();
    struct glimpse seen;
    struct paces paces;

    if (deadline <= now || run_heed(run, NULL) == SLUICE_OK) {
        return;
    }
    keep_what_is_left(job, now, deadline);
    if (!next_hand(job, &seen)) {
        return;
    }
    if (late_paces(job, &paces, NULL) != SLUICE_OK) {
        return; /* then all is tried */
    }
    do {
        weigh(job, &paces, &seen, (double)(deadline - now) / 1e9);
    } while (next_hand(job, &seen));
}
