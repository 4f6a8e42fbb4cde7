/* The directory of an edge file and its form in commit records: see edge.h.
 *
 * Bytes, all numbers as varints: 1 (version), partitions, frames; for each partition its rows,
 * and when these are not 0 the hash (16 bytes, low half first) and the number of frames, when
 * they are 0 the number of further empty partitions behind it; for each frame its bytes and,
 * zigzag, the distance from the end of the frame before it. */
#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "run/edge/edgeInt.h"
#include "run/edge/rowcodec.h"

#define FILE_BYTES_MAX ((uint64_t)1 << 62)

void edge_directory_deinit(struct edge_directory *d)
{
    free(d->slices);
    free(d->frames);
    memset(d, 0, sizeof *d);
}

static uint64_t zigzag(uint64_t distance)
{
    return distance << 1 ^ (uint64_t)((int64_t)distance >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (~(value & 1) + 1);
}

sluice_status edge_directory_encode(const struct edge_directory *d, struct buf *out,
                                    struct sluice_error *err)
{
    uint64_t end = 0;

    varint_put(out, EDGE_FORMAT);
    varint_put(out, d->n_partitions);
    varint_put(out, d->n_frames);
    for (uint32_t p = 0; p < d->n_partitions; p++) {
        const struct edge_slice *slice = &d->slices[p];
        varint_put(out, slice->rows);
        if (slice->rows == 0) {
            uint32_t first = p;
            while (p + 1 < d->n_partitions && d->slices[p + 1].rows == 0) {
                p++;
            }
            varint_put(out, p - first);
        } else {
            buf_append(out, &slice->hash.lo, sizeof slice->hash.lo);
            buf_append(out, &slice->hash.hi, sizeof slice->hash.hi);
            varint_put(out, slice->n_frames);
        }
    }
    for (uint32_t k = 0; k < d->n_frames; k++) {
        varint_put(out, d->frames[k].bytes);
        varint_put(out, zigzag(d->frames[k].offset - end));
        end = d->frames[k].offset + d->frames[k].bytes;
    }
    return buf_status(out, err);
}

static sluice_status broken(struct sluice_error *err, const char *what)
{
    return error_set(err, SLUICE_E_DATA,
                     "the directory of an edge file is damaged: %s; delete the commit record that "
                     "holds it and run again, its task is then "
                     "done anew",
                     what);
}

static sluice_status decode_slices(const uint8_t **at, const uint8_t *end, struct edge_directory *d,
                                   struct sluice_error *err)
{
    uint64_t frames = 0;
    uint64_t n;
    bool empty = false;

    for (uint32_t p = 0; p < d->n_partitions; p++) {
        struct edge_slice *slice = &d->slices[p];
        if (!varint_get(at, end, &slice->rows)) {
            return broken(err, "it ends inside its partitions");
        }
        if (slice->rows == 0) {
            /* A run of empty partitions has one form: directories are compared and hashed as
             * bytes. */
            if (empty || !varint_get(at, end, &n) || n >= d->n_partitions - p) {
                return broken(err,
                              "its empty partitions are more than its partitions, or told twice");
            }
            p += (uint32_t)n;
            empty = true;
            continue;
        }
        empty = false;
        if (end - *at < 16) {
            return broken(err, "it ends inside its partitions");
        }
        memcpy(&slice->hash.lo, *at, 8);
        memcpy(&slice->hash.hi, *at + 8, 8);
        *at += 16;
        if (!varint_get(at, end, &n) || n == 0 || n > d->n_frames - frames || n > slice->rows ||
            (slice->rows - 1) / EDGE_FRAME_ROWS >= n) {
            return broken(err, "a partition's rows and frames contradict each other");
        }
        slice->first_frame = (uint32_t)frames;
        slice->n_frames = (uint32_t)n;
        frames += n;
    }
    return frames == d->n_frames ? SLUICE_OK : broken(err, "it has frames of no partition");
}

static sluice_status decode_frames(const uint8_t **at, const uint8_t *end, struct edge_directory *d,
                                   struct sluice_error *err)
{
    uint64_t before = 0;

    for (uint32_t k = 0; k < d->n_frames; k++) {
        struct edge_frame *frame = &d->frames[k];
        uint64_t distance;
        if (!varint_get(at, end, &frame->bytes) || !varint_get(at, end, &distance)) {
            return broken(err, "it ends inside its frames");
        }
        frame->offset = before + unzigzag(distance);
        if (frame->bytes < FRAME_HEADER_BYTES || frame->bytes > FILE_BYTES_MAX ||
            frame->offset > FILE_BYTES_MAX - frame->bytes) {
            return broken(err, "a frame's place is impossible");
        }
        before = frame->offset + frame->bytes;
    }
    return SLUICE_OK;
}

sluice_status edge_directory_decode(const void *data, size_t n, struct edge_directory *out,
                                    struct sluice_error *err)
{
    const uint8_t *at = data;
    const uint8_t *end = at + n;
    uint64_t version = 0;
    uint64_t partitions = 0;
    uint64_t frames = 0;
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (!varint_get(&at, end, &version) || version != EDGE_FORMAT) {
        return broken(err, "it has another version than expected");
    }
    /* A frame takes at least two bytes here, an empty partition may take none. */
    if (!varint_get(&at, end, &partitions) || !varint_get(&at, end, &frames) ||
        partitions > EDGE_PARTITIONS_MAX || frames > (uint64_t)(end - at) / 2) {
        return broken(err, "its sizes are impossible");
    }
    out->n_partitions = (uint32_t)partitions;
    out->n_frames = (uint32_t)frames;
    out->slices = calloc((size_t)partitions + 1, sizeof *out->slices);
    out->frames = calloc((size_t)frames + 1, sizeof *out->frames);
    status = out->slices == NULL || out->frames == NULL
                 ? error_nomem(err, "the directory of an edge file")
                 : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = decode_slices(&at, end, out, err);
    }
    if (status == SLUICE_OK) {
        status = decode_frames(&at, end, out, err);
    }
    if (status == SLUICE_OK && at != end) {
        status = broken(err, "there are bytes behind its end");
    }
    if (status != SLUICE_OK) {
        edge_directory_deinit(out);
    }
    return status;
}
