/* Feeding ranges of files that can't be sought: see feeder.h. Here: who decodes when. A request
 * waits while another one for the same file begins between the best place to start from and its
 * own range, so that every chain of waiting ends at the earliest one. */
#include "run/source/feederInt.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_NS 10000000

sluice_status feeder_create(const struct feeder_options *options, struct feeder **out,
                            struct sluice_error *err)
{
    struct feeder *feeder = calloc(1, sizeof *feeder);
    pthread_condattr_t attributes;

    *out = NULL;
    if (feeder == NULL) {
        return error_nomem(err, "a feeder");
    }
    if (options != NULL) {
        feeder->options = *options;
    }
    if (feeder->options.max_idle == 0) {
        feeder->options.max_idle = 8;
    }
    pthread_mutex_init(&feeder->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&feeder->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *out = feeder;
    return SLUICE_OK;
}

static void station_destroy(struct station *station)
{
    if (station != NULL) {
        input_close(station->in);
        free(station->kept);
        free(station->path);
        free(station);
    }
}

void feeder_trim(struct feeder *feeder)
{
    pthread_mutex_lock(&feeder->mutex);
    while (feeder->stations != NULL) {
        struct station *next = feeder->stations->next;
        feeder->bytes -= feeder->stations->kept_n;
        station_destroy(feeder->stations);
        feeder->stations = next;
    }
    feeder->n_stations = 0;
    while (feeder->spare != NULL) {
        struct memory *next = feeder->spare->next;
        feeder->bytes -= feeder->spare->capacity;
        free(feeder->spare->data);
        free(feeder->spare);
        feeder->spare = next;
    }
    feeder->n_spare = 0;
    pthread_mutex_unlock(&feeder->mutex);
}

void feeder_destroy(struct feeder *feeder)
{
    if (feeder == NULL) {
        return;
    }
    feeder_trim(feeder);
    pthread_cond_destroy(&feeder->changed);
    pthread_mutex_destroy(&feeder->mutex);
    free(feeder);
}

uint64_t feeder_memory(struct feeder *feeder)
{
    uint64_t bytes;

    pthread_mutex_lock(&feeder->mutex);
    bytes = feeder->bytes;
    pthread_mutex_unlock(&feeder->mutex);
    return bytes;
}

bool feeder_cancelled(const struct feeder *feeder)
{
    return feeder->options.cancelled != NULL && feeder->options.cancelled(feeder->options.ctx) != 0;
}

sluice_status feeder_cancelled_error(struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
}

/* ---- stations ---- */

static sluice_status station_open(const struct source_file *file, struct input_frame frame,
                                  struct station **out, struct sluice_error *err)
{
    struct station *station = calloc(1, sizeof *station);
    sluice_status status;

    *out = NULL;
    if (station == NULL || (station->path = strdup(file->file->path)) == NULL) {
        free(station);
        return error_nomem(err, "a decoder");
    }
    status = source_file_open(file, &station->in, err);
    if (status == SLUICE_OK) {
        status = input_seek(station->in, frame.raw, frame.decoded, err);
    }
    if (status != SLUICE_OK) {
        station_destroy(station);
        return status;
    }
    station->clear = frame.decoded;
    *out = station;
    return SLUICE_OK;
}

/* Both under the lock. */
static struct station *station_best(const struct feeder *feeder, const char *path, uint64_t at)
{
    struct station *best = NULL;

    for (struct station *s = feeder->stations; s != NULL; s = s->next) {
        if (s->clear <= at && strcmp(s->path, path) == 0 &&
            (best == NULL || s->clear > best->clear)) {
            best = s;
        }
    }
    return best;
}

static bool must_wait(const struct feeder *feeder, const struct request *request, uint64_t from)
{
    for (const struct request *r = feeder->requests; r != NULL; r = r->next) {
        if (r != request && r->begin >= from && r->begin < request->begin &&
            strcmp(r->path, request->path) == 0) {
            return true;
        }
    }
    return false;
}

static void station_remove(struct feeder *feeder, struct station *station)
{
    struct station **link = &feeder->stations;

    while (*link != station) {
        link = &(*link)->next;
    }
    *link = station->next;
    feeder->n_stations--;
    feeder->bytes -= station->kept_n;
}

static void request_wait(struct feeder *feeder)
{
    struct timespec until;

    if (feeder->options.cancelled == NULL) {
        pthread_cond_wait(&feeder->changed, &feeder->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&feeder->changed, &feeder->mutex, &until);
}

/* Enters the request and gives the station to decode with, or NULL where the file is known to end
 * before; request_end must follow. */
static sluice_status request_begin(struct feeder *feeder, const struct source_file *file,
                                   struct request *request, struct station **out,
                                   struct sluice_error *err)
{
    uint64_t at = request->begin > 0 ? request->begin - 1 : 0;
    struct input_frame frame;
    bool beyond = false;
    sluice_status status = source_file_place(file, at, &frame, err);

    *out = NULL;
    pthread_mutex_lock(&feeder->mutex);
    request->next = feeder->requests;
    feeder->requests = request;
    while (status == SLUICE_OK) {
        struct station *best = station_best(feeder, request->path, at);
        if (best != NULL && best->clear < frame.decoded) {
            best = NULL;
        }
        if (feeder_cancelled(feeder)) {
            status = feeder_cancelled_error(err);
            break;
        }
        beyond = request->begin >= source_file_end(file);
        if (beyond) {
            break;
        }
        if (!must_wait(feeder, request, best != NULL ? best->clear : frame.decoded)) {
            if (best != NULL) {
                station_remove(feeder, best);
                *out = best;
            }
            break;
        }
        request_wait(feeder);
    }
    pthread_mutex_unlock(&feeder->mutex);
    if (status == SLUICE_OK && *out == NULL && !beyond) {
        status = station_open(file, frame, out, err);
    }
    return status;
}

/* Takes the station (may be NULL) for later ranges. */
static void request_end(struct feeder *feeder, struct request *request, struct station *station)
{
    struct station *oldest = NULL;
    struct request **link = &feeder->requests;

    pthread_mutex_lock(&feeder->mutex);
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    if (station != NULL) {
        station->used = feeder->clock++;
        station->next = feeder->stations;
        feeder->stations = station;
        feeder->n_stations++;
        feeder->bytes += station->kept_n;
        if (feeder->n_stations > feeder->options.max_idle) {
            oldest = station;
            for (struct station *s = feeder->stations; s != NULL; s = s->next) {
                oldest = s->used < oldest->used ? s : oldest;
            }
            station_remove(feeder, oldest);
        }
    }
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->mutex);
    station_destroy(oldest);
}

sluice_status feeder_take(struct feeder *feeder, const struct source_file *file, uint64_t begin,
                          uint64_t end, uint64_t max_record, const struct feed_grow *grow,
                          struct feed *out, struct sluice_error *err)
{
    struct request request = { NULL, file->file->path, begin };
    struct station *station;
    bool at_end = false;
    uint64_t raw = 0;
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (begin >= end || end - begin > SIZE_MAX / 4) {
        return error_set(err, SLUICE_E_INTERNAL, "feeder: range %" PRIu64 "..%" PRIu64 " of %s",
                         begin, end, file->file->path);
    }
    status = request_begin(feeder, file, &request, &station, err);
    if (status == SLUICE_OK && station != NULL) {
        raw = input_position_raw(station->in);
        status = feed_decode(feeder, station, begin, end, max_record, grow, out, &at_end, err);
    }
    if (status == SLUICE_OK && station != NULL) {
        out->raw = input_position_raw(station->in) - raw;
        status = source_file_unchanged(file, station->in, err);
    }
    if (status == SLUICE_OK && at_end) {
        status = source_file_ended(file, input_position(station->in), err);
    }
    if (status != SLUICE_OK || at_end) {
        station_destroy(station);
        station = NULL;
    }
    request_end(feeder, &request, station);
    if (status != SLUICE_OK) {
        feeder_release(feeder, out);
    }
    return status;
}

sluice_status feeder_stream(struct feeder *feeder, const struct source_file *file, uint64_t begin,
                            struct feed *head, struct input **out, struct sluice_error *err)
{
    struct request request = { NULL, file->file->path, begin };
    struct station *station;
    sluice_status status;

    memset(head, 0, sizeof *head);
    *out = NULL;
    status = request_begin(feeder, file, &request, &station, err);
    if (status == SLUICE_OK && station != NULL && begin > 0) {
        status = station_advance(feeder, station, begin - 1, err);
    }
    if (status == SLUICE_OK && station != NULL) {
        status = feed_start(feeder, station, head, 0, err);
    }
    if (status == SLUICE_OK && station != NULL) {
        *out = station->in;
        station->in = NULL;
    }
    station_destroy(station);
    request_end(feeder, &request, NULL);
    if (status != SLUICE_OK) {
        feeder_release(feeder, head);
    }
    return status;
}

bool feeder_lends(const struct feeder *feeder)
{
    return feeder->options.alone;
}

struct input *lease_input(struct lease *lease)
{
    return lease->station->in;
}

sluice_status feeder_lend(struct feeder *feeder, const struct source_file *file, uint64_t begin,
                          struct feed *head, struct lease **out, struct sluice_error *err)
{
    struct lease *lease = calloc(1, sizeof *lease);
    sluice_status status;

    memset(head, 0, sizeof *head);
    *out = NULL;
    if (lease == NULL) {
        return error_nomem(err, "a decoder");
    }
    lease->request = (struct request){ NULL, file->file->path, begin };
    status = request_begin(feeder, file, &lease->request, &lease->station, err);
    if (status == SLUICE_OK && lease->station != NULL && begin > 0) {
        status = station_advance(feeder, lease->station, begin - 1, err);
    }
    if (status == SLUICE_OK && lease->station != NULL) {
        status = feed_start(feeder, lease->station, head, 0, err);
    }
    if (status == SLUICE_OK && lease->station != NULL) {
        *out = lease;
        return SLUICE_OK;
    }
    feeder_return(feeder, lease, 0, NULL, 0);
    feeder_release(feeder, head);
    return status; /* OK: the file ends before */
}

void feeder_return(struct feeder *feeder, struct lease *lease, uint64_t clear, const char *data,
                   size_t n)
{
    struct station *station;

    if (lease == NULL) {
        return;
    }
    station = lease->station;
    /* Without its kept bytes the decoder would start the next range in the middle of a line. */
    if (station != NULL &&
        (data == NULL || station_keep(station, clear, data, n, NULL) != SLUICE_OK)) {
        station_destroy(station);
        station = NULL;
    }
    request_end(feeder, &lease->request, station);
    free(lease);
}
