/* Asks of a run to the world (struct sluice_ask of kind HTTP): fetched many at once, kept in a
 * journal, never asked twice. Depends on plugin/stage.h, store, core/net.
 *
 * A call of a stage that asked is begun here and waited for by the chain (run/chain/waiting.c),
 * while other calls go on. An answer is looked up in the journal first; what is not there is
 * fetched by core/net, written to the journal, and given only when it is durable there. Two calls
 * that ask the same of the same stage ask once; so do two processes that work on the run
 * (claims.h): one of them asks, and the others wait for its answer, for as long as they would
 * themselves have tried at most. Who died or gave up holds nobody up. Thread-safe; one struct
 * asking belongs to one thread at a time.
 *
 * An answer is what has a status 2xx, or 4xx for good (a refusal). What may pass (no connection,
 * 408, 425, 429, 5xx) is tried again from the begin; a 3xx is followed where the policy allows its
 * target (request.h), and else fails: neither is ever recorded. With a hedge the same request goes
 * out a second time if no answer has come for so long, or for longer than most of that server took,
 * within in_flight, and the first answer counts. */
#ifndef SLUICE_RUN_ASKS_H
#define SLUICE_RUN_ASKS_H

#include <stdatomic.h>

#include "plan/ask_policy.h"
#include "plugin/stage.h"
#include "run/asks/journal.h"
#include "run/metrics.h"
#include "store/member.h"

#define ASKS_FOLDER "answers" /* of a run: its journal */
#define ASKS_CLAIMS "claims"  /* and who asks what (claims.h) */

struct asks;
struct asking;

struct asks_options {
    const char *folder;           /* RUN/answers: the journal */
    const char *claims;           /* RUN/claims; NULL: nobody else asks */
    struct member *member;        /* this process, where there are claims */
    bool recorded;                /* nothing is asked: the journal has all answers */
    uint64_t seed;                /* of the pipeline: jitter */
    const _Atomic int *cancelled; /* may be NULL */
    void (*warn)(void *ctx, const char *message); /* may be NULL; any thread */
    void *ctx;
};

/* Opens the journal (made with the first answer) and reads what it holds; starts no thread before
 * something is asked. Gives. */
sluice_status asks_create(const struct asks_options *, struct asks **out,
                          struct sluice_error *) MUST_USE;
void asks_destroy(struct asks *); /* NULL is fine; every asking is ended */

/* Begins what a call asked (result->asks, copied): returns at once. stage: the op's key. policy is
 * borrowed until the end. SLUICE_E_CONFIG: a host that the policy does not name, a text that is no
 * request; with `recorded`, one that the journal does not know. Gives. */
sluice_status asks_begin(struct asks *, struct hash128 stage, const struct ask_policy *,
                         const struct stage_result *result, struct asking **out,
                         struct sluice_error *) MUST_USE;
/* Whether waiting would return at once. */
bool asking_done(struct asking *);
/* Waits until all answers are there and durable. *items: n of them in the order of asking, borrowed
 * until asking_end. SLUICE_E_IO: one could not be had by all patience (URL, last status, tries).
 * SLUICE_E_CANCELLED: the run is being stopped (seen within 0.1 s). */
sluice_status asking_wait(struct asking *, const struct sluice_answer **items, uint32_t *n,
                          struct sluice_error *) MUST_USE;
void asking_end(struct asking *); /* NULL is fine; what nobody else waits for is given up */

/* By what the journal knows an ask of a stage (the op's key), and what a stage gets of an answer
 * there, which it borrows. */
struct hash128 asks_key(struct hash128 stage, const void *text, size_t n);
struct sluice_answer asks_answer(const struct journal_answer *, uint64_t tag);

/* What became of its asks, when asking_wait went well. */
void asking_count(const struct asking *, struct ask_metrics *);

#endif
