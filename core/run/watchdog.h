/* A watchdog over code that may never return: while a worker watches, a function of its own is
 * called on its thread, from a signal handler, every ten milliseconds of the thread's processor
 * time. The clock only asks the question; what happens to a row is decided by a count (core/lua).
 * Depends on POSIX timers and one real-time signal, SIGRTMIN + 3, whose handler is installed at the
 * first use. */
#ifndef SLUICE_RUN_WATCHDOG_H
#define SLUICE_RUN_WATCHDOG_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct watchdog { /* caller's memory; lives until watchdog_end */
    void (*tick)(void *ctx);
    void *ctx;
    timer_t timer;
    bool armed;             /* false: the system has no timer left; nothing is watched */
    struct watchdog *outer; /* what the thread watched before */
};

/* Begins to call tick(ctx); tick must be async-signal-safe. */
void watchdog_begin(struct watchdog *, void (*tick)(void *ctx), void *ctx);
/* After it tick is not called any more. On the thread that began, in reverse order. */
void watchdog_end(struct watchdog *);

#endif
