/* Workers of stages: those of stateless stages go from task to task of a thread. */
#include <stdlib.h>

#include "run/chain/chainInt.h"

struct worker_cache {
    uint32_t n_phases;
    const struct plan *plan;
    struct stage_worker ***workers; /* [phase][op] */
};

struct worker_cache *worker_cache_create(const struct plan *plan)
{
    struct worker_cache *cache = calloc(1, sizeof *cache);

    if (cache == NULL) {
        return NULL;
    }
    cache->plan = plan;
    cache->workers = calloc(plan->n_phases + 1, sizeof *cache->workers);
    if (cache->workers == NULL) {
        free(cache);
        return NULL;
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        cache->workers[p] = calloc(plan->phases[p]->n_ops + 1, sizeof **cache->workers);
        if (cache->workers[p] == NULL) {
            worker_cache_destroy(cache);
            return NULL;
        }
        cache->n_phases = p + 1;
    }
    return cache;
}

void worker_cache_destroy(struct worker_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (uint32_t p = 0; p < cache->n_phases; p++) {
        for (uint32_t i = 0; i < cache->plan->phases[p]->n_ops; i++) {
            stage_worker_close(cache->workers[p][i]);
        }
        free(cache->workers[p]);
    }
    free(cache->workers);
    free(cache);
}

bool chain_repeats(const struct op *op)
{
    return op_declared(op)->mode == SLUICE_MODE_STATELESS &&
           op_declared(op)->role != SLUICE_ROLE_READER &&
           op_declared(op)->role != SLUICE_ROLE_WRITER &&
           op_declared(op)->role != SLUICE_ROLE_GATE &&
           (op_declared(op)->flags & SLUICE_STAGE_SIDE_INPUT) == 0 &&
           op_declared(op)->flush == NULL;
}

sluice_status chain_worker(struct chain *chain, uint32_t index, struct stage_worker **out,
                           struct sluice_error *err)
{
    struct op_state *state = &chain->states[index];
    const struct op *op = chain->phase->ops[index];

    if (state->worker == NULL) {
        state->worker = waiting_idle(chain, index);
    }
    if (state->worker == NULL && chain_repeats(op)) {
        struct stage_worker **kept = &chain->options.cache->workers[chain->phase->index][index];
        state->worker = *kept;
        *kept = NULL;
    }
    if (state->worker == NULL) {
        TRY(stage_worker_open(op_code(op)->stage, &state->worker, err));
    }
    *out = state->worker;
    return SLUICE_OK;
}

/* Forgets a worker whose state is undefined. */
void chain_drop_worker(struct chain *chain, uint32_t index)
{
    stage_worker_close(chain->states[index].worker);
    chain->states[index].worker = NULL;
}

void chain_leave_worker(struct chain *chain, uint32_t index)
{
    struct op_state *state = &chain->states[index];
    const struct op *op = chain->phase->ops[index];

    waiting_destroy(chain, index);
    if (state->worker != NULL && chain_repeats(op) && stage_worker_usable(state->worker) &&
        !chain->failed) {
        chain->options.cache->workers[chain->phase->index][index] = state->worker;
    } else {
        stage_worker_close(state->worker);
    }
}

static void exchange(struct op_state *state, struct part *part)
{
    struct stage_worker *worker = state->worker;
    struct shards *shards = state->shards;
    struct buf traced = state->traced;

    state->worker = part->worker;
    state->shards = part->shards;
    state->traced = part->traced;
    part->worker = worker;
    part->shards = shards;
    part->traced = traced;
}

sluice_status chain_with_part(struct chain *chain, const struct op *op, struct part *part,
                              chain_part_fn *each, void *ctx, struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    sluice_status status;

    exchange(state, part);
    status = each(chain, op, part, ctx, err);
    exchange(state, part);
    return status;
}

sluice_status chain_between(struct chain *chain, struct sluice_error *err)
{
    const struct chain_pause *paused = chain->options.paused;

    TRY(chain_check_cancelled(chain, err));
    return paused == NULL || chain->n_behind > 0 ? SLUICE_OK
                                                 : paused->pause(paused->ctx, chain, err);
}

sluice_status chain_check_cancelled(const struct chain *chain, struct sluice_error *err)
{
    const _Atomic int *cancelled = chain->options.cancelled;

    if (cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed) != 0) {
        return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
    }
    return SLUICE_OK;
}

/* What a row-local stage keeps is what its side input told it, which an exchange tells again. */
bool chain_learns_again(const struct phase *phase, const struct op *op)
{
    const struct sluice_stage *stage = op_declared(op);
    const struct op *side;

    if (stage->mode != SLUICE_MODE_STATELESS || stage->role == SLUICE_ROLE_GATE ||
        (stage->flags & SLUICE_STAGE_SIDE_INPUT) == 0 || stage_may_ask(op_code(op)->stage) ||
        stage_can_save(op_code(op)->stage)) {
        return false;
    }
    side = phase_input(phase, op, 1);
    return side->kind == OP_LOAD && op_load(side)->side && !phase_pulls(phase, side->index);
}
