/* This process among others: see crew.h. */
#include "run/work/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/work/stop.h"

#define LEAD "run"

struct crew {
    char *run_dir, *leases;
    struct member *member;
    struct crew_events events;
    struct lease *lead;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started, ending;
};

/* ---- the heart ---- */

static void heed(const struct crew *crew)
{
    struct stop_order order;

    if (crew->events.stop != NULL && stop_read(crew->run_dir, &order, NULL) == SLUICE_OK &&
        order.given) {
        crew->events.stop(crew->events.ctx, order.now);
    }
}

static void beat(struct crew *crew)
{
    char *state = crew->events.state == NULL ? NULL : crew->events.state(crew->events.ctx);

    if (member_beat(crew->member, state, NULL) != SLUICE_OK) {
        /* The next one may succeed; if none does for long, member_fresh() tells. */
    }
    free(state);
    heed(crew);
}

/* Waits on the monotonic clock: a process that was stopped beats as soon as it goes on. */
static void *heart(void *arg)
{
    struct crew *crew = arg;
    uint64_t ns = member_times()->beat;

    pthread_mutex_lock(&crew->lock);
    while (!crew->ending) {
        struct timespec until;
        int rc = 0;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(ns / 1000000000u);
        until.tv_nsec += (long)(ns % 1000000000u);
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        while (!crew->ending && rc == 0) {
            rc = pthread_cond_timedwait(&crew->wake, &crew->lock, &until);
        }
        if (!crew->ending) {
            pthread_mutex_unlock(&crew->lock);
            beat(crew);
            pthread_mutex_lock(&crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static sluice_status start(struct crew *crew, struct sluice_error *err)
{
    pthread_condattr_t monotonic;
    int failure;

    pthread_mutex_init(&crew->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    failure = pthread_create(&crew->thread, NULL, heart, crew);
    if (failure != 0) {
        pthread_cond_destroy(&crew->wake);
        pthread_mutex_destroy(&crew->lock);
        return error_errno(err, failure, "can't start the thread of the heartbeats");
    }
    crew->started = true;
    return SLUICE_OK;
}

/* ---- coming and going ---- */

sluice_status crew_join(const char *run_dir, const char *kind, const struct crew_events *events,
                        struct crew **out, struct sluice_error *err)
{
    struct crew *crew = calloc(1, sizeof *crew);
    char *workers = store_join(run_dir, "workers");
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (crew != NULL) {
        crew->run_dir = str_copy(run_dir, strlen(run_dir));
        crew->leases = store_join(run_dir, "leases");
        if (events != NULL) {
            crew->events = *events;
        }
    }
    if (crew == NULL || crew->run_dir == NULL || crew->leases == NULL || workers == NULL) {
        status = error_nomem(err, "the run");
    }
    if (status == SLUICE_OK) {
        status = member_join(workers, kind, &crew->member, err);
    }
    if (status == SLUICE_OK) {
        status = start(crew, err);
    }
    free(workers);
    if (status != SLUICE_OK) {
        crew_leave(crew);
        return status;
    }
    *out = crew;
    return SLUICE_OK;
}

void crew_leave(struct crew *crew)
{
    if (crew == NULL) {
        return;
    }
    if (crew->started) {
        pthread_mutex_lock(&crew->lock);
        crew->ending = true;
        pthread_cond_signal(&crew->wake);
        pthread_mutex_unlock(&crew->lock);
        pthread_join(crew->thread, NULL);
        pthread_cond_destroy(&crew->wake);
        pthread_mutex_destroy(&crew->lock);
    }
    lease_drop(crew->lead, true);
    member_leave(crew->member);
    free(crew->leases);
    free(crew->run_dir);
    free(crew);
}

struct member *crew_member(const struct crew *crew)
{
    return crew->member;
}

const char *crew_leases(const struct crew *crew)
{
    return crew->leases;
}

/* ---- the lead ---- */

sluice_status crew_refuse(const char *run_dir, const char *holder, struct sluice_error *err)
{
    return error_field(err, SLUICE_E_IO, "lock",
                       "%s is in use by %s; wait until that ends or stop it (`sluice stop`), "
                       "`sluice work` helps it without the lead, or give another --run-dir",
                       run_dir, holder[0] != '\0' ? holder : "another process");
}

sluice_status crew_lead(struct crew *crew, const _Atomic int *stop, struct sluice_error *err)
{
    uint64_t ns = member_times()->beat / 16;
    struct timespec pause = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    for (;;) {
        struct lease_found found;
        TRY(lease_take(crew->member, crew->leases, LEAD, "first", &crew->lead, &found, err));
        if (crew->lead != NULL) {
            return SLUICE_OK;
        }
        if (member_seen(crew->member, &found.holder)) {
            return crew_refuse(crew->run_dir, found.holder.words, err);
        }
        if (stop != NULL && atomic_load(stop) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
        }
        nanosleep(&pause, NULL);
    }
}

sluice_status crew_led(const char *run_dir, bool *led, char holder[256], struct sluice_error *err)
{
    struct holder found = { .id = "" };
    char *leases = store_join(run_dir, "leases");
    sluice_status status = leases == NULL ? error_nomem(err, "a path")
                                          : lease_look(NULL, leases, LEAD, led, &found, err);

    free(leases);
    if (holder != NULL) {
        snprintf(holder, 256, "%s", status == SLUICE_OK && *led ? found.words : "");
    }
    return status;
}
