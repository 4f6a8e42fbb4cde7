/* A timer of a thread's processor time: see watchdog.h. */
#include "run/watchdog.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS 10000000L

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What this thread watches now. A signal that was queued before its timer was deleted arrives
 * later; it then finds somebody else. */
static _Thread_local struct watchdog *volatile watched;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

static void on_timer(int number, siginfo_t *info, void *context)
{
    struct watchdog *dog = watched;

    (void)number;
    (void)context;
    if (dog != NULL && info->si_value.sival_ptr == dog) {
        dog->tick(dog->ctx);
    }
}

static void install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_timer;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGRTMIN + 3, &action, NULL);
}

void watchdog_begin(struct watchdog *dog, void (*tick)(void *ctx), void *ctx)
{
    struct sigevent event;
    struct itimerspec period = { .it_interval = { .tv_nsec = PERIOD_NS },
                                 .it_value = { .tv_nsec = PERIOD_NS } };

    pthread_once(&installed, install);
    dog->tick = tick;
    dog->ctx = ctx;
    dog->outer = watched;
    watched = dog;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 3;
    event.sigev_value.sival_ptr = dog;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    dog->armed = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &dog->timer) == 0;
    if (dog->armed && timer_settime(dog->timer, 0, &period, NULL) != 0) {
        timer_delete(dog->timer);
        dog->armed = false;
    }
}

void watchdog_end(struct watchdog *dog)
{
    watched = dog->outer;
    if (dog->armed) {
        timer_delete(dog->timer);
        dog->armed = false;
    }
}
