/* A chain between two batches, saved and restored: see chain.h. What is saved is what ops keep of
 * the rows so far: states of stages, rows on their way to files, accounts, notes. What sources keep
 * is made again, as they give their rows again: where a split is read, what it held must be known
 * to its end anyway, and no place in a compressed file need be found again. */
#include <string.h>

#include "run/chain/chainInt.h"
#include "store/saved.h"

/* Whether a new worker of a stage is as good as one that saw rows. */
static bool keeps_nothing(const struct phase *phase, const struct op *op)
{
    const struct sluice_stage *stage = op_declared(op);

    return chain_repeats(op) || stage->worker_open == NULL ||
           (stage->mode == SLUICE_MODE_STATELESS && stage->role != SLUICE_ROLE_GATE &&
            (stage->flags & SLUICE_STAGE_SIDE_INPUT) == 0) ||
           chain_learns_again(phase, op);
}

static bool saves(const struct op *op)
{
    const struct stage *stage = op_code(op)->stage;

    return stage_can_save(stage) || (op_is(op, SLUICE_ROLE_GATE) && stage_can_merge(stage));
}

bool chain_can_save(const struct phase *phase, const struct op **op)
{
    *op = NULL;
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (phase->ops[i]->kind == OP_STAGE && !keeps_nothing(phase, phase->ops[i]) &&
            !saves(phase->ops[i])) {
            *op = phase->ops[i];
            return false;
        }
    }
    return true;
}

/* Gives its rows to the chain by itself, and gives them again. */
static bool is_source(const struct chain *chain, const struct op *op)
{
    return op->kind == OP_READ || (op->kind == OP_LOAD && !phase_pulls(chain->phase, op->index));
}

bool chain_behind(const struct chain *chain)
{
    return chain->n_behind > 0;
}

static uint64_t rows_of(const struct chain *chain, bool sides)
{
    uint64_t rows = 0;

    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        const struct op *op = chain->phase->ops[i];
        if (is_source(chain, op) && (sides || op->kind != OP_LOAD || !op_load(op)->side)) {
            rows += chain->ledger.ops[i].emitted + chain->states[i].skip;
        }
    }
    return rows;
}

uint64_t chain_rows(const struct chain *chain)
{
    return rows_of(chain, false);
}

uint64_t chain_all_rows(const struct chain *chain)
{
    return rows_of(chain, true);
}

/* ---- saving ---- */

/* Nothing waits for an answer, and dropped rows are where they go. */
static sluice_status settle(struct chain *chain, bool *ready, struct sluice_error *err)
{
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        TRY(waiting_tend(chain, chain->phase->ops[i], true, err));
    }
    if (chain->drains) {
        TRY(chain_drain(chain, chain->drained, err));
    }
    *ready = true;
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        *ready = *ready && chain->states[i].n_slices == 0;
    }
    return SLUICE_OK;
}

/* What fails on the way to the file is said behind it all: the stage is none the worse for it. */
static sluice_status put_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    (void)err;
    saved_put_bytes(ctx, data, n);
    return SLUICE_OK;
}

static sluice_status save_worker(struct chain *chain, const struct op *op, struct saved *out,
                                 bool *hurt, struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    const struct stage_stream stream = { .ctx = out, .put = put_piece };
    struct stage_worker *worker;
    sluice_status status = SLUICE_OK;

    saved_put_bytes(out, state->traced.data, state->traced.size);
    if (!keeps_nothing(chain->phase, op)) {
        *hurt = true;
        status = chain_worker(chain, op->index, &worker, err);
        if (status == SLUICE_OK) {
            status = stage_save_to(worker, &stream, err);
        }
        *hurt = status != SLUICE_OK;
    }
    TRY(status);
    return op_writes(op) ? shards_save(state->shards, out, err) : saved_status(out, err);
}

struct part_saving {
    struct saved *out;
    bool *hurt;
};

static sluice_status save_part(struct chain *chain, const struct op *op, struct part *part,
                               void *ctx, struct sluice_error *err)
{
    const struct part_saving *saving = ctx;

    saved_put_bytes(saving->out, part->folder, strlen(part->folder));
    return save_worker(chain, op, saving->out, saving->hurt, err);
}

static sluice_status save_stage(struct chain *chain, const struct op *op, struct saved *out,
                                bool *hurt, struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    struct part_saving saving = { out, hurt };

    saved_put(out, state->next_row);
    saved_put(out, state->took);
    if (state->parts == NULL) {
        return save_worker(chain, op, out, hurt, err);
    }
    saved_put(out, state->parts->n);
    for (uint32_t k = 0; k < state->parts->n; k++) {
        TRY(chain_with_part(chain, op, state->parts->items[k], save_part, &saving, err));
    }
    return saved_status(out, err);
}

static sluice_status save_op(struct chain *chain, const struct op *op, struct saved *out,
                             bool *hurt, struct sluice_error *err)
{
    const struct op_state *state = &chain->states[op->index];

    saved_put(out, op->kind);
    if (is_source(chain, op)) {
        saved_put(out, chain->ledger.ops[op->index].emitted);
        return saved_status(out, err);
    }
    if (op->kind == OP_LOAD) {
        return saved_status(out, err); /* the collector that pulls it says how far it came */
    }
    ledger_save(&chain->ledger.ops[op->index], out);
    switch (op->kind) {
    case OP_STAGE:
        return save_stage(chain, op, out, hurt, err);
    case OP_STORE:
        return port_save(state->port, out, err);
    case OP_COLLECT:
        saved_put(out, state->earlier_taken);
        return saved_status(out, err);
    default:
        return saved_status(out, err);
    }
}

sluice_status chain_save(struct chain *chain, struct saved *out, bool *ready, bool *hurt,
                         struct sluice_error *err)
{
    *hurt = true;
    TRY(settle(chain, ready, err));
    *hurt = false;
    if (!*ready) {
        return SLUICE_OK;
    }
    saved_put(out, chain->phase->n_ops);
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        TRY(save_op(chain, chain->phase->ops[i], out, hurt, err));
    }
    saved_put(out, chain->drained);
    saved_put(out, chain->drains);
    notes_save(&chain->drops, out);
    notes_save(&chain->bad, out);
    TRY(quarantine_save(&chain->kept, out, err));
    saved_put(out, chain->tables[TABLE_DROPS] != NULL);
    return chain->tables[TABLE_DROPS] != NULL ? table_save(chain->tables[TABLE_DROPS], out, err)
                                              : saved_status(out, err);
}

/* ---- restoring ---- */

/* Whether the bytes are whole rows, as written.c notes them. */
static bool traced_valid(const struct buf *traced)
{
    size_t at = 0;

    while (at < traced->size) {
        uint64_t head[4];
        uint64_t left = (traced->size - at) / sizeof head[0];
        if (left < 4) {
            return false;
        }
        memcpy(head, traced->data + at, sizeof head);
        if (head[2] > left || head[3] > left || head[2] + head[3] > left - 4) {
            return false;
        }
        at += (size_t)(4 + head[2] + head[3]) * sizeof head[0];
    }
    return at == traced->size;
}

static sluice_status get_piece(void *ctx, struct buf *piece, struct sluice_error *err)
{
    struct restored *in = ctx;

    restored_get_bytes(in, STAGE_PIECE, piece);
    return restored_status(in, err);
}

static sluice_status restore_worker(struct chain *chain, const struct op *op, struct restored *in,
                                    struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    const struct stage_stream stream = { .ctx = in, .get = get_piece };
    struct stage_worker *worker;

    restored_get_bytes(in, UINT64_MAX, &state->traced);
    if (!traced_valid(&state->traced)) {
        restored_refuse(in, "the sources of written rows");
    }
    TRY(restored_status(in, err));
    if (!keeps_nothing(chain->phase, op)) {
        TRY(chain_worker(chain, op->index, &worker, err));
        TRY(stage_load_from(worker, &stream, err));
    }
    return op_writes(op) ? shards_restore(state->shards, in, err) : SLUICE_OK;
}

static sluice_status restore_part(struct chain *chain, const struct op *op, struct part *part,
                                  void *ctx, struct sluice_error *err)
{
    (void)part;
    return restore_worker(chain, op, ctx, err);
}

static sluice_status restore_stage(struct chain *chain, const struct op *op, struct restored *in,
                                   struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];
    struct buf folder = BUF_INIT;
    sluice_status status = SLUICE_OK;
    uint64_t n;

    state->next_row = restored_get(in, UINT64_MAX);
    state->took = restored_get(in, 1) != 0;
    if (state->parts == NULL) {
        return restore_worker(chain, op, in, err);
    }
    n = restored_get(in, state->parts->folders.most);
    for (uint64_t k = 0; status == SLUICE_OK && k < n; k++) {
        struct part *part = NULL;
        restored_get_bytes(in, 1000, &folder);
        status = restored_status(in, err);
        if (status == SLUICE_OK) {
            status = parts_add(state->parts, buf_str(&folder), &part, err);
        }
        if (status == SLUICE_OK) {
            status = chain_with_part(chain, op, part, restore_part, in, err);
        }
    }
    buf_deinit(&folder);
    return status == SLUICE_OK ? restored_status(in, err) : status;
}

static sluice_status restore_op(struct chain *chain, const struct op *op, struct restored *in,
                                struct sluice_error *err)
{
    struct op_state *state = &chain->states[op->index];

    if (restored_get(in, UINT32_MAX) != (uint64_t)op->kind) {
        restored_refuse(in, "an op of another kind");
    }
    if (is_source(chain, op)) {
        state->skip = restored_get(in, INT64_MAX);
        chain->n_behind += state->skip > 0;
        return restored_status(in, err);
    }
    if (op->kind == OP_LOAD) {
        return restored_status(in, err);
    }
    TRY(ledger_restore(&chain->ledger.ops[op->index], in, err));
    switch (op->kind) {
    case OP_STAGE:
        return restore_stage(chain, op, in, err);
    case OP_STORE:
        return port_restore(state->port, in, err);
    case OP_COLLECT:
        state->earlier_taken = state->earlier_skip = restored_get(in, INT64_MAX);
        return restored_status(in, err);
    default:
        return restored_status(in, err);
    }
}

/* Notes name ops, and reasons of stages. */
static bool drops_valid(const struct chain *chain)
{
    for (size_t k = 0; k < chain->drops.n; k++) {
        const struct note *note = &chain->drops.items[k];
        const struct op *op = chain->phase->ops[note->op];
        if (op->kind != OP_STAGE || note->reason < 1 ||
            (uint32_t)note->reason > stage_n_reasons(op_code(op)->stage)) {
            return false;
        }
    }
    for (size_t k = 0; k < chain->bad.n; k++) {
        const struct note *note = &chain->bad.items[k];
        if (note->text_size == 0 || notes_text(&chain->bad, note)[note->text_size - 1] != '\0' ||
            note->more_size == 0 || notes_more(&chain->bad, note)[note->more_size - 1] != '\0') {
            return false;
        }
    }
    return true;
}

sluice_status chain_restore(struct chain *chain, struct restored *in, struct sluice_error *err)
{
    const struct phase *phase = chain->phase;

    if (restored_get(in, UINT32_MAX) != phase->n_ops) {
        restored_refuse(in, "a phase with other ops");
    }
    TRY(restored_status(in, err));
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        TRY(restore_op(chain, phase->ops[i], in, err));
    }
    chain->drained = restored_get(in, UINT64_MAX);
    chain->drains = restored_get(in, 1) != 0;
    TRY(notes_restore(&chain->drops, phase->n_ops, in, err));
    TRY(notes_restore(&chain->bad, phase->n_ops, in, err));
    if (!drops_valid(chain)) {
        restored_refuse(in, "notes about rows");
    }
    TRY(quarantine_restore(&chain->kept, phase, in, err));
    if (restored_get(in, 1) != 0) {
        TRY(chain_open_table(chain, TABLE_DROPS, err));
        TRY(table_restore(chain->tables[TABLE_DROPS], in, err));
    }
    TRY(restored_end(in, err));
    for (uint32_t i = 0; i < phase->n_ops; i++) { /* readers count theirs again */
        if (phase->ops[i]->kind != OP_READ) {
            chain_count_bad(chain, chain->ledger.ops[i].quarantined);
        }
    }
    return SLUICE_OK;
}
