/* The rows that a reader gives of a split, from the bytes that it is given: see sources.h and
 * readingInt.h. */
#include "run/source/readingInt.h"

#include <string.h>

#include "data/draft.h"
#include "run/floor.h"

#define RAW_KEPT (1u << 20) /* bytes of a bad record that the quarantine keeps */

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

/* ---- giants ---- */

/* The source's memory for a giant is held from before it is taken. */
static sluice_status grow(void *ctx, uint64_t bytes, struct sluice_error *err)
{
    struct reading *reading = ctx;
    struct room *room = chain_room(reading->chain);

    if (bytes > reading->window) {
        room->record = bytes > room->record ? bytes : room->record;
        TRY(room_ask(room, "reading", NULL, bytes, bytes - reading->window, err));
    }
    room->held = room->held + bytes - reading->window;
    reading->window = bytes;
    if (!room->giant) {
        room_done(room);
    }
    return SLUICE_OK;
}

/* The batch that comes of it is reckoned all the way. */
static sluice_status giant_begin(struct reading *reading, const struct sluice_chunk *chunk,
                                 struct sluice_error *err)
{
    struct room *room = chain_room(reading->chain);

    room->giant = true;
    room->record = chunk->n;
    return room_ask(room, "stage", reading->op->name, chunk->n,
                    (uint64_t)((double)chunk->n * floor_call(reading->op)), err);
}

static void giant_end(struct reading *reading)
{
    struct room *room = chain_room(reading->chain);

    room->giant = false;
    room->record = 0;
    room->held = reading->window;
    room_done(room);
}

/* Until its chunk is done with. */
static void hold(struct chain *chain, const struct op *op, const struct batch *batch)
{
    struct room *room = chain_room(chain);

    for (uint32_t k = 0; room->giant && k < op->out.n; k++) {
        room->held += column_bytes(batch->columns[k], op->out.fields[k].type);
    }
}

/* ---- rows ---- */

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
    const uint64_t *begins =
        reading->begin_column < 0 ? NULL : array->children[reading->begin_column]->buffers[1];
    const uint64_t *ends =
        reading->end_column < 0 ? NULL : array->children[reading->end_column]->buffers[1];
    const struct ArrowArray *ids =
        reading->id_column < 0 ? NULL : array->children[reading->id_column];

    for (int64_t k = 0; k < array->length; k++) {
        const char *id = NULL;
        size_t n = 0;
        if (ids != NULL && !array_is_null(ids, k)) {
            id = array_bytes(ids, k, &n);
        }
        TRY(chain_origin(reading->chain, reading->next_row + (uint64_t)k, file,
                         begins != NULL ? begins[k] : reading->unit.begin,
                         ends != NULL ? ends[k] : reading->unit.end, id, n, err));
    }
    return SLUICE_OK;
}

/* A column that the host adds to what a reader emitted: row numbers, file index, parts of the
 * path. */
static void host_column(const struct reading *reading, struct draft *draft, uint32_t slot,
                        uint32_t file, int64_t n, struct sluice_error *err)
{
    const struct op *op = reading->op;
    const struct listing *listing = &reading->lane->files;
    const struct type *type = op->out.fields[slot].type;
    const char *value = NULL;
    struct column *column = NULL;

    if (op_read(op)->parts[slot] < 0) {
        bool row = (int32_t)slot == op->row_slot;
        draft_put(draft, slot, column_count(type, row ? reading->next_row : file, row ? 1 : 0, n));
        return;
    }
    for (size_t k = 0; k < listing->n_parts; k++) {
        if (strcmp(listing->parts[k], op->out.fields[slot].name) == 0) {
            value = listing->files[reading->split->ranges[file].file].values[k];
        }
    }
    draft_place(draft, slot,
                value == NULL ? column_nulls(type, n, &column, err)
                              : column_repeat(type, value, strlen(value), n, &column, err),
                &column);
}

/* What a reader emitted, as a batch of its op. */
static sluice_status read_batch(struct reading *reading, uint32_t file, struct ArrowArray *array,
                                struct batch **out, struct sluice_error *err)
{
    const struct op *op = reading->op;
    const struct op_column *columns = op_read(op)->columns;
    struct draft draft;

    draft_init(&draft, op->out.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < op->out.n; k++) {
        if (!op->live[k]) {
            continue;
        }
        if (columns[k].from == FROM_PLUGIN) {
            draft_move(&draft, k, array->children[columns[k].at]);
        } else {
            host_column(reading, &draft, k, file, array->length, err);
        }
    }
    return draft_end(&draft, array->length, out, err);
}

sluice_status reading_push(struct reading *reading, uint32_t file, struct ArrowArray *array,
                           struct sluice_error *err)
{
    uint64_t first = reading->next_row;
    uint64_t n = (uint64_t)array->length;
    struct batch *batch;
    sluice_status status;

    if (reading->again == NULL) {
        TRY(note_origins(reading, file, array, err));
    }
    TRY(read_batch(reading, file, array, &batch, err));
    hold(reading->chain, reading->op, batch);
    reading->next_row += n;
    status = reading->again != NULL ? again_push(reading->again, batch, first, err)
                                    : chain_emit(reading->chain, reading->op->index, batch, err);
    batch_unref(batch);
    TRY(status);
    return n > 0 && reading->again == NULL ? chain_drain(reading->chain, first + n - 1, err)
                                           : SLUICE_OK;
}

static sluice_status push_chunk(struct reading *reading, const struct sluice_chunk *chunk,
                                struct sluice_error *err)
{
    struct stage_result *result = &reading->result;

    if (reading->again == NULL) {
        TRY(quarantine_bad(reading, chunk, result, err));
        TRY(chain_book(reading->chain, reading->op->index, result, err));
    }
    TRY(source_consumed(reading->source, chunk->consumed, err));
    if (chunk->n > reading->usual) {
        TRY(source_shrink(reading->source, err)); /* the rows have their own bytes */
    }
    for (uint32_t i = 0; i < result->n_batches; i++) {
        struct ArrowArray *batch = &result->batches[i];
        sluice_status status =
            batch->length == 0 ? SLUICE_OK : reading_push(reading, chunk->file, batch, err);
        batch->release(batch); /* the next one needs its memory */
        batch->release = NULL;
        TRY(status);
    }
    return SLUICE_OK;
}

/* One chunk through the reader and downstream. */
static sluice_status take_chunk(struct reading *reading, struct stage_worker *worker,
                                struct sluice_chunk *chunk, struct sluice_error *err)
{
    const struct op *op = reading->op;
    struct phase_metrics *metrics = chain_options(reading->chain)->metrics;
    sluice_status status;

    meter_begin(chain_meter(reading->chain));
    status = stage_read(worker, chunk, &reading->result, err);
    meter_end(chain_meter(reading->chain), &metrics->ops[op->index].time, op_isolated(op));
    room_asked(chain_room(reading->chain));
    if (stage_died(status)) {
        return error_prefix(err, "%s, bytes %llu to %llu", chunk->uri,
                            (unsigned long long)chunk->offset,
                            (unsigned long long)(chunk->offset + chunk->n));
    }
    TRY(status);
    if (chunk->consumed < chunk->n && (chunk->flags & SLUICE_CHUNK_LAST) != 0) {
        return error_set(err, SLUICE_E_DATA,
                         "%s: the file ends inside a record that begins at byte %llu", chunk->uri,
                         (unsigned long long)(chunk->offset + chunk->consumed));
    }
    if (reading->again == NULL) {
        chain_ledger(reading->chain, op->index)->text_bytes += chunk->consumed;
        METRIC_ADD(metrics->text_bytes, chunk->consumed);
    }
    METRIC_ADD(metrics->ops[op->index].bytes_in, chunk->consumed);
    status = push_chunk(reading, chunk, err);
    if (status == SLUICE_E_HALT || status == SLUICE_E_DATA) {
        return error_prefix(err, "%s", chunk->uri); /* a split may hold many files */
    }
    return status;
}

static sluice_status read_chunk(struct reading *reading, struct stage_worker *worker,
                                struct sluice_chunk *chunk, struct sluice_error *err)
{
    sluice_status status;

    if (chunk->n <= reading->usual) {
        return take_chunk(reading, worker, chunk, err);
    }
    status = giant_begin(reading, chunk, err);
    if (status == SLUICE_OK) {
        status = take_chunk(reading, worker, chunk, err);
    }
    giant_end(reading);
    return status == SLUICE_E_NOMEM
               ? error_prefix(err, "%s, byte %llu", chunk->uri, (unsigned long long)chunk->offset)
               : status;
}

static sluice_status read_chunks(struct reading *reading, struct stage_worker *worker,
                                 struct sluice_error *err)
{
    const struct chain_options *options = chain_options(reading->chain);

    for (;;) {
        struct sluice_chunk chunk = { .size = sizeof chunk };
        bool more = false;
        sluice_status status;
        TRY(chain_between(reading->chain, err));
        meter_begin(chain_meter(reading->chain));
        status = source_next(reading->source, &chunk, &more, err);
        meter_end(chain_meter(reading->chain), &options->metrics->source, false);
        TRY(status);
        if (!more) {
            return SLUICE_OK;
        }
        TRY(read_chunk(reading, worker, &chunk, err));
    }
}

/* Places of what every reader emits beside its columns. */
void reading_columns(struct reading *reading)
{
    const struct op *op = reading->op;

    reading->begin_column = reading->end_column = reading->id_column = -1;
    for (uint32_t k = 0; k < op->out.n; k++) {
        const char *name = op->out.fields[k].name;
        const struct op_column *column = &op_read(op)->columns[k];
        if (column->from != FROM_PLUGIN) {
            continue;
        }
        if (strcmp(name, SLUICE_BEGIN) == 0) {
            reading->begin_column = (int32_t)column->at;
        } else if (strcmp(name, SLUICE_END) == 0) {
            reading->end_column = (int32_t)column->at;
        } else if (strcmp(name, "id") == 0) {
            reading->id_column = (int32_t)column->at;
        }
    }
}

struct source_options sources_options(const struct plan *plan, const struct node *reader,
                                      uint64_t batch_bytes)
{
    return (struct source_options){ .cut = splits_cut(reader->entry->stage.cut),
                                    .max_record = plan->graph->nodes[reader->inputs[0]]->max_record,
                                    .target_chunk = batch_bytes };
}

sluice_status reading_chunks(struct reading *reading, const struct source_inputs *inputs,
                             struct stage_worker *worker, struct sluice_error *err)
{
    const struct chain_options *options = chain_options(reading->chain);
    struct source_options source_options =
        sources_options(options->plan, reading->op->node, inputs->batch_bytes);
    uint64_t raw;
    sluice_status status;

    source_options.digest = inputs->digest != NULL;
    source_options.too_long = reading->again == NULL ? too_long : NULL;
    source_options.grow = grow;
    source_options.ctx = reading;
    TRY(source_open(inputs->feeder, inputs->files, reading->split, &source_options,
                    &reading->source, err));
    status = read_chunks(reading, worker, err);
    raw = source_position_raw(reading->source);
    if (status == SLUICE_OK && inputs->digest != NULL) {
        *inputs->digest = source_digest(reading->source);
    }
    source_close(reading->source);
    reading->window = 0;
    giant_end(reading);
    /* A second pass is in no account: its rows were counted by the first. */
    if (status == SLUICE_OK && reading->again == NULL) {
        METRIC_ADD(options->metrics->raw_bytes, raw);
    }
    return status;
}
