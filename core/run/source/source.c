/* Chunks of a split: see source.h.
 *
 * Everything is framed in a *window*, bytes from the begin of the next line (or record) on,
 * which grows on demand: over a stream it is a buffer that is read into, over a feed it is what
 * has been decoded. Framing looks at min(window, target) bytes and nothing else, so that chunk
 * boundaries are the same for both. */
#include "run/source/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Read at first behind the end of a range, where its last line ends. */
#define AHEAD ((size_t)16 << 10)
#define GENTLE ((size_t)8 << 20) /* a window of more bytes grows by less than its double */

struct source {
    struct feeder *feeder;
    const struct source_file *files;
    const struct split *split;
    struct source_options options;
    size_t window;       /* target of a chunk, not above max_record + 1 */
    size_t range;        /* index in split */
    bool opened;         /* the range */
    bool started;        /* the window begins with a line of this range */
    bool marked;         /* the range began with a byte order mark */
    struct input *in;    /* a stream, or NULL: a feed */
    struct lease *lease; /* of the stream, or NULL: it is our own */
    bool at_line;        /* the window begins where a line of the file does */
    struct feed feed;    /* all of a range, or what comes before a stream */
    char *buffer;        /* of streams */
    size_t capacity;
    char *data; /* the window */
    size_t n;
    uint64_t offset;            /* of data[0] in the decoded file */
    bool at_end;                /* nothing comes behind the window */
    size_t taken;               /* bytes of the window that the last chunk showed */
    size_t used;                /* of those */
    bool last;                  /* the last chunk ended its range */
    size_t uncut_window;        /* files that are not cut: grows when a record does not fit */
    char saved[SLUICE_PADDING]; /* what the zeros behind the last chunk replaced */
    bool has_saved;
    bool fed;              /* grow was told of the feed */
    char *head;            /* the begin of a line that is too long */
    uint64_t raw;          /* bytes of finished ranges */
    uint64_t raw_begin;    /* where this range's stream began */
    struct hasher *hasher; /* NULL: nobody wants to know */
    uint64_t digested;     /* bytes of this range */
};

sluice_status source_open(struct feeder *feeder, const struct source_file *files,
                          const struct split *split, const struct source_options *options,
                          struct source **out, struct sluice_error *err)
{
    struct source *source = calloc(1, sizeof *source);

    *out = NULL;
    if (source == NULL) {
        return error_nomem(err, "an input split");
    }
    source->feeder = feeder;
    source->files = files;
    source->split = split;
    source->options = *options;
    if (source->options.max_record == 0) {
        source->options.max_record = SOURCE_MAX_RECORD;
    }
    if (source->options.target_chunk == 0) {
        source->options.target_chunk = SOURCE_CHUNK;
    }
    if (source->options.max_record > SIZE_MAX / 8 || source->options.target_chunk > SIZE_MAX / 8) {
        free(source);
        return error_set(err, SLUICE_E_CONFIG,
                         "found max_record %" PRIu64 " and chunks of %" PRIu64
                         " bytes, expected at most %zu",
                         options->max_record, options->target_chunk, SIZE_MAX / 8);
    }
    if (options->digest && (source->hasher = hasher_create()) == NULL) {
        free(source);
        return error_nomem(err, "an input split");
    }
    source->window = (size_t)source->options.target_chunk;
    if (source->window > source->options.max_record + (options->cut == SPLIT_CUT_NEWLINE ? 1 : 0)) {
        source->window =
            (size_t)source->options.max_record + (options->cut == SPLIT_CUT_NEWLINE ? 1 : 0);
    }
    *out = source;
    return SLUICE_OK;
}

static const struct split_range *source_range(const struct source *source)
{
    return &source->split->ranges[source->range];
}

/* What a buffer has where no record is above the size of a chunk. */
static size_t usual_capacity(const struct source *source)
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

static void range_close(struct source *source, bool done)
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
    if (source->capacity > 2 * usual_capacity(source)) {
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

void source_close(struct source *source)
{
    if (source != NULL) {
        range_close(source, false);
        free(source->buffer);
        free(source->head);
        hasher_destroy(source->hasher);
        free(source);
    }
}

uint64_t source_position_raw(const struct source *source)
{
    return source->raw +
           (source->in != NULL ? input_position_raw(source->in) - source->raw_begin : 0);
}

/* ---- the window ---- */

static sluice_status announce(struct source *source, uint64_t bytes, struct sluice_error *err)
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
    return announce(source, bytes, err);
}

/* Room for n bytes behind the begin of the window, which moves to the begin of the buffer. */
static sluice_status buffer_reserve(struct source *source, size_t n, struct sluice_error *err)
{
    size_t capacity = n + SLUICE_PADDING;
    bool inside = source->buffer != NULL && source->data >= source->buffer &&
                  source->data <= source->buffer + source->capacity;
    char *buffer;

    if (inside && source->n > 0 && source->data != source->buffer) {
        memmove(source->buffer, source->data, source->n);
    }
    if (capacity > source->capacity) {
        if (capacity <= usual_capacity(source)) {
            capacity += source->capacity > 0 ? capacity / 4 : 0;
        } else {
            TRY(announce(source, capacity, err));
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

/* Makes the window n bytes or more, if the file has as many. */
static sluice_status window_need(struct source *source, size_t n, struct sluice_error *err)
{
    size_t got;
    size_t want;

    if (source->n >= n || source->at_end) {
        return SLUICE_OK;
    }
    if (source->buffer == NULL || source->data < source->buffer ||
        source->data > source->buffer + source->capacity ||
        (size_t)(source->data - source->buffer) + n + SLUICE_PADDING > source->capacity) {
        TRY(buffer_reserve(source, n, err));
    }
    want = n - source->n;
    TRY(input_read(source->in, source->data + source->n, want, &got, err));
    source->n += got;
    source->at_end = got < want;
    return source->at_end ? source_file_ended(&source->files[source_range(source)->file],
                                              input_position(source->in), err)
                          : SLUICE_OK;
}

static void window_advance(struct source *source, size_t n)
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

static sluice_status range_open(struct source *source, struct sluice_error *err)
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

/* ---- what is in the split ---- */

static void digest_bytes(struct source *source, const char *data, size_t n)
{
    if (source->hasher == NULL || n == 0) {
        return;
    }
    if (source->digested == 0) {
        hasher_add_u64(source->hasher, source->range);
        hasher_add_u64(source->hasher, source->offset);
    }
    hasher_add(source->hasher, data, n);
    source->digested += n;
}

static void digest_range(struct source *source)
{
    if (source->hasher != NULL) {
        hasher_add_u64(source->hasher, source->digested);
    }
    source->digested = 0;
}

/* A line that is not shown. Of its head as much as there is however it was read. */
static void digest_overlong(struct source *source, uint64_t begin, uint64_t end)
{
    uint64_t most = source->options.max_record;

    if (source->hasher != NULL) {
        hasher_add_u64(source->hasher, begin);
        hasher_add_u64(source->hasher, end);
        hasher_add(source->hasher, source->head, most < SOURCE_HEAD ? (size_t)most : SOURCE_HEAD);
    }
}

struct hash128 source_digest(const struct source *source)
{
    return hasher_digest(source->hasher);
}

/* ---- cut by newline ---- */

/* Lines that begin before this are the range's. The line behind a byte order mark counts as
 * beginning at 0. */
static uint64_t range_end(const struct source *source)
{
    const struct split_range *range = source_range(source);

    if (range->last) {
        return UINT64_MAX;
    }
    return source->marked && range->end < 4 ? 4 : range->end;
}

/* Goes to the first line that begins in the range. *none: there is none. */
static sluice_status lines_start(struct source *source, bool *none, struct sluice_error *err)
{
    const struct split_range *range = source_range(source);

    *none = false;
    source->started = true;
    source->at_line = true;
    if (range->begin == 0) {
        TRY(window_need(source, 3, err));
        if (source->n >= 3 && memcmp(source->data, "\xef\xbb\xbf", 3) == 0) {
            window_advance(source, 3);
            source->marked = true;
        }
        return SLUICE_OK;
    }
    for (;;) {
        const char *newline;
        TRY(window_need(source, source->window, err));
        newline = source->n > 0 ? memchr(source->data, '\n', source->n) : NULL;
        if (newline != NULL) {
            window_advance(source, (size_t)(newline - source->data) + 1);
            *none = source->offset >= range_end(source);
            return SLUICE_OK;
        }
        window_advance(source, source->n);
        if (source->at_end || source->offset >= range_end(source)) {
            source->at_line = false;
            *none = true;
            return SLUICE_OK;
        }
    }
}

/* The line at the begin of the window, known to be longer than max_record: reports it and goes
 * behind it. */
static sluice_status lines_overlong(struct source *source, struct sluice_error *err)
{
    uint64_t begin = source->offset;
    uint64_t end;
    size_t head_n = source->n < SOURCE_HEAD ? source->n : (size_t)SOURCE_HEAD;

    if (source->head == NULL && (source->head = malloc(SOURCE_HEAD)) == NULL) {
        return error_nomem(err, "a line that is too long");
    }
    memcpy(source->head, source->data, head_n);
    for (;;) {
        const char *newline = source->n > 0 ? memchr(source->data, '\n', source->n) : NULL;
        if (newline != NULL) {
            window_advance(source, (size_t)(newline - source->data));
            end = source->offset;
            window_advance(source, 1);
            break;
        }
        window_advance(source, source->n);
        if (source->at_end) {
            end = source->offset;
            if (source->in == NULL && source->feed.line_end != 0) {
                end = source->feed.line_end;
            }
            break;
        }
        TRY(window_need(source, source->window, err));
    }
    digest_overlong(source, begin, end);
    if (source->options.too_long == NULL) {
        return SLUICE_OK;
    }
    return source->options.too_long(source->options.ctx, (uint32_t)source->range, begin, end,
                                    source->head, head_n, err);
}

/* The line at the begin of the window does not end in its first n bytes. *found: the bytes of
 * the line, or 0: it was too long and is behind us. */
static sluice_status lines_extend(struct source *source, size_t n, size_t *found,
                                  struct sluice_error *err)
{
    const size_t limit = (size_t)source->options.max_record + 1; /* with '\n' */

    for (;;) {
        size_t have = source->n < limit ? source->n : limit;
        size_t more;
        const char *newline = n < have ? memchr(source->data + n, '\n', have - n) : NULL;
        if (newline != NULL) {
            *found = (size_t)(newline - source->data) + 1;
            return SLUICE_OK;
        }
        if (source->at_end && source->n < limit) {
            *found = source->n;
            return SLUICE_OK;
        }
        if (have == limit) {
            *found = 0;
            return lines_overlong(source, err);
        }
        n = have;
        /* A record is seldom as long as the limit: what is read beyond its end costs memory. */
        more = have < GENTLE ? have : have / 4;
        TRY(window_need(source, have > limit - more ? limit : have + more, err));
    }
}

/* How many bytes the next chunk has: whole lines of this range. 0: none, or a line was refused
 * (then *again). */
static sluice_status lines_frame(struct source *source, size_t *out, bool *again,
                                 struct sluice_error *err)
{
    const size_t window = source->window;
    const uint64_t end = range_end(source);
    const char *newline = NULL;
    size_t n;
    /* Index of the range's last byte in the window: the last line ends there or behind. */
    size_t owned = SIZE_MAX;

    *again = false;
    *out = 0;
    if (source->offset >= end) {
        return SLUICE_OK;
    }
    if (end - 1 - source->offset < window) {
        owned = (size_t)(end - 1 - source->offset);
        if (window - owned > AHEAD) {
            TRY(window_need(source, owned + AHEAD, err));
            newline = owned < source->n
                          ? memchr(source->data + owned, '\n',
                                   source->n < window ? source->n - owned : window - owned)
                          : NULL;
        }
    }
    if (newline == NULL) {
        TRY(window_need(source, window + 1, err));
        n = source->n < window ? source->n : window;
        newline = owned < n ? memchr(source->data + owned, '\n', n - owned) : NULL;
        if (newline == NULL && source->at_end && source->n <= window) {
            *out = source->n; /* to the end of the file, unless a line there is refused */
            if (source->n <= source->options.max_record ||
                memrchr(source->data, '\n', source->n) != NULL) {
                return SLUICE_OK;
            }
        } else if (newline == NULL && n > 0) {
            newline = memrchr(source->data, '\n', owned < n ? owned : n);
        }
    }
    if (newline != NULL) {
        *out = (size_t)(newline - source->data) + 1;
        return SLUICE_OK;
    }
    if (source->n == 0) {
        return SLUICE_OK;
    }
    TRY(lines_extend(source, source->n < window ? source->n : window, out, err));
    *again = *out == 0;
    return SLUICE_OK;
}

static sluice_status lines_next(struct source *source, size_t *n, uint32_t *flags,
                                struct sluice_error *err)
{
    bool again = false;
    uint64_t first = source->offset;

    *n = 0;
    if (!source->started) {
        bool none;
        first = source->offset;
        TRY(lines_start(source, &none, err));
        if (none) {
            return SLUICE_OK;
        }
        *flags |= source_range(source)->begin == 0 ? SLUICE_CHUNK_FIRST : 0;
        first = source->offset;
    }
    do {
        TRY(lines_frame(source, n, &again, err));
    } while (again);
    if (source->offset != first) {
        *flags &= ~SLUICE_CHUNK_FIRST; /* a refused line was */
    }
    if (*n > 0 &&
        (source->offset + *n >= range_end(source) || (source->at_end && *n == source->n))) {
        *flags |= SLUICE_CHUNK_LAST;
    }
    return SLUICE_OK;
}

/* ---- not cut ---- */

static sluice_status whole_next(struct source *source, size_t *n, uint32_t *flags,
                                struct sluice_error *err)
{
    uint64_t max = source->options.max_record;

    if (!source->started) {
        source->started = true;
        *flags |= SLUICE_CHUNK_FIRST;
    } else if (source->used == 0) {
        if (source->uncut_window >= max) {
            return error_set(err, SLUICE_E_DATA,
                             "%s: the record at byte %" PRIu64
                             " of the decoded file is longer than %" PRIu64 " bytes, "
                             "the most a record may have; raise max_record",
                             input_path(source->in), source->offset, max);
        }
        source->uncut_window =
            source->uncut_window > max / 2 ? (size_t)max : source->uncut_window * 2;
    }
    TRY(window_need(source, source->uncut_window + 1, err));
    *n = source->n < source->uncut_window ? source->n : source->uncut_window;
    if (source->at_end && *n == source->n) {
        *flags |= SLUICE_CHUNK_LAST;
    }
    return SLUICE_OK;
}

/* ---- both ---- */

/* Goes behind what the reader used of the last chunk. */
static void source_advance(struct source *source)
{
    if (source->has_saved) {
        memcpy(source->data + source->taken, source->saved, SLUICE_PADDING);
        source->has_saved = false;
    }
    if (source->options.cut == SPLIT_CUT_NONE) {
        digest_bytes(source, source->data, source->used);
    }
    window_advance(source, source->used);
    source->taken = 0;
}

sluice_status source_next(struct source *source, struct sluice_chunk *chunk, bool *more,
                          struct sluice_error *err)
{
    bool newline = source->options.cut == SPLIT_CUT_NEWLINE;

    *more = false;
    while (source->range < source->split->n_ranges) {
        const struct source_file *file = &source->files[source_range(source)->file];
        uint32_t flags = 0;
        size_t n = 0;
        if (!source->opened) {
            TRY(range_open(source, err));
        } else {
            source_advance(source);
        }
        if (!source->last) {
            TRY(newline ? lines_next(source, &n, &flags, err)
                        : whole_next(source, &n, &flags, err));
        }
        if (n == 0 && (newline || source->last)) {
            if (source->in != NULL) {
                TRY(source_file_unchanged(file, source->in, err));
            }
            digest_range(source);
            range_close(source, true);
            source->range++;
            continue;
        }
        if (source->data == NULL) {
            TRY(buffer_reserve(source, 0, err)); /* an empty file */
        }
        if (newline) {
            digest_bytes(source, source->data, n); /* now, as it is in the cache */
        }
        memcpy(source->saved, source->data + n, SLUICE_PADDING);
        memset(source->data + n, 0, SLUICE_PADDING);
        source->has_saved = true;
        source->taken = n;
        source->used = n;
        source->last = (flags & SLUICE_CHUNK_LAST) != 0;
        memset(chunk, 0, sizeof *chunk);
        chunk->size = sizeof *chunk;
        chunk->data = source->data;
        chunk->n = n;
        chunk->offset = source->offset;
        chunk->uri = file->file->name;
        chunk->file = (uint32_t)source->range;
        chunk->flags = flags;
        chunk->consumed = n;
        *more = true;
        return SLUICE_OK;
    }
    return SLUICE_OK;
}

sluice_status source_consumed(struct source *source, uint64_t n, struct sluice_error *err)
{
    if (n > source->taken) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "a reader says that it used %" PRIu64
                         " bytes of a chunk of %zu; set consumed to the bytes "
                         "that are done with",
                         n, source->taken);
    }
    if (source->options.cut == SPLIT_CUT_NONE) {
        source->used = (size_t)n;
    }
    return SLUICE_OK;
}

sluice_status source_shrink(struct source *source, struct sluice_error *err)
{
    size_t rest;
    size_t capacity;
    char *buffer;

    if (source->options.cut == SPLIT_CUT_NONE || source->data == NULL ||
        source->data < source->buffer || source->data > source->buffer + source->capacity ||
        source->capacity <= 2 * usual_capacity(source)) {
        return SLUICE_OK;
    }
    source_advance(source);
    rest = source->n;
    capacity = (rest < source->window ? source->window : rest) + SLUICE_PADDING;
    buffer = malloc(capacity);
    if (buffer == NULL) {
        return error_nomem(err, "a chunk of a file");
    }
    if (rest > 0) {
        memcpy(buffer, source->data, rest);
    }
    free(source->buffer);
    source->buffer = buffer;
    source->capacity = capacity;
    source->data = buffer;
    source->used = 0;
    return announce(source, capacity > usual_capacity(source) ? capacity : 0, err);
}
