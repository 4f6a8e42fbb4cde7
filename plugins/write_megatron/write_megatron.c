/* write_megatron - tokens as Megatron-LM's indexed dataset: pairs of files .bin (the tokens) and
 * .idx (where sequences and documents are). The formats are megatron_index.h's; this file decides
 * what a sequence and a document is, and where a pair of files ends. */
#include <sluice_arrays.h>
#include <sluice_files.h>
#include <sluice_stage.h>
#include <stdbool.h>
#include <stdio.h>

#include "megatron_index.h"
#include "sluice_simple.h"

struct config {
    const char *path;
    uint64_t shard_size;
    int32_t dtype, sequences;
    const char *loss_mask;
};

enum { DTYPE_AUTO, DTYPE_UINT16, DTYPE_INT32 };
enum { SEQUENCES_AUTO, SEQUENCES_ROWS, SEQUENCES_DOCUMENTS };
enum { OUTPUT_BIN, OUTPUT_IDX };

static const struct sluice_option options[] = {
    SLUICE_FILES_PATH(struct config, path),
    { .name = "dtype",
      .doc = "Type of a token; auto is uint16 below 65500 ids (Megatron's rule), else int32.",
      .def = "auto",
      .choices = "auto|uint16|int32",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, dtype) },
    { .name = "sequences",
      .doc = "What a sequence is: a row (and a document as well), or each document's piece in a "
             "row, without padding; auto is rows.",
      .def = "auto",
      .choices = "auto|rows|documents",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, sequences) },
    { .name = "loss_mask",
      .doc = "Column of a loss mask: rows that have one are refused, for there is no place for it; "
             "\"\" leaves it out.",
      .def = "loss_mask",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, loss_mask) },
    SLUICE_FILES_SHARD_SIZE(
        struct config, shard_size, "1GiB",
        "Bytes of .bin after which a pair of files is ended, at the end of a row."),
};

struct stage {
    const struct config *config;
    enum megatron_dtype dtype;
    uint64_t vocabulary;               /* ids must be below it; 0 = unknown */
    int32_t tokens, segments, padding; /* places of the input columns; -1 = absent */
};

struct worker {
    const struct stage *stage;
    struct megatron_index *index;
    struct sluice_bytes bin; /* not yet given to the host */
    int64_t rows;            /* in the open pair of files */
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for an indexed dataset");
}

static sluice_status refused(sluice_status status, struct sluice_error *err)
{
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

/* ---- open and prepare ---- */

static sluice_status write_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void write_close(void *shared)
{
    free(shared);
}

static sluice_status choose_dtype(struct stage *stage, struct sluice_error *err)
{
    char message[300];

    switch (stage->config->dtype) {
    case DTYPE_AUTO:
        if (stage->vocabulary == 0) {
            return sluice_fail(err, SLUICE_E_CONFIG, "dtype",
                               "the column 'tokens' does not say how large its vocabulary is "
                               "(metadata vocab_size, which tokenize leaves), so the type of "
                               "a token can't be chosen; give dtype = \"uint16\" or \"int32\"");
        }
        stage->dtype = megatron_dtype_for(stage->vocabulary);
        return SLUICE_OK;
    case DTYPE_UINT16:
        stage->dtype = MEGATRON_U16;
        if (stage->vocabulary > 65536) {
            snprintf(message, sizeof message,
                     "a vocabulary of %llu ids does not fit uint16, which holds ids to 65535; "
                     "expected int32",
                     (unsigned long long)stage->vocabulary);
            return sluice_fail(err, SLUICE_E_CONFIG, "dtype", message);
        }
        return SLUICE_OK;
    default:
        stage->dtype = MEGATRON_I32;
        return SLUICE_OK;
    }
}

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = plan->need(plan, 0, "tokens", "list<uint32>", 0, &stage->tokens, err);
    int32_t mask = -1;

    if (status == SLUICE_OK && stage->config->loss_mask != NULL &&
        stage->config->loss_mask[0] != '\0') {
        status = plan->need(plan, 0, stage->config->loss_mask, "list<uint8>", 1, &mask, err);
    }
    if (status == SLUICE_OK && mask >= 0) {
        return sluice_fail(
            err, SLUICE_E_CONFIG, "loss_mask",
            "the rows have a loss mask and Megatron's indexed dataset has no place "
            "for one: every token would be trained on; write them with "
            "write_datatrove or write_mds, or give loss_mask = \"\" to leave it out");
    }
    stage->segments = stage->padding = -1;
    if (status == SLUICE_OK && stage->config->sequences == SEQUENCES_DOCUMENTS) {
        status = plan->need(plan, 0, "segments", "list<int32>", 1, &stage->segments, err);
    }
    if (status == SLUICE_OK && stage->segments < 0) {
        status = plan->need(plan, 0, "padding", "int32", 1, &stage->padding, err);
    }
    if (status == SLUICE_OK) {
        stage->vocabulary = sluice_metadata_number(plan, 0, stage->tokens, "vocab_size", 0);
        status = choose_dtype(stage, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".bin", "none", 0, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".idx", "none", 0, err);
    }
    return status == SLUICE_OK
               ? plan->note(plan, "dtype",
                            stage->dtype == MEGATRON_U16 ? "\"uint16\"" : "\"int32\"", err)
               : status;
}

/* ---- files ---- */

static sluice_status give_bin(struct worker *worker, struct sluice_emit *emit,
                              struct sluice_error *err)
{
    sluice_status status = worker->bin.size == 0
                               ? SLUICE_OK
                               : emit->write(emit, OUTPUT_BIN, worker->bin.data, worker->bin.size);

    worker->bin.size = 0;
    return refused(status, err);
}

static int32_t give_idx(void *user, const void *bytes, size_t size, struct sluice_error *err)
{
    struct sluice_emit *emit = user;

    return refused(emit->write(emit, OUTPUT_IDX, bytes, size), err);
}

/* Completes the open pair. A pair without a token is none: a .bin of no bytes can't be mapped. */
static sluice_status end_files(struct worker *worker, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    sluice_status status = give_bin(worker, emit, err);

    if (status == SLUICE_OK && megatron_index_tokens(worker->index) > 0) {
        status = megatron_index_write(worker->index, give_idx, emit, err);
    }
    megatron_index_reset(worker->index);
    return status;
}

/* ---- rows ---- */

static sluice_status add_sequence(struct worker *worker, const uint32_t *ids, size_t n,
                                  struct sluice_error *err)
{
    uint32_t width = megatron_dtype_size(worker->stage->dtype);
    sluice_status status;

    if (!sluice_bytes_reserve(&worker->bin, (uint64_t)n * width)) {
        return nomem(err);
    }
    status = megatron_tokens_encode(ids, n, worker->stage->dtype, worker->stage->vocabulary,
                                    megatron_index_tokens(worker->index),
                                    worker->bin.data + worker->bin.size, err);
    if (status == SLUICE_OK) {
        worker->bin.size += (uint64_t)n * width;
        status = megatron_index_append(worker->index, n, err);
    }
    return status == SLUICE_OK ? megatron_index_end_document(worker->index, err) : status;
}

static sluice_status add_pieces(struct worker *worker, const uint32_t *ids, size_t n,
                                const struct ArrowArray *segments, int64_t row,
                                struct sluice_error *err)
{
    const int32_t *offsets = segments->buffers[1];
    const int32_t *lengths = segments->children[0]->buffers[1];
    size_t at = 0;

    for (int32_t k = offsets[row]; k < offsets[row + 1]; k++) {
        sluice_status status;
        if (lengths[k] < 0 || (size_t)lengths[k] > n - at) {
            char message[200];
            snprintf(
                message, sizeof message,
                "segment %d of a row is %d tokens long, expected 0 to %zu, what is left of the row",
                k - offsets[row], lengths[k], n - at);
            return sluice_fail(err, SLUICE_E_DATA, "segments", message);
        }
        status = add_sequence(worker, ids + at, (size_t)lengths[k], err);
        if (status != SLUICE_OK) {
            return status;
        }
        at += (size_t)lengths[k];
    }
    return SLUICE_OK;
}

static sluice_status add_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                             int64_t *padding, struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    size_t n;
    const uint32_t *ids = sluice_list_u32(batch->array->children[stage->tokens], row, &n);

    if (stage->padding >= 0) {
        *padding += ((const int32_t *)batch->array->children[stage->padding]->buffers[1])[row];
    }
    worker->rows++;
    return stage->segments >= 0
               ? add_pieces(worker, ids, n, batch->array->children[stage->segments], row, err)
               : add_sequence(worker, ids, n, err);
}

struct counts {
    int64_t sequences, tokens, documents;
};

static struct counts counts_of(const struct worker *worker)
{
    return (struct counts){ (int64_t)megatron_index_sequences(worker->index),
                            (int64_t)megatron_index_tokens(worker->index),
                            (int64_t)megatron_index_documents(worker->index) };
}

static sluice_status write_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct counts before = counts_of(worker);
    struct counts sum = { 0 };
    int64_t padding = 0;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        status = add_row(worker, batch, sluice_row(batch, k), &padding, err);
        if (status == SLUICE_OK &&
            megatron_index_bin_size(worker->index) >= worker->stage->config->shard_size) {
            struct counts after = counts_of(worker);
            sum = (struct counts){ sum.sequences + after.sequences, sum.tokens + after.tokens,
                                   sum.documents + after.documents };
            status = end_files(worker, emit, err);
            if (status == SLUICE_OK) {
                status = refused(emit->roll(emit, worker->rows), err);
            }
            worker->rows = 0;
        }
    }
    if (status == SLUICE_OK) {
        status = give_bin(worker, emit, err);
    }
    if (status == SLUICE_OK) {
        struct counts after = counts_of(worker);
        status = refused(
            emit->measure(emit, "sequences", sum.sequences + after.sequences - before.sequences),
            err);
        if (status == SLUICE_OK) {
            status = refused(
                emit->measure(emit, "tokens", sum.tokens + after.tokens - before.tokens - padding),
                err);
        }
        if (status == SLUICE_OK) {
            status = refused(emit->measure(emit, "documents",
                                           sum.documents + after.documents - before.documents),
                             err);
        }
        if (status == SLUICE_OK && padding != 0) {
            status = refused(emit->measure(emit, "padding", padding), err);
        }
    }
    return status;
}

static sluice_status write_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    return end_files(state, emit, err);
}

/* ---- saved states: between two batches no token waits ---- */

static sluice_status write_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->rows, sizeof worker->rows);

    (void)err;
    return status == SLUICE_OK ? megatron_index_save(worker->index, io) : status;
}

static sluice_status write_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = io->read(io, &worker->rows, sizeof worker->rows);

    (void)version;
    if (status == SLUICE_OK) {
        status = megatron_index_load(worker->index, io, err);
    }
    return status == SLUICE_OK && worker->rows < 0 ? SLUICE_E_DATA : status;
}

/* ---- workers ---- */

static sluice_status write_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return nomem(err);
    }
    worker->stage = shared;
    status = megatron_index_create(worker->stage->dtype, &worker->index, err);
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static void write_worker_close(void *state)
{
    struct worker *worker = state;

    megatron_index_destroy(worker->index);
    sluice_bytes_free(&worker->bin);
    free(worker);
}

static const struct sluice_stage write_megatron_stage = {
    .size = sizeof write_megatron_stage,
    .name = "write_megatron",
    .version = "1.0",
    .summary = "Tokens as Megatron-LM's indexed dataset: .bin and .idx",
    .doc = "A row is a sequence and a document of its own; that keeps packed rows whole. With "
           "sequences = \"documents\" each piece of a packed row is one instead, and "
           "padding is left out; a document that was cut is then several. Rows without tokens are "
           "sequences of length 0. Every id is checked against the vocabulary.",
    .example = "packed | s.write_megatron { \"out/gold\" }",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = write_open,
    .prepare = write_prepare,
    .worker_open = write_worker_open,
    .process = write_process,
    .flush = write_flush,
    .state_version = 1,
    .save = write_save,
    .load = write_load,
    .worker_close = write_worker_close,
    .close = write_close,
};

SLUICE_PLUGIN("write_megatron", "1.0", "MIT", &write_megatron_stage);
