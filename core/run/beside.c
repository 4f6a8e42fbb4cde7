/* Which tasks this process has in hand beside each other: any, but one that ran out of memory is
 * tried again alone, as is one with which two workers died, perhaps of that. It is not begun before
 * the others are done, and none is begun before it is. */
#include "run/phaseInt.h"

bool beside_enter(struct phase_job *job, uint32_t task)
{
    bool alone = troubles_alone(job->troubles, task);
    bool may;

    pthread_mutex_lock(&job->lock);
    may = job->alone == 0 || job->alone == task + 1u;
    if (may && alone) {
        job->alone = task + 1u;
        may = job->n_busy == 0;
    }
    job->n_busy += may;
    pthread_mutex_unlock(&job->lock);
    return may;
}

/* Held: lock. */
static void make_way(struct phase_job *job, uint32_t task)
{
    if (job->alone == task + 1u) {
        job->alone = 0;
    }
}

void beside_leave(struct phase_job *job, uint32_t task)
{
    pthread_mutex_lock(&job->lock);
    job->n_busy--;
    make_way(job, task);
    pthread_mutex_unlock(&job->lock);
}

void beside_forget(struct phase_job *job, uint32_t task)
{
    pthread_mutex_lock(&job->lock);
    make_way(job, task);
    pthread_mutex_unlock(&job->lock);
}
