/* Private to the parent's side: instance.c starts and ends the children of one instance,
 * remote.c repeats a worker's calls when one dies, twin.c is the vtable over both. */
#ifndef SLUICE_ISOLATE_INSTANCE_INT_H
#define SLUICE_ISOLATE_INSTANCE_INT_H

#include "isolate/carry.h"
#include "isolate/process.h"

struct isolate {
    struct spawner *spawner;
    char *scratch; /* NULL = children write nowhere */
    void (*died)(void *ctx, const char *stage, const char *how);
    void *ctx;
    struct twin *twins;
};

struct twin {
    struct registry_entry entry; /* given out; entry.user leads back here */
    struct isolate *isolate;
    struct isolate_target target; /* its texts are owned */
    struct isolate_limits limits; /* defaults filled in */
    struct twin *next;
};

struct answered { /* what the planner said while prepare asked, for children that prepare later */
    uint32_t op;
    struct buf request;
    int64_t answer;
};

struct instance { /* what a stage's `shared` is */
    struct twin *twin;
    const struct stage *stage;
    const struct stage_services *services;
    const struct stage_inputs *inputs; /* while prepare runs for the first time, else NULL */
    struct answered *answers;
    size_t n_answers;
    struct buf schemas;  /* the request of prepare ... */
    struct buf prepared; /* ... and its answer, the same from every child */
    bool is_prepared;
    struct carry_ports ports;
    bool repeatable;          /* a call may be made again by another worker */
    pthread_mutex_t starting; /* over starting the common child */
    pthread_mutex_t lock;     /* over what follows */
    pthread_cond_t left;      /* a call ended */
    struct process *common;   /* serves all workers but those that are alone; NULL = none */
    uint32_t serving;         /* calls */
    uint32_t suspects;        /* workers that crashed: as many that are opened next are alone */
    uint32_t deaths,
        provoked;   /* of the common child; of those that were started to narrow a fault down */
    char last[320]; /* how the last one died */
};

/* open: starts the common child. shared gets the instance. */
sluice_status instance_open(struct sluice_host *host, void **shared,
                            struct sluice_error *err) MUST_USE;
sluice_status instance_prepare(struct instance *, struct sluice_plan *,
                               struct sluice_error *err) MUST_USE;
void instance_close(struct instance *);

/* The common child, started anew when it died. Gives a reference. */
sluice_status instance_common(struct instance *, struct process **out,
                              struct sluice_error *err) MUST_USE;
/* Another child of its own. Gives. */
sluice_status instance_alone(struct instance *, struct process **out,
                             struct sluice_error *err) MUST_USE;
/* A child that did well becomes the common one if there is none. */
void instance_adopt(struct instance *, struct process *);
/* Gives up a child of its own (taken): told to close when nobody else has it. */
void instance_retire(struct instance *, struct process *);

/* One call, and its answer's head as a copy in *head (initialised by the caller). What it
 * returns is the child's status, or one of stage_died naming what. */
sluice_status instance_call(struct instance *, struct process *, struct channel *, uint32_t op,
                            size_t size, const char *what, struct buf *head,
                            struct sluice_error *err) MUST_USE;

/* ---- workers ---- */

struct remote { /* what a stage's `worker` is */
    struct instance *instance;
    struct process *process; /* NULL = the next call finds one */
    struct channel channel;
    bool alone;     /* in a child of its own */
    uint64_t calls; /* that changed what the child holds, since the worker was opened there */
    bool apart;     /* the next place it gets is a child of its own */
    bool waits;     /* a call goes on: what the child holds of it is in no other */
    bool afresh;    /* that call can be made again from its beginning */
    struct hash128 description; /* of a file: the last that the child was told; zero = none */
};

struct request { /* fills the request area; *size = bytes of the head */
    uint32_t op;
    const char *what;
    sluice_status (*fill)(struct remote *, const void *ctx, size_t *size, struct sluice_error *err);
    const void *ctx; /* of fill; the same each time */
    bool fresh;      /* the call depends on nothing that the worker was told before */
};

sluice_status remote_open(struct instance *, struct remote **out,
                          struct sluice_error *err) MUST_USE;
void remote_close(struct remote *);
sluice_status remote_call(struct remote *, const struct request *, struct buf *head,
                          struct sluice_error *err) MUST_USE;

/* The functions of a twin: those that has has. */
void twin_functions(struct sluice_stage *out, const struct sluice_stage *has);

#endif
