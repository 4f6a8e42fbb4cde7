/* Calls that asked for something wait here, each with a worker, a view and a batch of its own,
 * while the chain goes on with the next batch. What comes of them is delivered in the order of the
 * rows, whichever was answered first, so that no row and no order depends on a server.
 *
 * Only calls that may be made again wait side by side (chain_repeats), of tasks whose rows come in
 * their order; all others are waited for at once, as are giants. */
#include <assert.h>
#include <stdlib.h>

#include "run/asks/asks.h"
#include "run/chain/chainInt.h"

bool waiting_may(const struct chain *chain, const struct op *op, uint32_t port)
{
    return port == 0 && stage_may_ask(op_code(op)->stage) && chain_repeats(op) && chain->by_rows &&
           !chain->room.giant;
}

/* ---- one call ---- */

static sluice_status begin(struct chain *chain, const struct op *op, struct answer *answer,
                           struct sluice_error *err)
{
    if (chain->options.asks == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "stage '%s' asks a server, and none is asked here; `sluice run` does",
                         op->name);
    }
    return asks_begin(chain->options.asks, op->key, &op->node->asking, &answer->result,
                      &answer->asking, err);
}

/* Goes on with the call once: it may ask again. */
static sluice_status go_on(struct chain *chain, const struct op *op, struct stage_worker *worker,
                           struct answer *answer, struct sluice_error *err)
{
    struct time_spent *time = &chain->options.metrics->ops[op->index].time;
    const struct sluice_answer *items;
    uint32_t n;
    sluice_status status;

    meter_begin(&chain->meter);
    status = asking_wait(answer->asking, &items, &n, err);
    meter_end(&chain->meter, time, false);
    if (status == SLUICE_OK) {
        asking_count(answer->asking, &chain->options.metrics->ops[op->index].asks);
        meter_begin(&chain->meter);
        status = stage_resume(worker, items, n, &answer->result, err);
        meter_end(&chain->meter, time, op_isolated(op));
    }
    asking_end(answer->asking);
    answer->asking = NULL;
    return status;
}

sluice_status waiting_finish(struct chain *chain, const struct op *op, struct stage_worker *worker,
                             struct answer *answer, struct sluice_error *err)
{
    while (waiting_call(answer)) {
        TRY(begin(chain, op, answer, err));
        TRY(go_on(chain, op, worker, answer, err));
    }
    return SLUICE_OK;
}

sluice_status waiting_leave(struct chain *chain, const struct op *op, struct answer *answer,
                            struct sluice_error *err)
{
    TRY(begin(chain, op, answer, err));
    answer->worker = chain->states[op->index].worker;
    chain->states[op->index].worker = NULL;
    return SLUICE_OK;
}

/* ---- side by side ---- */

static struct answer **place(struct waiting *waiting, uint32_t k)
{
    return &waiting->answers[(waiting->first + k) % WAITING_MOST];
}

struct stage_worker *waiting_idle(struct chain *chain, uint32_t op)
{
    struct waiting *waiting = chain->states[op].waiting;

    return waiting == NULL || waiting->n_idle == 0 ? NULL : waiting->idle[--waiting->n_idle];
}

void waiting_destroy(struct chain *chain, uint32_t op)
{
    struct waiting *waiting = chain->states[op].waiting;

    for (uint32_t k = 0; waiting != NULL && k < waiting->n; k++) {
        answers_destroy(*place(waiting, k));
    }
    for (uint32_t k = 0; waiting != NULL && k < waiting->n_idle; k++) {
        stage_worker_close(waiting->idle[k]);
    }
    free(waiting);
    chain->states[op].waiting = NULL;
}

/* The call is over, well or not: its worker is free for another. */
static void free_worker(struct waiting *waiting, struct answer *answer)
{
    if (stage_worker_usable(answer->worker) && waiting->n_idle < WAITING_MOST) {
        waiting->idle[waiting->n_idle++] = answer->worker;
    } else {
        stage_worker_close(answer->worker);
    }
    answer->worker = NULL;
}

/* The call that waited failed: it is made again over the batch, or over parts of it, and these are
 * waited for. */
static sluice_status failed(struct chain *chain, const struct op *op, struct answer **at,
                            sluice_status status, struct sluice_error *err)
{
    struct answer *answer = *at;
    sluice_status fault;

    chain_call_ended(chain, op, status, &fault);
    if (status != SLUICE_E_RETRY && fault == SLUICE_OK) {
        return status;
    }
    status = chain_ask_again(chain, op, answer->batch, fault, at, err);
    answer_release(chain, answer);
    return status;
}

/* Goes on with a call as far as that needs no waiting; wait: to its end. */
static sluice_status tend_call(struct chain *chain, const struct op *op, struct waiting *waiting,
                               struct answer **at, bool wait, struct sluice_error *err)
{
    while (*at != NULL && waiting_call(*at) && (wait || asking_done((*at)->asking))) {
        struct answer *answer = *at;
        sluice_status status = go_on(chain, op, answer->worker, answer, err);
        if (status == SLUICE_OK && waiting_call(answer)) {
            TRY(begin(chain, op, answer, err));
            continue;
        }
        free_worker(waiting, answer);
        if (status == SLUICE_OK) {
            giant_after(chain, op);
            return SLUICE_OK;
        }
        TRY(failed(chain, op, at, status, err));
    }
    return SLUICE_OK;
}

static sluice_status deliver_first(struct chain *chain, const struct op *op,
                                   struct waiting *waiting, struct sluice_error *err)
{
    struct answer *answers = *place(waiting, 0);

    *place(waiting, 0) = NULL;
    waiting->first = (waiting->first + 1) % WAITING_MOST;
    waiting->n--;
    return chain_deliver_answers(chain, op, 0, answers, err);
}

/* All calls that can, go on; the first `wait` of them are waited for. What is over at the begin of
 * the line is delivered. */
static sluice_status tend(struct chain *chain, const struct op *op, uint32_t wait,
                          struct sluice_error *err)
{
    struct waiting *waiting = chain->states[op->index].waiting;

    for (uint32_t k = 0; k < waiting->n; k++) {
        TRY(tend_call(chain, op, waiting, place(waiting, k), false, err));
    }
    while (waiting->n > 0) {
        struct answer *first = *place(waiting, 0);
        if (first != NULL && waiting_call(first)) {
            if (wait == 0) {
                break;
            }
            TRY(tend_call(chain, op, waiting, place(waiting, 0), true, err));
        }
        wait -= wait > 0;
        TRY(deliver_first(chain, op, waiting, err));
    }
    return SLUICE_OK;
}

sluice_status waiting_tend(struct chain *chain, const struct op *op, bool all,
                           struct sluice_error *err)
{
    return chain->states[op->index].waiting == NULL ? SLUICE_OK
                                                    : tend(chain, op, all ? WAITING_MOST : 0, err);
}

sluice_status waiting_queue(struct chain *chain, const struct op *op, struct answer *answers,
                            bool *taken, struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    bool waits = answers != NULL && waiting_call(answers);

    *taken = false;
    if (!waits && (state->waiting == NULL || state->waiting->n == 0)) {
        return SLUICE_OK;
    }
    *taken = true;
    if (state->waiting == NULL) {
        state->waiting = calloc(1, sizeof *state->waiting);
    }
    if (state->waiting == NULL) {
        answers_destroy(answers);
        return error_nomem(err, "calls that wait");
    }
    *place(state->waiting, state->waiting->n++) = answers;
    return tend(chain, op, state->waiting->n == WAITING_MOST ? 1 : 0, err);
}

uint64_t waiting_first_row(const struct chain *chain)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        const struct op *op = chain->phase->ops[i];
        struct waiting *waiting = chain->states[i].waiting;
        if (waiting != NULL && waiting->n > 0) {
            const struct batch *batch = (*place(waiting, 0))->batch;
            int64_t at = batch->rows == NULL ? 0 : batch->rows[0];
            uint64_t row = batch->n_rows == 0
                               ? 0
                               : chain_row_number(phase_input(chain->phase, op, 0), batch, at);
            first = row < first ? row : first;
        }
    }
    return first;
}
