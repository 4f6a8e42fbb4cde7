/* A process that is asked to stop: see session.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/session.h"

_Atomic int session_drain, session_cancelled;
_Atomic uint64_t session_deadline;

/* What is nearly done may be done; no row may keep a process that is asked to go for longer. */
static const struct itimerspec short_grace = { .it_value = { .tv_nsec = 500000000L } };
#define DRAIN_SECONDS 90
#define SAVE_SECONDS 600

static timer_t grace;
static bool graced;                  /* the timer is there */
static struct itimerspec long_grace; /* of SIGUSR1 */
static bool term_drains;             /* SIGTERM has that, too */

static void on_grace(int number)
{
    (void)number;
    atomic_store(&session_cancelled, 1);
}

/* Async-signal-safe. */
static void begin_grace(const struct itimerspec *span)
{
    if (span == &long_grace) {
        atomic_store(&session_deadline, clock_ns() + (uint64_t)span->it_value.tv_sec * 1000000000u);
    }
    if (!graced || timer_settime(grace, 0, span, NULL) != 0) {
        atomic_store(&session_cancelled, 1);
    }
}

static void on_signal(int number)
{
    if (atomic_exchange(&session_drain, 1) != 0) {
        atomic_store(&session_cancelled, 1);
    } else {
        begin_grace(number == SIGUSR1 || (number == SIGTERM && term_drains) ? &long_grace
                                                                            : &short_grace);
    }
}

uint64_t session_save_ns(void)
{
    const char *text = getenv("SLUICE_SAVE");
    char *end = NULL;
    double seconds = text == NULL ? SAVE_SECONDS : strtod(text, &end);

    if (text != NULL && (end == text || *end != '\0' || !(seconds >= 0))) {
        seconds = SAVE_SECONDS;
    }
    return (uint64_t)((seconds > 1e6 ? 1e6 : seconds) * 1e9);
}

void session_stop(bool now)
{
    if (atomic_exchange(&session_drain, 1) == 0) {
        begin_grace(now ? &short_grace : &long_grace);
    }
}

static void read_drain(void)
{
    const char *text = getenv("SLUICE_DRAIN");
    char *end = NULL;
    double seconds = text == NULL ? DRAIN_SECONDS : strtod(text, &end);

    term_drains = text != NULL && end != text && *end == '\0' && seconds > 0;
    seconds = text != NULL && !term_drains ? DRAIN_SECONDS : seconds > 1e6 ? 1e6 : seconds;
    long_grace.it_value.tv_sec = (time_t)seconds;
    long_grace.it_value.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9);
}

void session_signals(void)
{
    struct sigevent event;
    struct sigaction action;

    read_drain();
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_grace;
    sigaction(SIGALRM, &action, NULL);
    graced = timer_create(CLOCK_MONOTONIC, &event, &grace) == 0;
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}
