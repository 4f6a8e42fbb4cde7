/* Chunks of a split: see source.h. */
#include "run/source/sourceInt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void source_close(struct source *source)
{
    if (source != NULL) {
        source_range_close(source, false);
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

struct hash128 source_digest(const struct source *source)
{
    return hasher_digest(source->hasher);
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
    TRY(source_need(source, source->uncut_window + 1, err));
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
    source_advance_window(source, source->used);
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
            TRY(source_range_open(source, err));
        } else {
            source_advance(source);
        }
        if (!source->last) {
            TRY(newline ? source_lines_next(source, &n, &flags, err)
                        : whole_next(source, &n, &flags, err));
        }
        if (n == 0 && (newline || source->last)) {
            if (source->in != NULL) {
                TRY(source_file_unchanged(file, source->in, err));
            }
            digest_range(source);
            source_range_close(source, true);
            source->range++;
            continue;
        }
        if (source->data == NULL) {
            TRY(source_reserve(source, 0, err)); /* an empty file */
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
        source->capacity <= 2 * source_usual(source)) {
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
    return source_announce(source, capacity > source_usual(source) ? capacity : 0, err);
}
