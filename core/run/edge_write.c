/* Writing edge files: see edge.h.
 *
 * All partitionings share one path. A batch is worked through in chunks; the places where frames
 * end are found first, from the sizes of rows alone, and then rows are copied to their
 * partition's accumulator up to each of these places in the order of the rows that end frames.
 * So the order of frames in the file is a function of the sequence of rows, too. EDGE_BY_SPLIT
 * sorts first and then adds partition after partition. When accumulators outgrow the memory
 * given, what they hold goes to scratch and comes back when its frame ends; frames are cut at
 * the same rows either way. */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "run/edgeInt.h"
#include "run/scratch.h"

#define CHUNK_ROWS 8192 /* rows looked at at once */
#define CHUNK_BYTES ((uint64_t)4 << 20)
#define CODEC_MEMORY ((uint64_t)4 << 20)

/* One partition in the making. */
struct part {
    uint64_t rows_total;
    uint64_t rows, bytes;   /* of the open frame, those in the chunk at hand included */
    struct edge_rows *held; /* of the open frame; NULL = none */
    uint64_t held_memory;
    uint64_t *spilled; /* blocks in scratch with its earlier rows */
    uint32_t n_spilled, spilled_capacity;
    struct hasher *hasher;
    struct hash128 hash; /* once closed */
    uint32_t begin, end; /* in the order of the chunk at hand */
};

/* Rows of a partition up to `end` (in the chunk's order) complete a frame. */
struct closing {
    uint32_t part, end;
};

struct made_frame {
    uint32_t part;
    struct edge_frame frame;
};

struct edge_writer {
    enum edge_partition partition;
    uint32_t n_partitions;
    uint32_t n_columns;
    const struct type **types; /* of the stored columns; owned array */
    struct schema schema;      /* as given */
    int32_t key;               /* column: key or _pos */
    struct edge_sink sink;
    char *scratch_dir;
    uint64_t memory, held_memory;
    struct frame_codec *codec;
    struct buf frame;
    struct scratch *scratch;
    struct part *parts;
    struct made_frame *frames;
    size_t n_frames, frames_capacity;
    uint64_t offset;
    uint64_t row_size; /* of all rows, or 0 */
    uint64_t *sizes;   /* per row of the chunk */
    uint32_t *part_of;
    uint32_t *order; /* rows of the chunk by partition */
    struct closing *closings;
    size_t n_closings;
    const struct ArrowArray **arrays;
    struct edge_split *split; /* EDGE_BY_SPLIT */
    bool failed, finished;
};

static void part_deinit(struct part *part)
{
    edge_rows_destroy(part->held);
    hasher_destroy(part->hasher);
    free(part->spilled);
}

void edge_writer_destroy(struct edge_writer *w)
{
    if (w == NULL) {
        return;
    }
    for (uint32_t p = 0; w->parts != NULL && p < w->n_partitions; p++) {
        part_deinit(&w->parts[p]);
    }
    free(w->parts);
    free(w->types);
    free(w->frames);
    free(w->sizes);
    free(w->part_of);
    free(w->order);
    free(w->closings);
    free(w->arrays);
    free(w->scratch_dir);
    edge_split_destroy(w->split);
    scratch_close(w->scratch);
    frame_codec_destroy(w->codec);
    schema_deinit(&w->schema);
    buf_deinit(&w->frame);
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
        k = schema_find(spec->schema, "key");
        if (k < 0 || spec->schema->fields[k].type->kind != TYPE_FIXED ||
            spec->schema->fields[k].type->width != 16) {
            return error_field(err, SLUICE_E_SCHEMA, "key",
                               "rows partitioned by key need a column 'key' of type fixed[16]");
        }
    } else if (spec->partition == EDGE_BY_SPLIT && edge_find_word(spec->schema, "_pos") < 0) {
        return error_field(err, SLUICE_E_SCHEMA, "_pos",
                           "rows partitioned by split need a column '_pos' of type uint64");
    }
    return SLUICE_OK;
}

static sluice_status prepare(struct edge_writer *w, const struct edge_spec *spec,
                             const char *scratch_dir, struct sluice_error *err)
{
    TRY(schema_copy(&w->schema, spec->schema, err));
    w->n_columns = w->schema.n;
    w->key = spec->partition == EDGE_SINGLE
                 ? -1
                 : schema_find(&w->schema, spec->partition == EDGE_BY_KEY ? "key" : "_pos");
    w->types = edge_types(&w->schema);
    w->parts = calloc(w->n_partitions, sizeof *w->parts);
    w->sizes = malloc(CHUNK_ROWS * sizeof *w->sizes);
    w->part_of = malloc(CHUNK_ROWS * sizeof *w->part_of);
    w->order = malloc(CHUNK_ROWS * sizeof *w->order);
    w->closings = malloc(CHUNK_ROWS * 2 * sizeof *w->closings);
    w->arrays = calloc((size_t)w->n_columns + 1, sizeof *w->arrays);
    w->scratch_dir = str_copy(scratch_dir, strlen(scratch_dir));
    w->codec = frame_codec_create();
    if (w->types == NULL || w->parts == NULL || w->sizes == NULL || w->part_of == NULL ||
        w->order == NULL || w->closings == NULL || w->arrays == NULL || w->scratch_dir == NULL ||
        w->codec == NULL) {
        return error_nomem(err, "an edge file");
    }
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
    w->sink = sink;
    w->memory = memory > 2 * CODEC_MEMORY ? memory - CODEC_MEMORY : memory / 2;
    status = prepare(w, spec, scratch_dir, err);
    if (status != SLUICE_OK) {
        edge_writer_destroy(w);
        return status;
    }
    *out = w;
    return SLUICE_OK;
}

/* ---- frames ---- */

static sluice_status frames_push(struct edge_writer *w, uint32_t part, uint64_t bytes,
                                 struct sluice_error *err)
{
    if (w->n_frames == w->frames_capacity) {
        size_t capacity = w->frames_capacity < 16 ? 16 : w->frames_capacity * 2;
        struct made_frame *frames = realloc(w->frames, capacity * sizeof *frames);
        if (frames == NULL) {
            return error_nomem(err, "the directory of an edge file");
        }
        w->frames = frames;
        w->frames_capacity = capacity;
    }
    if (w->n_frames == UINT32_MAX) {
        return error_set(err, SLUICE_E_DATA,
                         "a task stores more than %u frames in one edge file: use smaller splits",
                         UINT32_MAX);
    }
    w->frames[w->n_frames++] = (struct made_frame){ part, { w->offset, bytes } };
    w->offset += bytes;
    return SLUICE_OK;
}

static sluice_status part_open(struct edge_writer *w, struct part *part, struct sluice_error *err)
{
    return part->held != NULL ? SLUICE_OK
                              : edge_rows_create(w->n_columns, w->types, &part->held, err);
}

static void count_held(struct edge_writer *w, struct part *part)
{
    uint64_t memory = part->held == NULL ? 0 : edge_rows_memory(part->held);

    w->held_memory += memory - part->held_memory;
    part->held_memory = memory;
}

/* Puts the spilled rows of a partition before those in memory. */
static sluice_status unspill(struct edge_writer *w, struct part *part, struct sluice_error *err)
{
    struct edge_rows *late = part->held;
    struct buf block = BUF_INIT;
    sluice_status status;

    part->held = NULL;
    status = part_open(w, part, err);
    for (uint32_t k = 0; k <= part->n_spilled && status == SLUICE_OK; k++) {
        struct batch *batch = NULL;
        if (k < part->n_spilled) {
            uint64_t end = 0;
            status = scratch_read(w->scratch, part->spilled[k], &block, &end, err);
            if (status == SLUICE_OK) {
                scratch_drop(w->scratch, part->spilled[k], end);
                status = frame_decode(w->codec, block.data, block.size, w->n_columns, w->types,
                                      EDGE_FRAME_RAW_MAX, &batch, err);
            }
        } else if (late != NULL && edge_rows_length(late) > 0) {
            status = edge_rows_batch(late, &batch, err);
        }
        if (status == SLUICE_OK && batch != NULL) {
            const struct ArrowArray **arrays = calloc((size_t)w->n_columns + 1, sizeof *arrays);
            for (uint32_t c = 0; arrays != NULL && c < w->n_columns; c++) {
                arrays[c] = &batch->columns[c]->array;
            }
            status = arrays == NULL
                         ? error_nomem(err, "rows to store")
                         : edge_rows_add(part->held, arrays, NULL, 0, batch->length, err);
            free(arrays);
        }
        batch_unref(batch);
    }
    part->n_spilled = 0;
    buf_deinit(&block);
    edge_rows_destroy(late);
    return status;
}

/* Ends the frame of a partition whose rows are all there. */
static sluice_status close_frame(struct edge_writer *w, uint32_t p, struct sluice_error *err)
{
    struct part *part = &w->parts[p];
    struct batch *batch = NULL;
    sluice_status status;

    if (part->n_spilled > 0) {
        TRY(unspill(w, part, err));
    }
    if (part->hasher == NULL) {
        part->hasher = hasher_create();
        if (part->hasher == NULL) {
            return error_nomem(err, "an edge file");
        }
    }
    TRY(edge_rows_batch(part->held, &batch, err));
    part->rows_total += (uint64_t)batch->length;
    buf_clear(&w->frame);
    status = frame_encode(w->codec, batch, w->types, &w->frame, err);
    batch_unref(batch);
    TRY(status);
    hasher_add(part->hasher, w->frame.data, w->frame.size);
    TRY(w->sink.write(w->sink.ctx, w->frame.data, w->frame.size, err));
    TRY(frames_push(w, p, w->frame.size, err));
    edge_rows_clear(part->held);
    count_held(w, part);
    if (w->frame.capacity > 2 * CODEC_MEMORY) {
        buf_deinit(&w->frame);
    }
    return SLUICE_OK;
}

static sluice_status close_slice(struct edge_writer *w, uint32_t p, struct sluice_error *err)
{
    struct part *part = &w->parts[p];

    if (part->n_spilled > 0 || (part->held != NULL && edge_rows_length(part->held) > 0)) {
        TRY(close_frame(w, p, err));
    }
    if (part->hasher != NULL) {
        part->hash = hasher_digest(part->hasher);
        hasher_destroy(part->hasher);
        part->hasher = NULL;
    }
    part->rows = 0;
    part->bytes = 0;
    edge_rows_destroy(part->held);
    part->held = NULL;
    count_held(w, part);
    return SLUICE_OK;
}

/* Moves the rows of all open frames to scratch. */
static sluice_status spill(struct edge_writer *w, struct sluice_error *err)
{
    if (w->scratch == NULL) {
        TRY(scratch_open(w->scratch_dir, &w->scratch, err));
    }
    for (uint32_t p = 0; p < w->n_partitions; p++) {
        struct part *part = &w->parts[p];
        if (part->held != NULL && edge_rows_length(part->held) > 0) {
            struct batch *batch;
            sluice_status status;
            if (part->n_spilled == part->spilled_capacity) {
                uint32_t capacity = part->spilled_capacity < 8 ? 8 : part->spilled_capacity * 2;
                uint64_t *more = realloc(part->spilled, capacity * sizeof *more);
                if (more == NULL) {
                    return error_nomem(err, "rows to store");
                }
                part->spilled = more;
                part->spilled_capacity = capacity;
            }
            TRY(edge_rows_batch(part->held, &batch, err));
            buf_clear(&w->frame);
            status = frame_encode(w->codec, batch, w->types, &w->frame, err);
            batch_unref(batch);
            TRY(status);
            TRY(scratch_write(w->scratch, w->frame.data, w->frame.size,
                              &part->spilled[part->n_spilled], err));
            part->n_spilled++;
        }
        edge_rows_destroy(part->held);
        part->held = NULL;
        count_held(w, part);
    }
    return SLUICE_OK;
}

/* ---- adding ---- */

/* Counts row i of the chunk to its partition, noting where frames end; at = its place in the
 * partition's order. */
static inline void count_row(struct edge_writer *w, uint32_t p, uint64_t size, uint32_t at)
{
    struct part *part = &w->parts[p];

    if (part->rows > 0 && part->bytes + size > EDGE_FRAME_MOST) {
        w->closings[w->n_closings++] = (struct closing){ p, at };
        part->rows = 0;
        part->bytes = 0;
    }
    part->rows++;
    part->bytes += size;
    if (part->rows == EDGE_FRAME_ROWS || part->bytes >= EDGE_FRAME_BYTES) {
        w->closings[w->n_closings++] = (struct closing){ p, at + 1 };
        part->rows = 0;
        part->bytes = 0;
    }
}

/* Copies the partition's rows up to `end` of the chunk's order. */
static sluice_status copy_rows(struct edge_writer *w, uint32_t p, const uint32_t *order,
                               int64_t first, uint32_t end, struct sluice_error *err)
{
    struct part *part = &w->parts[p];
    uint32_t begin = part->begin;

    if (end > begin) {
        TRY(part_open(w, part, err));
        TRY(edge_rows_add(part->held, w->arrays, order != NULL ? order + begin : NULL,
                          first + begin, end - begin, err));
        part->begin = end;
        count_held(w, part);
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
        TRY(close_frame(w, closing->part, err));
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
        struct part *part = &w->parts[p];
        for (int64_t i = 0; i < take; i++) {
            count_row(w, p, w->row_size > 0 || w->n_columns == 0 ? w->row_size : w->sizes[i],
                      (uint32_t)i);
        }
        part->begin = 0;
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
            w->parts[p].end = 0;
        }
        for (int64_t i = 0; i < take; i++) {
            int64_t row = rows != NULL ? rows[i] : first + i;
            uint32_t p = part_of_key(keys + row * 16, w->n_partitions);
            w->part_of[i] = p;
            w->parts[p].end++;
        }
        for (uint32_t p = 0; p < w->n_partitions; p++) {
            w->parts[p].begin = sum;
            sum += w->parts[p].end;
            w->parts[p].end = w->parts[p].begin;
        }
        for (int64_t i = 0; i < take; i++) {
            uint32_t p = w->part_of[i];
            uint32_t at = w->parts[p].end++;
            w->order[at] = rows != NULL ? rows[i] : (uint32_t)(first + i);
            count_row(w, p, w->row_size > 0 ? w->row_size : w->sizes[i], at);
        }
        TRY(close_frames(w, w->order, 0, err));
        for (uint32_t p = 0; p < w->n_partitions; p++) {
            TRY(copy_rows(w, p, w->order, 0, w->parts[p].end, err));
        }
        if (w->held_memory > w->memory / 4 * 3) {
            TRY(spill(w, err));
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

static sluice_status make_directory(struct edge_writer *w, struct edge_directory *out,
                                    struct sluice_error *err)
{
    uint32_t sum = 0;

    out->slices = calloc(w->n_partitions, sizeof *out->slices);
    out->frames = calloc(w->n_frames + 1, sizeof *out->frames);
    if (out->slices == NULL || out->frames == NULL) {
        edge_directory_deinit(out);
        return error_nomem(err, "the directory of an edge file");
    }
    out->n_partitions = w->n_partitions;
    out->n_frames = (uint32_t)w->n_frames;
    for (size_t k = 0; k < w->n_frames; k++) {
        out->slices[w->frames[k].part].n_frames++;
    }
    for (uint32_t p = 0; p < w->n_partitions; p++) {
        struct edge_slice *slice = &out->slices[p];
        if (slice->n_frames > 0) {
            slice->first_frame = sum;
            slice->rows = w->parts[p].rows_total;
            slice->hash = w->parts[p].hash;
            sum += slice->n_frames;
            slice->n_frames = 0;
        }
    }
    for (size_t k = 0; k < w->n_frames; k++) {
        struct edge_slice *slice = &out->slices[w->frames[k].part];
        out->frames[slice->first_frame + slice->n_frames++] = w->frames[k].frame;
    }
    return SLUICE_OK;
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
    return status == SLUICE_OK ? make_directory(w, out, err) : status;
}
