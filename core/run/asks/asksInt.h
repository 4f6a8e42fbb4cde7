/* What asks.c (calls) and flights.c (the client's thread) share: asks that are under way. One lock
 * over all of it, which is never held while a disk or a server works. */
#ifndef SLUICE_RUN_ASKS_INT_H
#define SLUICE_RUN_ASKS_INT_H

#include <pthread.h>

#include "net/http.h"
#include "run/asks/asks.h"
#include "run/asks/claims.h"
#include "run/asks/journal.h"
#include "run/asks/latencies.h"
#include "run/asks/request.h"

/* Between two looks at what others were answered and ask: on a disk, and where each is a request.
 * */
#define ASKS_LOOK_NS UINT64_C(100000000)
#define ASKS_LOOK_FAR_NS UINT64_C(500000000)

enum entry_state {
    ENTRY_QUEUED,  /* to be sent: in line at its server, or not before `due` */
    ENTRY_AWAITED, /* another process asks it; looked for at `due` */
    ENTRY_FLYING,  /* sent; perhaps to be sent a second time at `due`, or in line for that */
    ENTRY_KEEPING, /* answered, and not durable or read yet: the client's thread has it */
    ENTRY_DONE,
    ENTRY_FAILED
};

struct entry;

struct host {
    struct host *next;
    char *name;
    uint32_t flying;            /* sent, and not given up, come in vain or durable */
    uint32_t most;              /* of those; the least that one who asks it wants */
    uint32_t hedging;           /* asks that go out a second time */
    uint64_t free_ns;           /* when the next request may begin, by its rate */
    struct latencies latencies; /* where a policy wants to know */
    struct entry *first, *last; /* in line */
};

/* A request on its way; its address is the client's tag. */
struct shot {
    struct entry *entry;
    bool flying;
};

/* One ask, however many wait for its answer. */
struct entry {
    struct entry *map_next;
    struct entry *before, *behind; /* in line at its server */
    struct entry *left_next, *kept_next;
    size_t later; /* its place among those with a time, + 1; 0 = none */
    uint64_t due;
    struct hash128 key;
    struct host *home; /* of what was asked */
    struct host *host; /* of the hop, if there is one */
    struct ask_policy policy;
    enum entry_state state;
    bool in_line;
    bool in_map;
    bool hedging;
    bool left;    /* in the list of what nobody waits for */
    bool fetched; /* by this process; else the journal knew it */
    bool counted;
    bool fresh;        /* the next try takes a connection of its own */
    bool claimed;      /* no other process asks it; not set where there is none */
    uint64_t since_ns; /* it was awaited first; 0 = never */
    uint64_t sent_ns;  /* by its newest try */
    uint64_t hedge_ns; /* after this it may be sent a second time */
    uint32_t waiters;
    uint32_t tries; /* of the whole, with all its hops */
    uint32_t hops;
    uint32_t hedges;
    uint64_t bytes_out;   /* bodies */
    struct request asked; /* as the stage did */
    struct request hop;   /* where a server sent us instead; no text: nowhere */
    struct shot shots[2];
    struct journal_answer answer; /* KEEPING: the client's thread alone; DONE: for all */
    sluice_status status;         /* FAILED */
    char *why;                    /* FAILED; NULL: out of memory */
};

struct asks {
    struct asks_options options;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct journal *journal;
    struct claims *claims; /* the client's thread alone; NULL: there are no others */
    struct hash128 *given; /* what was claimed and is not asked: to be said to the others */
    size_t given_n, given_room;
    struct http *http;
    struct entry **map; /* chains of all under way but those that failed */
    size_t map_n, map_capacity;
    struct entry **later; /* a heap of those with a time, the first due first */
    size_t later_n, later_capacity;
    size_t n; /* entries */
    struct host *hosts;
    struct entry *left;  /* nobody waits for them any more: to be given up */
    struct entry *found; /* in the journal by now, by another: the client's thread alone */
    struct entry *kept;  /* in the journal, to be synced: the client's thread alone */
    size_t n_failed;     /* so far */
    uint64_t looked_ns;
    uint64_t claims_ns;   /* claims were looked at: the client's thread alone */
    uint64_t synced_ns;   /* the same */
    sluice_status broken; /* the journal can't be written */
    struct sluice_error why;
};

/* ---- entries.c: with the lock held ---- */

struct entry *entry_find(const struct asks *, struct hash128 key); /* NULL: not under way */
struct host *host_find(struct asks *, const char *name);           /* NULL: out of memory */
void host_heed(struct host *, const struct ask_policy *);          /* how much it may be asked */
/* From now on others find it; asks takes it. false: out of memory, and nothing is taken. */
bool entry_enter(struct asks *, struct entry *);
/* Others find it no more. */
void entry_hide(struct asks *, struct entry *);
void entry_line_up(struct entry *, bool first); /* at its server */
void entry_leave_line(struct entry *);
/* A second request may go out: it counts from now on. false: too many do. */
bool entry_hedge(struct entry *);
void entry_wait(struct asks *, struct entry *); /* until it is due */
/* The first that is due by now, which waits no longer; NULL: none, and *next is lowered to the
 * time of the next. */
struct entry *entry_due(struct asks *, uint64_t now, uint64_t *next);
/* Neither in line nor with a time nor hedged. */
void entry_rest(struct asks *, struct entry *);
void entry_remove(struct asks *, struct entry *); /* frees it */
void entry_free(struct entry *);                  /* that never was entered */
/* It is not asked by this process any more; others may. */
void entry_disclaim(struct asks *, struct entry *);
/* The span between two looks. */
uint64_t asks_look_ns(const struct asks *);

/* ---- claiming.c: on the client's thread, without the lock ---- */

/* Now and then: what others ask; gives up being alone when they have come. */
sluice_status claiming_look(struct asks *, uint64_t now, struct sluice_error *) MUST_USE;
/* Claims what is to be sent next and some more. *later: others have yet to say what they ask. */
sluice_status claiming_take(struct asks *, uint64_t now, bool *later,
                            struct sluice_error *) MUST_USE;
/* Whether an ask may be sent. The lock is held. */
bool claiming_allows(const struct asks *, const struct entry *);
/* Whether to go on waiting for one that another process asks. The lock is held. */
bool claiming_awaits(const struct asks *, const struct entry *, uint64_t now);

/* ---- flights.c ---- */

/* Starts the client's thread. The lock is held. */
sluice_status flights_start(struct asks *, struct sluice_error *) MUST_USE;

#endif
