/* Tasks that failed, until it is decided what becomes of them. */
#include <stdio.h>
#include <stdlib.h>

#include "run/phaseInt.h"

/* Keeps the task in hand until the run's thread has decided. */
sluice_status failing_put(struct phase_job *job, const struct trouble *trouble, struct hold *hold,
                          struct sluice_error *err)
{
    struct failing *failing = calloc(1, sizeof *failing);

    if (failing == NULL) {
        shift_give(job->shift, hold, false);
        return error_nomem(err, "a failure");
    }
    failing->trouble = *trouble;
    failing->hold = hold;
    pthread_mutex_lock(&job->lock);
    failing->next = job->failing;
    job->failing = failing;
    pthread_mutex_unlock(&job->lock);
    return SLUICE_OK;
}

static void decide(struct phase_job *job, struct failing *failing)
{
    struct trouble *trouble = &failing->trouble;
    struct trouble_count count;
    struct sluice_error err = ERROR_INIT;
    size_t given_up = troubles_n_given_up(job->troubles);
    sluice_status status;

    troubles_count(job->troubles, trouble, &count);
    status = job->single && trouble->kind != TROUBLE_LOST
                 ? error_set(&err, error_known(trouble->code), "%s", trouble->message)
                 : retry_decide(job->run, job->phase, &count, given_up, trouble, &err);
    if (status == SLUICE_OK) {
        status = troubles_add(job->troubles, trouble, &err);
    }
    if (status == SLUICE_OK && !trouble->final && trouble->kind != TROUBLE_LOST) {
        char text[1200];
        snprintf(text, sizeof text, "%.900s; tried again in %.1f s", trouble->message,
                 (double)trouble->delay_ns / 1e9);
        run_warn(job->run, text);
    }
    shift_give(job->shift, failing->hold, false);
    if (status != SLUICE_OK) {
        pthread_mutex_lock(&job->lock);
        if (!job->broken) {
            job->broken = true;
            job->error = err;
            job->error.code = status;
        }
        pthread_mutex_unlock(&job->lock);
    }
}

static struct failing *take_failing(struct phase_job *job)
{
    struct failing *first;

    pthread_mutex_lock(&job->lock);
    first = job->failing;
    job->failing = NULL;
    pthread_mutex_unlock(&job->lock);
    return first;
}

void failing_decide(struct phase_job *job)
{
    struct failing *failing = take_failing(job);

    while (failing != NULL) {
        struct failing *next = failing->next;
        decide(job, failing);
        free(failing);
        failing = next;
    }
}

void failing_end(struct phase_job *job)
{
    struct failing *failing = take_failing(job);

    while (failing != NULL) {
        struct failing *next = failing->next;
        shift_give(job->shift, failing->hold, false);
        free(failing);
        failing = next;
    }
}
