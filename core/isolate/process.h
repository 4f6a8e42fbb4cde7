/* A child process as its parent sees it: started, talked to, watched, ended. Depends on channel and
 * stage (whose services it passes on). All children of a session are started by one thread of their
 * own, because the kernel ends a child with the thread that started it.
 *
 * Thread rule: several threads may talk to one child, each over a channel of its own. */
#ifndef SLUICE_ISOLATE_PROCESS_H
#define SLUICE_ISOLATE_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "isolate/channel.h"
#include "isolate/isolate.h"
#include "plugin/stage.h"

/* ---- the thread that starts children ---- */

struct spawner;

sluice_status spawner_create(const char *exe, struct spawner **out,
                             struct sluice_error *err) MUST_USE;
/* Children that still run end with it. */
void spawner_destroy(struct spawner *);

/* ---- children ---- */

/* Who answers what a stage asks of its host while it is in a child; the context is the stage's
 * instance. */
struct process_host {
    void *ctx;
    const char *stage; /* the instance's name */
    const struct stage_services *services;
    uint64_t reply_max; /* bytes of one answer */
    /* Answers of prepare: a derived column's place, whether a column is wanted. request is what
     * the child sent. */
    sluice_status (*ask)(void *ctx, uint32_t op, const void *request, size_t n, int64_t *answer,
                         struct sluice_error *err);
    void (*died)(void *ctx, const char *how, const char *words); /* once for each child */
};

struct process;

/* How a call ended. LATE: the child was killed. CANCELLED: the run is being stopped, the child did
 * not hear of it, and was killed. */
enum process_end { PROCESS_ANSWERED, PROCESS_DIED, PROCESS_LATE, PROCESS_CANCELLED };

/* Starts a child that writes below scratch (NULL = nowhere), in a folder of its own that is
 * removed with it. host is copied. Gives. */
sluice_status process_start(struct spawner *, const char *scratch, const struct process_host *host,
                            struct process **out, struct sluice_error *err) MUST_USE;
struct process *process_ref(struct process *);
/* With the last reference the child is ended and what it wrote removed. */
void process_unref(struct process *);

struct channel *process_main(struct process *);
const char *process_scratch(const struct process *); /* its folder or NULL */
/* Sends what the child gets besides calls: the pages for the flag of cancellation and for the
 * blame. */
bool process_send_pages(struct process *);

/* Sends a call with size bytes in the channel's request area and waits for the answer, serving
 * the stage meanwhile. *answer is filled when it came; its size lies within the reply area. */
enum process_end process_call(struct process *, struct channel *, uint32_t op, size_t size,
                              uint64_t timeout_ns, struct packet *answer);
/* Makes room for bytes in the request area of a channel. */
sluice_status process_reserve(struct channel *, size_t bytes, struct sluice_error *err) MUST_USE;
/* Opens another channel to the child, for a worker. false = the child is gone. */
sluice_status process_channel(struct process *, struct channel *out,
                              struct sluice_error *err) MUST_USE;

/* Serial of the worker in whose call the child died; 0 = not known. */
uint64_t process_culprit(struct process *);
bool process_dead(struct process *);
/* How it died: "SIGSEGV", "exit status 3", "30 s without an answer"; with words also the last
 * line that it wrote to its standard error, which may differ from run to run. Copies. */
void process_how(struct process *, bool words, char *text, size_t n);
/* By a SIGKILL from outside. */
bool process_killed(struct process *);
/* Kills it if it still runs; how = why, or NULL to ask the system. */
void process_kill(struct process *, const char *how);
/* It ended as it was told to: no death. */
void process_ended(struct process *);

#endif
