/* Saved states of pack: see pack_stage.h. What waits and what is laid out is saved; offsets that
 * follow from it are made again, so that there are fewer numbers to doubt. */
#include <sluice_state.h>

#include "pack_stage.h"

#define LISTS 14u

static void lists_of(struct worker *worker, struct sluice_state_list lists[LISTS])
{
    struct pack_held *held = &worker->held;
    struct pack_rows *rows = &worker->rows;
    const struct sluice_state_list all[LISTS] = {
        { &held->tokens, 4 },       { &held->mask, 1 },       { &held->lengths, 4 },
        { &held->begins, 8 },       { &held->origins, 8 },    { &held->origin_ends, 8 },
        { &rows->tokens, 4 },       { &rows->mask, 1 },       { &rows->segments, 4 },
        { &rows->segment_ends, 4 }, { &rows->padding, 4 },    { &rows->origins, 8 },
        { &rows->spans, 8 },        { &rows->piece_ends, 4 },
    };

    memcpy(lists, all, sizeof all);
}

sluice_status pack_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct sluice_state_list lists[LISTS];

    (void)err;
    lists_of(state, lists);
    return sluice_state_put_lists(io, lists, LISTS);
}

/* A mask has a byte a token, or there is none. */
static bool mask_valid(const struct stage *stage, const struct sluice_bytes *mask,
                       const struct sluice_bytes *tokens)
{
    return mask->size == (stage->mask >= 0 ? tokens->size / 4 : 0);
}

static bool held_valid(const struct pack_held *held)
{
    const uint32_t *lengths = (const uint32_t *)(const void *)held->lengths.data;
    const uint64_t *ends = (const uint64_t *)(const void *)held->origin_ends.data;
    uint64_t n = held->lengths.size / sizeof *lengths;
    uint64_t tokens = 0;
    uint64_t origins = 0;

    if (held->begins.size != n * 8 || held->origin_ends.size != n * 8) {
        return false;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (lengths[k] == 0 || ends[k] < origins || ends[k] - origins > UINT32_MAX) {
            return false;
        }
        tokens += lengths[k];
        origins = ends[k];
    }
    return held->tokens.size == tokens * 4 && held->origins.size == origins * 8;
}

/* Whether the origins of pieces are in their order and all there. */
static bool pieces_valid(const struct pack_rows *rows, uint64_t n)
{
    const int32_t *ends = (const int32_t *)(const void *)rows->piece_ends.data;
    int32_t last = 0;

    for (uint64_t k = 0; k < n; k++) {
        if (ends[k] < last) {
            return false;
        }
        last = ends[k];
    }
    return rows->piece_ends.size == n * 4 && rows->origins.size == (uint64_t)last * 8 &&
           rows->spans.size == rows->origins.size;
}

/* Tokens of the pieces first..end; more than a row holds where they make no sense. */
static int64_t sum_of(const int32_t *lengths, int32_t first, int32_t end, int64_t most)
{
    int64_t sum = 0;

    for (int32_t k = first; k < end && sum <= most; k++) {
        sum = lengths[k] > 0 ? sum + lengths[k] : most + 1;
    }
    return sum;
}

/* The offsets that follow from the pieces of the ended rows; what is behind them is the open row.
 * SLUICE_E_DATA: no rows of this stage. */
static sluice_status lay_out(struct pack_rows *rows, uint64_t most)
{
    const int32_t *lengths = (const int32_t *)(const void *)rows->segments.data;
    const int32_t *ends = (const int32_t *)(const void *)rows->segment_ends.data;
    const int32_t *padding = (const int32_t *)(const void *)rows->padding.data;
    const int32_t *pieces = (const int32_t *)(const void *)rows->piece_ends.data;
    int64_t tokens = 0;
    int32_t segment = 0;
    int ok = 1;

    for (int64_t row = 0; ok && row <= rows->n; row++) {
        int32_t begin = segment;
        int32_t token_end;
        int32_t origin_end;
        segment = ends[row];
        if (segment < begin || segment > rows->n_segments || (row == 0 && segment != 0) ||
            (row > 0 && padding[row - 1] < PACK_INCOMPLETE)) {
            return SLUICE_E_DATA;
        }
        if (row > 0) {
            int64_t sum = sum_of(lengths, begin, segment, (int64_t)most);
            sum += padding[row - 1] > 0 ? padding[row - 1] : 0;
            if (sum > (int64_t)most || tokens + sum > INT32_MAX) {
                return SLUICE_E_DATA;
            }
            tokens += sum;
        }
        token_end = (int32_t)tokens;
        origin_end = segment > 0 ? pieces[segment - 1] : 0;
        ok = sluice_bytes_add(&rows->token_ends, &token_end, sizeof token_end) &&
             sluice_bytes_add(&rows->origin_ends, &origin_end, sizeof origin_end);
    }
    if (!ok) {
        return SLUICE_E_NOMEM;
    }
    rows->filled = (uint32_t)sum_of(lengths, segment, (int32_t)rows->n_segments, (int64_t)most);
    return rows->filled < most && rows->tokens.size == ((uint64_t)tokens + rows->filled) * 4
               ? SLUICE_OK
               : SLUICE_E_DATA;
}

static sluice_status load_rows(struct pack_rows *rows, uint64_t most)
{
    uint64_t n = rows->segment_ends.size / 4;
    uint64_t n_segments = rows->segments.size / 4;

    if (n_segments > INT32_MAX || rows->origins.size / 8 > INT32_MAX ||
        !pieces_valid(rows, n_segments) || rows->padding.size != (n > 0 ? n - 1 : 0) * 4) {
        return SLUICE_E_DATA;
    }
    if (n == 0) { /* nothing was begun */
        return n_segments == 0 && rows->tokens.size == 0 ? SLUICE_OK : SLUICE_E_DATA;
    }
    rows->n = (int64_t)n - 1;
    rows->n_segments = (int64_t)n_segments;
    return lay_out(rows, most);
}

sluice_status pack_load(void *state, struct sluice_io *io, uint64_t version,
                        struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    struct sluice_state_list lists[LISTS];
    bool fits = stage->config.strategy == PACK_BEST_FIT;
    sluice_status status;

    (void)version;
    (void)err;
    lists_of(worker, lists);
    status = sluice_state_get_lists(io, lists, LISTS);
    if (status == SLUICE_OK) {
        status = load_rows(&worker->rows, (uint64_t)stage->config.sequence_length);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    worker->stream.filled = worker->rows.filled;
    return mask_valid(stage, &worker->held.mask, &worker->held.tokens) &&
                   mask_valid(stage, &worker->rows.mask, &worker->rows.tokens) &&
                   held_valid(&worker->held) &&
                   (fits ? worker->rows.filled == 0 : worker->held.tokens.size == 0)
               ? SLUICE_OK
               : SLUICE_E_DATA;
}
