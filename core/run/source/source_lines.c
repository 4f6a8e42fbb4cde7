/* Chunks of whole lines: see sourceInt.h. */
#include <stdlib.h>
#include <string.h>

#include "run/source/sourceInt.h"

#define GENTLE ((size_t)8 << 20) /* a window of more bytes grows by less than its double */

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
        TRY(source_need(source, 3, err));
        if (source->n >= 3 && memcmp(source->data, "\xef\xbb\xbf", 3) == 0) {
            source_advance_window(source, 3);
            source->marked = true;
        }
        return SLUICE_OK;
    }
    for (;;) {
        const char *newline;
        TRY(source_need(source, source->window, err));
        newline = source->n > 0 ? memchr(source->data, '\n', source->n) : NULL;
        if (newline != NULL) {
            source_advance_window(source, (size_t)(newline - source->data) + 1);
            *none = source->offset >= range_end(source);
            return SLUICE_OK;
        }
        source_advance_window(source, source->n);
        if (source->at_end || source->offset >= range_end(source)) {
            source->at_line = false;
            *none = true;
            return SLUICE_OK;
        }
    }
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
            source_advance_window(source, (size_t)(newline - source->data));
            end = source->offset;
            source_advance_window(source, 1);
            break;
        }
        source_advance_window(source, source->n);
        if (source->at_end) {
            end = source->offset;
            if (source->in == NULL && source->feed.line_end != 0) {
                end = source->feed.line_end;
            }
            break;
        }
        TRY(source_need(source, source->window, err));
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
        TRY(source_need(source, have > limit - more ? limit : have + more, err));
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
            TRY(source_need(source, owned + AHEAD, err));
            newline = owned < source->n
                          ? memchr(source->data + owned, '\n',
                                   source->n < window ? source->n - owned : window - owned)
                          : NULL;
        }
    }
    if (newline == NULL) {
        TRY(source_need(source, window + 1, err));
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

sluice_status source_lines_next(struct source *source, size_t *n, uint32_t *flags,
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
