/* What the two parts of the feeder share. Private to core/run/feeder*.c.
 *
 * A *station* is a decoder between two ranges: its input stands at some offset, `kept` are the
 * bytes before that, and no line ends in [clear, offset - kept_n). A *request* is a worker that
 * waits for a station or decodes with one. */
#ifndef SLUICE_RUN_FEEDERINT_H
#define SLUICE_RUN_FEEDERINT_H

#include <pthread.h>

#include "run/source/feeder.h"

struct station {
    struct station *next;
    char *path;
    struct input *in;
    uint64_t clear;
    char *kept;
    size_t kept_n;
    uint64_t used; /* when it was given back */
};

struct request {
    struct request *next;
    const char *path;
    uint64_t begin;
};

struct lease {
    struct request request;
    struct station *station;
};

struct memory {
    struct memory *next;
    char *data;
    size_t capacity;
};

struct feeder {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a station or a request came or went */
    struct feeder_options options;
    struct station *stations;
    size_t n_stations;
    struct request *requests;
    struct memory *spare;
    size_t n_spare;
    uint64_t clock;
    uint64_t bytes; /* of buffers, in use and spare, and of kept bytes */
};

/* feeder.c */
bool feeder_cancelled(const struct feeder *);
sluice_status feeder_cancelled_error(struct sluice_error *err);

/* feeder_decode.c. Brings a station to a place from which bytes at or behind at follow. */
sluice_status station_advance(const struct feeder *, struct station *, uint64_t at,
                              struct sluice_error *err) MUST_USE;

/* Gives feed the station's kept bytes, with room for so many more. */
sluice_status feed_start(struct feeder *, struct station *, struct feed *, size_t room,
                         struct sluice_error *err) MUST_USE;

/* Keeps bytes that end where the input stands; no line ends in [clear, their begin). */
sluice_status station_keep(struct station *, uint64_t clear, const char *data, size_t n,
                           struct sluice_error *err) MUST_USE;

/* Decodes a range as feeder_take promises and leaves the station ready for the next one, unless
 * *at_end. */
sluice_status feed_decode(struct feeder *, struct station *, uint64_t begin, uint64_t end,
                          uint64_t max_record, const struct feed_grow *, struct feed *feed,
                          bool *at_end, struct sluice_error *err) MUST_USE;

#endif
