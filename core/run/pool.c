/* A pool of threads over numbered jobs: see pool.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/runInt.h"

/* Between two looks at jobs that others have: they end when they end. */
#define PAUSE_MIN_NS UINT64_C(2000000)
#define PAUSE_MAX_NS UINT64_C(100000000)

struct pool {
    const struct pool_job *job;
    pthread_mutex_t lock;
    pthread_cond_t done;
    uint32_t *queue; /* ring of jobs not begun */
    uint32_t head, queued;
    uint32_t running, active_threads;
    uint32_t refused; /* one after the other: somebody else has those */
    uint64_t pause_ns;
    bool failed;
    uint32_t failed_at;
    sluice_status status;
    struct sluice_error error;
};

/* The next job; false when there is none left (or the pool stops). */
static bool take(struct pool *pool, uint32_t *i)
{
    bool drain = pool->job->drain != NULL && atomic_load(pool->job->drain) != 0;

    if (pool->failed || drain || pool->queued == 0) {
        return false;
    }
    *i = pool->queue[pool->head];
    pool->head = (pool->head + 1) % pool->job->n;
    pool->queued--;
    pool->running++;
    return true;
}

/* Somebody else has the job: it goes behind the others. When all that are left were tried in vain,
 * waits a while, longer each time. */
static void put_back(struct pool *pool, uint32_t i)
{
    struct timespec pause = { 0, (long)pool->pause_ns };

    pool->queue[(pool->head + pool->queued) % pool->job->n] = i;
    pool->queued++;
    if (++pool->refused < pool->queued) {
        return;
    }
    pool->pause_ns = pool->pause_ns < PAUSE_MAX_NS / 2 ? 2 * pool->pause_ns : PAUSE_MAX_NS;
    pthread_mutex_unlock(&pool->lock);
    if (pool->job->idle != NULL) {
        pool->job->idle(pool->job->ctx);
    }
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&pool->lock);
    pool->refused = 0; /* all are tried again */
}

static void *worker(void *arg)
{
    struct pool *pool = arg;
    void *state = pool->job->thread_open == NULL ? NULL : pool->job->thread_open(pool->job->ctx);
    uint32_t i;

    pthread_mutex_lock(&pool->lock);
    while (take(pool, &i)) {
        struct sluice_error err = ERROR_INIT;
        bool taken = true;
        sluice_status status;
        pthread_mutex_unlock(&pool->lock);
        status = pool->job->run(pool->job->ctx, state, i, &taken, &err);
        pthread_mutex_lock(&pool->lock);
        pool->running--;
        if (taken) {
            pool->refused = 0;
            pool->pause_ns = PAUSE_MIN_NS;
        } else {
            put_back(pool, i);
        }
        if (status != SLUICE_OK) {
            /* A cancelled job never hides the cause. */
            bool better = !pool->failed ||
                          (pool->status == SLUICE_E_CANCELLED && status != SLUICE_E_CANCELLED) ||
                          (i < pool->failed_at && status != SLUICE_E_CANCELLED);
            if (better) {
                pool->status = status;
                pool->error = err;
                pool->failed_at = i;
            }
            pool->failed = true;
        }
    }
    pool->active_threads--;
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
    if (pool->job->thread_close != NULL) {
        pool->job->thread_close(pool->job->ctx, state);
    }
    return NULL;
}

sluice_status pool_run(const struct pool_job *job, bool *drained, struct sluice_error *err)
{
    struct pool pool = { .job = job, .pause_ns = PAUSE_MIN_NS };
    uint32_t n_threads = job->n_threads < job->n ? job->n_threads : job->n;
    pthread_t *threads;
    uint32_t started = 0;
    sluice_status status = SLUICE_OK;

    *drained = false;
    if (job->n == 0) {
        return SLUICE_OK;
    }
    threads = calloc(n_threads, sizeof *threads);
    pool.queue = calloc(job->n, sizeof *pool.queue);
    if (threads == NULL || pool.queue == NULL) {
        free(threads);
        free(pool.queue);
        return error_nomem(err, "the worker pool");
    }
    for (uint32_t i = 0; i < job->n; i++) {
        pool.queue[i] = i;
    }
    pool.queued = job->n;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.done, NULL);
    /* Held until all threads are counted in: none can count itself out before. */
    pthread_mutex_lock(&pool.lock);
    for (; started < n_threads; started++) {
        int failure = pthread_create(&threads[started], NULL, worker, &pool);
        if (failure != 0) {
            /* With fewer threads than asked for the run is slower, not wrong. */
            if (started == 0) {
                status = error_errno(err, failure, "can't start a worker thread");
            }
            break;
        }
        pool.active_threads++;
    }
    while (pool.active_threads > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        pthread_cond_timedwait(&pool.done, &pool.lock, &until);
        pthread_mutex_unlock(&pool.lock);
        if (job->tick != NULL) {
            job->tick(job->ctx);
        }
        pthread_mutex_lock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&pool.lock);
    pthread_cond_destroy(&pool.done);
    *drained = pool.queued > 0;
    if (status == SLUICE_OK && pool.failed) {
        status = pool.status;
        if (err != NULL) {
            *err = pool.error;
        }
    }
    free(threads);
    free(pool.queue);
    return status;
}
