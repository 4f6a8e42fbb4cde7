/* The decoding half of the feeder: see feeder.h. Everything here happens outside of the feeder's
 * lock, on a station that belongs to one thread. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "run/source/feederInt.h"

#define STEP ((size_t)4 << 20)       /* decoded between two looks at cancelled() */
#define TAIL ((size_t)256 << 10)     /* decoded at once in search of the end of a line */
#define USUAL_TAIL ((size_t)4 << 20) /* of the line that crosses a range's end: the floor has it */
#define HUGE_PAGE ((size_t)2 << 20)

/* ---- memory of feeds ---- */

static char *memory_alloc(size_t capacity)
{
    char *data;

    if (capacity < HUGE_PAGE) {
        return malloc(capacity);
    }
    data = aligned_alloc(HUGE_PAGE, capacity);
    if (data != NULL) {
        madvise(data, capacity, MADV_HUGEPAGE); /* 16,000 page faults a range otherwise */
    }
    return data;
}

/* Gives feed room for n bytes and the padding, keeping what it has; takes a spare buffer if one
 * is large enough. */
static sluice_status feed_reserve(struct feeder *feeder, struct feed *feed, size_t n,
                                  struct sluice_error *err)
{
    struct memory **link;
    struct memory *found = NULL;
    char *data = NULL;
    size_t capacity = n + SLUICE_PADDING;

    if (capacity <= feed->capacity) {
        return SLUICE_OK;
    }
    if (capacity < feed->capacity + feed->capacity / 2) {
        capacity = feed->capacity + feed->capacity / 2;
    }
    pthread_mutex_lock(&feeder->mutex);
    for (link = &feeder->spare; *link != NULL; link = &(*link)->next) {
        if ((*link)->capacity >= capacity) {
            found = *link;
            *link = found->next;
            feeder->n_spare--;
            break;
        }
    }
    pthread_mutex_unlock(&feeder->mutex);
    if (found != NULL) {
        data = found->data;
        capacity = found->capacity;
        free(found);
    } else {
        if (capacity >= HUGE_PAGE) {
            capacity = (capacity + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        }
        data = memory_alloc(capacity);
        if (data == NULL) {
            return error_nomem(err, "a decoded range of a file");
        }
    }
    if (feed->n > 0) {
        memcpy(data, feed->data, feed->n);
    }
    pthread_mutex_lock(&feeder->mutex);
    feeder->bytes += found == NULL ? capacity : 0;
    feeder->bytes -= feed->capacity;
    pthread_mutex_unlock(&feeder->mutex);
    free(feed->data);
    feed->grown = feed->grown || feed->capacity > 0;
    feed->data = data;
    feed->capacity = capacity;
    return SLUICE_OK;
}

void feeder_release(struct feeder *feeder, struct feed *feed)
{
    struct memory *memory = feed->data != NULL ? malloc(sizeof *memory) : NULL;

    pthread_mutex_lock(&feeder->mutex);
    /* One that grew for a huge record is not kept. */
    if (memory != NULL && feeder->n_spare < feeder->options.max_idle && !feed->grown) {
        *memory = (struct memory){ feeder->spare, feed->data, feed->capacity };
        feeder->spare = memory;
        feeder->n_spare++;
        feed->data = NULL;
        memory = NULL;
    } else {
        feeder->bytes -= feed->capacity;
    }
    pthread_mutex_unlock(&feeder->mutex);
    free(memory);
    free(feed->data);
    memset(feed, 0, sizeof *feed);
}

/* ---- decoding ---- */

static uint64_t station_kept_begin(const struct station *station)
{
    return input_position(station->in) - station->kept_n;
}

/* Brings the station to a place from which bytes at or behind at follow: drops kept bytes,
 * decodes and discards. */
sluice_status station_advance(const struct feeder *feeder, struct station *station, uint64_t at,
                              struct sluice_error *err)
{
    uint64_t begin = station_kept_begin(station);

    if (at <= begin) {
        return SLUICE_OK;
    }
    if (at - begin < station->kept_n) {
        size_t drop = (size_t)(at - begin);
        memmove(station->kept, station->kept + drop, station->kept_n - drop);
        station->kept_n -= drop;
        return SLUICE_OK;
    }
    station->kept_n = 0;
    while (input_position(station->in) < at) {
        uint64_t want = at - input_position(station->in);
        uint64_t skipped;
        want = want < STEP ? want : STEP;
        if (feeder_cancelled(feeder)) {
            return feeder_cancelled_error(err);
        }
        TRY(input_skip(station->in, want, &skipped, err));
        if (skipped < want) {
            break;
        }
    }
    return SLUICE_OK;
}

/* Decodes up to n bytes more behind those that feed has. */
static sluice_status feed_read(struct feeder *feeder, struct station *station, struct feed *feed,
                               size_t n, bool *at_end, struct sluice_error *err)
{
    TRY(feed_reserve(feeder, feed, feed->n + n, err));
    while (n > 0 && !*at_end) {
        size_t step = n < STEP ? n : STEP;
        size_t got;
        if (feeder_cancelled(feeder)) {
            return feeder_cancelled_error(err);
        }
        TRY(input_read(station->in, feed->data + feed->n, step, &got, err));
        feed->n += got;
        n -= got;
        *at_end = got < step;
    }
    return SLUICE_OK;
}

/* Moves the kept bytes to the front of feed. */
sluice_status feed_start(struct feeder *feeder, struct station *station, struct feed *feed,
                         size_t room, struct sluice_error *err)
{
    feed->offset = station_kept_begin(station);
    TRY(feed_reserve(feeder, feed, station->kept_n + room, err));
    if (station->kept_n > 0) {
        memcpy(feed->data, station->kept, station->kept_n);
    }
    feed->n = station->kept_n;
    station->kept_n = 0;
    return SLUICE_OK;
}

sluice_status station_keep(struct station *station, uint64_t clear, const char *data, size_t n,
                           struct sluice_error *err)
{
    char *kept = realloc(station->kept, n + 1);

    if (kept == NULL) {
        return error_nomem(err, "a decoder");
    }
    if (n > 0) {
        memcpy(kept, data, n);
    }
    station->kept = kept;
    station->kept_n = n;
    station->clear = clear;
    return SLUICE_OK;
}

/* The line at the end of feed is too long: discards its rest. */
static sluice_status feed_overlong(struct feeder *feeder, struct station *station,
                                   struct feed *feed, uint64_t clear, bool *at_end,
                                   struct sluice_error *err)
{
    char *scratch = malloc(TAIL);
    const char *newline = NULL;
    size_t got = 0;
    sluice_status status = scratch == NULL ? error_nomem(err, "a decoder") : SLUICE_OK;

    while (status == SLUICE_OK && newline == NULL && !*at_end) {
        if (feeder_cancelled(feeder)) {
            status = feeder_cancelled_error(err);
            break;
        }
        status = input_read(station->in, scratch, TAIL, &got, err);
        if (status == SLUICE_OK) {
            *at_end = got < TAIL;
            newline = memchr(scratch, '\n', got);
        }
    }
    if (status == SLUICE_OK) {
        size_t rest = newline != NULL ? got - (size_t)(newline - scratch) : 0;
        feed->line_end = input_position(station->in) - rest;
        status = station_keep(station, clear, newline, rest, err);
        *at_end = *at_end && newline == NULL;
    }
    free(scratch);
    return status;
}

/* Decodes to the end of the line that begins before end, at index line of feed; the line's end
 * is at or behind end - 1. */
static sluice_status feed_tail(struct feeder *feeder, struct station *station, struct feed *feed,
                               uint64_t end, size_t line, uint64_t max_record,
                               const struct feed_grow *grow, bool *at_end, struct sluice_error *err)
{
    const size_t usual = feed->capacity + USUAL_TAIL;
    size_t from = (size_t)(end - 1 - feed->offset);
    size_t more;

    for (;;) {
        const char *newline =
            from < feed->n ? memchr(feed->data + from, '\n', feed->n - from) : NULL;
        if (newline != NULL) {
            size_t n = (size_t)(newline - feed->data);
            TRY(station_keep(station, end - 1, newline, feed->n - n, err));
            *at_end = false;
            feed->n = n + 1;
            return SLUICE_OK;
        }
        if (*at_end) {
            return SLUICE_OK;
        }
        if (feed->n - line > max_record &&
            feed->n - line - max_record > 8) { /* 8: a byte order mark is no part of a line */
            return feed_overlong(feeder, station, feed, end - 1, at_end, err);
        }
        from = feed->n > from ? feed->n : from;
        more = feed->n + TAIL + SLUICE_PADDING;
        if (more > feed->capacity && more > usual && grow != NULL) {
            /* While it moves: what it has, and half as much again. */
            TRY(grow->grow(grow->ctx, 2 * feed->capacity + feed->capacity / 2 + TAIL - usual, err));
        }
        TRY(feed_read(feeder, station, feed, TAIL, at_end, err));
    }
}

sluice_status feed_decode(struct feeder *feeder, struct station *station, uint64_t begin,
                          uint64_t end, uint64_t max_record, const struct feed_grow *grow,
                          struct feed *feed, bool *at_end, struct sluice_error *err)
{
    size_t limit;
    size_t owned = 0;

    *at_end = false;
    if (begin > 0) {
        TRY(station_advance(feeder, station, begin - 1, err));
        if (station_kept_begin(station) >= end - 1 && station->clear <= begin - 1) {
            return SLUICE_OK; /* one line from before this range to behind it */
        }
    }
    TRY(feed_start(feeder, station, feed, (size_t)(end - begin) + 1 + TAIL, err));
    if (feed->offset + feed->n < end) {
        TRY(feed_read(feeder, station, feed, (size_t)(end - feed->offset) - feed->n, at_end, err));
    }
    if (feed->n == 0) {
        return SLUICE_OK; /* the file ends before */
    }
    /* Lines of this range begin behind a newline at end - 2 at the latest. */
    limit = (size_t)(end - 1 - feed->offset) < feed->n ? (size_t)(end - 1 - feed->offset) : feed->n;
    if (limit > 0) {
        const char *newline = memrchr(feed->data, '\n', limit);
        owned = newline != NULL ? (size_t)(newline - feed->data) + 1 : 0;
    }
    if (owned == 0 && begin > 0) {
        if (!*at_end) {
            TRY(station_keep(station, end - 1, feed->data + limit, feed->n - limit, err));
        }
        feed->n = 0;
        return SLUICE_OK;
    }
    return feed_tail(feeder, station, feed, end, owned, max_record, grow, at_end, err);
}
