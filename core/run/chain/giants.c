/* Batches of one huge record on their way through a chain: what each op will take is asked for
 * before it takes it. Ordinary batches pass by: the floor has room for them. */
#include "run/chain/chainInt.h"
#include "run/floor.h"

#define STORED \
    4u /* copies of a row while it is stored: in columns, as a frame, compressed, in the sorter */

static uint64_t bytes_at(const struct schema *schema, const struct batch *batch, int32_t slot)
{
    return slot < 0 || (uint32_t)slot >= schema->n
               ? 0
               : column_bytes(batch->columns[slot], schema->fields[slot].type);
}

sluice_status giant_admit(struct chain *chain, const struct op *op, uint32_t port,
                          const struct batch *batch, struct sluice_error *err)
{
    const struct schema *schema;
    struct stage_worker *worker;
    uint64_t bytes = 0;

    if (!chain->room.giant || (op->kind != OP_STAGE && op->kind != OP_STORE)) {
        return SLUICE_OK;
    }
    schema = &phase_input(chain->phase, op, port)->out;
    if (op->kind == OP_STORE) {
        for (uint32_t k = 0; k < op_store(op)->edge->schema.n; k++) {
            bytes += bytes_at(schema, batch, op_store(op)->slots[k]);
        }
        return room_ask(&chain->room, "keeping rows for the next phase", NULL, bytes,
                        bytes * STORED, err);
    }
    for (uint32_t k = 0; k < op_stage(op)->n_need[port]; k++) {
        bytes += bytes_at(schema, batch, op_stage(op)->need[port][k]);
    }
    /* What a worker takes before its first row is no need of this batch. */
    TRY(chain_worker(chain, op->index, &worker, err));
    return room_ask(&chain->room, "stage", op->name, bytes,
                    (uint64_t)((double)bytes * floor_call(op)), err);
}

uint64_t giant_hold(struct chain *chain, const struct op *op, const struct batch *batch)
{
    bool adds = op->kind == OP_COLLECT || op->kind == OP_STAGE;
    const struct op_column *columns = op->kind == OP_STAGE ? op_stage(op)->columns : NULL;
    uint64_t bytes = 0;

    for (uint32_t k = 0; chain->room.giant && adds && k < batch->n_columns && k < op->out.n; k++) {
        if (columns == NULL || columns[k].from == FROM_PLUGIN) {
            bytes += bytes_at(&op->out, batch, (int32_t)k);
        }
    }
    chain->room.held += bytes;
    return bytes;
}

void giant_let(struct chain *chain, uint64_t held)
{
    chain->room.held -= held;
}

void giant_after(struct chain *chain, const struct op *op)
{
    if (!chain->room.giant) {
        return;
    }
    room_asked(&chain->room);
    if (op->kind == OP_STAGE && chain_repeats(op)) {
        chain_drop_worker(chain, op->index);
    }
}
