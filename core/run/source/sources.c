/* The sources of a task: see sources.h. What readers give is in reading.c and scanning.c. */
#include "run/source/sources.h"

#include <string.h>

#include "data/draft.h"
#include "run/source/readingInt.h"

#define FRAME_USUAL ((uint64_t)4 << 20) /* bytes of rows in a spill frame without a giant */

/* ---- readers ---- */

static sluice_status read_split(struct chain *chain, const struct op *op, const struct lane *lane,
                                const struct split *split, const struct source_inputs *inputs,
                                struct again *again, struct sluice_error *err)
{
    struct reading reading = { .chain = chain,
                               .op = op,
                               .lane = lane,
                               .split = split,
                               .again = again,
                               .usual =
                                   inputs->batch_bytes > 0 ? inputs->batch_bytes : SOURCE_CHUNK };
    struct stage_worker *worker;
    sluice_status status;

    reading_columns(&reading);
    TRY(chain_worker(chain, op->index, &worker, err));
    stage_result_init(&reading.result);
    status = splits_random(splits_cut(op_declared(op)->cut))
                 ? reading_scan(&reading, inputs, worker, err)
                 : reading_chunks(&reading, inputs, worker, err);
    if (status == SLUICE_OK && op_declared(op)->flush != NULL) {
        status = stage_flush(worker, &reading.result, err);
        if (status == SLUICE_OK && again == NULL) {
            status = chain_book(chain, op->index, &reading.result, err);
        }
    }
    stage_result_deinit(&reading.result);
    if (status == SLUICE_OK && again != NULL) {
        char name[SPLIT_NAME];
        status = again_finish(
            again, reading.next_row,
            split_name(split, lane->files.files[split->ranges[0].file].name, name), err);
    }
    return status;
}

/* ---- loaded edges ---- */

static sluice_status open_edge(const struct chain *chain, const struct op *op,
                               const struct load_inputs *load, struct edge_reader **out,
                               struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    const struct schema *schema = &op_load(op)->edge->schema;

    switch (op_load(op)->edge->load) {
    case LOAD_KEYED:
        return edge_reader_open_keyed(schema, load->inputs, load->n, options->scratch_dir,
                                      options->memory, out, err);
    case LOAD_GATHER:
        return edge_reader_open_positions(schema, load->inputs, load->n, out, err);
    case LOAD_BY_SPLIT:
        return edge_reader_open_merged(schema, load->inputs, load->n, options->scratch_dir,
                                       options->memory, out, err);
    case LOAD_SAME:
    case LOAD_BROADCAST:
        break;
    }
    return edge_reader_open(schema, load->inputs, load->n, out, err);
}

static sluice_status push_loaded(struct chain *chain, const struct op *op,
                                 const struct batch *loaded, struct sluice_error *err)
{
    const int32_t *stored = op_load(op)->stored;
    struct draft draft;
    struct batch *batch;
    const uint64_t *rows = NULL;
    uint64_t last = 0;
    sluice_status status;

    draft_init(&draft, op->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < op->out.n; k++) {
        if (op->live[k] && stored[k] >= 0 && (uint32_t)stored[k] < loaded->n_columns) {
            draft_share(&draft, k, loaded->columns[stored[k]]);
        }
    }
    TRY(draft_end(&draft, loaded->length, &batch, err));
    if (op_load(op)->edge->load == LOAD_SAME && !op_load(op)->side && op->row_slot >= 0 &&
        batch->length > 0 && batch->columns[op->row_slot] != NULL) {
        rows = batch->columns[op->row_slot]->array.buffers[1];
        last = rows[batch->length - 1];
    }
    status = chain_emit(chain, op->index, batch, err);
    batch_unref(batch);
    return status == SLUICE_OK && rows != NULL ? chain_drain(chain, last, err) : status;
}

/* A frame with a giant among its rows is reckoned from here on, with the frame that it was read
 * from. */
static sluice_status push_frame(struct chain *chain, const struct op *op,
                                const struct batch *loaded, struct sluice_error *err)
{
    const struct schema *schema = &op_load(op)->edge->schema;
    struct room *room = chain_room(chain);
    uint64_t bytes = 0;
    sluice_status status;

    for (uint32_t k = 0; k < loaded->n_columns && k < schema->n; k++) {
        bytes += column_bytes(loaded->columns[k], schema->fields[k].type);
    }
    if (bytes <= FRAME_USUAL) {
        return push_loaded(chain, op, loaded, err);
    }
    room->giant = true;
    room->record = bytes;
    status = room_ask(room, "reading rows of an earlier phase", NULL, bytes, 2 * bytes, err);
    room->held = 2 * bytes;
    if (status == SLUICE_OK) {
        status = push_loaded(chain, op, loaded, err);
    }
    room->giant = false;
    room->held = 0;
    room_done(room);
    return status;
}

/* The rows of an edge whose bytes are in the input: its reader gives them again, unless there are
 * none. */
static sluice_status load_again(struct chain *chain, const struct op *op,
                                const struct source_inputs *inputs, struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    const struct load_inputs *load = &inputs->loads[op->index];
    uint32_t index = 0;
    const struct lane *lane = phase_lane(options->phase, options->task, &index);
    struct again again = { .chain = chain, .load = op, .expected = load->read_records };
    const struct op *reader = NULL;
    sluice_status status;

    if (load->n == 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < op_load(op)->n_agains; i++) {
        const struct op *candidate = options->phase->ops[op_load(op)->agains[i].op];
        if (options->phase->lanes[op_read(candidate)->lane] == lane) {
            again.plan = &op_load(op)->agains[i];
            reader = candidate;
        }
    }
    if (reader == NULL) {
        return error_set(err, SLUICE_E_INTERNAL, "no reader gives the rows of '%s' again",
                         op->name);
    }
    TRY(open_edge(chain, op, load, &again.stored, err));
    status = read_split(chain, reader, lane, &lane->splits.items[index], inputs, &again, err);
    edge_reader_close(again.stored);
    again_deinit(&again);
    return status;
}

static sluice_status load_edge(struct chain *chain, const struct op *op,
                               const struct load_inputs *load, struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    struct edge_reader *reader = NULL;
    sluice_status status = open_edge(chain, op, load, &reader, err);

    while (status == SLUICE_OK) {
        struct batch *batch = NULL;
        status = chain_between(chain, err);
        if (status != SLUICE_OK) {
            break;
        }
        meter_begin(chain_meter(chain));
        status = edge_reader_next(reader, &batch, err);
        meter_end(chain_meter(chain), &options->metrics->source, false);
        if (status != SLUICE_OK || batch == NULL) {
            break;
        }
        status = push_frame(chain, op, batch, err);
        batch_unref(batch);
    }
    edge_reader_close(reader);
    return status;
}

sluice_status sources_drive(struct chain *chain, const struct source_inputs *inputs,
                            struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    const struct phase *phase = options->phase;
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, options->task, &index);

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op_drops *earlier = op_earlier_drops(phase->ops[i]);
        if (earlier != NULL && inputs->loads[earlier->op].active) {
            struct edge_reader *reader = NULL;
            TRY(open_edge(chain, phase->ops[earlier->op], &inputs->loads[earlier->op], &reader,
                          err));
            chain_collect_from(chain, i, reader);
        }
    }
    /* Side inputs first, completely. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            bool side = op->kind == OP_LOAD && op_load(op)->side;
            if (side != (round == 0)) {
                continue;
            }
            if (op->kind == OP_LOAD && inputs->loads[i].active && !phase_pulls(phase, i)) {
                TRY(op_load(op)->n_agains > 0 ? load_again(chain, op, inputs, err)
                                              : load_edge(chain, op, &inputs->loads[i], err));
            } else if (op_reads_first(op) && lane->kind == LANE_SPLITS &&
                       phase->lanes[op_read(op)->lane] == lane) {
                TRY(read_split(chain, op, lane, &lane->splits.items[index], inputs, NULL, err));
            }
        }
    }
    return SLUICE_OK;
}
