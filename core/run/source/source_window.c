/* The bytes of one range of a split, from a stream or a feed: see sourceInt.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/source/sourceInt.h"

size_t source_usual(const struct source *source)
{
    size_t window = source->window > AHEAD ? source->window : AHEAD;
    return 2 * window + SLUICE_PADDING;
}

/* Gives the decoder back with what it decoded beyond this range; done: the range was read to its
 * end. */
static void lease_close(struct source *source, bool done)
{
    const struct split_range *range = source_range(source);
    char *kept = NULL;

    if (done && (source->n > 0 || !source->at_end)) {
        kept = malloc(source->n + 1);
    }
    if (kept != NULL) {
        /* The newline in front of the window is the first one at or behind the range's last
         * byte. */
        kept[0] = '\n';
        if (source->n > 0) {
            memcpy(kept + 1, source->data, source->n);
        }
    }
    feeder_return(source->feeder, source->lease, range->end - 1,
                  kept == NULL || source->at_line ? kept : kept + 1,
                  source->n + (source->at_line ? 1 : 0));
    free(kept);
    source->lease = NULL;
    source->in = NULL;
}

/* Bytes of the file that stand for this range. Of a plain file these are its own, whatever was read
 * ahead. */
static uint64_t stream_raw(const struct source *source)
{
    const struct split_range *range = source_range(source);
    uint64_t size = input_size(source->in);

    if (input_codec(source->in) != CODEC_PLAIN) {
        return input_position_raw(source->in) - source->raw_begin;
    }
    return (range->last || range->end > size ? size : range->end) - range->begin;
}

void source_range_close(struct source *source, bool done)
{
    if (source->lease != NULL) {
        source->raw += input_position_raw(source->in) - source->raw_begin;
        lease_close(source, done);
    } else if (source->in != NULL) {
        source->raw += stream_raw(source);
        input_close(source->in);
        source->in = NULL;
    } else if (source->opened) {
        source->raw += source->feed.raw;
    }
    feeder_release(source->feeder, &source->feed);
    if (source->fed && source->options.grow != NULL) {
        (void)!source->options.grow(source->options.ctx, 0, NULL); /* less is never refused */
    }
    source->fed = false;
    if (source->capacity > 2 * source_usual(source)) {
        free(source->buffer);
        source->buffer = NULL;
        source->capacity = 0;
    }
    source->data = NULL;
    source->n = 0;
    source->taken = 0;
    source->opened = false;
    source->started = false;
    source->at_line = false;
    source->marked = false;
    source->at_end = false;
    source->last = false;
    source->has_saved = false;
}

/* ---- the window ---- */

sluice_status source_announce(struct source *source, uint64_t bytes, struct sluice_error *err)
{
    sluice_status status = source->options.grow == NULL
                               ? SLUICE_OK
                               : source->options.grow(source->options.ctx, bytes, err);

    return status == SLUICE_E_NOMEM
               ? error_prefix(err, "%s, byte %" PRIu64,
                              source->files[source_range(source)->file].file->name, source->offset)
               : status;
}

static sluice_status feed_announce(void *ctx, uint64_t bytes, struct sluice_error *err)
{
    struct source *source = ctx;

    source->fed = true;
    return source_announce(source, bytes, err);
}

sluice_status source_reserve(struct source *source, size_t n, struct sluice_error *err)
{
    size_t capacity = n + SLUICE_PADDING;
    bool inside = source->buffer != NULL && source->data >= source->buffer &&
                  source->data <= source->buffer + source->capacity;
    char *buffer;

    if (inside && source->n > 0 && source->data != source->buffer) {
        memmove(source->buffer, source->data, source->n);
    }
    if (capacity > source->capacity) {
        if (capacity <= source_usual(source)) {
            capacity += source->capacity > 0 ? capacity / 4 : 0;
        } else {
            TRY(source_announce(source, capacity, err));
        }
        /* A large block is moved by its pages, not copied. */
        buffer = realloc(source->buffer, capacity);
        if (buffer == NULL) {
            return error_nomem(err, "a chunk of a file");
        }
        source->buffer = buffer;
        source->capacity = capacity;
    }
    if (!inside && source->n > 0) {
        memcpy(source->buffer, source->data, source->n);
    }
    source->data = source->buffer;
    return SLUICE_OK;
}

sluice_status source_need(struct source *source, size_t n, struct sluice_error *err)
{
    size_t got;
    size_t want;

    if (source->n >= n || source->at_end) {
        return SLUICE_OK;
    }
    if (source->buffer == NULL || source->data < source->buffer ||
        source->data > source->buffer + source->capacity ||
        (size_t)(source->data - source->buffer) + n + SLUICE_PADDING > source->capacity) {
        TRY(source_reserve(source, n, err));
    }
    want = n - source->n;
    TRY(input_read(source->in, source->data + source->n, want, &got, err));
    source->n += got;
    source->at_end = got < want;
    return source->at_end ? source_file_ended(&source->files[source_range(source)->file],
                                              input_position(source->in), err)
                          : SLUICE_OK;
}

void source_advance_window(struct source *source, size_t n)
{
    if (n > 0) {
        source->data += n;
        source->n -= n;
        source->offset += n;
    }
}

/* ---- opening a range ---- */

static sluice_status open_stream(struct source *source, const struct source_file *file, uint64_t at,
                                 struct sluice_error *err)
{
    TRY(source_file_open(file, &source->in, err));
    TRY(input_seek(source->in, input_codec(source->in) == CODEC_PLAIN ? at : 0, at, err));
    source->raw_begin = input_position_raw(source->in);
    source->offset = at;
    return SLUICE_OK;
}

/* A range of a file that can't be sought. */
static sluice_status open_fed(struct source *source, const struct source_file *file,
                              struct sluice_error *err)
{
    const struct split_range *range = source_range(source);

    if (range->last) {
        TRY(feeder_stream(source->feeder, file, range->begin, &source->feed, &source->in, err));
    } else if (feeder_lends(source->feeder)) {
        TRY(feeder_lend(source->feeder, file, range->begin, &source->feed, &source->lease, err));
        source->in = source->lease == NULL ? NULL : lease_input(source->lease);
    } else {
        struct feed_grow beyond = { feed_announce, source };
        TRY(feeder_take(source->feeder, file, range->begin, range->end, source->options.max_record,
                        &beyond, &source->feed, err));
    }
    source->at_end = source->in == NULL;
    source->raw_begin = source->in == NULL ? 0 : input_position_raw(source->in);
    source->data = source->feed.data;
    source->n = source->feed.n;
    source->offset = source->feed.offset;
    return SLUICE_OK;
}

sluice_status source_range_open(struct source *source, struct sluice_error *err)
{
    const struct split_range *range = source_range(source);
    const struct source_file *file = &source->files[range->file];
    enum codec codec;

    source->opened = true;
    source->uncut_window = source->window;
    if (range->begin == 0 && range->last) {
        return open_stream(source, file, 0, err);
    }
    if (source->options.cut == SPLIT_CUT_NONE) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "source: %s is cut, but its reader takes whole files", file->file->path);
    }
    TRY(source_file_codec(file, &codec, err));
    if (codec != CODEC_PLAIN) {
        return open_fed(source, file, err);
    }
    if (range->begin > file->file->version.size) { /* its name promised more */
        source->at_end = true;
        return SLUICE_OK;
    }
    return open_stream(source, file, range->begin > 0 ? range->begin - 1 : 0, err);
}
