/* Whose call was it? When the process crashes or exits, the thread it happens on leaves the serial
 * of the worker that it serves in a page that the parent reads. A hint: a plugin may fake it, and
 * where it says nothing nobody is blamed in particular. See childInt.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/childInt.h"

#define LEAST ((size_t)1 << 14)

/* Of the thread: what a handler can reach. */
static _Thread_local struct blame_page *volatile page;
static _Thread_local volatile uint64_t worker;

static void leave_word(void)
{
    if (page != NULL) {
        atomic_store(&page->serial, worker);
    }
}

/* The handler is gone when this runs, and the signal is held back until it returns: then it comes
 * once more and ends the process, whether an instruction or a call sent it. */
static void on_crash(int number)
{
    leave_word();
    raise(number);
}

void blame_install(void)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_crash;
    action.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof crashes / sizeof crashes[0]; k++) {
        sigaction(crashes[k], &action, NULL);
    }
    atexit(leave_word);
}

size_t blame_stack_size(void)
{
    long least = sysconf(_SC_SIGSTKSZ);

    return least > 0 && (size_t)least > LEAST ? (size_t)least : LEAST;
}

void blame_begin(struct blame_page *where, uint64_t serial, void *stack)
{
    const stack_t other = { .ss_sp = stack, .ss_size = blame_stack_size() };

    worker = serial;
    page = where;
    sigaltstack(&other, NULL);
}

void blame_end(void)
{
    const stack_t none = { .ss_flags = SS_DISABLE };

    page = NULL;
    sigaltstack(&none, NULL);
}
