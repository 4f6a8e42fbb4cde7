/* The ops of one phase at work on one task: see chain.h. Rows go downstream in deliver.c, stages
 * are asked in faults.c and call.c, dropped rows are collected in collect.c. */
#include "run/chain/chainInt.h"

#include <stdlib.h>
#include <string.h>

static sluice_status open_store(struct chain *chain, const struct op *op, struct op_state *state,
                                struct sluice_error *err)
{
    const struct plan_edge *edge = op_store(op)->edge;
    struct edge_spec spec = { EDGE_SINGLE, edge->n_partitions, &edge->schema };

    if (edge->load == LOAD_KEYED) {
        spec.partition = EDGE_BY_KEY;
    } else if (edge->load == LOAD_BY_SPLIT) {
        spec.partition = EDGE_BY_SPLIT;
    }
    return port_open(chain->options.spill_dir, &spec, chain->options.scratch_dir,
                     chain->options.memory, &state->port, err);
}

sluice_status chain_create(const struct chain_options *options, struct chain **out,
                           struct sluice_error *err)
{
    const struct phase *phase = options->phase;
    struct chain *chain = calloc(1, sizeof *chain);
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, options->task, &index);
    sluice_status status;

    *out = NULL;
    if (chain == NULL) {
        return error_nomem(err, "a task");
    }
    chain->options = *options;
    chain->phase = phase;
    chain->by_rows = lane != NULL && lane->kind == LANE_SPLITS;
    chain->room = (struct room){ .rooms = options->rooms, .cancelled = options->cancelled };
    chain->states = calloc(phase->n_ops + 1, sizeof *chain->states);
    status = chain->states == NULL ? error_nomem(err, "a task")
                                   : ledger_init(&chain->ledger, phase, err);
    for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        if (op->kind == OP_STORE) {
            status = open_store(chain, op, &chain->states[i], err);
        } else if (op_writes(op)) {
            status = parts_open(op, phase_input(phase, op, 0), &chain->states[i].parts, err);
            if (status == SLUICE_OK && chain->states[i].parts == NULL) {
                status = shards_open(op, &chain->states[i].shards, err);
            }
        }
    }
    if (status != SLUICE_OK) {
        chain_destroy(chain);
        return status;
    }
    *out = chain;
    return SLUICE_OK;
}

void chain_destroy(struct chain *chain)
{
    if (chain == NULL) {
        return;
    }
    for (uint32_t i = 0; chain->states != NULL && i < chain->phase->n_ops; i++) {
        struct op_state *state = &chain->states[i];
        chain_leave_worker(chain, i);
        port_destroy(state->port);
        edge_directory_deinit(&state->directory);
        shards_destroy(state->shards);
        buf_deinit(&state->traced);
        parts_destroy(state->parts);
        collector_deinit(chain, i);
    }
    for (int k = 0; k < TASK_TABLES; k++) {
        table_destroy(chain->tables[k]);
        edge_directory_deinit(&chain->table_directories[k]);
    }
    free(chain->states);
    ledger_deinit(&chain->ledger);
    answers_destroy(chain->spare);
    free(chain->verdict_rows);
    notes_deinit(&chain->drops);
    notes_deinit(&chain->bad);
    quarantine_deinit(&chain->kept);
    room_deinit(&chain->room);
    free(chain);
}

struct ledger_op *chain_ledger(struct chain *chain, uint32_t op)
{
    return &chain->ledger.ops[op];
}

const struct chain_options *chain_options(const struct chain *chain)
{
    return &chain->options;
}

struct meter *chain_meter(struct chain *chain)
{
    return &chain->meter;
}

struct room *chain_room(struct chain *chain)
{
    return &chain->room;
}

const struct ledger *chain_books(const struct chain *chain)
{
    return &chain->ledger;
}

struct port *chain_port(struct chain *chain, uint32_t op, struct edge_directory **directory,
                        uint64_t *rows)
{
    *directory = &chain->states[op].directory;
    *rows = chain->states[op].port_rows;
    return chain->states[op].port;
}

struct shards *chain_shards(struct chain *chain, uint32_t op, uint32_t k, const char **folder)
{
    struct parts *parts = chain->states[op].parts;

    *folder = parts == NULL || k >= parts->n ? "" : parts->items[k]->folder;
    return parts == NULL  ? (k == 0 ? chain->states[op].shards : NULL)
           : k < parts->n ? parts->items[k]->shards
                          : NULL;
}

const struct kept_rows *chain_kept(const struct chain *chain)
{
    return &chain->kept;
}

struct port *chain_table_port(struct chain *chain, enum task_table which,
                              struct edge_directory **directory, uint64_t *rows)
{
    *directory = &chain->table_directories[which];
    *rows = chain->table_rows[which];
    return chain->table_ports[which];
}

sluice_status chain_state(struct chain *chain, uint32_t op, struct buf *out,
                          struct sluice_error *err)
{
    struct stage_worker *worker;

    TRY(chain_worker(chain, op, &worker, err));
    return stage_save(worker, out, err);
}
