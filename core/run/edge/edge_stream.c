/* Frames of slices, input after input: see edgeInt.h. One file is open at a time, and only while
 * its frames are being read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "run/edge/edgeInt.h"
#include "store/store.h"

#define BYTES_KEPT ((size_t)8 << 20) /* a larger frame's memory is given back */

struct edge_stream {
    struct schema schema;      /* a copy */
    const struct type **types; /* its types; owned array */
    struct edge_input *inputs; /* owned array, with owned paths */
    size_t n, at;
    struct store_file *file; /* of inputs[at], or NULL */
    uint64_t file_bytes;
    uint32_t frame; /* in the slice */
    uint64_t rows;  /* of the slice, so far */
    struct hasher *hasher;
    struct frame_codec *codec;
    struct buf bytes;
};

sluice_status edge_stream_fault(const struct edge_input *input, struct sluice_error *err,
                                const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, SLUICE_E_DATA,
                     "%s, partition %u: %s; the file was cut or changed after it was written: "
                     "delete it and run again",
                     input->path, input->partition, text);
}

static sluice_status check_inputs(const struct edge_input *inputs, size_t n,
                                  struct sluice_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct edge_directory *d = inputs[i].directory;
        const struct edge_slice *slice =
            inputs[i].partition < d->n_partitions ? &d->slices[inputs[i].partition] : NULL;
        if (slice == NULL) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "%s: partition %u was asked for, the file has %u", inputs[i].path,
                             inputs[i].partition, d->n_partitions);
        }
        if (slice->n_frames > d->n_frames || slice->first_frame > d->n_frames - slice->n_frames ||
            (slice->rows == 0) != (slice->n_frames == 0)) {
            return edge_stream_fault(&inputs[i], err,
                                     "its directory's rows and frames contradict each other");
        }
        if (inputs[i].ordinal >= EDGE_PARTITIONS_MAX) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "%s: task %u is beyond the %u that positions have room for",
                             inputs[i].path, inputs[i].ordinal, EDGE_PARTITIONS_MAX);
        }
    }
    return SLUICE_OK;
}

static sluice_status prepare(struct edge_stream *s, const struct schema *schema,
                             const struct edge_input *inputs, size_t n, struct sluice_error *err)
{
    TRY(schema_copy(&s->schema, schema, err));
    s->types = edge_types(&s->schema);
    s->inputs = calloc(n + 1, sizeof *s->inputs);
    s->hasher = hasher_create();
    s->codec = frame_codec_create();
    if (s->types == NULL || s->inputs == NULL || s->hasher == NULL || s->codec == NULL) {
        return error_nomem(err, "reading edge files");
    }
    for (size_t i = 0; i < n; i++) {
        s->inputs[i] = inputs[i];
        s->inputs[i].path = str_copy(inputs[i].path, strlen(inputs[i].path));
        if (s->inputs[i].path == NULL) {
            return error_nomem(err, "reading edge files");
        }
        s->n++;
    }
    return SLUICE_OK;
}

sluice_status edge_stream_open(const struct schema *schema, const struct edge_input *inputs,
                               size_t n, struct edge_stream **out, struct sluice_error *err)
{
    struct edge_stream *s;
    sluice_status status;

    *out = NULL;
    TRY(check_inputs(inputs, n, err));
    s = calloc(1, sizeof *s);
    if (s == NULL) {
        return error_nomem(err, "reading edge files");
    }
    schema_init(&s->schema);
    status = prepare(s, schema, inputs, n, err);
    if (status != SLUICE_OK) {
        edge_stream_close(s);
        return status;
    }
    *out = s;
    return SLUICE_OK;
}

static void file_close(struct edge_stream *s)
{
    store_close(s->file);
    s->file = NULL;
}

void edge_stream_close(struct edge_stream *s)
{
    if (s != NULL) {
        file_close(s);
        for (size_t i = 0; i < s->n; i++) {
            free((char *)(uintptr_t)s->inputs[i].path);
        }
        free(s->inputs);
        free(s->types);
        schema_deinit(&s->schema);
        hasher_destroy(s->hasher);
        frame_codec_destroy(s->codec);
        buf_deinit(&s->bytes);
        free(s);
    }
}

static sluice_status file_open(struct edge_stream *s, const struct edge_input *input,
                               struct sluice_error *err)
{
    bool found;

    TRY(store_open(input->path, &s->file, &found, err));
    if (!found) {
        return error_set(
            err, SLUICE_E_DATA,
            "%s, partition %u: the file is gone; run again, its task is then done anew",
            input->path, input->partition);
    }
    s->file_bytes = store_version(s->file)->size;
    s->frame = 0;
    s->rows = 0;
    hasher_reset(s->hasher);
    return SLUICE_OK;
}

static sluice_status read_bytes(struct edge_stream *s, const struct edge_input *input,
                                const struct edge_frame *frame, struct sluice_error *err)
{
    struct store_extent extent;

    if (frame->offset > s->file_bytes || frame->bytes > s->file_bytes - frame->offset) {
        return edge_stream_fault(
            input, err, "frame %u should be bytes %llu to %llu, the file has %llu", s->frame,
            (unsigned long long)frame->offset, (unsigned long long)(frame->offset + frame->bytes),
            (unsigned long long)s->file_bytes);
    }
    if (s->bytes.capacity > BYTES_KEPT && frame->bytes < BYTES_KEPT / 2) {
        /* One giant frame must not keep its memory for the rest of the phase. */
        buf_deinit(&s->bytes);
    }
    buf_clear(&s->bytes);
    if (!buf_reserve(&s->bytes, (size_t)frame->bytes)) {
        return error_nomem(err, "a spill frame");
    }
    extent = (struct store_extent){ frame->offset, (size_t)frame->bytes, s->bytes.data, 0 };
    TRY(store_read(s->file, &extent, 1, err));
    if (extent.got < frame->bytes) {
        return edge_stream_fault(input, err, "frame %u ends early", s->frame);
    }
    s->bytes.size = extent.got;
    return SLUICE_OK;
}

static sluice_status read_frame(struct edge_stream *s, const struct edge_input *input,
                                const struct edge_slice *slice, struct batch **out,
                                struct sluice_error *err)
{
    const struct edge_frame *frame = &input->directory->frames[slice->first_frame + s->frame];
    sluice_status status;

    TRY(read_bytes(s, input, frame, err));
    hasher_add(s->hasher, s->bytes.data, s->bytes.size);
    status = frame_decode(s->codec, s->bytes.data, s->bytes.size, s->schema.n, s->types,
                          EDGE_FRAME_RAW_MAX, out, err);
    if (status != SLUICE_OK) {
        return status == SLUICE_E_DATA ? error_prefix(err, "%s, partition %u, frame %u",
                                                      input->path, input->partition, s->frame)
                                       : status;
    }
    s->rows += (uint64_t)(*out)->length;
    s->frame++;
    if (s->rows > slice->rows || (s->frame == slice->n_frames && s->rows != slice->rows)) {
        return edge_stream_fault(input, err,
                                 "its frames hold %llu rows so far, its directory says %llu in all",
                                 (unsigned long long)s->rows, (unsigned long long)slice->rows);
    }
    if (s->frame == slice->n_frames && !hash_equal(hasher_digest(s->hasher), slice->hash)) {
        return edge_stream_fault(input, err, "its bytes have another hash than its directory says");
    }
    return SLUICE_OK;
}

sluice_status edge_stream_next(struct edge_stream *s, struct batch **batch,
                               const struct edge_input **from, struct sluice_error *err)
{
    *batch = NULL;
    while (s->at < s->n) {
        const struct edge_input *input = &s->inputs[s->at];
        const struct edge_slice *slice = &input->directory->slices[input->partition];
        sluice_status status = SLUICE_OK;
        if (slice->n_frames == 0) {
            s->at++;
            continue;
        }
        if (s->file == NULL) {
            status = file_open(s, input, err);
        }
        if (status == SLUICE_OK) {
            status = read_frame(s, input, slice, batch, err);
        }
        if (status != SLUICE_OK) {
            batch_unref(*batch);
            *batch = NULL;
            file_close(s);
            return status;
        }
        *from = input;
        if (s->frame == slice->n_frames) {
            /* One slice after the other may be of one file. */
            if (s->at + 1 < s->n && strcmp(s->inputs[s->at + 1].path, input->path) == 0) {
                s->frame = 0;
                s->rows = 0;
                hasher_reset(s->hasher);
            } else {
                file_close(s);
            }
            s->at++;
        }
        return SLUICE_OK;
    }
    return SLUICE_OK;
}
