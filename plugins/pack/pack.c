/* pack - documents of tokens into rows of sequence_length tokens. What goes where is packer.h's plan; this file holds the tokens of a split
 * (or of a window of it), lays rows out and keeps the account: tokens in = tokens out, padding apart.
 *
 * Rows that stay incomplete are padded, or, with `carry`, handed on: each of their pieces becomes a row of its own, marked by its padding.
 * The composite `pack` (scripts/lib/std.lua) gathers those of all splits by pack_whole's .dropped, and pack_carry packs them once more,
 * window after window, in the order of (split, place): the same rows whatever the number of workers.
 *
 * Output (pack_rows.h): tokens, segments (the lengths of the pieces in a row), padding (how many tokens at the row's end are none), _origin
 * (the input row of each piece), and loss_mask, cu_seqlens, position_ids, document_ids where they are there or asked for. best_fit needs a split's tokens at once and emits when it ends; concat holds one row. */
#include <sluice_arrays.h>
#include <stdbool.h>
#include <stdio.h>

#include "pack_rows.h"
#include "pack_whole.h"
#include "packer.h"

#define BATCH_BYTES (1u << 20) /* of tokens, in an emitted batch */

struct config {
    int64_t sequence_length, pad_id, window;
    int32_t strategy;
    uint8_t pad, cu_seqlens, position_ids, document_ids, carry;
    const char *loss_mask;
};

#define BEST_FIT 0
/* A row is complete when at most a 1024th of it is padding: under 0.1 %. */
#define SLACK 1024
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

struct stage {
    struct config config;
    bool carried;    /* pack_carry: its input is what splits left */
    uint64_t window; /* tokens; UINT64_MAX = no bound */
    uint32_t pad_id;
    int32_t tokens, row, mask; /* places of the input columns; mask -1 = absent */
    int32_t origin;            /* pack_carry's */
    uint32_t columns;          /* PACK_… of the output */
};

struct worker {
    const struct stage *stage;
    struct sluice_bytes tokens;  /* best_fit: of all pieces held, in order */
    struct sluice_bytes mask;    /* the same, a byte a token, where there is a loss mask */
    struct sluice_bytes lengths; /* uint32_t */
    struct sluice_bytes numbers; /* uint64_t: _row */
    struct packer_stream stream; /* concat */
    struct pack_rows rows;
    int64_t out, pad, sequences, cut; /* measures not yet told */
};

static sluice_status nomem(struct sluice_error *err)
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
        return nomem(err);
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
    const char *mask_type = stage->carried ? "list<uint8>?" : "list<uint8>";
    sluice_status status =
        plan->need(plan, 0, "tokens", stage->carried ? "list<uint32>?" : "list<uint32>", 0,
                   &stage->tokens, err);

    if (status == SLUICE_OK) {
        status =
            plan->need(plan, 0, stage->carried ? "_pos" : "_row", "uint64", 0, &stage->row, err);
    }
    if (status == SLUICE_OK && stage->carried) {
        status = plan->need(plan, 0, "drop_value", "float64?", 0, &stage->origin, err);
    }
    stage->mask = -1;
    if (status == SLUICE_OK && stage->config.loss_mask != NULL &&
        stage->config.loss_mask[0] != '\0') {
        status = plan->need(plan, 0, stage->config.loss_mask, mask_type, 1, &stage->mask, err);
    }
    if (status == SLUICE_OK) {
        stage->columns = (stage->mask >= 0 ? PACK_LOSS_MASK : 0) |
                         (stage->config.cu_seqlens != 0 ? PACK_CU_SEQLENS : 0) |
                         (stage->config.position_ids != 0 ? PACK_POSITION_IDS : 0) |
                         (stage->config.document_ids != 0 ? PACK_DOCUMENT_IDS : 0);
        status = choose_pad(stage, plan, err);
    }
    if (status == SLUICE_OK && !copy_metadata(stage, plan, &metadata)) {
        status = nomem(err);
    }
    if (status == SLUICE_OK) {
        status = pack_rows_declare(stage->columns, metadata.data, plan, err);
    }
    sluice_bytes_free(&metadata);
    return status;
}

/* ---- rows ---- */

/* Ends the open row, padded if that is asked for; emits the rows when they are many. */
static sluice_status row_end(struct worker *worker, struct sluice_emit *emit,
                             struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    struct pack_rows *rows = &worker->rows;
    uint32_t filled = rows->filled;
    uint32_t padding =
        stage->config.pad != 0 ? (uint32_t)stage->config.sequence_length - filled : 0;

    if (!pack_rows_end(rows, padding, stage->pad_id)) {
        return nomem(err);
    }
    worker->out += filled;
    worker->pad += padding;
    worker->sequences++;
    return rows->tokens.size >= BATCH_BYTES ? pack_rows_emit(rows, emit, err) : SLUICE_OK;
}

/* Ends the open row as pieces for pack_carry. */
static sluice_status row_carry(struct worker *worker, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    uint32_t filled = worker->rows.filled;

    if (!pack_rows_end_parts(&worker->rows)) {
        return nomem(err);
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
                            size_t n, uint64_t origin, struct sluice_emit *emit,
                            struct sluice_error *err)
{
    size_t left = n;
    int pieces = 0;

    while (left > 0) {
        bool full = false;
        uint32_t take = packer_stream_take(&worker->stream, left, &full);
        sluice_status status =
            pack_rows_piece(&worker->rows, tokens + (n - left),
                            mask == NULL ? NULL : mask + (n - left), take, origin)
                ? SLUICE_OK
                : nomem(err);
        if (status == SLUICE_OK && full) {
            status = row_end(worker, emit, err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
        left -= take;
        pieces++;
    }
    worker->cut += pieces > 1;
    return SLUICE_OK;
}

static int keep(struct worker *worker, const uint32_t *tokens, const uint8_t *mask, size_t n,
                uint64_t origin)
{
    uint32_t length = (uint32_t)n;

    return (mask == NULL || sluice_bytes_add(&worker->mask, mask, n)) &&
           sluice_bytes_add(&worker->tokens, tokens, n * sizeof *tokens) &&
           sluice_bytes_add(&worker->lengths, &length, sizeof length) &&
           sluice_bytes_add(&worker->numbers, &origin, sizeof origin);
}

/* Takes the documents held out of the worker, which holds none then. */
struct held {
    struct sluice_bytes tokens, mask, lengths, numbers;
};

static struct held take_held(struct worker *worker)
{
    struct held held = { worker->tokens, worker->mask, worker->lengths, worker->numbers };

    memset(&worker->tokens, 0, sizeof worker->tokens);
    memset(&worker->mask, 0, sizeof worker->mask);
    memset(&worker->lengths, 0, sizeof worker->lengths);
    memset(&worker->numbers, 0, sizeof worker->numbers);
    return held;
}

static void held_free(struct held *held)
{
    sluice_bytes_free(&held->tokens);
    sluice_bytes_free(&held->mask);
    sluice_bytes_free(&held->lengths);
    sluice_bytes_free(&held->numbers);
}

static uint32_t row_room(const struct packer_plan *plan, uint64_t row)
{
    return plan->options.sequence_length - packer_row_tokens(plan, row);
}

/* What becomes of rows that are not complete. */
enum incomplete { INCOMPLETE_PAD, INCOMPLETE_CARRY, INCOMPLETE_HOLD };

/* complete: the most room of a row that is complete. */
static sluice_status lay_out_row(struct worker *worker, const struct held *held,
                                 const struct packer_plan *plan, const uint64_t *begins,
                                 uint64_t row, enum incomplete incomplete, uint32_t complete,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    const uint32_t *tokens = (const uint32_t *)(const void *)held->tokens.data;
    const uint64_t *numbers = (const uint64_t *)(const void *)held->numbers.data;
    const uint8_t *mask = (const uint8_t *)held->mask.data;

    if (row_room(plan, row) <= complete) {
        incomplete = INCOMPLETE_PAD;
    }
    for (uint64_t k = plan->row_begin[row]; k < plan->row_begin[row + 1]; k++) {
        const struct packer_segment *segment = &plan->segments[k];
        uint64_t at = begins[segment->document] + segment->start;
        const uint8_t *values = mask == NULL ? NULL : mask + at;
        uint64_t number = numbers[segment->document];
        if (!(incomplete == INCOMPLETE_HOLD
                  ? keep(worker, tokens + at, values, segment->length, number)
                  : pack_rows_piece(&worker->rows, tokens + at, values, segment->length, number))) {
            return nomem(err);
        }
    }
    return incomplete == INCOMPLETE_HOLD    ? SLUICE_OK
           : incomplete == INCOMPLETE_CARRY ? row_carry(worker, emit, err)
                                            : row_end(worker, emit, err);
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t two = *(const uint64_t *)b;

    return one < two ? 1 : one > two ? -1 : 0;
}

/* The most room of a row that counts as complete, so that those with more hold at most that many tokens: what can't be filled must not
 * crowd out what could. */
static sluice_status choose_complete(const struct packer_plan *plan, uint64_t held_most,
                                     uint32_t *complete, struct sluice_error *err)
{
    uint64_t *rows = malloc((size_t)plan->n_rows * sizeof *rows + 1);
    uint64_t sum = 0;

    if (rows == NULL) {
        return nomem(err);
    }
    for (uint64_t row = 0; row < plan->n_rows; row++) {
        uint32_t room = row_room(plan, row);
        rows[row] = (uint64_t)room << 32 | (plan->options.sequence_length - room);
    }
    qsort(rows, (size_t)plan->n_rows, sizeof *rows, compare_falling);
    for (uint64_t row = 0; row < plan->n_rows; row++) {
        uint32_t room = (uint32_t)(rows[row] >> 32);
        sum += rows[row] & UINT32_MAX;
        if (room <= *complete) {
            break;
        }
        if (sum > held_most) {
            *complete = room;
            break;
        }
    }
    free(rows);
    return SLUICE_OK;
}

/* Packs what is held. last: nothing comes behind; else incomplete rows, to half a window, are held on. */
static sluice_status best_fit(struct worker *worker, bool last, struct sluice_emit *emit,
                              struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    const struct packer_options how = { .sequence_length = (uint32_t)stage->config.sequence_length,
                                        .pad = stage->config.pad != 0 };
    struct held held = take_held(worker);
    const uint32_t *lengths = (const uint32_t *)(const void *)held.lengths.data;
    size_t n = (size_t)(held.lengths.size / sizeof *lengths);
    struct packer_plan plan = { 0 };
    uint64_t *begins = malloc(n * sizeof *begins + 1);
    uint64_t at = 0;
    sluice_status status;

    if (n == 0 || begins == NULL) {
        held_free(&held);
        free(begins);
        return n == 0 ? SLUICE_OK : nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        begins[i] = at;
        at += lengths[i];
    }
    status = packer_best_fit(&how, lengths, n, &plan, err);
    if (status == SLUICE_OK) {
        enum incomplete incomplete = !last                      ? INCOMPLETE_HOLD
                                     : stage->config.carry != 0 ? INCOMPLETE_CARRY
                                                                : INCOMPLETE_PAD;
        uint32_t complete = how.sequence_length / SLACK;
        if (!last) {
            status = choose_complete(&plan, stage->window / 2, &complete, err);
        }
        worker->cut += (int64_t)plan.stats.documents_cut;
        for (uint64_t row = 0; status == SLUICE_OK && row < plan.n_rows; row++) {
            status =
                lay_out_row(worker, &held, &plan, begins, row, incomplete, complete, emit, err);
        }
    }
    packer_plan_deinit(&plan);
    held_free(&held);
    free(begins);
    return status;
}

/* Best fit: holds a document, and packs when the window is full. */
static sluice_status hold(struct worker *worker, const uint32_t *tokens, const uint8_t *mask,
                          size_t n, uint64_t origin, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    if (!keep(worker, tokens, mask, n, origin)) {
        return nomem(err);
    }
    return worker->tokens.size / sizeof *tokens >= worker->stage->window
               ? best_fit(worker, false, emit, err)
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

/* The document that a carried piece is of, among those of all splits: split << 40 | row, as positions are. pack_whole left its row. */
static uint64_t carried_from(const struct ArrowArray *batch, const struct stage *stage, int64_t row)
{
    const uint64_t *positions = batch->children[stage->row]->buffers[1];
    const double *origins = batch->children[stage->origin]->buffers[1];
    double origin = sluice_is_null(batch->children[stage->origin], row) ? 0 : origins[row];

    return (positions[row] >> 40 << 40) |
           (origin >= 0 && origin < (double)((uint64_t)1 << 40) ? (uint64_t)origin : 0);
}

static sluice_status pack_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    const struct ArrowArray *tokens = batch->array->children[stage->tokens];
    const uint64_t *numbers = batch->array->children[stage->row]->buffers[1];
    int64_t in = 0;
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const uint32_t *ids = sluice_list_u32(tokens, row, &n);
        const uint8_t *mask = NULL;
        uint64_t number;
        in += (int64_t)n;
        if (n == 0) {
            continue;
        }
        if (stage->mask >= 0) {
            status = mask_of(batch->array->children[stage->mask], row, n, &mask, err);
        }
        if (status != SLUICE_OK) {
            break;
        }
        number = stage->carried ? carried_from(batch->array, stage, row) : numbers[row];
        if (stage->config.strategy == BEST_FIT) {
            status = hold(worker, ids, mask, n, number, emit, err);
        } else {
            status = concat(worker, ids, mask, n, number, emit, err);
        }
    }
    return status == SLUICE_OK ? tell(worker, batch->n, in, emit, err) : status;
}

static sluice_status pack_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = SLUICE_OK;

    if (worker->stage->config.strategy == BEST_FIT) {
        status = best_fit(worker, true, emit, err);
    } else if (worker->rows.filled > 0) {
        status = worker->stage->config.carry != 0 ? row_carry(worker, emit, err)
                                                  : row_end(worker, emit, err);
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
        return nomem(err);
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
    sluice_bytes_free(&worker->tokens);
    sluice_bytes_free(&worker->mask);
    sluice_bytes_free(&worker->lengths);
    sluice_bytes_free(&worker->numbers);
    free(worker);
}

static const struct sluice_stage pack_stage = {
    .size = sizeof pack_stage,
    .name = "pack",
    .version = "1.0",
    .summary = "Documents of tokens into rows of a fixed length, by best fit or concatenation",
    .doc = "best_fit is that of Ding et al., ICML 2024 (arXiv:2404.10830), within a split, and "
           "with `carry` over what all splits leave: only "
           "documents longer than a row are cut. Output: `tokens`, `segments` "
           "(tokens of each piece of the row), `padding` (tokens at the row's end that are "
           "filling), and what trainers take beside them: `loss_mask` (kept through where the "
           "documents have one, 0 in padding), `cu_seqlens`, `position_ids` and `document_ids` on "
           "request. No token is lost: the ledger holds tokens in and out equal. "
           "Documents without tokens are in no row.",
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
        4, /* four bytes a token, held and laid out once more at the end; two or more bytes of text a token */
    .open = pack_open,
    .prepare = pack_prepare,
    .worker_open = pack_worker_open,
    .process = pack_process,
    .flush = pack_flush,
    .worker_close = pack_worker_close,
    .close = pack_close,
};

static const struct sluice_stage pack_carry_stage = {
    .size = sizeof pack_carry_stage,
    .name = "pack_carry",
    .version = "1.0",
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
    .worker_close = pack_worker_close,
    .close = pack_close,
};

static const struct sluice_stage *const stages[] = { &pack_stage, &pack_whole_stage,
                                                     &pack_carry_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "pack",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
