/* Writing edge files: see edge.h.
 *
 * All partitionings share one path. A batch is worked through in chunks; the places where frames
 * end are found first, from the sizes of rows alone, and then rows are copied to their
 * partition's accumulator up to each of these places in the order of the rows that end frames.
 * So the order of frames in the file is a function of the sequence of rows, too. EDGE_BY_SPLIT
 * sorts first and then adds partition after partition. When accumulators outgrow the memory
 * given, what they hold goes to scratch and comes back when its frame ends; frames are cut at
 * the same rows either way. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "run/edge/edgeInt.h"

#define CHUNK_ROWS 8192 /* rows looked at at once */
#define CHUNK_BYTES ((uint64_t)4 << 20)

/* What is counted of one partition. */
struct count {
    uint64_t rows, bytes; /* of the open frame, those in the chunk at hand included */
    uint32_t begin, end;  /* in the order of the chunk at hand */
};

/* Rows of a partition up to `end` (in the chunk's order) complete a frame. */
struct closing {
    uint32_t part, end;
};

struct edge_writer {
    enum edge_partition partition;
    uint32_t n_partitions;
    uint32_t n_columns;
    const struct type **types; /* of the stored columns; owned array */
    struct schema schema;      /* as given */
    int32_t key;               /* column: key or _pos */
    uint64_t memory;
    struct edge_parts *parts;
    struct count *counts; /* of each partition */
    uint64_t row_size;    /* of all rows, or 0 */
    uint64_t *sizes;      /* per row of the chunk */
    uint32_t *part_of;
    uint32_t *order; /* rows of the chunk by partition */
    struct closing *closings;
    size_t n_closings;
    const struct ArrowArray **arrays;
    struct edge_split *split; /* EDGE_BY_SPLIT */
    bool failed, finished;
};

void edge_writer_destroy(struct edge_writer *w)
{
    if (w == NULL) {
        return;
    }
    edge_parts_destroy(w->parts);
    free(w->counts);
    free(w->types);
    free(w->sizes);
    free(w->part_of);
    free(w->order);
    free(w->closings);
    free(w->arrays);
    edge_split_destroy(w->split);
    schema_deinit(&w->schema);
    free(w);
}

/* ---- opening ---- */

static sluice_status check_spec(const struct edge_spec *spec, struct sluice_error *err)
{
    int32_t k;

    if (spec->n_partitions == 0 || spec->n_partitions > EDGE_PARTITIONS_MAX ||
        (spec->partition == EDGE_SINGLE && spec->n_partitions != 1)) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "an edge of kind %d was given %u partitions, expected 1 to %u",
                         (int)spec->partition, spec->n_partitions,
                         spec->partition == EDGE_SINGLE ? 1 : EDGE_PARTITIONS_MAX);
    }
    for (uint32_t i = 0; i < spec->schema->n; i++) {
        if (!type_supported(spec->schema->fields[i].type)) {
            return error_field(
                err, SLUICE_E_SCHEMA, spec->schema->fields[i].name,
                "column '%s' has a type that can't be stored between phases: convert it before",
                spec->schema->fields[i].name);
        }
    }
    if (spec->partition == EDGE_BY_KEY) {
        k = schema_find(spec->schema, SLUICE_KEY);
        if (k < 0 || spec->schema->fields[k].type->kind != TYPE_FIXED ||
            spec->schema->fields[k].type->width != 16) {
            return error_field(err, SLUICE_E_SCHEMA, SLUICE_KEY,
                               "rows partitioned by key need a column 'key' of type fixed[16]");
        }
    } else if (spec->partition == EDGE_BY_SPLIT && edge_find_word(spec->schema, SLUICE_POS) < 0) {
        return error_field(err, SLUICE_E_SCHEMA, SLUICE_POS,
                           "rows partitioned by split need a column '_pos' of type uint64");
    }
    return SLUICE_OK;
}

static sluice_status prepare(struct edge_writer *w, const struct edge_spec *spec,
                             struct edge_sink sink, const char *scratch_dir,
                             struct sluice_error *err)
{
    TRY(schema_copy(&w->schema, spec->schema, err));
    w->n_columns = w->schema.n;
    w->key =
        spec->partition == EDGE_SINGLE
            ? -1
            : schema_find(&w->schema, spec->partition == EDGE_BY_KEY ? SLUICE_KEY : SLUICE_POS);
    w->types = edge_types(&w->schema);
    w->counts = calloc(w->n_partitions, sizeof *w->counts);
    w->sizes = malloc(CHUNK_ROWS * sizeof *w->sizes);
    w->part_of = malloc(CHUNK_ROWS * sizeof *w->part_of);
    w->order = malloc(CHUNK_ROWS * sizeof *w->order);
    w->closings = malloc(CHUNK_ROWS * 2 * sizeof *w->closings);
    w->arrays = calloc((size_t)w->n_columns + 1, sizeof *w->arrays);
    if (w->types == NULL || w->counts == NULL || w->sizes == NULL || w->part_of == NULL ||
        w->order == NULL || w->closings == NULL || w->arrays == NULL) {
        return error_nomem(err, "an edge file");
    }
    TRY(edge_parts_create(w->n_partitions, w->n_columns, w->types, sink, scratch_dir, &w->parts,
                          err));
    /* Stays 0 where the size of rows varies: then each is measured. */
    w->row_size = 0;
    for (uint32_t k = 0; k < w->n_columns; k++) {
        uint64_t size = edge_size_fixed(w->types[k]);
        if (size == 0) {
            w->row_size = 0;
            break;
        }
        w->row_size += size;
    }
    if (spec->partition == EDGE_BY_SPLIT) {
        return edge_split_create(w->n_columns, w->types, (uint32_t)w->key, w->n_partitions,
                                 scratch_dir, w->memory, &w->split, err);
    }
    return SLUICE_OK;
}

sluice_status edge_writer_open(const struct edge_spec *spec, struct edge_sink sink,
                               const char *scratch_dir, uint64_t memory, struct edge_writer **out,
                               struct sluice_error *err)
{
    struct edge_writer *w;
    sluice_status status;

    *out = NULL;
    TRY(check_spec(spec, err));
    w = calloc(1, sizeof *w);
    if (w == NULL) {
        return error_nomem(err, "an edge file");
    }
    schema_init(&w->schema);
    w->partition = spec->partition;
    w->n_partitions = spec->n_partitions;
    w->memory = memory > 2 * EDGE_CODEC_MEMORY ? memory - EDGE_CODEC_MEMORY : memory / 2;
    status = prepare(w, spec, sink, scratch_dir, err);
    if (status != SLUICE_OK) {
        edge_writer_destroy(w);
        return status;
    }
    *out = w;
    return SLUICE_OK;
}

/* Ends the open frame of a partition and the partition. */
static sluice_status close_slice(struct edge_writer *w, uint32_t p, struct sluice_error *err)
{
    w->counts[p].rows = 0;
    w->counts[p].bytes = 0;
    return edge_parts_close_slice(w->parts, p, err);
}

/* ---- adding ---- */

/* Counts row i of the chunk to its partition, noting where frames end; at = its place in the
 * partition's order. */
static inline void count_row(struct edge_writer *w, uint32_t p, uint64_t size, uint32_t at)
{
    struct count *count = &w->counts[p];

    if (count->rows > 0 && count->bytes + size > EDGE_FRAME_MOST) {
        w->closings[w->n_closings++] = (struct closing){ p, at };
        count->rows = 0;
        count->bytes = 0;
    }
    count->rows++;
    count->bytes += size;
    if (count->rows == EDGE_FRAME_ROWS || count->bytes >= EDGE_FRAME_BYTES) {
        w->closings[w->n_closings++] = (struct closing){ p, at + 1 };
        count->rows = 0;
        count->bytes = 0;
    }
}

/* Copies the partition's rows up to `end` of the chunk's order. */
static sluice_status copy_rows(struct edge_writer *w, uint32_t p, const uint32_t *order,
                               int64_t first, uint32_t end, struct sluice_error *err)
{
    struct count *count = &w->counts[p];
    uint32_t begin = count->begin;

    if (end > begin) {
        TRY(edge_parts_add(w->parts, p, w->arrays, order != NULL ? order + begin : NULL,
                           first + begin, end - begin, err));
        count->begin = end;
    }
    return SLUICE_OK;
}

/* Ends the frames that end in the chunk, in order. */
static sluice_status close_frames(struct edge_writer *w, const uint32_t *order, int64_t first,
                                  struct sluice_error *err)
{
    for (size_t k = 0; k < w->n_closings; k++) {
        const struct closing *closing = &w->closings[k];
        TRY(copy_rows(w, closing->part, order, first, closing->end, err));
        TRY(edge_parts_close_frame(w->parts, closing->part, err));
    }
    w->n_closings = 0;
    return SLUICE_OK;
}

/* The sizes of n rows, and how many of them to take now. */
static int64_t measure(struct edge_writer *w, const uint32_t *rows, int64_t first, int64_t n)
{
    uint64_t sum = 0;

    if (w->row_size > 0 || w->n_columns == 0) {
        return n;
    }
    memset(w->sizes, 0, (size_t)n * sizeof *w->sizes);
    for (uint32_t k = 0; k < w->n_columns; k++) {
        edge_size_add(w->types[k], w->arrays[k], rows, first, n, w->sizes);
    }
    for (int64_t i = 0; i < n; i++) {
        sum += w->sizes[i];
        if (sum >= CHUNK_BYTES) {
            return i + 1;
        }
    }
    return n;
}

/* n rows of one partition: rows[i], or first + i. */
static sluice_status add_single(struct edge_writer *w, uint32_t p, const uint32_t *rows,
                                int64_t first, int64_t n, struct sluice_error *err)
{
    while (n > 0) {
        int64_t take = measure(w, rows, first, n < CHUNK_ROWS ? n : CHUNK_ROWS);
        struct count *count = &w->counts[p];
        for (int64_t i = 0; i < take; i++) {
            count_row(w, p, w->row_size > 0 || w->n_columns == 0 ? w->row_size : w->sizes[i],
                      (uint32_t)i);
        }
        count->begin = 0;
        TRY(close_frames(w, rows, first, err));
        TRY(copy_rows(w, p, rows, first, (uint32_t)take, err));
        rows = rows != NULL ? rows + take : NULL;
        first += take;
        n -= take;
    }
    return SLUICE_OK;
}

static inline uint32_t part_of_key(const char *key, uint32_t n_partitions)
{
    uint32_t high;

    memcpy(&high, key, sizeof high);
    return (uint32_t)((uint64_t)be32toh(high) * n_partitions >> 32);
}

/* Chunk by chunk, a counting sort by partition: rows of one partition keep their order, and each
 * partition's memory is gone to once a chunk instead of once a row. */
static sluice_status add_by_key(struct edge_writer *w, const uint32_t *rows, int64_t first,
                                int64_t n, struct sluice_error *err)
{
    const char *keys = w->arrays[w->key]->buffers[1];

    if (w->arrays[w->key]->null_count != 0) {
        return error_field(
            err, SLUICE_E_DATA, "key",
            "found a null key, expected 16 bytes: the stage before must give every row a key");
    }
    while (n > 0) {
        int64_t take = measure(w, rows, first, n < CHUNK_ROWS ? n : CHUNK_ROWS);
        uint32_t sum = 0;
        for (uint32_t p = 0; p < w->n_partitions; p++) {
            w->counts[p].end = 0;
        }
        for (int64_t i = 0; i < take; i++) {
            int64_t row = rows != NULL ? rows[i] : first + i;
            uint32_t p = part_of_key(keys + row * 16, w->n_partitions);
            w->part_of[i] = p;
            w->counts[p].end++;
        }
        for (uint32_t p = 0; p < w->n_partitions; p++) {
            w->counts[p].begin = sum;
            sum += w->counts[p].end;
            w->counts[p].end = w->counts[p].begin;
        }
        for (int64_t i = 0; i < take; i++) {
            uint32_t p = w->part_of[i];
            uint32_t at = w->counts[p].end++;
            w->order[at] = rows != NULL ? rows[i] : (uint32_t)(first + i);
            count_row(w, p, w->row_size > 0 ? w->row_size : w->sizes[i], at);
        }
        TRY(close_frames(w, w->order, 0, err));
        for (uint32_t p = 0; p < w->n_partitions; p++) {
            /* What is left of the chunk begins frames that end later. */
            TRY(copy_rows(w, p, w->order, 0, w->counts[p].end, err));
        }
        if (edge_parts_memory(w->parts) > w->memory / 4 * 3) {
            TRY(edge_parts_spill(w->parts, err));
        }
        rows = rows != NULL ? rows + take : NULL;
        first += take;
        n -= take;
    }
    return SLUICE_OK;
}

sluice_status edge_writer_add(struct edge_writer *w, const struct batch *batch,
                              const int32_t *slots, struct sluice_error *err)
{
    sluice_status status;

    if (w->failed || w->finished) {
        return error_set(err, SLUICE_E_INTERNAL, "rows were added to an edge file that %s",
                         w->failed ? "failed" : "is finished");
    }
    for (uint32_t k = 0; k < w->n_columns; k++) {
        if (slots[k] < 0 || (uint32_t)slots[k] >= batch->n_columns ||
            batch->columns[slots[k]] == NULL) {
            return error_field(err, SLUICE_E_INTERNAL, w->schema.fields[k].name,
                               "column '%s' of rows to store is not there",
                               w->schema.fields[k].name);
        }
        w->arrays[k] = &batch->columns[slots[k]]->array;
    }
    if (batch->n_rows == 0) {
        return SLUICE_OK;
    }
    if (w->partition == EDGE_SINGLE) {
        status = add_single(w, 0, batch->rows, 0, batch->n_rows, err);
    } else if (w->partition == EDGE_BY_KEY) {
        status = add_by_key(w, batch->rows, 0, batch->n_rows, err);
    } else {
        status = edge_split_add(w->split, w->arrays, batch->rows, batch->n_rows, err);
    }
    w->failed = status != SLUICE_OK;
    return status;
}

/* ---- saving ---- */

sluice_status edge_writer_save(struct edge_writer *w, struct saved *out, struct sluice_error *err)
{
    if (w->failed || w->finished) {
        return error_set(err, SLUICE_E_INTERNAL, "an edge file that %s can't be saved",
                         w->failed ? "failed" : "is finished");
    }
    saved_put(out, w->partition);
    saved_put(out, w->n_partitions);
    saved_put(out, w->n_columns);
    for (uint32_t p = 0; p < w->n_partitions; p++) {
        saved_put(out, w->counts[p].rows);
        saved_put(out, w->counts[p].bytes);
    }
    TRY(edge_parts_save(w->parts, out, err));
    return w->split != NULL ? edge_split_save(w->split, out, err) : saved_status(out, err);
}

sluice_status edge_writer_restore(struct edge_writer *w, struct restored *in,
                                  struct sluice_error *err)
{
    if (restored_get(in, EDGE_BY_SPLIT) != (uint64_t)w->partition ||
        restored_get(in, UINT32_MAX) != w->n_partitions ||
        restored_get(in, UINT32_MAX) != w->n_columns) {
        restored_refuse(in, "an edge of another kind");
    }
    for (uint32_t p = 0; p < w->n_partitions && restored_ok(in); p++) {
        w->counts[p].rows = restored_get(in, EDGE_FRAME_ROWS - 1);
        w->counts[p].bytes = restored_get(in, EDGE_FRAME_BYTES - 1);
    }
    TRY(restored_status(in, err));
    TRY(edge_parts_restore(w->parts, w->memory / 4 * 3, in, err));
    for (uint32_t p = 0; p < w->n_partitions; p++) {
        if (edge_parts_open_rows(w->parts, p) != w->counts[p].rows) {
            restored_refuse(in, "an open frame has other rows than it says");
        }
    }
    TRY(restored_status(in, err));
    return w->split != NULL ? edge_split_restore(w->split, in, err) : SLUICE_OK;
}

sluice_status edge_writer_refill(struct edge_writer *w, struct restored *in,
                                 struct sluice_error *err)
{
    return edge_parts_refill(w->parts, in, err);
}

/* ---- finishing ---- */

/* Rows of one partition that come sorted. */
static sluice_status take_sorted(void *ctx, uint32_t partition,
                                 const struct ArrowArray *const *arrays, int64_t n,
                                 struct sluice_error *err)
{
    struct edge_writer *w = ctx;

    if (n == 0) {
        return close_slice(w, partition, err);
    }
    memcpy(w->arrays, arrays, w->n_columns * sizeof *w->arrays);
    return add_single(w, partition, NULL, 0, n, err);
}

sluice_status edge_writer_finish(struct edge_writer *w, struct edge_directory *out,
                                 struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    if (w->failed || w->finished) {
        return error_set(err, SLUICE_E_INTERNAL, "an edge file that %s can't be finished",
                         w->failed ? "failed" : "is finished");
    }
    w->finished = true;
    if (w->partition == EDGE_BY_SPLIT) {
        status = edge_split_drain(w->split, take_sorted, w, err);
    } else {
        for (uint32_t p = 0; p < w->n_partitions && status == SLUICE_OK; p++) {
            status = close_slice(w, p, err);
        }
    }
    return status == SLUICE_OK ? edge_parts_directory(w->parts, out, err) : status;
}
