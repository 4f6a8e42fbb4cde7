/* Private to source*.c.
 *
 * Everything is framed in a *window*, bytes from the begin of the next line (or record) on, which
 * grows on demand: over a stream it is a buffer that is read into, over a feed it is what has been
 * decoded. Framing looks at min(window, target) bytes and nothing else, so that chunk boundaries
 * are the same for both. */
#ifndef SLUICE_RUN_SOURCEINT_H
#define SLUICE_RUN_SOURCEINT_H

#include "run/source/source.h"

/* Read at first behind the end of a range, where its last line ends. */
#define AHEAD ((size_t)16 << 10)

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

static inline const struct split_range *source_range(const struct source *source)
{
    return &source->split->ranges[source->range];
}

/* ---- source_window.c: the bytes of a range ---- */

/* What a buffer has where no record is above the size of a chunk. */
size_t source_usual(const struct source *);
sluice_status source_range_open(struct source *, struct sluice_error *) MUST_USE;
/* done: it was read to its end. */
void source_range_close(struct source *, bool done);
/* Tells who grants memory. */
sluice_status source_announce(struct source *, uint64_t bytes, struct sluice_error *) MUST_USE;
/* Room for n bytes behind the begin of the window, which moves to the begin of the buffer. */
sluice_status source_reserve(struct source *, size_t n, struct sluice_error *) MUST_USE;
/* Makes the window n bytes or more, if the file has as many. */
sluice_status source_need(struct source *, size_t n, struct sluice_error *) MUST_USE;
void source_advance_window(struct source *, size_t n);

/* ---- source_lines.c: the next chunk of whole lines ---- */

sluice_status source_lines_next(struct source *, size_t *n, uint32_t *flags,
                                struct sluice_error *) MUST_USE;

#endif
