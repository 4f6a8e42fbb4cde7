/* Frames around saved states of workers, and the struct sluice_io over them. For the stage driver,
 * and for who asks for its format. */
#ifndef SLUICE_PLUGIN_STAGE_STATE_H
#define SLUICE_PLUGIN_STAGE_STATE_H

#include "base/buf.h"

#define STAGE_STATE_FORMAT 1u /* of the frame around a state; raise when it changes */
#define STAGE_FRAME_HEADER 32u

struct stage_frame {
    size_t begin;
    uint64_t version;
};

/* Appends a header to out; the state's bytes follow; end fills size and checksum in. */
void stage_frame_begin(struct stage_frame *, struct buf *out, uint64_t version);
void stage_frame_end(const struct stage_frame *, struct buf *out);
/* Checks a whole frame; *bytes points into data. SLUICE_E_DATA. */
sluice_status stage_frame_open(const void *data, size_t n, uint64_t *version, const void **bytes,
                               size_t *size, struct sluice_error *err) MUST_USE;

struct stage_stream;

struct stage_state_io {
    struct sluice_io io; /* given to the plugin; ctx leads back here */
    struct buf *out;     /* save, else NULL */
    const char *in;      /* load, merge */
    size_t left;
    bool short_read; /* asked for more than there is */
    /* In pieces: */
    const struct stage_stream *stream; /* or NULL */
    struct buf piece;                  /* owned: what was not put yet, or where `in` is */
    bool ended;                        /* the last piece was got */
    sluice_status status;              /* of the stream */
    struct sluice_error *err;          /* its message */
};

void stage_state_io_init(struct stage_state_io *, struct buf *out, const void *in, size_t n);
/* For save, or for load and merge; err is the call's. deinit in any case. */
void stage_state_io_stream(struct stage_state_io *, const struct stage_stream *, bool saves,
                           struct sluice_error *err);
void stage_state_io_deinit(struct stage_state_io *);
/* Puts what is left, and the end. */
sluice_status stage_state_io_end(struct stage_state_io *) MUST_USE;

#endif
