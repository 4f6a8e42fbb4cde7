/* Sets of numbers in memory and in a scratch file; see minhash_sets.h. The newest sets are in the
 * buffer; when it is full it is appended to the file. */
#include "minhash_sets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <sluice_state.h>

#include "minhash_stages.h"

struct minhash_sets {
    uint64_t memory;
    const char *dir;
    int fd;                    /* -1: nothing was spilled yet */
    uint64_t spilled;          /* numbers in the file */
    struct sluice_bytes fresh; /* numbers behind them */
    struct sluice_bytes read;  /* a set from the file */
};

static sluice_status failed(const struct minhash_sets *sets, struct sluice_error *err)
{
    char message[600];

    snprintf(message, sizeof message,
             "can't use a scratch file in %.300s: %.100s; give --scratch a folder with room",
             sets->dir == NULL ? "?" : sets->dir, strerror(errno));
    return sluice_fail(err, SLUICE_E_IO, "", message);
}

sluice_status minhash_sets_create(uint64_t memory, const char *dir, struct minhash_sets **out,
                                  struct sluice_error *err)
{
    struct minhash_sets *sets = calloc(1, sizeof *sets);

    *out = sets;
    if (sets == NULL) {
        return sluice_nomem(err);
    }
    sets->memory = memory;
    sets->dir = dir;
    sets->fd = -1;
    return SLUICE_OK;
}

void minhash_sets_destroy(struct minhash_sets *sets)
{
    if (sets != NULL) {
        if (sets->fd >= 0) {
            close(sets->fd);
        }
        sluice_bytes_free(&sets->fresh);
        sluice_bytes_free(&sets->read);
        free(sets);
    }
}

static sluice_status spill(struct minhash_sets *sets, struct sluice_error *err)
{
    uint64_t done = 0;

    if (sets->fd < 0) {
        char path[4096];
        if (sets->dir == NULL ||
            snprintf(path, sizeof path, "%s/minhash-XXXXXX", sets->dir) >= (int)sizeof path) {
            errno = ENAMETOOLONG;
            return failed(sets, err);
        }
        sets->fd = mkostemp(path, O_CLOEXEC);
        if (sets->fd < 0) {
            return failed(sets, err);
        }
        unlink(path);
    }
    while (done < sets->fresh.size) {
        ssize_t n = pwrite(sets->fd, sets->fresh.data + done, (size_t)(sets->fresh.size - done),
                           (off_t)(8 * sets->spilled + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return failed(sets, err);
        }
        done += (uint64_t)n;
    }
    sets->spilled += sets->fresh.size / 8;
    sets->fresh.size = 0;
    return SLUICE_OK;
}

sluice_status minhash_sets_add(struct minhash_sets *sets, const uint64_t *numbers, uint64_t n,
                               struct minhash_set *out, struct sluice_error *err)
{
    if (sets->fresh.size > 0 && sets->fresh.size + 8 * n > sets->memory) {
        sluice_status status = spill(sets, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    *out = (struct minhash_set){ sets->spilled + sets->fresh.size / 8, n };
    return sluice_bytes_add(&sets->fresh, numbers, 8 * n) ? SLUICE_OK : sluice_nomem(err);
}

/* n numbers of the file, from the at-th on, into sets->read. */
static sluice_status read_back(struct minhash_sets *sets, uint64_t at, uint64_t number,
                               struct sluice_error *err)
{
    uint64_t done = 0;

    sets->read.size = 0;
    if (!sluice_bytes_reserve(&sets->read, 8 * number)) {
        return sluice_nomem(err);
    }
    while (done < 8 * number) {
        ssize_t n = pread(sets->fd, sets->read.data + done, (size_t)(8 * number - done),
                          (off_t)(8 * at + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return failed(sets, err);
        }
        done += (uint64_t)n;
    }
    return SLUICE_OK;
}

sluice_status minhash_sets_get(struct minhash_sets *sets, const struct minhash_set *set,
                               const uint64_t **numbers, struct sluice_error *err)
{
    sluice_status status;

    if (set->at >= sets->spilled) {
        *numbers = (const uint64_t *)(const void *)sets->fresh.data + (set->at - sets->spilled);
        return SLUICE_OK;
    }
    status = read_back(sets, set->at, set->n, err);
    *numbers = (const uint64_t *)(const void *)sets->read.data;
    return status;
}

/* ---- saved states ---- */

#define PIECE ((uint64_t)1 << 16) /* numbers read from the file at once */

sluice_status minhash_sets_save(struct minhash_sets *sets, struct sluice_io *io,
                                struct sluice_error *err)
{
    sluice_status status = io->write(io, &sets->spilled, sizeof sets->spilled);

    for (uint64_t at = 0; status == SLUICE_OK && at < sets->spilled; at += PIECE) {
        uint64_t n = sets->spilled - at < PIECE ? sets->spilled - at : PIECE;
        status = read_back(sets, at, n, err);
        if (status == SLUICE_OK) {
            status = io->write(io, sets->read.data, 8 * n);
        }
    }
    return status == SLUICE_OK ? sluice_state_put(io, sets->fresh.data, sets->fresh.size) : status;
}

sluice_status minhash_sets_load(struct minhash_sets *sets, struct sluice_io *io,
                                struct sluice_error *err)
{
    uint64_t left = 0;
    sluice_status status = io->read(io, &left, sizeof left);

    while (status == SLUICE_OK && left > 0) {
        uint64_t n = left < PIECE ? left : PIECE;
        sets->fresh.size = 0;
        if (!sluice_bytes_reserve(&sets->fresh, 8 * n)) {
            return sluice_nomem(err);
        }
        status = io->read(io, sets->fresh.data, 8 * n);
        if (status == SLUICE_OK) {
            sets->fresh.size = 8 * n;
            status = spill(sets, err);
        }
        left -= n;
    }
    return status == SLUICE_OK ? sluice_state_get(io, 8, &sets->fresh) : status;
}

bool minhash_sets_has(const struct minhash_sets *sets, const struct minhash_set *set)
{
    uint64_t n = sets->spilled + sets->fresh.size / 8;

    /* A set is in the file or behind it, never in both. */
    return set->at <= n && set->n <= n - set->at &&
           (set->at >= sets->spilled || set->n <= sets->spilled - set->at);
}

sluice_status minhash_sets_clear(struct minhash_sets *sets, struct sluice_error *err)
{
    sets->fresh.size = 0;
    if (sets->spilled > 0 && ftruncate(sets->fd, 0) != 0) {
        return failed(sets, err);
    }
    sets->spilled = 0;
    return SLUICE_OK;
}
