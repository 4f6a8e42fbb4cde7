/* tokenize_rows.c - the rows of a batch: their ids, where each token begins, and which ones are
 * trained on (loss_spans.h). See tokenize_stage.h. */
#include "loss_spans.h"
#include "tokenize_stage.h"

struct worker {
    const struct tokenize_stage *stage;
    struct bpe_worker *bpe;
    uint32_t *ids;
    uint64_t *offsets; /* only where offsets are wanted or needed */
    uint8_t *mask;     /* the same */
    size_t capacity;
    struct loss_spans loss;
};

/* The columns of a batch in the making. */
struct made {
    struct sluice_bytes ends, ids, offsets, mask;
};

static bool wants_offsets(const struct tokenize_stage *stage)
{
    return stage->config->offsets != 0 || stage->loss != LOSS_NONE;
}

sluice_status tokenize_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a tokenizer's worker");
    }
    worker->stage = shared;
    status = bpe_worker_create(worker->stage->bpe, 0, &worker->bpe, err);
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

void tokenize_worker_close(void *state)
{
    struct worker *worker = state;

    bpe_worker_destroy(worker->bpe);
    free(worker->ids);
    free(worker->offsets);
    free(worker->mask);
    loss_spans_deinit(&worker->loss);
    free(worker);
}

static sluice_status too_large(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for tokens");
}

/* Room for that many tokens of one document. */
static sluice_status reserve(struct worker *worker, size_t tokens, struct sluice_error *err)
{
    size_t capacity = tokens + tokens / 2 + 1024;

    if (tokens <= worker->capacity) {
        return SLUICE_OK;
    }
    free(worker->ids);
    free(worker->offsets);
    free(worker->mask);
    worker->ids = NULL;
    worker->offsets = NULL;
    worker->mask = NULL;
    worker->capacity = 0;
    if (tokens > SIZE_MAX / 32) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "a text is too long to be encoded");
    }
    worker->ids = malloc(capacity * sizeof *worker->ids);
    if (wants_offsets(worker->stage)) {
        worker->offsets = malloc(capacity * sizeof *worker->offsets);
        worker->mask = malloc(capacity);
    }
    if (worker->ids == NULL ||
        (wants_offsets(worker->stage) && (worker->offsets == NULL || worker->mask == NULL))) {
        return too_large(err);
    }
    worker->capacity = capacity;
    return SLUICE_OK;
}

/* The ids of one document to worker->ids[0 .. *n), and where they begin to worker->offsets. */
static sluice_status encode(struct worker *worker, const char *text, size_t length, size_t *n,
                            struct sluice_error *err)
{
    const struct tokenize_stage *stage = worker->stage;
    size_t begin = stage->bos.added ? 1 : 0;
    size_t bound;
    sluice_status status;

    *n = 0;
    if (length == 0) {
        return SLUICE_OK;
    }
    bound = bpe_encode_bound(stage->bpe, length);
    status = reserve(worker, bound < SIZE_MAX - 2 ? bound + 2 : bound, err);
    if (status != SLUICE_OK) {
        return status;
    }
    status = wants_offsets(stage)
                 ? bpe_encode_offsets(worker->bpe, text, length, worker->ids + begin,
                                      worker->offsets + begin, worker->capacity - begin - 1, n, err)
                 : bpe_encode(worker->bpe, text, length, worker->ids + begin,
                              worker->capacity - begin - 1, n, err);
    if (status != SLUICE_OK) {
        *n = 0;
        return status;
    }
    *n += begin;
    if (stage->bos.added) {
        worker->ids[0] = stage->bos.id;
        if (worker->offsets != NULL) {
            worker->offsets[0] = 0;
        }
    }
    if (stage->eos.added) {
        if (worker->offsets != NULL) {
            worker->offsets[*n] = length;
        }
        worker->ids[(*n)++] = stage->eos.id;
    }
    return SLUICE_OK;
}

/* Which of the n tokens of a document are trained on, to worker->mask. */
static sluice_status find_loss(struct worker *worker, const struct ArrowArray *spans, int64_t row,
                               const char *data, size_t length, size_t n, struct sluice_error *err)
{
    const struct tokenize_stage *stage = worker->stage;
    const struct loss_text text = { data, length, stage->config->loss_unit == 1 };
    size_t begin = stage->bos.added ? 1 : 0;
    size_t inner;
    size_t items;
    const void *found;
    sluice_status status;

    if (n == 0) {
        return SLUICE_OK;
    }
    inner = n - begin - (stage->eos.added ? 1 : 0);
    if (sluice_is_null(spans, row)) {
        status = loss_spans_all(&worker->loss, &text, err);
    } else if (stage->loss == LOSS_PAIRS) {
        found = sluice_list_u32(spans, row, &items);
        status = loss_spans_pairs(&worker->loss, &text, found, items, err);
    } else if (stage->loss == LOSS_FLAGS) {
        found = sluice_list_u8(spans, row, &items);
        status = loss_spans_flags(&worker->loss, &text, found, items, err);
    } else {
        found = sluice_text(spans, row, &items);
        status = loss_spans_json(&worker->loss, &text, found, items, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    loss_spans_tokens(&worker->loss, &text, (enum loss_rule)stage->config->loss_rule,
                      worker->offsets + begin, inner, worker->mask + begin);
    if (begin > 0) {
        worker->mask[0] = 0;
    }
    if (stage->eos.added) {
        worker->mask[n - 1] = loss_spans_end(&worker->loss, &text);
    }
    return SLUICE_OK;
}

static sluice_status add_row(const struct worker *worker, size_t n, int32_t end, struct made *made,
                             struct sluice_error *err)
{
    const struct tokenize_stage *stage = worker->stage;
    bool good =
        sluice_bytes_add(&made->ids, worker->ids, n * sizeof *worker->ids) &&
        sluice_bytes_add(&made->ends, &end, sizeof end) &&
        (stage->loss == LOSS_NONE || sluice_bytes_add(&made->mask, worker->mask, n)) &&
        (stage->config->offsets == 0 || sluice_bytes_reserve(&made->offsets, n * sizeof(uint32_t)));

    for (size_t k = 0; good && stage->config->offsets != 0 && k < n; k++) {
        uint32_t offset = (uint32_t)worker->offsets[k];
        memcpy(made->offsets.data + made->offsets.size, &offset, sizeof offset);
        made->offsets.size += sizeof offset;
    }
    return good ? SLUICE_OK : too_large(err);
}

static sluice_status encode_rows(struct worker *worker, const struct sluice_batch *batch,
                                 struct made *made, int64_t *total, struct sluice_error *err)
{
    const struct ArrowArray *texts = batch->array->children[0];
    const struct tokenize_stage *stage = worker->stage;
    int32_t end = 0;

    if (!sluice_bytes_reserve(&made->ends, ((uint64_t)batch->n + 1) * sizeof end) ||
        !sluice_bytes_add(&made->ends, &end, sizeof end)) {
        return too_large(err);
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t length;
        size_t n;
        const char *text = sluice_text(texts, row, &length);
        sluice_status status = encode(worker, text, length, &n, err);
        if (status == SLUICE_OK && stage->loss != LOSS_NONE) {
            status =
                find_loss(worker, batch->array->children[stage->spans], row, text, length, n, err);
        }
        if (status != SLUICE_OK) {
            if (status == SLUICE_E_DATA && err != NULL) {
                err->row = row;
            }
            return status;
        }
        if (n > (size_t)(INT32_MAX - end)) {
            return sluice_fail(err, SLUICE_E_DATA, "tokens",
                               "a batch has more than 2147483647 tokens");
        }
        end += (int32_t)n;
        status = add_row(worker, n, end, made, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    *total = end;
    return SLUICE_OK;
}

/* A list column with its own copy of the ends. Takes items. */
static sluice_status make_list(const struct made *made, int64_t rows, struct sluice_bytes *items,
                               int64_t total, struct ArrowArray *out)
{
    struct sluice_bytes ends = { 0 };

    if (!sluice_bytes_add(&ends, made->ends.data, made->ends.size)) {
        return SLUICE_E_NOMEM;
    }
    return sluice_make_list(out, rows, &ends, items, total);
}

/* The columns in the order of prepare. Takes what was made. */
static sluice_status make_columns(const struct tokenize_stage *stage, struct made *made,
                                  int64_t rows, int64_t total, struct ArrowArray *out)
{
    struct ArrowArray columns[3];
    int n = 0;
    sluice_status status = make_list(made, rows, &made->ids, total, &columns[n]);

    n += status == SLUICE_OK;
    if (status == SLUICE_OK && stage->loss != LOSS_NONE) {
        status = make_list(made, rows, &made->mask, total, &columns[n]);
        n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK && stage->config->offsets != 0) {
        status = make_list(made, rows, &made->offsets, total, &columns[n]);
        n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        return sluice_make_struct(out, rows, n, columns);
    }
    while (n > 0) {
        n--;
        columns[n].release(&columns[n]);
    }
    return status;
}

sluice_status tokenize_process(void *state, const struct sluice_batch *batch,
                               struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct made made = { 0 };
    struct ArrowArray out;
    int64_t total = 0;
    sluice_status status = encode_rows(worker, batch, &made, &total, err);
    sluice_status columns;

    columns =
        status == SLUICE_OK ? make_columns(worker->stage, &made, batch->n, total, &out) : SLUICE_OK;
    sluice_bytes_free(&made.ends);
    sluice_bytes_free(&made.ids);
    sluice_bytes_free(&made.offsets);
    sluice_bytes_free(&made.mask);
    if (status != SLUICE_OK) {
        return status;
    }
    if (columns != SLUICE_OK) {
        return too_large(err);
    }
    status = emit->batch(emit, &out);
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "tokens", total);
    }
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "documents", batch->n);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused the tokens");
}
