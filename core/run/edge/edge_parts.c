/* The partitions of an edge file in the making: the rows of their open frames, in memory or in
 * scratch, and the frames that are written. Where frames end is edge_write.c's to say; when and
 * what is spilled does not change a byte of them. See edgeInt.h. */
#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "run/edge/edgeInt.h"
#include "run/edge/scratch.h"

struct part {
    uint64_t rows_total;
    struct edge_rows *held; /* of the open frame; NULL = none */
    uint64_t held_memory;
    uint64_t *spilled; /* blocks in scratch with its earlier rows */
    uint32_t n_spilled, spilled_capacity;
    struct hasher *hasher;
    struct hash128 hash; /* once closed */
    uint64_t restored;   /* rows of the open frame, where that was saved elsewhere */
};

struct made_frame {
    uint32_t part;
    struct edge_frame frame;
};

struct edge_parts {
    uint32_t n_partitions;
    uint32_t n_columns;
    const struct type *const *types;
    struct edge_sink sink;
    char *scratch_dir;
    uint64_t held_memory;
    struct frame_codec *codec;
    struct buf frame;
    struct scratch *scratch;
    struct part *parts;
    struct made_frame *frames;
    size_t n_frames, frames_capacity;
    uint64_t offset;
};

void edge_parts_destroy(struct edge_parts *all)
{
    if (all == NULL) {
        return;
    }
    for (uint32_t p = 0; all->parts != NULL && p < all->n_partitions; p++) {
        edge_rows_destroy(all->parts[p].held);
        hasher_destroy(all->parts[p].hasher);
        free(all->parts[p].spilled);
    }
    free(all->parts);
    free(all->frames);
    free(all->scratch_dir);
    scratch_close(all->scratch);
    frame_codec_destroy(all->codec);
    buf_deinit(&all->frame);
    free(all);
}

sluice_status edge_parts_create(uint32_t n_partitions, uint32_t n_columns,
                                const struct type *const *types, struct edge_sink sink,
                                const char *scratch_dir, struct edge_parts **out,
                                struct sluice_error *err)
{
    struct edge_parts *all = calloc(1, sizeof *all);

    *out = NULL;
    if (all == NULL) {
        return error_nomem(err, "an edge file");
    }
    all->n_partitions = n_partitions;
    all->n_columns = n_columns;
    all->types = types;
    all->sink = sink;
    all->parts = calloc(n_partitions, sizeof *all->parts);
    all->scratch_dir = str_copy(scratch_dir, strlen(scratch_dir));
    all->codec = frame_codec_create();
    if (all->parts == NULL || all->scratch_dir == NULL || all->codec == NULL) {
        edge_parts_destroy(all);
        return error_nomem(err, "an edge file");
    }
    *out = all;
    return SLUICE_OK;
}

uint64_t edge_parts_memory(const struct edge_parts *all)
{
    return all->held_memory;
}

/* ---- rows ---- */

static sluice_status part_open(struct edge_parts *all, struct part *part, struct sluice_error *err)
{
    return part->held != NULL ? SLUICE_OK
                              : edge_rows_create(all->n_columns, all->types, &part->held, err);
}

static void count_held(struct edge_parts *all, struct part *part)
{
    uint64_t memory = part->held == NULL ? 0 : edge_rows_memory(part->held);

    all->held_memory += memory - part->held_memory;
    part->held_memory = memory;
}

sluice_status edge_parts_add(struct edge_parts *all, uint32_t p,
                             const struct ArrowArray *const *arrays, const uint32_t *rows,
                             int64_t first, int64_t n, struct sluice_error *err)
{
    struct part *part = &all->parts[p];

    TRY(part_open(all, part, err));
    TRY(edge_rows_add(part->held, arrays, rows, first, n, err));
    count_held(all, part);
    return SLUICE_OK;
}

/* What is spilled are pieces of frames in the making. They are joined again when their frame is
 * closed, so the file does not show when, or whether, memory ran short. */
sluice_status edge_parts_spill(struct edge_parts *all, struct sluice_error *err)
{
    if (all->scratch == NULL) {
        TRY(scratch_open(all->scratch_dir, &all->scratch, err));
    }
    for (uint32_t p = 0; p < all->n_partitions; p++) {
        struct part *part = &all->parts[p];
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
            buf_clear(&all->frame);
            status = frame_encode(all->codec, batch, all->types, &all->frame, err);
            batch_unref(batch);
            TRY(status);
            TRY(scratch_write(all->scratch, all->frame.data, all->frame.size,
                              &part->spilled[part->n_spilled], err));
            part->n_spilled++;
        }
        edge_rows_destroy(part->held);
        part->held = NULL;
        count_held(all, part);
    }
    return SLUICE_OK;
}

/* Puts the spilled rows of a partition before those in memory. */
static sluice_status unspill(struct edge_parts *all, struct part *part, struct sluice_error *err)
{
    struct edge_rows *late = part->held;
    struct buf block = BUF_INIT;
    sluice_status status;

    part->held = NULL;
    status = part_open(all, part, err);
    for (uint32_t k = 0; k <= part->n_spilled && status == SLUICE_OK; k++) {
        struct batch *batch = NULL;
        if (k < part->n_spilled) {
            uint64_t end = 0;
            status = scratch_read(all->scratch, part->spilled[k], &block, &end, err);
            if (status == SLUICE_OK) {
                scratch_drop(all->scratch, part->spilled[k], end);
                status = frame_decode(all->codec, block.data, block.size, all->n_columns,
                                      all->types, EDGE_FRAME_RAW_MAX, &batch, err);
            }
        } else if (late != NULL && edge_rows_length(late) > 0) {
            status = edge_rows_batch(late, &batch, err);
        }
        if (status == SLUICE_OK && batch != NULL) {
            const struct ArrowArray **arrays = calloc((size_t)all->n_columns + 1, sizeof *arrays);
            for (uint32_t c = 0; arrays != NULL && c < all->n_columns; c++) {
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

/* ---- frames ---- */

static sluice_status frames_push(struct edge_parts *all, uint32_t part, uint64_t bytes,
                                 struct sluice_error *err)
{
    if (all->n_frames == all->frames_capacity) {
        size_t capacity = all->frames_capacity < 16 ? 16 : all->frames_capacity * 2;
        struct made_frame *frames = realloc(all->frames, capacity * sizeof *frames);
        if (frames == NULL) {
            return error_nomem(err, "the directory of an edge file");
        }
        all->frames = frames;
        all->frames_capacity = capacity;
    }
    if (all->n_frames == UINT32_MAX) {
        return error_set(err, SLUICE_E_DATA,
                         "a task stores more than %u frames in one edge file: use smaller splits",
                         UINT32_MAX);
    }
    all->frames[all->n_frames++] = (struct made_frame){ part, { all->offset, bytes } };
    all->offset += bytes;
    return SLUICE_OK;
}

sluice_status edge_parts_close_frame(struct edge_parts *all, uint32_t p, struct sluice_error *err)
{
    struct part *part = &all->parts[p];
    struct batch *batch = NULL;
    sluice_status status;

    if (part->n_spilled > 0) {
        TRY(unspill(all, part, err));
    }
    if (part->hasher == NULL) {
        part->hasher = hasher_create();
        if (part->hasher == NULL) {
            return error_nomem(err, "an edge file");
        }
    }
    TRY(edge_rows_batch(part->held, &batch, err));
    part->rows_total += (uint64_t)batch->length;
    buf_clear(&all->frame);
    status = frame_encode(all->codec, batch, all->types, &all->frame, err);
    batch_unref(batch);
    TRY(status);
    hasher_add(part->hasher, all->frame.data, all->frame.size);
    TRY(all->sink.write(all->sink.ctx, all->frame.data, all->frame.size, err));
    TRY(frames_push(all, p, all->frame.size, err));
    edge_rows_clear(part->held);
    count_held(all, part);
    if (all->frame.capacity > 2 * EDGE_CODEC_MEMORY) {
        buf_deinit(&all->frame);
    }
    return SLUICE_OK;
}

sluice_status edge_parts_close_slice(struct edge_parts *all, uint32_t p, struct sluice_error *err)
{
    struct part *part = &all->parts[p];

    if (part->n_spilled > 0 || (part->held != NULL && edge_rows_length(part->held) > 0)) {
        TRY(edge_parts_close_frame(all, p, err));
    }
    if (part->hasher != NULL) {
        part->hash = hasher_digest(part->hasher);
        hasher_destroy(part->hasher);
        part->hasher = NULL;
    }
    edge_rows_destroy(part->held);
    part->held = NULL;
    count_held(all, part);
    return SLUICE_OK;
}

/* ---- saving ---- */

static sluice_status save_part(struct edge_parts *all, struct part *part, struct saved *out,
                               struct sluice_error *err)
{
    bool held = part->held != NULL && edge_rows_length(part->held) > 0;

    saved_put(out, part->rows_total);
    saved_put(out, part->n_spilled + held);
    for (uint32_t k = 0; k < part->n_spilled; k++) {
        TRY(scratch_read(all->scratch, part->spilled[k], &all->frame, NULL, err));
        saved_put_bytes(out, all->frame.data, all->frame.size);
    }
    if (held) {
        struct batch *batch;
        sluice_status status;
        TRY(edge_rows_batch(part->held, &batch, err));
        buf_clear(&all->frame);
        status = frame_encode(all->codec, batch, all->types, &all->frame, err);
        batch_unref(batch);
        TRY(status);
        saved_put_bytes(out, all->frame.data, all->frame.size);
    }
    return saved_status(out, err);
}

sluice_status edge_parts_save(struct edge_parts *all, struct saved *out, struct sluice_error *err)
{
    saved_put(out, all->n_frames);
    for (size_t k = 0; k < all->n_frames; k++) {
        saved_put(out, all->frames[k].part);
        saved_put(out, all->frames[k].frame.bytes);
    }
    for (uint32_t p = 0; p < all->n_partitions; p++) {
        TRY(save_part(all, &all->parts[p], out, err));
    }
    return saved_status(out, err);
}

/* Rows of an open frame, as they were spilled or held. */
static sluice_status restore_rows(struct edge_parts *all, uint32_t p, struct sluice_error *err)
{
    struct batch *batch;
    const struct ArrowArray **arrays;
    sluice_status status;

    TRY(frame_decode(all->codec, all->frame.data, all->frame.size, all->n_columns, all->types,
                     EDGE_FRAME_RAW_MAX, &batch, err));
    arrays = calloc((size_t)all->n_columns + 1, sizeof *arrays);
    for (uint32_t c = 0; arrays != NULL && c < all->n_columns; c++) {
        arrays[c] = &batch->columns[c]->array;
    }
    status = arrays == NULL ? error_nomem(err, "rows to store")
                            : edge_parts_add(all, p, arrays, NULL, 0, batch->length, err);
    all->parts[p].restored += (uint64_t)batch->length;
    free(arrays);
    batch_unref(batch);
    return status;
}

uint64_t edge_parts_open_rows(const struct edge_parts *all, uint32_t part)
{
    return all->parts[part].restored;
}

sluice_status edge_parts_restore(struct edge_parts *all, uint64_t memory, struct restored *in,
                                 struct sluice_error *err)
{
    uint64_t n = restored_get(in, UINT32_MAX - 1u);

    for (uint64_t k = 0; k < n && restored_ok(in); k++) {
        uint32_t part = (uint32_t)restored_get(in, all->n_partitions - 1u);
        TRY(frames_push(all, part, restored_get(in, EDGE_FRAME_RAW_MAX), err));
    }
    for (uint32_t p = 0; p < all->n_partitions && restored_ok(in); p++) {
        uint64_t blocks;
        all->parts[p].rows_total = restored_get(in, UINT64_MAX);
        blocks = restored_get(in, UINT32_MAX);
        for (uint64_t k = 0; k < blocks && restored_ok(in); k++) {
            restored_get_bytes(in, EDGE_FRAME_RAW_MAX, &all->frame);
            TRY(restored_status(in, err));
            TRY(restore_rows(all, p, err));
        }
        if (all->held_memory > memory) {
            TRY(edge_parts_spill(all, err));
        }
    }
    return restored_status(in, err);
}

struct refill {
    struct edge_parts *all;
    struct part *part;
};

static sluice_status refill(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct refill *to = ctx;

    hasher_add(to->part->hasher, data, n);
    return to->all->sink.write(to->all->sink.ctx, data, n, err);
}

sluice_status edge_parts_refill(struct edge_parts *all, struct restored *in,
                                struct sluice_error *err)
{
    for (size_t k = 0; k < all->n_frames; k++) {
        struct part *part = &all->parts[all->frames[k].part];
        struct refill to = { all, part };
        if (part->hasher == NULL && (part->hasher = hasher_create()) == NULL) {
            return error_nomem(err, "an edge file");
        }
        TRY(restored_pieces(in, all->frames[k].frame.bytes, refill, &to, err));
    }
    return restored_status(in, err);
}

sluice_status edge_parts_directory(const struct edge_parts *all, struct edge_directory *out,
                                   struct sluice_error *err)
{
    uint32_t sum = 0;

    out->slices = calloc(all->n_partitions, sizeof *out->slices);
    out->frames = calloc(all->n_frames + 1, sizeof *out->frames);
    if (out->slices == NULL || out->frames == NULL) {
        edge_directory_deinit(out);
        return error_nomem(err, "the directory of an edge file");
    }
    out->n_partitions = all->n_partitions;
    out->n_frames = (uint32_t)all->n_frames;
    for (size_t k = 0; k < all->n_frames; k++) {
        out->slices[all->frames[k].part].n_frames++;
    }
    for (uint32_t p = 0; p < all->n_partitions; p++) {
        struct edge_slice *slice = &out->slices[p];
        if (slice->n_frames > 0) {
            slice->first_frame = sum;
            slice->rows = all->parts[p].rows_total;
            slice->hash = all->parts[p].hash;
            sum += slice->n_frames;
            slice->n_frames = 0;
        }
    }
    for (size_t k = 0; k < all->n_frames; k++) {
        struct edge_slice *slice = &out->slices[all->frames[k].part];
        out->frames[slice->first_frame + slice->n_frames++] = all->frames[k].frame;
    }
    return SLUICE_OK;
}
