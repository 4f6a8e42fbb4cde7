/* Rows sorted by position, for EDGE_BY_SPLIT: see edgeInt.h. The position travels in the sorter's
 * record, the other columns as its payload. */
#include <stdlib.h>
#include <string.h>

#include "run/edge/edgeInt.h"
#include "run/edge/rowcodec.h"
#include "run/edge/sorter.h"

#define BATCH_ROWS 2048 /* given at once */
#define BATCH_BYTES ((size_t)1 << 20)

struct edge_split {
    uint32_t n_columns, n_partitions;
    uint32_t pos;                     /* column */
    const struct type **types;        /* of the other columns; owned array */
    const struct ArrowArray **others; /* the other columns of a batch */
    const struct ArrowArray **arrays; /* all columns, when given */
    struct ArrowArray *made;          /* the other columns, when given */
    struct builder **builders;
    uint64_t *rows; /* _row of the rows gathered */
    int64_t n;
    size_t bytes;
    struct buf row;
    struct sorter *sorter;
};

void edge_split_destroy(struct edge_split *s)
{
    if (s != NULL) {
        for (uint32_t k = 0; s->builders != NULL && k + 1 < s->n_columns; k++) {
            builder_destroy(s->builders[k]);
        }
        free(s->builders);
        free(s->types);
        free(s->others);
        free(s->arrays);
        free(s->made);
        free(s->rows);
        buf_deinit(&s->row);
        sorter_destroy(s->sorter);
        free(s);
    }
}

static sluice_status prepare(struct edge_split *s, const struct type *const *types,
                             struct sluice_error *err)
{
    s->types = calloc(s->n_columns, sizeof *s->types);
    s->others = calloc(s->n_columns, sizeof *s->others);
    s->arrays = calloc(s->n_columns, sizeof *s->arrays);
    s->made = calloc(s->n_columns, sizeof *s->made);
    s->builders = calloc(s->n_columns, sizeof(struct builder *));
    s->rows = malloc(BATCH_ROWS * sizeof *s->rows);
    if (s->types == NULL || s->others == NULL || s->arrays == NULL || s->made == NULL ||
        s->builders == NULL || s->rows == NULL) {
        return error_nomem(err, "rows to store");
    }
    for (uint32_t k = 0, m = 0; k < s->n_columns; k++) {
        if (k != s->pos) {
            s->types[m] = types[k];
            TRY(builder_create(types[k], &s->builders[m++], err));
        }
    }
    return SLUICE_OK;
}

sluice_status edge_split_create(uint32_t n_columns, const struct type *const *types, uint32_t pos,
                                uint32_t n_partitions, const char *scratch_dir, uint64_t memory,
                                struct edge_split **out, struct sluice_error *err)
{
    struct edge_split *s = calloc(1, sizeof *s);
    sluice_status status;

    *out = NULL;
    if (s == NULL) {
        return error_nomem(err, "rows to store");
    }
    s->n_columns = n_columns;
    s->n_partitions = n_partitions;
    s->pos = pos;
    status = prepare(s, types, err);
    if (status == SLUICE_OK) {
        status = sorter_create(scratch_dir, memory, &s->sorter, err);
    }
    if (status != SLUICE_OK) {
        edge_split_destroy(s);
        return status;
    }
    *out = s;
    return SLUICE_OK;
}

sluice_status edge_split_add(struct edge_split *s, const struct ArrowArray *const *arrays,
                             const uint32_t *rows, int64_t n, struct sluice_error *err)
{
    static const uint8_t no_key[16];
    const struct ArrowArray *pos = arrays[s->pos];

    if (pos->null_count != 0) {
        return error_field(err, SLUICE_E_INTERNAL, SLUICE_POS, "found a row without a position");
    }
    for (uint32_t k = 0, m = 0; k < s->n_columns; k++) {
        if (k != s->pos) {
            s->others[m++] = arrays[k];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows != NULL ? rows[i] : i;
        uint64_t position = ((const uint64_t *)pos->buffers[1])[row];
        if (position >> EDGE_ROW_BITS >= s->n_partitions) {
            return error_field(err, SLUICE_E_INTERNAL, SLUICE_POS,
                               "found a row about split %llu, expected one below %u",
                               (unsigned long long)(position >> EDGE_ROW_BITS), s->n_partitions);
        }
        buf_clear(&s->row);
        rowcodec_encode(s->types, s->others, s->n_columns - 1, row, &s->row);
        TRY(buf_status(&s->row, err));
        TRY(sorter_add(s->sorter, no_key, position, s->row.data, s->row.size, err));
    }
    return SLUICE_OK;
}

/* ---- saving ---- */

static sluice_status save_record(void *ctx, const struct sorter_record *record,
                                 struct sluice_error *err)
{
    struct saved *out = ctx;

    saved_put(out, (uint64_t)record->n + 1);
    saved_put(out, record->position);
    saved_put_raw(out, record->payload, record->n);
    return saved_status(out, err);
}

sluice_status edge_split_save(struct edge_split *s, struct saved *out, struct sluice_error *err)
{
    TRY(sorter_each(s->sorter, save_record, out, err));
    saved_put(out, 0);
    return saved_status(out, err);
}

static sluice_status append(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    buf_append(ctx, data, n);
    return buf_status(ctx, err);
}

sluice_status edge_split_restore(struct edge_split *s, struct restored *in,
                                 struct sluice_error *err)
{
    static const uint8_t no_key[16];
    uint64_t n;

    while ((n = restored_get(in, (uint64_t)INT32_MAX + 1)) > 0) {
        uint64_t position = restored_get(in, ((uint64_t)s->n_partitions << EDGE_ROW_BITS) - 1);
        buf_clear(&s->row);
        TRY(restored_pieces(in, n - 1, append, &s->row, err));
        TRY(sorter_add(s->sorter, no_key, position, s->row.data, s->row.size, err));
    }
    return restored_status(in, err);
}

typedef sluice_status taker(void *ctx, uint32_t partition, const struct ArrowArray *const *arrays,
                            int64_t n, struct sluice_error *);

/* Gives what was gathered. */
static sluice_status flush(struct edge_split *s, uint32_t partition, taker *take, void *ctx,
                           struct sluice_error *err)
{
    const void *buffers[2] = { NULL, s->rows };
    struct ArrowArray rows = { .length = s->n, .n_buffers = 2, .buffers = buffers };
    sluice_status status = SLUICE_OK;

    if (s->n == 0) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0, m = 0; k < s->n_columns && status == SLUICE_OK; k++) {
        if (k == s->pos) {
            s->arrays[k] = &rows;
        } else {
            status = builder_finish(s->builders[m], &s->made[m], err);
            s->arrays[k] = &s->made[m++];
        }
    }
    if (status == SLUICE_OK) {
        status = take(ctx, partition, s->arrays, s->n, err);
    }
    for (uint32_t m = 0; m + 1 < s->n_columns; m++) {
        if (s->made[m].release != NULL) {
            s->made[m].release(&s->made[m]);
            s->made[m].release = NULL;
        }
    }
    s->n = 0;
    s->bytes = 0;
    return status;
}

sluice_status edge_split_drain(struct edge_split *s, taker *take, void *ctx,
                               struct sluice_error *err)
{
    const struct sorter_record *record;
    uint32_t open = 0; /* the partition being given */

    TRY(sorter_sort(s->sorter, err));
    for (;;) {
        uint32_t part;
        TRY(sorter_next(s->sorter, &record, err));
        part = record == NULL ? s->n_partitions : (uint32_t)(record->position >> EDGE_ROW_BITS);
        if (part != open || s->n == BATCH_ROWS || s->bytes >= BATCH_BYTES) {
            TRY(flush(s, open, take, ctx, err));
        }
        if (part != open) {
            TRY(take(ctx, open, NULL, 0, err));
            open = part;
        }
        if (record == NULL) {
            return SLUICE_OK;
        }
        TRY(rowcodec_decode(s->types, s->builders, s->n_columns - 1, record->payload, record->n,
                            err));
        s->rows[s->n++] = record->position & EDGE_ROW_MASK;
        s->bytes += record->n;
    }
}
