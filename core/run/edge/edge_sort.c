/* Sorted reading of edge files: see edgeInt.h. Key, row and position travel in the sorter's
 * record itself, other columns as its payload. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/draft.h"
#include "run/edge/edgeInt.h"
#include "run/edge/rowcodec.h"
#include "run/edge/sorter.h"

#define READING_MEMORY ((uint64_t)4 << 20) /* of frames and codec */
#define BATCH_BYTES ((size_t)EDGE_FRAME_BYTES)

struct edge_sort {
    bool keyed, loaded;
    struct schema schema; /* a copy */
    int32_t key;          /* columns; key is -1 when rows are merged */
    int32_t row;
    struct edge_stream *stream; /* until loaded */
    struct sorter *sorter;
    uint32_t n_others; /* columns of the payload, in order */
    uint32_t *others;
    const struct type **types; /* theirs */
    const struct ArrowArray **arrays;
    struct builder **builders;
    struct buf payload;
};

void edge_sort_close(struct edge_sort *s)
{
    if (s != NULL) {
        for (uint32_t k = 0; s->builders != NULL && k < s->n_others; k++) {
            builder_destroy(s->builders[k]);
        }
        free(s->builders);
        free(s->others);
        free(s->types);
        free(s->arrays);
        edge_stream_close(s->stream);
        sorter_destroy(s->sorter);
        schema_deinit(&s->schema);
        buf_deinit(&s->payload);
        free(s);
    }
}

/* Where key and row are. */
static sluice_status find_columns(struct edge_sort *s, const struct schema *schema,
                                  struct sluice_error *err)
{
    s->key = -1;
    s->row = edge_find_word(schema, SLUICE_ROW);
    if (!s->keyed && s->row < 0) {
        /* The writer was given the column as _pos and stored the row's number in its place. */
        s->row = edge_find_word(schema, SLUICE_POS);
    }
    if (s->row < 0) {
        return error_field(err, SLUICE_E_SCHEMA, SLUICE_ROW,
                           "rows to be sorted need a column '_row' of type uint64");
    }
    if (s->keyed) {
        s->key = schema_find(schema, SLUICE_KEY);
        if (s->key < 0 || schema->fields[s->key].type->kind != TYPE_FIXED ||
            schema->fields[s->key].type->width != 16) {
            return error_field(err, SLUICE_E_SCHEMA, SLUICE_KEY,
                               "rows sorted by key need a column 'key' of type fixed[16]");
        }
    }
    return SLUICE_OK;
}

static sluice_status prepare(struct edge_sort *s, const struct schema *schema,
                             struct sluice_error *err)
{
    TRY(schema_copy(&s->schema, schema, err));
    schema = &s->schema;
    s->others = calloc((size_t)schema->n + 1, sizeof *s->others);
    s->types = calloc((size_t)schema->n + 1, sizeof *s->types);
    s->arrays = calloc((size_t)schema->n + 1, sizeof *s->arrays);
    s->builders = calloc((size_t)schema->n + 1, sizeof(struct builder *));
    if (s->others == NULL || s->types == NULL || s->arrays == NULL || s->builders == NULL) {
        return error_nomem(err, "sorting");
    }
    for (uint32_t k = 0; k < schema->n; k++) {
        if ((int32_t)k != s->key && (int32_t)k != s->row) {
            TRY(builder_create(schema->fields[k].type, &s->builders[s->n_others], err));
            s->types[s->n_others] = schema->fields[k].type;
            s->others[s->n_others++] = k;
        }
    }
    return SLUICE_OK;
}

sluice_status edge_sort_open(const struct schema *schema, const struct edge_input *inputs, size_t n,
                             bool keyed, const char *scratch_dir, uint64_t memory,
                             struct edge_sort **out, struct sluice_error *err)
{
    struct edge_sort *s = calloc(1, sizeof *s);
    sluice_status status;

    *out = NULL;
    if (s == NULL) {
        return error_nomem(err, "sorting");
    }
    schema_init(&s->schema);
    s->keyed = keyed;
    status = find_columns(s, schema, err);
    if (status == SLUICE_OK) {
        status = prepare(s, schema, err);
    }
    if (status == SLUICE_OK) {
        status = edge_stream_open(schema, inputs, n, &s->stream, err);
    }
    if (status == SLUICE_OK) {
        status = sorter_create(scratch_dir,
                               memory > 2 * READING_MEMORY ? memory - READING_MEMORY : memory / 2,
                               &s->sorter, err);
    }
    if (status != SLUICE_OK) {
        edge_sort_close(s);
        return status;
    }
    *out = s;
    return SLUICE_OK;
}

static sluice_status load_batch(struct edge_sort *s, const struct batch *batch,
                                const struct edge_input *input, struct sluice_error *err)
{
    static const char no_key[16];
    const struct ArrowArray *keys = s->keyed ? &batch->columns[s->key]->array : NULL;
    const struct ArrowArray *rows = &batch->columns[s->row]->array;
    const uint64_t high = s->keyed ? (uint64_t)input->ordinal << EDGE_ROW_BITS : 0;

    if (rows->null_count != 0 || (keys != NULL && keys->null_count != 0)) {
        return edge_stream_fault(input, err, "a row has no %s",
                                 rows->null_count != 0 ? "number" : "key");
    }
    for (uint32_t k = 0; k < s->n_others; k++) {
        s->arrays[k] = &batch->columns[s->others[k]]->array;
    }
    for (int64_t i = 0; i < batch->length; i++) {
        const char *key = keys != NULL ? (const char *)keys->buffers[1] + i * 16 : no_key;
        uint64_t row = ((const uint64_t *)rows->buffers[1])[i];
        if (row > EDGE_ROW_MASK) {
            return edge_stream_fault(input, err, "a row's number is 2^%d or more", EDGE_ROW_BITS);
        }
        buf_clear(&s->payload);
        if (s->n_others > 0) {
            rowcodec_encode(s->types, s->arrays, s->n_others, i, &s->payload);
            TRY(buf_status(&s->payload, err));
        }
        TRY(sorter_add(s->sorter, key, high | row, s->payload.data, s->payload.size, err));
    }
    return SLUICE_OK;
}

static sluice_status load(struct edge_sort *s, struct sluice_error *err)
{
    s->loaded = true;
    for (;;) {
        const struct edge_input *input = NULL;
        struct batch *batch;
        sluice_status status;
        TRY(edge_stream_next(s->stream, &batch, &input, err));
        if (batch == NULL) {
            break;
        }
        status = load_batch(s, batch, input, err);
        batch_unref(batch);
        TRY(status);
    }
    edge_stream_close(s->stream);
    s->stream = NULL;
    return sorter_sort(s->sorter, err);
}

/* What a batch is made of. */
struct words {
    uint8_t *keys;
    uint64_t *rows, *positions;
};

static sluice_status take_rows(struct edge_sort *s, struct words *words, int64_t *n,
                               struct sluice_error *err)
{
    size_t bytes = 0;

    *n = 0;
    while (*n < EDGE_FRAME_ROWS && bytes < BATCH_BYTES) {
        const struct sorter_record *record;
        TRY(sorter_next(s->sorter, &record, err));
        if (record == NULL) {
            break;
        }
        if (s->keyed) {
            memcpy(words->keys + *n * 16, record->key, 16);
            words->positions[*n] = record->position;
        }
        words->rows[*n] = record->position & EDGE_ROW_MASK;
        if (s->n_others > 0) {
            TRY(rowcodec_decode(s->types, s->builders, s->n_others, record->payload, record->n,
                                err));
            bytes += record->n;
        }
        ++*n;
    }
    return SLUICE_OK;
}

/* Column k of the batch; the columns' memory is taken from words or builders. */
static sluice_status make_column(struct edge_sort *s, struct words *words, uint32_t k,
                                 uint32_t *other, int64_t n, struct column **out,
                                 struct sluice_error *err)
{
    struct ArrowArray array;
    void *values = NULL;

    if ((int32_t)k == s->key) {
        values = words->keys;
        words->keys = NULL;
    } else if ((int32_t)k == s->row) {
        values = words->rows;
        words->rows = NULL;
    } else if (k == s->schema.n) {
        values = words->positions;
        words->positions = NULL;
    } else {
        TRY(builder_finish(s->builders[(*other)++], &array, err));
    }
    if (values != NULL) {
        TRY(edge_array_fixed(values, n, &array, err));
    }
    *out = column_create(&array);
    return *out != NULL ? SLUICE_OK : error_nomem(err, "a batch");
}

static sluice_status make_batch(struct edge_sort *s, struct words *words, int64_t n,
                                struct batch **out, struct sluice_error *err)
{
    uint32_t n_columns = s->schema.n + (s->keyed ? 1 : 0);
    struct draft draft;
    uint32_t other = 0;

    draft_init(&draft, n_columns);
    for (uint32_t k = 0; draft_ok(&draft) && k < n_columns; k++) {
        struct column *column = NULL;
        draft_place(&draft, k, make_column(s, words, k, &other, n, &column, err), &column);
    }
    return draft_end(&draft, n, out, err);
}

sluice_status edge_sort_next(struct edge_sort *s, struct batch **out, struct sluice_error *err)
{
    struct words words = { NULL, NULL, NULL };
    sluice_status status;
    int64_t n = 0;

    *out = NULL;
    if (!s->loaded) {
        TRY(load(s, err));
    }
    words.rows = malloc(EDGE_FRAME_ROWS * sizeof *words.rows);
    words.keys = s->keyed ? malloc(EDGE_FRAME_ROWS * (size_t)16) : NULL;
    words.positions = s->keyed ? malloc(EDGE_FRAME_ROWS * sizeof *words.positions) : NULL;
    status = words.rows == NULL || (s->keyed && (words.keys == NULL || words.positions == NULL))
                 ? error_nomem(err, "a batch")
                 : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = take_rows(s, &words, &n, err);
    }
    if (status == SLUICE_OK && n > 0) {
        status = make_batch(s, &words, n, out, err);
    }
    free(words.keys);
    free(words.rows);
    free(words.positions);
    return status;
}
