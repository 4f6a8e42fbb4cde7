/* Calls that ask for bytes: see fetch.h. */
#include "run/source/fetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 3                       /* of a call that fails for a passing reason */
#define KEPT_MAX ((size_t)4 << 20)    /* of the buffer, from call to call */
#define ROUNDS_MAX UINT32_C(10000000) /* of one call: more is no reading */

void fetch_deinit(struct fetch *fetch)
{
    hasher_destroy(fetch->call);
    free(fetch->buffer);
    fetch->call = NULL;
    fetch->buffer = NULL;
    fetch->capacity = 0;
}

static void meter(const struct fetch *fetch, bool begins, bool reads)
{
    if (fetch->meter != NULL) {
        fetch->meter(fetch->ctx, begins, reads);
    }
}

struct round {
    struct extent *extents;
    struct sluice_answer *answers;
    uint32_t n;
    uint64_t bytes; /* with padding */
};

static void round_deinit(struct round *round)
{
    free(round->extents);
    free(round->answers);
}

/* How much a round asks for, before any memory is taken for it. */
static sluice_status round_plan(struct fetch *fetch, const struct stage_result *result,
                                struct round *round, struct sluice_error *err)
{
    uint64_t total = 0;

    round->n = result->n_asks;
    round->extents = calloc(round->n, sizeof *round->extents);
    round->answers = calloc(round->n, sizeof *round->answers);
    if (round->extents == NULL || round->answers == NULL) {
        return error_nomem(err, "answers");
    }
    for (uint32_t k = 0; k < round->n; k++) {
        struct sluice_extent extent;
        if (result->asks[k].kind != SLUICE_ASK_BYTES) {
            return error_set(err, SLUICE_E_INTERNAL, "a reader asks for something else than bytes");
        }
        memcpy(&extent, result->asked.data + result->asks[k].offset, sizeof extent);
        round->extents[k] = (struct extent){ .offset = extent.offset, .n = extent.n };
        round->bytes += extent.n + SLUICE_PADDING; /* each is within the file */
        total += extent.n;
        if (round->bytes > SIZE_MAX / 4) {
            return error_nomem(err, "answers");
        }
    }
    fetch->asked += total;
    return fetch->hold == NULL ? SLUICE_OK : fetch->hold(fetch->ctx, round->bytes, err);
}

static sluice_status round_room(struct fetch *fetch, struct round *round, struct sluice_error *err)
{
    char *at;

    if (round->bytes > fetch->capacity) {
        free(fetch->buffer);
        fetch->buffer = malloc((size_t)round->bytes);
        fetch->capacity = fetch->buffer == NULL ? 0 : (size_t)round->bytes;
        if (fetch->buffer == NULL) {
            return error_nomem(err, "answers");
        }
    }
    at = fetch->buffer;
    for (uint32_t k = 0; k < round->n; k++) {
        round->extents[k].to = at;
        at += round->extents[k].n;
        memset(at, 0, SLUICE_PADDING);
        at += SLUICE_PADDING;
    }
    return SLUICE_OK;
}

static sluice_status round_read(struct fetch *fetch, const struct stage_result *result,
                                struct round *round, struct sluice_error *err)
{
    TRY(round_plan(fetch, result, round, err));
    TRY(round_room(fetch, round, err));
    TRY(extents_read(fetch->file, round->extents, round->n, err));
    for (uint32_t k = 0; k < round->n; k++) {
        const struct extent *extent = &round->extents[k];
        round->answers[k] = (struct sluice_answer){ .size = sizeof round->answers[k],
                                                    .tag = result->asks[k].tag,
                                                    .data = extent->to,
                                                    .n = extent->n,
                                                    .type = "" };
        if (fetch->call != NULL) {
            hasher_add_u64(fetch->call, extent->offset);
            hasher_add_u64(fetch->call, extent->n);
            hasher_add(fetch->call, extent->to, (size_t)extent->n);
        }
    }
    return SLUICE_OK;
}

static sluice_status answer(struct fetch *fetch, struct stage_result *result,
                            struct sluice_error *err)
{
    struct round round = { .n = 0 };
    sluice_status status;

    meter(fetch, true, true);
    status = round_read(fetch, result, &round, err);
    meter(fetch, false, true);
    if (status == SLUICE_OK) {
        meter(fetch, true, false);
        status = stage_resume(fetch->worker, round.answers, round.n, result, err);
        meter(fetch, false, false);
    }
    round_deinit(&round);
    if (fetch->capacity > KEPT_MAX) {
        free(fetch->buffer);
        fetch->buffer = NULL;
        fetch->capacity = 0;
    }
    return status;
}

static sluice_status call_once(struct fetch *fetch, const struct sluice_file *file,
                               struct sluice_scan *scan, struct stage_result *result,
                               struct sluice_error *err)
{
    sluice_status status;

    if (fetch->hasher != NULL) {
        fetch->call = fetch->call == NULL ? hasher_create() : fetch->call;
        if (fetch->call == NULL) {
            return error_nomem(err, "an input split");
        }
        hasher_reset(fetch->call);
    }
    meter(fetch, true, false);
    status = scan == NULL ? stage_survey(fetch->worker, file, result, err)
                          : stage_scan(fetch->worker, scan, result, err);
    meter(fetch, false, false);
    for (uint32_t k = 0; status == SLUICE_OK && result->n_asks > 0; k++) {
        if (fetch->cancelled != NULL && fetch->cancelled(fetch->ctx) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
        }
        if (k == ROUNDS_MAX) {
            return error_set(err, SLUICE_E_INTERNAL,
                             "(a defect of the plugin) it goes on fetch, %u times in one call",
                             ROUNDS_MAX);
        }
        status = answer(fetch, result, err);
    }
    if (status == SLUICE_OK && fetch->hasher != NULL) {
        hasher_add_hash(fetch->hasher, hasher_digest(fetch->call));
    }
    return status;
}

/* A unit's first call may be made again; what later ones go on with is in the worker. */
static sluice_status call(struct fetch *fetch, const struct sluice_file *file,
                          struct sluice_scan *scan, struct stage_result *result,
                          struct sluice_error *err)
{
    bool first = scan == NULL || scan->call == 0;
    sluice_status status = call_once(fetch, file, scan, result, err);

    for (int k = 1; status == SLUICE_E_RETRY && first && k < TRIES; k++) {
        status = call_once(fetch, file, scan, result, err);
    }
    if (status == SLUICE_E_RETRY) {
        err->code = status = SLUICE_E_IO;
    }
    return status;
}

sluice_status fetch_survey(struct fetch *fetch, const struct sluice_file *file,
                           struct stage_result *result, struct sluice_error *err)
{
    return call(fetch, file, NULL, result, err);
}

sluice_status fetch_scan(struct fetch *fetch, struct sluice_scan *scan, struct stage_result *result,
                         struct sluice_error *err)
{
    return call(fetch, scan->file, scan, result, err);
}
