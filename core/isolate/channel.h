/* A line between the parent and a child process: packets over a socket pair, each with at most
 * one descriptor, and two areas of shared memory for what a call and its answer carry. Depends
 * on area. One thread at each end. */
#ifndef SLUICE_ISOLATE_CHANNEL_H
#define SLUICE_ISOLATE_CHANNEL_H

#include "isolate/area.h"

#define CHANNEL_MAIN_FD 3    /* of the child: calls to the instance */
#define CHANNEL_SERVICE_FD 4 /* of the child: what the stage asks its host for */
#define CHANNEL_INLINE_MAX 60000u

enum channel_op { /* of a packet */
                  /* parent to child */
                  OP_AREA = 1, /* a descriptor of shared memory: arg is an enum channel_area */
                  OP_OPEN,
                  OP_PREPARE,
                  OP_CLOSE,
                  OP_WORKER, /* a worker's channel, for its calls; arg: its serial */
                  OP_WORKER_OPEN,
                  OP_PROCESS,
                  OP_READ,
                  OP_SURVEY,
                  OP_SCAN,
                  OP_RESUME, /* goes on with the call whose answer was asks */
                  OP_FLUSH,
                  OP_SAVE,
                  OP_LOAD,
                  OP_MERGE,
                  OP_JUDGE,
                  OP_WORKER_CLOSE,
                  /* child to parent */
                  OP_ANSWER, /* arg: 0 = size bytes of result, 1 = of an error */
                  OP_GROW,   /* an area for size bytes of answer is asked for: OP_AREA follows */
                  /* services: child to parent, then OP_ANSWER */
                  OP_LOG,  /* no answer; arg: level */
                  OP_FILE, /* answered with a descriptor */
                  OP_MAP,  /* likewise: of the file itself, to be read only */
                  OP_FIND,
                  OP_WANTED
};

enum channel_area { AREA_REQUEST, AREA_REPLY, AREA_STATUS, AREA_BLAME };

struct packet {
    uint32_t op, reserved;
    uint64_t size; /* bytes in the area, or of an area */
    int64_t arg;
};

struct channel {
    int fd;          /* owned; -1 = none */
    uint64_t serial; /* of a worker, from 1 */
    struct area request, reply;
};

struct blame_page { /* written by the child when it dies */
    _Atomic uint64_t serial;
};

#define CHANNEL_INIT                                       \
    {                                                      \
        .fd = -1, .request = AREA_INIT, .reply = AREA_INIT \
    }

void channel_close(struct channel *);
/* Two ends, both close-on-exec. */
sluice_status channel_pair(int ends[2], struct sluice_error *err) MUST_USE;
/* Sends a packet with n bytes behind it (at most CHANNEL_INLINE_MAX) and descriptor pass (-1 =
 * none; borrowed). false = the other end is gone, or, with now, its queue is full. */
bool channel_send(int fd, const struct packet *, const void *data, size_t n, int pass, bool now);
/* Receives one: *n in = room in data (may be NULL with 0), out = bytes. *passed: the descriptor
 * that came (the caller's), or -1; NULL: one that comes is closed. 1 = received, 0 = nothing
 * there (only with now), -1 = the other end is gone or sent nonsense. */
int channel_receive(int fd, struct packet *, void *data, size_t *n, int *passed, bool now);

#endif
