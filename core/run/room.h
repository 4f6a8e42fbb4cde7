/* Memory for giants: records above the size of a batch, which the floor (floor.h) does not reckon
 * with. Depends on base. Thread-safe, but for a struct room, which belongs to one task.
 *
 * What --memory leaves above the floor is divided: each worker has a share of its own, and one
 * reserve is lent to whoever has a record that does not fit in a share. One task has it at a time,
 * from before the memory is taken until it is done with the record; it waits for nobody meanwhile,
 * so nobody waits for ever. A record that share and reserve are too small for ends the run, with
 * the numbers: memory never decides what becomes of a row. */
#ifndef SLUICE_RUN_ROOM_H
#define SLUICE_RUN_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"

/* Of a phase, for all of its workers. */
struct rooms {
    /* Bytes above the floor; share UINT64_MAX = no limit. They only ever get less. */
    atomic_uint_fast64_t share, reserve;
    uint64_t memory; /* of the run: for messages, as the next two */
    double per_byte; /* bytes of --memory that one byte more of share and reserve costs */
    uint32_t workers;
    /* Of the whole plan, so that a refusal names what is enough for the calls behind, too: the
     * dearest call's bytes for a byte of its input, and the --memory at which nothing is left for
     * giants, with per_byte, where these are highest. */
    double dearest_call, dearest_per_byte;
    uint64_t dearest_floor;
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    bool lent; /* the reserve */
};

sluice_status rooms_init(struct rooms *, uint64_t share, uint64_t reserve,
                         struct sluice_error *) MUST_USE;
void rooms_deinit(struct rooms *);
/* There is less for all from now on. What was lent before stays lent. */
void rooms_shrink(struct rooms *, uint64_t share, uint64_t reserve);

/* Of a task. */
struct room {
    struct rooms *rooms;          /* NULL = no limit */
    const _Atomic int *cancelled; /* may be NULL */
    bool giant;                   /* the batch at hand is above an ordinary one: reckoned */
    bool has_reserve;
    const char *what;         /* the giant is, for messages; NULL = a record */
    uint64_t record;          /* bytes of the giant at hand: for messages */
    uint64_t held;            /* its columns and buffers */
    struct room_watch *watch; /* see room_asked */
};

/* Sees to it that `need` bytes more than are held can be taken, waiting for the reserve if it must.
 * who: "stage", or what else needs them; name may be NULL; bytes: of what is worked on.
 * SLUICE_E_NOMEM: they would not fit if all others waited. SLUICE_E_CANCELLED. */
sluice_status room_ask(struct room *, const char *who, const char *name, uint64_t bytes,
                       uint64_t need, struct sluice_error *) MUST_USE;
/* Test hook: SLUICE_TEST_ROOM=FILE appends a line for each thing that is asked for, which
 * room_asked ends: who, name, bytes of input, bytes that were asked for, bytes that the process had
 * more at its peak, and has now. True of one worker alone. */
void room_asked(struct room *);

/* Done with what was asked for: gives the reserve back unless what is still held needs it. */
void room_done(struct room *);
/* At the end of the task, however it ended. */
void room_deinit(struct room *);

#endif
