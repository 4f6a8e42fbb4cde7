/* pack - documents of tokens into rows of sequence_length tokens. What goes where is packer.h's
 * plan; this file holds the tokens of a split (or of a window of it), lays rows out and keeps the
 * account: tokens in = tokens out, padding apart.
 *
 * Rows that stay incomplete are padded, or, with `carry`, handed on: each of their pieces becomes a
 * row of its own, marked by its padding. The composite `pack` (scripts/lib/std.lua) gathers those
 * of all splits by pack_whole's .dropped, and pack_carry packs them once more, window after window,
 * in the order of (split, place): the same rows whatever the number of workers.
 *
 * Output (pack_rows.h): tokens, segments (the lengths of the pieces in a row), padding (how many
 * tokens at the row's end are none), _origin (the input row of each piece), and loss_mask,
 * cu_seqlens, position_ids, document_ids where they are there or asked for. best_fit needs a
 * split's tokens at once and emits when it ends; concat holds one row. */
#include <sluice_arrays.h>
#include <stdbool.h>
#include <stdio.h>

#include "pack_stage.h"
#include "pack_whole.h"
#include "sluice_simple.h"

#define BATCH_BYTES (1u << 20) /* of tokens, in an emitted batch */

/* Tokens that pack_carry holds by default: 32 MiB of them, and as much again while it packs. */
#define CARRY_WINDOW ((uint64_t)1 << 23)

static const struct sluice_option options[] = {
    { .name = "sequence_length",
      .doc = "Tokens of a row.",
      .def = "2048",
      .type = SLUICE_OPT_INT,
      .flags = SLUICE_OPTF_POSITIONAL,
      .min = 1,
      .max = PACKER_LENGTH_MOST,
      .offset = offsetof(struct config, sequence_length) },
    { .name = "strategy",
      .doc = "best_fit cuts only documents longer than a row; concat cuts wherever a row ends.",
      .def = "best_fit",
      .choices = "best_fit|concat",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, strategy) },
    { .name = "pad",
      .doc = "Fill rows up to sequence_length (false: rows may be shorter).",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, pad) },
    { .name = "pad_id",
      .doc = "Token that fills rows; -1 is the vocabulary's eos, or 0 when the tokens don't say "
             "which that is.",
      .def = "-1",
      .type = SLUICE_OPT_INT,
      .min = -1,
      .max = UINT32_MAX,
      .offset = offsetof(struct config, pad_id) },
    { .name = "loss_mask",
      .doc = "Column of the loss mask, a byte a token, which is kept through where there is one; "
             "\"\" leaves it out.",
      .def = "loss_mask",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, loss_mask) },
    { .name = "cu_seqlens",
      .doc = "Add the column cu_seqlens: where each piece of a row begins, and the row's length at "
             "the end; padding is a piece of its own.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, cu_seqlens) },
    { .name = "position_ids",
      .doc = "Add the column position_ids: each token's place in its piece, from 0, also in "
             "padding.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, position_ids) },
    { .name = "document_ids",
      .doc = "Add the column document_ids: the number of each token's piece in its row, from 0; -1 "
             "for padding.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, document_ids) },
    { .name = "carry",
      .doc = "Pack what is left of all splits together: pieces of rows that a split leaves with "
             "more than a 1024th of padding. false: each split pads its own last rows, and no row "
             "waits for another split.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, carry) },
    { .name = "window",
      .doc = "Tokens that best_fit holds and packs at once; what it leaves incomplete goes on into "
             "the next window. 0: all of a split, and 8388608 where `carry` packs what is left.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .max = 1e12,
      .offset = offsetof(struct config, window) },
};

sluice_status pack_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for packed rows");
}

/* ---- open and prepare ---- */

static sluice_status pack_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    if (stage == NULL) {
        return pack_nomem(err);
    }
    stage->config = *(const struct config *)config;
    stage->window = stage->config.window > 0 ? (uint64_t)stage->config.window : UINT64_MAX;
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status carry_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    sluice_status status = pack_open(api, host, config, shared, err);
    struct stage *stage = *shared;

    if (status == SLUICE_OK) {
        stage->carried = true;
        stage->config.carry = 0;
        stage->window = stage->config.window > 0 ? (uint64_t)stage->config.window : CARRY_WINDOW;
    }
    return status;
}

static void pack_close(void *shared)
{
    free(shared);
}

static sluice_status choose_pad(struct stage *stage, struct sluice_plan *plan,
                                struct sluice_error *err)
{
    uint64_t vocabulary = sluice_metadata_number(plan, 0, stage->tokens, "vocab_size", UINT64_MAX);
    int64_t id = stage->config.pad_id;
    char message[200];

    if (id < 0) {
        id = (int64_t)sluice_metadata_number(plan, 0, stage->tokens, "eos", 0);
        id = id > UINT32_MAX ? 0 : id;
    } else if ((uint64_t)id >= vocabulary) {
        snprintf(message, sizeof message,
                 "found pad_id = %lld, expected an id below the vocabulary's size of %llu",
                 (long long)id, (unsigned long long)vocabulary);
        return sluice_fail(err, SLUICE_E_CONFIG, "pad_id", message);
    }
    stage->pad_id = (uint32_t)id;
    return SLUICE_OK;
}

/* What the tokens say about their vocabulary, handed on. */
static int copy_metadata(const struct stage *stage, struct sluice_plan *plan,
                         struct sluice_bytes *out)
{
    static const char *const keys[] = { "vocab_size", "tokenizer", "eos", "bos" };
    char text[80];
    int n = snprintf(text, sizeof text, "sequence_length=%lld",
                     (long long)stage->config.sequence_length);
    int ok = sluice_bytes_add(out, text, (uint64_t)n);

    if (ok && stage->config.pad != 0) {
        n = snprintf(text, sizeof text, "\npad_id=%u", stage->pad_id);
        ok = sluice_bytes_add(out, text, (uint64_t)n);
    }
    for (size_t k = 0; ok && k < sizeof keys / sizeof keys[0]; k++) {
        const char *value = plan->metadata(plan, 0, stage->tokens, keys[k]);
        if (value != NULL) {
            ok = sluice_bytes_add(out, "\n", 1) &&
                 sluice_bytes_add(out, keys[k], strlen(keys[k])) && sluice_bytes_add(out, "=", 1) &&
                 sluice_bytes_add(out, value, strlen(value));
        }
    }
    return ok && sluice_bytes_add(out, "", 1);
}

static sluice_status pack_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    struct sluice_bytes metadata = { 0 };
    const char *mask = stage->config.loss_mask;
    sluice_status status = plan->need(plan, 0, "tokens", "list<uint32>", 0, &stage->tokens, err);

    if (status == SLUICE_OK) {
        status = pack_input_prepare(&stage->input, stage->carried, plan, err);
    }
    stage->mask = -1;
    if (status == SLUICE_OK && mask != NULL && mask[0] != '\0') {
        /* Whatever it was called before, the rows of pack have it under its own name. */
        status = plan->need(plan, 0, stage->carried ? "loss_mask" : mask, "list<uint8>", 1,
                            &stage->mask, err);
    }
    if (status == SLUICE_OK) {
        stage->columns = (stage->mask >= 0 ? PACK_LOSS_MASK : 0) |
                         (stage->config.cu_seqlens != 0 ? PACK_CU_SEQLENS : 0) |
                         (stage->config.position_ids != 0 ? PACK_POSITION_IDS : 0) |
                         (stage->config.document_ids != 0 ? PACK_DOCUMENT_IDS : 0);
        status = choose_pad(stage, plan, err);
    }
    if (status == SLUICE_OK && !copy_metadata(stage, plan, &metadata)) {
        status = pack_nomem(err);
    }
    if (status == SLUICE_OK) {
        status = pack_rows_declare(stage->columns, metadata.data, stage->input.metadata, plan, err);
    }
    sluice_bytes_free(&metadata);
    return status;
}

/* ---- rows ---- */

sluice_status pack_row_end(struct worker *worker, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    struct pack_rows *rows = &worker->rows;
    uint32_t filled = rows->filled;
    uint32_t padding =
        stage->config.pad != 0 ? (uint32_t)stage->config.sequence_length - filled : 0;

    if (!pack_rows_end(rows, padding, stage->pad_id)) {
        return pack_nomem(err);
    }
    worker->out += filled;
    worker->pad += padding;
    worker->sequences++;
    return rows->tokens.size >= BATCH_BYTES ? pack_rows_emit(rows, emit, err) : SLUICE_OK;
}

sluice_status pack_row_carry(struct worker *worker, struct sluice_emit *emit,
                             struct sluice_error *err)
{
    uint32_t filled = worker->rows.filled;

    if (!pack_rows_end_parts(&worker->rows)) {
        return pack_nomem(err);
    }
    worker->out += filled;
    return worker->rows.tokens.size >= BATCH_BYTES ? pack_rows_emit(&worker->rows, emit, err)
                                                   : SLUICE_OK;
}

/* Tells what was counted since the last time. */
static sluice_status tell(struct worker *worker, int64_t documents, int64_t in,
                          struct sluice_emit *emit, struct sluice_error *err)
{
    bool carried = worker->stage->carried; /* its tokens were counted before */
    const struct {
        const char *name;
        int64_t delta;
    } measures[] = {
        { carried ? "pieces" : "documents", documents },
        { carried ? "carried.in" : "tokens.in", in },
        { carried ? "carried.out" : "tokens.out", worker->out },
        { "padding", worker->pad },
        { "sequences", worker->sequences },
        { "documents_cut", worker->cut },
    };

    for (size_t k = 0; k < sizeof measures / sizeof measures[0]; k++) {
        sluice_status status = measures[k].delta == 0
                                   ? SLUICE_OK
                                   : emit->measure(emit, measures[k].name, measures[k].delta);
        if (status != SLUICE_OK) {
            return sluice_fail(err, status, "", "the host refused a measure");
        }
    }
    worker->out = worker->pad = worker->sequences = worker->cut = 0;
    return SLUICE_OK;
}

/* ---- process and flush ---- */

static sluice_status concat(struct worker *worker, const uint32_t *tokens, const uint8_t *mask,
                            size_t n, const struct pack_source *source, struct sluice_emit *emit,
                            struct sluice_error *err)
{
    struct pack_source piece = *source;
    size_t left = n;
    int pieces = 0;

    while (left > 0) {
        bool full = false;
        uint32_t take = packer_stream_take(&worker->stream, left, &full);
        sluice_status status =
            pack_rows_piece(&worker->rows, tokens + (n - left),
                            mask == NULL ? NULL : mask + (n - left), take, &piece)
                ? SLUICE_OK
                : pack_nomem(err);
        if (status == SLUICE_OK && full) {
            status = pack_row_end(worker, emit, err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
        left -= take;
        piece.begin += piece.begin == PACK_UNKNOWN ? 0 : take;
        pieces++;
    }
    worker->cut += pieces > 1;
    return SLUICE_OK;
}

/* Best fit: holds a document, and packs when the window is full. */
static sluice_status hold(struct worker *worker, const uint32_t *tokens, const uint8_t *mask,
                          size_t n, const struct pack_source *source, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    if (!pack_held_add(&worker->held, tokens, mask, n, source)) {
        return pack_nomem(err);
    }
    return worker->held.tokens.size / sizeof *tokens >= worker->stage->window
               ? pack_fit(worker, false, emit, err)
               : SLUICE_OK;
}

/* The loss mask of a row: n bytes, one a token. */
static sluice_status mask_of(const struct ArrowArray *list, int64_t row, size_t n,
                             const uint8_t **mask, struct sluice_error *err)
{
    size_t found;
    char message[200];

    *mask = sluice_list_u8(list, row, &found);
    if (found != n) {
        snprintf(message, sizeof message,
                 "the loss mask of a document has %zu values, expected %zu, one a token", found, n);
        return sluice_fail(err, SLUICE_E_DATA, "loss_mask", message);
    }
    return SLUICE_OK;
}

static sluice_status pack_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    const struct ArrowArray *tokens = batch->array->children[stage->tokens];
    int64_t in = 0;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const uint32_t *ids = sluice_list_u32(tokens, row, &n);
        const uint8_t *mask = NULL;
        struct pack_source source;
        in += (int64_t)n;
        if (n == 0) {
            continue;
        }
        if (stage->mask >= 0) {
            status = mask_of(batch->array->children[stage->mask], row, n, &mask, err);
        }
        if (status == SLUICE_OK &&
            !pack_input_source(&stage->input, batch->array, row, &worker->scratch, &source)) {
            status = pack_nomem(err);
        }
        if (status != SLUICE_OK) {
            break;
        }
        if (stage->config.strategy == PACK_BEST_FIT) {
            status = hold(worker, ids, mask, n, &source, emit, err);
        } else {
            status = concat(worker, ids, mask, n, &source, emit, err);
        }
    }
    return status == SLUICE_OK ? tell(worker, batch->n, in, emit, err) : status;
}

static sluice_status pack_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = SLUICE_OK;

    if (worker->stage->config.strategy == PACK_BEST_FIT) {
        status = pack_fit(worker, true, emit, err);
    } else if (worker->rows.filled > 0) {
        status = worker->stage->config.carry != 0 ? pack_row_carry(worker, emit, err)
                                                  : pack_row_end(worker, emit, err);
    }
    if (status == SLUICE_OK) {
        status = pack_rows_emit(&worker->rows, emit, err);
    }
    return status == SLUICE_OK ? tell(worker, 0, 0, emit, err) : status;
}

static sluice_status pack_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return pack_nomem(err);
    }
    worker->stage = shared;
    worker->rows.columns = worker->stage->columns;
    worker->stream.sequence_length = (uint32_t)worker->stage->config.sequence_length;
    *out = worker;
    return SLUICE_OK;
}

static void pack_worker_close(void *state)
{
    struct worker *worker = state;

    pack_rows_deinit(&worker->rows);
    pack_held_deinit(&worker->held);
    sluice_bytes_free(&worker->scratch);
    free(worker);
}

const struct sluice_stage pack_stage = {
    .size = sizeof pack_stage,
    .name = "pack",
    .version = "1.1",
    .summary = "Documents of tokens into rows of a fixed length, by best fit or concatenation",
    .doc = "best_fit is that of Ding et al., ICML 2024 (arXiv:2404.10830), within a split, and "
           "with `carry` over what all splits leave: only "
           "documents longer than a row are cut. Output: `tokens`, `segments` "
           "(tokens of each piece of the row), `padding` (tokens at the row's end that are "
           "filling), and what trainers take beside them: `loss_mask` (kept through where the "
           "documents have one, 0 in padding), `cu_seqlens`, `position_ids` and `document_ids` on "
           "request. No token is lost: the ledger holds tokens in and out equal. "
           "Documents without tokens are in no row. `sluice trace` tells which tokens of which "
           "documents are in a row.",
    .example = "docs | s.tokenize { \"o200k_base.tiktoken\", eos = \"default\" } | s.pack { "
               "sequence_length = 4096 }",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .conserves = "tokens",
    .bytes_worker = 8 << 20,
    .bytes_per_input =
        /* four bytes a token, held and laid out once more at the end; two or more bytes of text a
         * token */
    4,
    .open = pack_open,
    .prepare = pack_prepare,
    .worker_open = pack_worker_open,
    .process = pack_process,
    .flush = pack_flush,
    .state_version = 1,
    .save = pack_save,
    .load = pack_load,
    .worker_close = pack_worker_close,
    .close = pack_close,
};

const struct sluice_stage pack_carry_stage = {
    .size = sizeof pack_carry_stage,
    .name = "pack_carry",
    .version = "1.1",
    .summary = "Rows from what the splits left incomplete (part of `pack`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_CONSUMES | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .conserves = "carried",
    .bytes_worker = 100 << 20,
    .open = carry_open,
    .prepare = pack_prepare,
    .worker_open = pack_worker_open,
    .process = pack_process,
    .flush = pack_flush,
    .state_version = 1,
    .save = pack_save,
    .load = pack_load,
    .worker_close = pack_worker_close,
    .close = pack_close,
};
