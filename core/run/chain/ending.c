/* The end of a task: every op's input ends, in order; tables are written; the ledger is checked. */
#include <string.h>

#include "base/hooks.h"
#include "run/chain/chainInt.h"

static sluice_status flush_stage(struct chain *chain, const struct op *op,
                                 struct stage_result *result, struct sluice_error *err)
{
    struct stage_worker *worker;

    meter_begin(&chain->meter);
    TRY(chain_worker(chain, op->index, &worker, err));
    TRY(stage_flush(worker, result, err));
    meter_end(&chain->meter, &chain->options.metrics->ops[op->index].time, op_isolated(op));
    TRY(chain_book(chain, op->index, result, err));
    if (op_writes(op)) {
        return shards_apply(chain->states[op->index].shards, result, err);
    }
    return op_declared(op)->role == SLUICE_ROLE_TRANSFORM
               ? chain_deliver_batches(chain, op, result, err)
               : SLUICE_OK;
}

static sluice_status end_stage(struct chain *chain, const struct op *op, struct sluice_error *err)
{
    struct answer *answer;
    sluice_status status;

    TRY(waiting_tend(chain, op, true, err));
    if (op_declared(op)->flush != NULL) {
        answer = answer_take(chain);
        if (answer == NULL) {
            return error_nomem(err, "an answer");
        }
        status = flush_stage(chain, op, &answer->result, err);
        answer_release(chain, answer);
        TRY(status);
    }
    return op_writes(op) ? shards_finish(chain->states[op->index].shards, err) : SLUICE_OK;
}

static sluice_status end_part(struct chain *chain, const struct op *op, struct part *part,
                              void *ctx, struct sluice_error *err)
{
    uint32_t *ordinal = ctx;

    TRY(end_stage(chain, op, err));
    stage_worker_close(chain->states[op->index].worker); /* its memory is for the next one's end */
    chain->states[op->index].worker = NULL;
    part->base = *ordinal;
    *ordinal = shards_number(chain->states[op->index].shards, *ordinal);
    return SLUICE_OK;
}

static sluice_status end_parts(struct chain *chain, const struct op *op, struct parts *parts,
                               struct sluice_error *err)
{
    uint32_t ordinal = 0;

    parts_sort(parts);
    for (uint32_t k = 0; k < parts->n; k++) {
        TRY(chain_with_part(chain, op, parts->items[k], end_part, &ordinal, err));
    }
    return SLUICE_OK;
}

static sluice_status flush_op(struct chain *chain, uint32_t index, struct sluice_error *err)
{
    const struct op *op = chain->phase->ops[index];
    struct op_state *state = &chain->states[index];

    switch (op->kind) {
    case OP_COLLECT:
        return collector_drain(chain, index, UINT64_MAX, err);
    case OP_STORE:
        TRY(port_finish(state->port, &state->directory, &state->port_rows, err));
        chain->ledger.ops[index].written = state->port_rows;
        return SLUICE_OK;
    case OP_STAGE:
        return state->parts != NULL ? end_parts(chain, op, state->parts, err)
                                    : end_stage(chain, op, err);
    case OP_READ:
    case OP_LOAD:
    case OP_UNION:
        break;
    }
    return SLUICE_OK;
}

/* Test hook: SLUICE_TEST_LEDGER=OP:FIELD makes one count wrong, so that a test sees the check at
 * work. */
static void break_ledger(struct chain *chain)
{
    const char *text = hook_text("SLUICE_TEST_LEDGER");
    const char *colon = text == NULL ? NULL : strrchr(text, ':');

    for (uint32_t i = 0; colon != NULL && i < chain->phase->n_ops; i++) {
        const struct op *op = chain->phase->ops[i];
        struct ledger_op *entry = &chain->ledger.ops[i];
        if (strlen(op->name) != (size_t)(colon - text) ||
            memcmp(op->name, text, (size_t)(colon - text)) != 0) {
            continue;
        }
        if (strcmp(colon, ":in") == 0) {
            entry->in[0]++;
        } else if (strcmp(colon, ":kept") == 0) {
            entry->kept++;
        } else if (strcmp(colon, ":dropped") == 0 && entry->n_reasons > 0) {
            entry->dropped[1]++;
        } else if (strcmp(colon, ":quarantined") == 0) {
            entry->quarantined++;
        } else if (strcmp(colon, ":emitted") == 0) {
            entry->emitted++;
        } else if (strcmp(colon, ":consumed") == 0) {
            entry->consumed++;
        } else if (strcmp(colon, ":written") == 0) {
            entry->written++;
        } else if (strcmp(colon, ":measure") == 0) {
            for (uint32_t k = 0; k < entry->n_measures; k++) {
                entry->measures[k].out++;
            }
        }
    }
}

sluice_status chain_finish(struct chain *chain, struct sluice_error *err)
{
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        TRY(flush_op(chain, i, err));
    }
    TRY(collect_note_drops(chain, UINT64_MAX, err));
    TRY(chain_write_bad_rows(chain, err));
    TRY(chain_write_traces(chain, err));
    for (int k = 0; k < TASK_TABLES; k++) {
        if (chain->tables[k] != NULL) {
            chain->table_ports[k] = table_finish(chain->tables[k], err);
            if (chain->table_ports[k] == NULL) {
                return error_known(err->code);
            }
            TRY(port_finish(chain->table_ports[k], &chain->table_directories[k],
                            &chain->table_rows[k], err));
        }
    }
    break_ledger(chain);
    return ledger_check(&chain->ledger, err);
}
