/* The sources of a task: see sources.h. */
#include "run/sources.h"

#include <stdlib.h>
#include <string.h>

#define RAW_KEPT (1u << 20) /* bytes of a bad record that the quarantine keeps */

/* ---- readers ---- */

struct reading {
    struct chain *chain;
    const struct op *op;
    const struct lane *lane;
    const struct split *split;
    uint64_t next_row;
    int32_t begin_column, end_column,
        id_column; /* places among the emitted columns; id -1 = none */
};

static sluice_status too_long(void *ctx, uint32_t file, uint64_t begin, uint64_t end,
                              const char *head, size_t n, struct sluice_error *err)
{
    struct reading *reading = ctx;
    char detail[160];
    struct bad_record bad = { .stage = reading->op->name,
                              .reason = "record_too_long",
                              .detail = detail,
                              .has_place = true,
                              .file = file,
                              .begin = begin,
                              .end = end,
                              .raw = head,
                              .raw_size = n };

    snprintf(
        detail, sizeof detail,
        "found a record of %llu bytes; give s.files a larger max_record if it is meant to be one",
        (unsigned long long)(end - begin));
    return chain_quarantine(reading->chain, reading->op->index, &bad, err);
}

static sluice_status quarantine_bad(struct reading *reading, const struct sluice_chunk *chunk,
                                    const struct stage_result *result, struct sluice_error *err)
{
    for (uint32_t i = 0; i < result->n_bad; i++) {
        const struct stage_bad *found = &result->bad[i];
        struct bad_record bad = { .stage = reading->op->name,
                                  .reason = found->reason,
                                  .detail = found->detail,
                                  .has_place = true,
                                  .file = chunk->file,
                                  .begin = found->begin,
                                  .end = found->end };
        if (found->begin >= chunk->offset && found->end >= found->begin &&
            found->end <= chunk->offset + chunk->n) {
            bad.raw = chunk->data + (found->begin - chunk->offset);
            bad.raw_size = found->end - found->begin;
            if (bad.raw_size > RAW_KEPT) {
                bad.raw_size = RAW_KEPT;
            }
        }
        TRY(chain_quarantine(reading->chain, reading->op->index, &bad, err));
    }
    return SLUICE_OK;
}

static sluice_status note_origins(struct reading *reading, uint32_t file,
                                  const struct ArrowArray *array, struct sluice_error *err)
{
    const uint64_t *begins = array->children[reading->begin_column]->buffers[1];
    const uint64_t *ends = array->children[reading->end_column]->buffers[1];
    const struct ArrowArray *ids =
        reading->id_column < 0 ? NULL : array->children[reading->id_column];

    for (int64_t k = 0; k < array->length; k++) {
        const char *id = NULL;
        size_t n = 0;
        if (ids != NULL && !array_is_null(ids, k)) {
            id = array_bytes(ids, k, &n);
        }
        TRY(chain_origin(reading->chain, reading->next_row + (uint64_t)k, file, begins[k], ends[k],
                         id, n, err));
    }
    return SLUICE_OK;
}

/* A column that the host adds to what a reader emitted: row numbers, file index, parts of the path. */
static sluice_status host_column(struct reading *reading, uint32_t slot, uint32_t file, int64_t n,
                                 struct column **out, struct sluice_error *err)
{
    const struct op *op = reading->op;
    int32_t part = op->part_of[slot];
    const struct listing_file *source =
        &reading->lane->files.files[reading->split->ranges[file].file];
    struct builder *builder = NULL;
    struct ArrowArray array;
    const char *value = NULL;
    bool ok = true;

    TRY(builder_create(op->out.fields[slot].type, &builder, err));
    for (size_t k = 0; part >= 0 && k < reading->lane->files.n_parts; k++) {
        if (strcmp(reading->lane->files.parts[k], op->out.fields[slot].name) == 0) {
            value = source->values[k];
        }
    }
    for (int64_t k = 0; ok && k < n; k++) {
        if (part >= 0) {
            ok = value == NULL ? builder_null(builder)
                               : builder_bytes_add(builder, value, strlen(value));
        } else {
            ok = builder_uint(
                builder, (int32_t)slot == op->row_slot ? reading->next_row + (uint64_t)k : file);
        }
    }
    if (ok && builder_finish(builder, &array, err) == SLUICE_OK) {
        *out = column_create(&array);
    }
    builder_destroy(builder);
    return *out == NULL ? error_nomem(err, "a column") : SLUICE_OK;
}

static sluice_status push_read(struct reading *reading, uint32_t file, struct ArrowArray *array,
                               struct sluice_error *err)
{
    const struct op *op = reading->op;
    struct column **columns = calloc(op->out.n + 1u, sizeof(struct column *));
    int64_t n = array->length;
    struct batch *batch = NULL;
    sluice_status status =
        columns == NULL ? error_nomem(err, "a batch") : note_origins(reading, file, array, err);

    for (uint32_t k = 0; status == SLUICE_OK && k < op->out.n; k++) {
        if (!op->live[k]) {
            continue;
        }
        if (op->from[k] < 0) {
            columns[k] = column_create(array->children[~op->from[k]]);
            status = columns[k] == NULL ? error_nomem(err, "a column") : SLUICE_OK;
        } else if (op->part_of[k] >= 0 || strcmp(op->out.fields[k].name, "_row") == 0 ||
                   strcmp(op->out.fields[k].name, "_file") == 0) {
            status = host_column(reading, k, file, n, &columns[k], err);
        }
    }
    if (status == SLUICE_OK) {
        batch = batch_create(n, op->out.n, columns);
        status = batch == NULL ? error_nomem(err, "a batch") : SLUICE_OK;
    } else {
        for (uint32_t k = 0; columns != NULL && k < op->out.n; k++) {
            column_unref(columns[k]);
        }
    }
    free(columns);
    if (status != SLUICE_OK) {
        return status;
    }
    reading->next_row += (uint64_t)n;
    status = chain_emit(reading->chain, op->index, batch, err);
    batch_unref(batch);
    return status == SLUICE_OK && n > 0 ? chain_drain(reading->chain, reading->next_row - 1, err)
                                        : status;
}

static sluice_status push_chunk(struct reading *reading, const struct sluice_chunk *chunk,
                                struct sluice_error *err)
{
    struct stage_result *result = chain_result(reading->chain);
    uint32_t n = result->n_batches;
    struct ArrowArray *batches = malloc((n + 1u) * sizeof *batches);
    sluice_status status =
        batches == NULL ? error_nomem(err, "a batch") : quarantine_bad(reading, chunk, result, err);

    for (uint32_t i = 0; batches != NULL && i < n; i++) {
        batches[i] = result->batches[i];
        result->batches[i].release = NULL;
    }
    for (uint32_t i = 0; batches != NULL && i < n; i++) {
        if (status == SLUICE_OK && batches[i].length > 0) {
            status = push_read(reading, chunk->file, &batches[i], err);
        }
        if (batches[i].release != NULL) {
            batches[i].release(&batches[i]);
        }
    }
    free(batches);
    return status;
}

/* Bytes of files that a split stands for: ranges of compressed files in proportion to what they decode to. */
static uint64_t raw_bytes(const struct source_file *files, const struct split *split)
{
    double sum = 0;

    for (size_t i = 0; i < split->n_ranges; i++) {
        const struct split_range *range = &split->ranges[i];
        const struct input_info *info = files[range->file].info;
        bool whole = range->end == SPLIT_TO_END || info->decoded_size == INPUT_UNKNOWN ||
                     info->decoded_size == 0;
        sum += whole ? (range->begin == 0 ? (double)info->size : 0)
                     : (double)info->size *
                           ((double)(range->end - range->begin) / (double)info->decoded_size);
    }
    return (uint64_t)sum;
}

static sluice_status read_split(struct chain *chain, const struct op *op, const struct lane *lane,
                                const struct split *split, const struct source_inputs *inputs,
                                struct sluice_error *err)
{
    struct reading reading = {
        .chain = chain, .op = op, .lane = lane, .split = split, .id_column = -1
    };
    const struct chain_options *options = chain_options(chain);
    const struct node *files = options->plan->graph->nodes[op->node->inputs[0]];
    struct source_options source_options = {
        .cut = strcmp(op->kind_of->cut == NULL ? "none" : op->kind_of->cut, "newline") == 0
                   ? SPLIT_CUT_NEWLINE
                   : SPLIT_CUT_NONE,
        .max_record = files->max_record,
        .target_chunk = inputs->batch_bytes,
        .too_long = too_long,
        .ctx = &reading
    };
    struct phase_metrics *metrics = options->metrics;
    struct stage_worker *worker;
    struct source *source = NULL;
    sluice_status status;

    for (uint32_t k = 0; k < op->out.n; k++) {
        const char *name = op->out.fields[k].name;
        if (op->from[k] < 0 && strcmp(name, "_begin") == 0) {
            reading.begin_column = ~op->from[k];
        } else if (op->from[k] < 0 && strcmp(name, "_end") == 0) {
            reading.end_column = ~op->from[k];
        } else if (op->from[k] < 0 && strcmp(name, "id") == 0) {
            reading.id_column = ~op->from[k];
        }
    }
    TRY(chain_worker(chain, op->index, &worker, err));
    TRY(source_open(inputs->feeder, inputs->files, split, &source_options, &source, err));
    for (;;) {
        struct sluice_chunk chunk = { .size = sizeof chunk };
        bool more = false;
        uint64_t start = clock_ns();
        if (options->cancelled != NULL &&
            atomic_load_explicit(options->cancelled, memory_order_relaxed) != 0) {
            status = error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
            break;
        }
        status = source_next(source, &chunk, &more, err);
        METRIC_ADD(metrics->source_ns, clock_ns() - start);
        if (status != SLUICE_OK || !more) {
            break;
        }
        start = clock_ns();
        status = stage_read(worker, &chunk, chain_result(chain), err);
        METRIC_ADD(metrics->ops[op->index].ns, clock_ns() - start);
        if (status == STAGE_CRASHED || status == STAGE_TIMED_OUT) {
            status = error_prefix(err, "%s, bytes %llu to %llu", chunk.uri,
                                  (unsigned long long)chunk.offset,
                                  (unsigned long long)(chunk.offset + chunk.n));
        }
        if (status == SLUICE_OK && chunk.consumed < chunk.n &&
            (chunk.flags & SLUICE_CHUNK_LAST) != 0) {
            status = error_set(err, SLUICE_E_DATA,
                               "%s: the file ends inside a record that begins at byte %llu",
                               chunk.uri, (unsigned long long)(chunk.offset + chunk.consumed));
        }
        if (status == SLUICE_OK) {
            chain_ledger(chain, op->index)->text_bytes += chunk.consumed;
            METRIC_ADD(metrics->text_bytes, chunk.consumed);
            METRIC_ADD(metrics->ops[op->index].bytes_in, chunk.consumed);
            status = push_chunk(&reading, &chunk, err);
            if (status == SLUICE_E_HALT || status == SLUICE_E_DATA) {
                status = error_prefix(err, "%s", chunk.uri); /* a split may hold many files */
            }
        }
        if (status == SLUICE_OK) {
            status = source_consumed(source, chunk.consumed, err);
        }
        if (status != SLUICE_OK) {
            break;
        }
    }
    source_close(source);
    METRIC_ADD(metrics->raw_bytes, status == SLUICE_OK ? raw_bytes(inputs->files, split) : 0);
    if (status == SLUICE_OK && op->kind_of->flush != NULL) {
        status = stage_flush(worker, chain_result(chain), err);
    }
    return status;
}

/* ---- loaded edges ---- */

static sluice_status open_edge(const struct chain *chain, const struct op *op,
                               const struct load_inputs *load, struct edge_reader **out,
                               struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    const struct schema *schema = &op->edge->schema;

    switch (op->edge->load) {
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
    struct column **columns = calloc(op->out.n + 1u, sizeof(struct column *));
    struct batch *batch;
    uint64_t last = UINT64_MAX;
    sluice_status status;

    if (columns == NULL) {
        return error_nomem(err, "a batch");
    }
    for (uint32_t k = 0; k < op->out.n; k++) {
        if (op->live[k] && op->from[k] >= 0 && (uint32_t)op->from[k] < loaded->n_columns) {
            columns[k] = column_ref(loaded->columns[op->from[k]]);
        }
    }
    batch = batch_create(loaded->length, op->out.n, columns);
    free(columns);
    if (batch == NULL) {
        return error_nomem(err, "a batch");
    }
    if (op->edge->load == LOAD_SAME && !op->side && op->row_slot >= 0 &&
        batch->columns[op->row_slot] != NULL && batch->length > 0) {
        last =
            ((const uint64_t *)batch->columns[op->row_slot]->array.buffers[1])[batch->length - 1];
    }
    status = chain_emit(chain, op->index, batch, err);
    batch_unref(batch);
    return status == SLUICE_OK && last != UINT64_MAX ? chain_drain(chain, last, err) : status;
}

static sluice_status load_edge(struct chain *chain, const struct op *op,
                               const struct load_inputs *load, struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    struct edge_reader *reader = NULL;
    sluice_status status = open_edge(chain, op, load, &reader, err);

    while (status == SLUICE_OK) {
        struct batch *batch = NULL;
        uint64_t start = clock_ns();
        if (options->cancelled != NULL &&
            atomic_load_explicit(options->cancelled, memory_order_relaxed) != 0) {
            status = error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
            break;
        }
        status = edge_reader_next(reader, &batch, err);
        METRIC_ADD(options->metrics->source_ns, clock_ns() - start);
        if (status != SLUICE_OK || batch == NULL) {
            break;
        }
        status = push_loaded(chain, op, batch, err);
        batch_unref(batch);
    }
    edge_reader_close(reader);
    return status;
}

/* The op's rows are pulled by a collector, not pushed. */
static bool is_pulled(const struct phase *phase, uint32_t index)
{
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (phase->ops[i]->kind == OP_COLLECT && phase->ops[i]->drop_load == (int32_t)index) {
            return true;
        }
    }
    return false;
}

sluice_status sources_drive(struct chain *chain, const struct source_inputs *inputs,
                            struct sluice_error *err)
{
    const struct chain_options *options = chain_options(chain);
    const struct phase *phase = options->phase;
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, options->task, &index);

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        if (op->kind == OP_COLLECT && op->drop_load >= 0 && inputs->loads[op->drop_load].active) {
            struct edge_reader *reader = NULL;
            TRY(open_edge(chain, phase->ops[op->drop_load], &inputs->loads[op->drop_load], &reader,
                          err));
            chain_collect_from(chain, i, reader);
        }
    }
    /* Side inputs first, completely. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            bool side = op->side;
            if (side != (round == 0)) {
                continue;
            }
            if (op->kind == OP_LOAD && inputs->loads[i].active && !is_pulled(phase, i)) {
                TRY(load_edge(chain, op, &inputs->loads[i], err));
            } else if (op->kind == OP_READ && lane->kind == LANE_SPLITS &&
                       phase->lanes[op->lane] == lane) {
                TRY(read_split(chain, op, lane, &lane->splits.items[index], inputs, err));
            }
        }
    }
    return SLUICE_OK;
}
