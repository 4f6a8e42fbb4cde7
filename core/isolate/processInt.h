/* Private to process.c (a child's life) and serve.c (calls to it, and what it asks for
 * meanwhile). */
#ifndef SLUICE_ISOLATE_PROCESS_INT_H
#define SLUICE_ISOLATE_PROCESS_INT_H

#include "isolate/process.h"

struct status_page { /* written by the parent, read by the child */
    _Atomic int32_t cancelled;
};

struct process {
    _Atomic int refs;
    struct process_host host;
    pid_t pid;
    int service, complaints; /* complaints: what it writes to its standard error */
    struct channel main;
    struct area status, blame;
    _Atomic uint64_t serials; /* given to workers */
    char *scratch;
    pthread_mutex_t serving; /* over receiving from service */
    uint32_t logged;         /* lines; under it */
    _Atomic bool service_gone;
    pthread_mutex_t lock; /* over what follows */
    uint64_t late;        /* the worker whose call took too long; 0 = none */
    bool over, dead;      /* over: reaped; dead: it was not told to end */
    char how[100];
    bool killed;    /* by a SIGKILL that was not ours */
    char last[200]; /* the last line it wrote; "" = none */
    char words[512];
    size_t n_words;
};

/* Takes up what the child wrote to its standard error, if nobody else does just now. */
void process_drain(struct process *);

#endif
