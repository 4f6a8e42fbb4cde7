/* The lifecycle of the token writers: see token_writer.h. */
#include "token_writer.h"

#include <sluice_stage.h>
#include <sluice_state.h>

#include <stdio.h>

sluice_status token_write(struct sluice_emit *emit, uint32_t output, const void *data, uint64_t n,
                          struct sluice_error *err)
{
    return n == 0 ? SLUICE_OK : token_rows_refused(emit->write(emit, output, data, n), err);
}

sluice_status token_add(struct sluice_bytes *bytes, const void *data, uint64_t n,
                        struct sluice_error *err)
{
    return sluice_bytes_add(bytes, data, n) ? SLUICE_OK : token_rows_nomem(err);
}

/* ---- open, prepare, close ---- */

sluice_status token_writer_open(const struct token_format *format, const void *config,
                                void **shared, struct sluice_error *err)
{
    struct token_stage *stage = calloc(1, sizeof *stage);

    if (stage == NULL) {
        return token_rows_nomem(err);
    }
    stage->format = format;
    stage->config = config;
    *shared = stage;
    return SLUICE_OK;
}

void token_writer_close(void *shared)
{
    free(shared);
}

sluice_status token_writer_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct token_stage *stage = shared;
    const char *tokenizer;
    sluice_status status =
        token_rows_prepare(&stage->rows, plan, stage->config->sequences, stage->config->dtype,
                           stage->config->loss_mask, stage->format->mask, err);

    if (status == SLUICE_OK) {
        tokenizer = plan->metadata(plan, 0, stage->rows.tokens, "tokenizer");
        snprintf(stage->tokenizer, sizeof stage->tokenizer, "%s", tokenizer ? tokenizer : "");
        status = stage->format->prepare(stage, plan, err);
    }
    return status;
}

sluice_status token_writer_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct token_writer), out, err);
}

void token_writer_worker_close(void *state)
{
    struct token_writer *writer = state;

    sluice_bytes_free(&writer->data);
    sluice_bytes_free(&writer->index);
    sluice_bytes_free(&writer->mask);
    free(writer);
}

/* ---- saved states ---- */

sluice_status token_writer_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct token_writer *writer = state;
    const uint64_t counts[3] = { writer->sequences, writer->tokens, (uint64_t)writer->rows };
    sluice_status status = io->write(io, counts, sizeof counts);

    (void)err;
    if (status == SLUICE_OK) {
        status = io->write(io, &writer->uncounted, sizeof writer->uncounted);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_put(io, writer->data.data, writer->data.size);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_put(io, writer->index.data, writer->index.size);
    }
    return status == SLUICE_OK ? sluice_state_put(io, writer->mask.data, writer->mask.size)
                               : status;
}

sluice_status token_writer_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct token_writer *writer = state;
    uint64_t counts[3] = { 0, 0, 0 };
    sluice_status status = io->read(io, counts, sizeof counts);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = io->read(io, &writer->uncounted, sizeof writer->uncounted);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 1, &writer->data);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 1, &writer->index);
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 1, &writer->mask);
    }
    writer->sequences = counts[0];
    writer->tokens = counts[1];
    writer->rows = (int64_t)counts[2];
    return status;
}

/* ---- rows ---- */

static sluice_status add(void *user, const uint32_t *ids, const uint8_t *mask, size_t n,
                         struct sluice_error *err)
{
    struct token_writer *writer = user;
    sluice_status status;

    if (n == 0 && writer->stage->format->no_empty) {
        writer->uncounted.empty++;
        return SLUICE_OK;
    }
    status = writer->stage->format->add(writer, ids, mask, n, err);
    if (status == SLUICE_OK) {
        writer->sequences++;
        writer->tokens += n;
        writer->uncounted.sequences++;
        writer->uncounted.tokens += (int64_t)n;
    }
    return status;
}

/* Files without a token are none: readers map them, and no bytes can't be mapped. */
static sluice_status end_files(struct token_writer *writer, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    sluice_status status =
        writer->tokens > 0 ? writer->stage->format->end(writer, emit, err) : SLUICE_OK;

    writer->data.size = writer->index.size = writer->mask.size = 0;
    writer->sequences = writer->tokens = 0;
    return status;
}

sluice_status token_writer_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct token_writer *writer = state;
    const struct token_stage *stage = writer->stage;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        writer->rows++;
        writer->uncounted.padding += token_rows_padding(&stage->rows, batch->array, row);
        status = token_rows_each(&stage->rows, batch->array, row, add, writer, err);
        if (status == SLUICE_OK && stage->format->size(writer) >= stage->config->shard_size) {
            status = end_files(writer, emit, err);
            if (status == SLUICE_OK) {
                status = token_rows_refused(emit->roll(emit, writer->rows), err);
            }
            writer->rows = 0;
        }
    }
    if (status == SLUICE_OK && stage->format->give != NULL) {
        status = stage->format->give(writer, emit, err);
    }
    return status == SLUICE_OK ? token_rows_measure(emit, &writer->uncounted, err) : status;
}

sluice_status token_writer_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    return end_files(state, emit, err);
}
