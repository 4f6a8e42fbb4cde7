/* Reading edge files: see edge.h. In order here, sorted in edge_sort.c. */
#include <stdlib.h>
#include <string.h>

#include "data/draft.h"
#include "run/edge/edgeInt.h"

struct edge_reader {
    struct edge_stream *stream; /* in order */
    struct edge_sort *sort;     /* or sorted */
    int32_t row;                /* positions: column of _row; -1 = none wanted */
    sluice_status failed;
};

static struct edge_reader *reader_create(struct sluice_error *err)
{
    struct edge_reader *r = calloc(1, sizeof *r);

    if (r == NULL) {
        error_nomem(err, "reading edge files");
        return NULL;
    }
    r->row = -1;
    return r;
}

static sluice_status open_stream(const struct schema *schema, const struct edge_input *inputs,
                                 size_t n, int32_t row, struct edge_reader **out,
                                 struct sluice_error *err)
{
    struct edge_reader *r = reader_create(err);
    sluice_status status;

    *out = NULL;
    if (r == NULL) {
        return SLUICE_E_NOMEM;
    }
    r->row = row;
    status = edge_stream_open(schema, inputs, n, &r->stream, err);
    if (status != SLUICE_OK) {
        edge_reader_close(r);
        return status;
    }
    *out = r;
    return SLUICE_OK;
}

static sluice_status open_sort(const struct schema *schema, const struct edge_input *inputs,
                               size_t n, bool keyed, const char *scratch_dir, uint64_t memory,
                               struct edge_reader **out, struct sluice_error *err)
{
    struct edge_reader *r = reader_create(err);
    sluice_status status;

    *out = NULL;
    if (r == NULL) {
        return SLUICE_E_NOMEM;
    }
    status = edge_sort_open(schema, inputs, n, keyed, scratch_dir, memory, &r->sort, err);
    if (status != SLUICE_OK) {
        edge_reader_close(r);
        return status;
    }
    *out = r;
    return SLUICE_OK;
}

sluice_status edge_reader_open(const struct schema *schema, const struct edge_input *inputs,
                               size_t n, struct edge_reader **out, struct sluice_error *err)
{
    return open_stream(schema, inputs, n, -1, out, err);
}

sluice_status edge_reader_open_positions(const struct schema *schema,
                                         const struct edge_input *inputs, size_t n,
                                         struct edge_reader **out, struct sluice_error *err)
{
    int32_t row = edge_find_word(schema, SLUICE_ROW);

    *out = NULL;
    if (row < 0) {
        return error_field(err, SLUICE_E_SCHEMA, SLUICE_ROW,
                           "rows with positions need a column '_row' of type uint64");
    }
    return open_stream(schema, inputs, n, row, out, err);
}

sluice_status edge_reader_open_keyed(const struct schema *schema, const struct edge_input *inputs,
                                     size_t n, const char *scratch_dir, uint64_t memory,
                                     struct edge_reader **out, struct sluice_error *err)
{
    return open_sort(schema, inputs, n, true, scratch_dir, memory, out, err);
}

sluice_status edge_reader_open_merged(const struct schema *schema, const struct edge_input *inputs,
                                      size_t n, const char *scratch_dir, uint64_t memory,
                                      struct edge_reader **out, struct sluice_error *err)
{
    size_t filled = 0;

    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct edge_directory *d = inputs[i].directory;
        filled += inputs[i].partition >= d->n_partitions || d->slices[inputs[i].partition].rows > 0
                      ? 1
                      : 0;
    }
    if (filled <= 1) {
        return open_stream(schema, inputs, n, -1, out, err);
    }
    return open_sort(schema, inputs, n, false, scratch_dir, memory, out, err);
}

/* _pos of rows with these numbers. */
static sluice_status positions_of(const struct ArrowArray *rows, const struct edge_input *input,
                                  struct ArrowArray *out, struct sluice_error *err)
{
    const uint64_t *numbers = rows->buffers[1];
    uint64_t *positions = malloc((size_t)rows->length * sizeof *positions + 64);
    uint64_t all = 0;

    if (positions == NULL) {
        return error_nomem(err, "a batch");
    }
    for (int64_t i = 0; i < rows->length; i++) {
        all |= numbers[i];
        positions[i] = (uint64_t)input->ordinal << EDGE_ROW_BITS | numbers[i];
    }
    if (all > EDGE_ROW_MASK) {
        free(positions);
        return edge_stream_fault(input, err, "a row's number is 2^%d or more", EDGE_ROW_BITS);
    }
    return edge_array_fixed(positions, rows->length, out, err); /* takes them */
}

/* The batch with _pos behind its columns; takes batch. */
static sluice_status add_positions(struct batch *batch, int32_t row, const struct edge_input *input,
                                   struct batch **out, struct sluice_error *err)
{
    const struct ArrowArray *rows = &batch->columns[row]->array;
    struct ArrowArray positions;
    struct draft draft;
    sluice_status status = rows->null_count != 0
                               ? edge_stream_fault(input, err, "a row has no number")
                               : positions_of(rows, input, &positions, err);

    if (status == SLUICE_OK) {
        draft_init(&draft, batch->n_columns + 1);
        for (uint32_t k = 0; draft_ok(&draft) && k < batch->n_columns; k++) {
            draft_share(&draft, k, batch->columns[k]);
        }
        draft_move(&draft, batch->n_columns, &positions);
        status = draft_end(&draft, batch->length, out, err);
    }
    batch_unref(batch);
    return status;
}

sluice_status edge_reader_next(struct edge_reader *r, struct batch **out, struct sluice_error *err)
{
    const struct edge_input *input = NULL;
    struct batch *batch = NULL;

    *out = NULL;
    if (r->failed != SLUICE_OK) {
        return error_set(err, SLUICE_E_INTERNAL, "an edge file was read on after an error");
    }
    if (r->sort != NULL) {
        r->failed = edge_sort_next(r->sort, out, err);
        return r->failed;
    }
    r->failed = edge_stream_next(r->stream, &batch, &input, err);
    if (r->failed == SLUICE_OK && batch != NULL && r->row >= 0) {
        r->failed = add_positions(batch, r->row, input, out, err);
    } else if (r->failed == SLUICE_OK) {
        *out = batch;
    }
    return r->failed;
}

void edge_reader_close(struct edge_reader *r)
{
    if (r != NULL) {
        edge_stream_close(r->stream);
        edge_sort_close(r->sort);
        free(r);
    }
}
