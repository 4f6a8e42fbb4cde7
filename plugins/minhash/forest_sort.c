/* An external merge sort of pairs; see forest_sort.h.
 *
 * Pushed pairs fill the buffer; a full buffer is sorted and becomes a run in the file. Reading
 * merges all runs through one slice of the buffer each; when there are more runs than slices of
 * SLICE_LEAST pairs, the oldest are merged to one first. */
#include "forest_sort.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest_state.h"

#define SLICE_LEAST 512u /* pairs read at once from a run: 8 KiB */
#define RUNS_MOST 1024u
#define INSERTION_MOST 24u

struct run {
    uint64_t at;               /* in the file, in pairs */
    uint64_t left;             /* pairs not yet read */
    struct forest_pair *slice; /* slice[0..have) was read, slice[0..next) given */
    size_t have;
    size_t next;
};

struct place { /* of a run in the file, in pairs */
    uint64_t begin;
    uint64_t count;
};

struct forest_sort {
    const char *dir;
    struct forest_pair *buffer;
    size_t room;
    size_t filled;
    bool sorted;      /* no more pushes */
    int file;         /* -1 = none yet */
    uint64_t written; /* pairs in the file */
    struct place *places;
    size_t n_places;
    size_t places_room;
    struct run *runs; /* being merged: a heap by next pair */
    size_t n_runs;
    size_t at; /* in buffer, when all fits */
    struct forest_pair last;
    bool has_last;
};

__attribute__((format(printf, 3, 4))) static int32_t
sort_fail(struct sluice_error *err, int32_t code, const char *format, ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        err->field[0] = '\0';
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

static int32_t sort_fail_io(const struct forest_sort *sort, const char *what, int errnum,
                            struct sluice_error *err)
{
    char reason[128];
    const char *text = strerror_r(errnum, reason, sizeof(reason));
    return sort_fail(err, SLUICE_E_IO,
                     "cannot %s a scratch file of duplicate edges in %s: %s; free space there, "
                     "choose another scratch "
                     "folder or give more memory",
                     what, sort->dir, text);
}

static bool pair_less(const struct forest_pair *one, const struct forest_pair *other)
{
    return one->first != other->first ? one->first < other->first : one->second < other->second;
}

static void insertion_sort(struct forest_pair *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct forest_pair pair = pairs[i];
        size_t k = i;
        for (; k > 0 && pair_less(&pair, &pairs[k - 1]); k--) {
            pairs[k] = pairs[k - 1];
        }
        pairs[k] = pair;
    }
}

/* Byte `digit` of a pair, 0 the most significant of first, 15 the least of second. */
static unsigned pair_byte(const struct forest_pair *pair, unsigned digit)
{
    uint64_t word = digit < 8 ? pair->first : pair->second;
    return (unsigned)(word >> (56 - 8 * (digit % 8))) & 0xff;
}

/* In-place radix sort from the most significant byte ("American flag": McIlroy, Bostic, McIlroy
 * 1993). */
static void radix_sort(struct forest_pair *pairs, size_t n, unsigned digit)
{
    size_t end[256];
    size_t head[256];
    for (;;) {
        if (n <= INSERTION_MOST) {
            insertion_sort(pairs, n);
            return;
        }
        if (digit == 16) {
            return;
        }
        memset(end, 0, sizeof(end));
        for (size_t i = 0; i < n; i++) {
            end[pair_byte(&pairs[i], digit)]++;
        }
        if (end[pair_byte(&pairs[0], digit)] != n) {
            break;
        }
        digit++; /* all equal in this byte */
    }
    size_t sum = 0;
    for (unsigned b = 0; b < 256; b++) {
        head[b] = sum;
        sum += end[b];
        end[b] = sum;
    }
    for (unsigned b = 0; b < 256; b++) {
        while (head[b] < end[b]) {
            struct forest_pair pair = pairs[head[b]];
            unsigned to = pair_byte(&pair, digit);
            while (to != b) {
                struct forest_pair displaced = pairs[head[to]];
                pairs[head[to]++] = pair;
                pair = displaced;
                to = pair_byte(&pair, digit);
            }
            pairs[head[b]++] = pair;
        }
    }
    size_t begin = 0;
    for (unsigned b = 0; b < 256; b++) {
        if (end[b] - begin > 1) {
            radix_sort(pairs + begin, end[b] - begin, digit + 1);
        }
        begin = end[b];
    }
}

void forest_pairs_sort(struct forest_pair *pairs, size_t n)
{
    radix_sort(pairs, n, 0);
}

int32_t forest_sort_create(uint64_t memory, const char *dir, struct forest_sort **out,
                           struct sluice_error *err)
{
    assert(memory >= FOREST_SORT_MEMORY_LEAST);
    *out = NULL;
    struct forest_sort *sort = calloc(1, sizeof(*sort));
    if (sort == NULL) {
        return sort_fail(err, SLUICE_E_NOMEM, "out of memory for sorting duplicate edges");
    }
    sort->dir = dir;
    sort->file = -1;
    sort->room = memory > SIZE_MAX / 2 ? SIZE_MAX / 2 / sizeof(*sort->buffer)
                                       : (size_t)memory / sizeof(*sort->buffer);
    sort->buffer = malloc(sort->room * sizeof(*sort->buffer));
    if (sort->buffer == NULL) {
        forest_sort_destroy(sort);
        return sort_fail(err, SLUICE_E_NOMEM, "out of memory for a sort buffer of %llu bytes",
                         (unsigned long long)memory);
    }
    *out = sort;
    return SLUICE_OK;
}

void forest_sort_destroy(struct forest_sort *sort)
{
    if (sort != NULL) {
        if (sort->file >= 0) {
            close(sort->file);
        }
        free(sort->buffer);
        free(sort->places);
        free(sort->runs);
        free(sort);
    }
}

/* A nameless file: unlinked at once, so that no crash leaves it behind. */
static int32_t file_open(struct forest_sort *sort, struct sluice_error *err)
{
    size_t size = strlen(sort->dir) + 32;
    char *path = malloc(size);
    if (path == NULL) {
        return sort_fail(err, SLUICE_E_NOMEM, "out of memory for a file name");
    }
    snprintf(path, size, "%s/forest-XXXXXX", sort->dir);
    sort->file = mkstemp(path);
    int32_t status = SLUICE_OK;
    if (sort->file < 0) {
        status = sort_fail_io(sort, "create", errno, err);
    } else if (unlink(path) != 0) {
        status = sort_fail_io(sort, "unlink", errno, err);
    }
    free(path);
    return status;
}

/* Appends pairs to the file. */
static int32_t file_write(struct forest_sort *sort, const struct forest_pair *pairs, size_t n,
                          struct sluice_error *err)
{
    const char *bytes = (const char *)pairs;
    size_t left = n * sizeof(*pairs);
    uint64_t at = sort->written * sizeof(*pairs);
    while (left > 0) {
        ssize_t wrote = pwrite(sort->file, bytes, left, (off_t)at);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return sort_fail_io(sort, "write", wrote < 0 ? errno : ENOSPC, err);
        }
        bytes += wrote;
        left -= (size_t)wrote;
        at += (uint64_t)wrote;
    }
    sort->written += n;
    return SLUICE_OK;
}

static int32_t file_read(const struct forest_sort *sort, uint64_t from, struct forest_pair *pairs,
                         size_t n, struct sluice_error *err)
{
    char *bytes = (char *)pairs;
    size_t left = n * sizeof(*pairs);
    uint64_t at = from * sizeof(*pairs);
    while (left > 0) {
        ssize_t got = pread(sort->file, bytes, left, (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return sort_fail_io(sort, "read", got < 0 ? errno : EIO, err);
        }
        bytes += got;
        left -= (size_t)got;
        at += (uint64_t)got;
    }
    return SLUICE_OK;
}

/* Sorts the buffer and drops repeated pairs. */
static void buffer_sort(struct forest_sort *sort)
{
    forest_pairs_sort(sort->buffer, sort->filled);
    size_t kept = 0;
    for (size_t i = 0; i < sort->filled; i++) {
        if (kept == 0 || pair_less(&sort->buffer[kept - 1], &sort->buffer[i])) {
            sort->buffer[kept++] = sort->buffer[i];
        }
    }
    sort->filled = kept;
}

static int32_t places_push(struct forest_sort *sort, struct place place, struct sluice_error *err)
{
    if (sort->n_places == sort->places_room) {
        size_t room = sort->places_room == 0 ? 16 : 2 * sort->places_room;
        struct place *places = realloc(sort->places, room * sizeof(*places));
        if (places == NULL) {
            return sort_fail(err, SLUICE_E_NOMEM, "out of memory for %zu runs of duplicate edges",
                             room);
        }
        sort->places = places;
        sort->places_room = room;
    }
    sort->places[sort->n_places++] = place;
    return SLUICE_OK;
}

static int32_t buffer_spill(struct forest_sort *sort, struct sluice_error *err)
{
    buffer_sort(sort);
    if (sort->filled <= sort->room / 2) {
        return SLUICE_OK; /* so many repeats that there is room again */
    }
    int32_t status = sort->file < 0 ? file_open(sort, err) : SLUICE_OK;
    struct place place = { sort->written, sort->filled };
    if (status == SLUICE_OK) {
        status = file_write(sort, sort->buffer, sort->filled, err);
    }
    if (status == SLUICE_OK) {
        status = places_push(sort, place, err);
    }
    sort->filled = 0;
    return status;
}

int32_t forest_sort_push(struct forest_sort *sort, uint64_t first, uint64_t second,
                         struct sluice_error *err)
{
    assert(!sort->sorted);
    if (sort->filled == sort->room) {
        int32_t status = buffer_spill(sort, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    sort->buffer[sort->filled++] = (struct forest_pair){ first, second };
    return SLUICE_OK;
}

static bool run_less(const struct run *one, const struct run *other)
{
    return pair_less(&one->slice[one->next], &other->slice[other->next]);
}

static void runs_sift(struct forest_sort *sort, size_t i)
{
    struct run *runs = sort->runs;
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < sort->n_runs; child++) {
            if (run_less(&runs[child], &runs[least])) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        struct run swap = runs[i];
        runs[i] = runs[least];
        runs[least] = swap;
        i = least;
    }
}

static int32_t run_fill(const struct forest_sort *sort, struct run *run, size_t slice,
                        struct sluice_error *err)
{
    run->have = run->left < slice ? (size_t)run->left : slice;
    run->next = 0;
    int32_t status = file_read(sort, run->at, run->slice, run->have, err);
    run->at += run->have;
    run->left -= run->have;
    return status;
}

/* Begins a merge of places[0..n), each through `slice` pairs of memory. */
static int32_t merge_begin(struct forest_sort *sort, size_t n, struct forest_pair *memory,
                           size_t slice, struct sluice_error *err)
{
    sort->n_runs = n;
    sort->has_last = false;
    for (size_t i = 0; i < n; i++) {
        struct run *run = &sort->runs[i];
        *run = (struct run){ .at = sort->places[i].begin,
                             .left = sort->places[i].count,
                             .slice = memory + i * slice };
        int32_t status = run_fill(sort, run, slice, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    for (size_t i = n / 2; i-- > 0;) {
        runs_sift(sort, i);
    }
    return SLUICE_OK;
}

static int32_t merge_next(struct forest_sort *sort, size_t slice, struct forest_pair *pair,
                          bool *end, struct sluice_error *err)
{
    for (;;) {
        *end = sort->n_runs == 0;
        if (*end) {
            return SLUICE_OK;
        }
        struct run *run = &sort->runs[0];
        *pair = run->slice[run->next++];
        if (run->next == run->have) {
            if (run->left > 0) {
                int32_t status = run_fill(sort, run, slice, err);
                if (status != SLUICE_OK) {
                    return status;
                }
            } else {
                *run = sort->runs[--sort->n_runs];
            }
        }
        runs_sift(sort, 0);
        if (!sort->has_last || pair_less(&sort->last, pair)) {
            sort->last = *pair;
            sort->has_last = true;
            return SLUICE_OK;
        }
    }
}

/* How many runs fit into the buffer at once, and pairs a run. One slice is left for output. */
static size_t runs_most(const struct forest_sort *sort)
{
    size_t most = sort->room / SLICE_LEAST - 1;
    return most < RUNS_MOST ? most : RUNS_MOST;
}

static size_t slice_of(const struct forest_sort *sort, size_t runs)
{
    return sort->room / (runs + 1);
}

/* Merges the `n` oldest runs to one new run at the end of the file. (Their space is not reused: the
 * file grows by a factor of the number of merge levels, one for nearly all memory sizes.) */
static int32_t runs_merge(struct forest_sort *sort, size_t n, struct sluice_error *err)
{
    size_t slice = slice_of(sort, n);
    struct forest_pair *output = sort->buffer + n * slice;
    size_t filled = 0;
    bool end = false;
    uint64_t begin = sort->written;
    int32_t status = merge_begin(sort, n, sort->buffer, slice, err);
    while (status == SLUICE_OK && !end) {
        status = merge_next(sort, slice, &output[filled], &end, err);
        filled += status == SLUICE_OK && !end;
        if (status == SLUICE_OK && (filled == slice || end)) {
            status = file_write(sort, output, filled, err);
            filled = 0;
        }
    }
    if (status == SLUICE_OK) {
        memmove(sort->places, sort->places + n, (sort->n_places - n) * sizeof(*sort->places));
        sort->n_places -= n;
        status = places_push(sort, (struct place){ begin, sort->written - begin }, err);
    }
    return status;
}

int32_t forest_sort_rewind(struct forest_sort *sort, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    if (!sort->sorted) {
        buffer_sort(sort);
        if (sort->n_places > 0) {
            struct place place = { sort->written, sort->filled };
            status = file_write(sort, sort->buffer, sort->filled, err);
            if (status == SLUICE_OK && sort->filled > 0) {
                status = places_push(sort, place, err);
            }
            size_t most = runs_most(sort);
            if (status == SLUICE_OK) {
                sort->runs = calloc(most, sizeof(*sort->runs));
                if (sort->runs == NULL) {
                    status =
                        sort_fail(err, SLUICE_E_NOMEM, "out of memory for merging %zu runs", most);
                }
            }
            while (status == SLUICE_OK && sort->n_places > most) {
                size_t excess = sort->n_places - most + 1;
                status = runs_merge(sort, excess < most ? excess : most, err);
            }
        }
        sort->sorted = true;
    }
    sort->at = 0;
    if (status == SLUICE_OK && sort->n_places > 0) {
        status =
            merge_begin(sort, sort->n_places, sort->buffer, slice_of(sort, sort->n_places), err);
    }
    return status;
}

int32_t forest_sort_next(struct forest_sort *sort, struct forest_pair *pair, bool *end,
                         struct sluice_error *err)
{
    assert(sort->sorted);
    if (sort->n_places > 0) {
        return merge_next(sort, slice_of(sort, sort->n_places), pair, end, err);
    }
    *end = sort->at == sort->filled;
    if (!*end) {
        *pair = sort->buffer[sort->at++];
    }
    return SLUICE_OK;
}

/* ---- saved states ---- */

static int32_t give_pairs(const struct forest_sort *sort, const struct forest_pair *pairs, size_t n,
                          forest_pair_fn *take, void *user, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        if (!sort->has_last || pair_less(&sort->last, &pairs[i])) {
            status = take(user, pairs[i], err);
        }
    }
    return status;
}

static int32_t give_file(const struct forest_sort *sort, uint64_t begin, uint64_t count,
                         forest_pair_fn *take, void *user, struct sluice_error *err)
{
    struct forest_pair pairs[FOREST_CHUNK];
    int32_t status = SLUICE_OK;
    while (count > 0 && status == SLUICE_OK) {
        size_t n = count < FOREST_CHUNK ? (size_t)count : FOREST_CHUNK;
        status = file_read(sort, begin, pairs, n, err);
        if (status == SLUICE_OK) {
            status = give_pairs(sort, pairs, n, take, user, err);
        }
        begin += n;
        count -= n;
    }
    return status;
}

int32_t forest_sort_rest(const struct forest_sort *sort, forest_pair_fn *take, void *user,
                         struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    if (sort->sorted && sort->n_places > 0) {
        for (size_t i = 0; i < sort->n_runs && status == SLUICE_OK; i++) {
            const struct run *run = &sort->runs[i];
            status =
                give_pairs(sort, run->slice + run->next, run->have - run->next, take, user, err);
            if (status == SLUICE_OK) {
                status = give_file(sort, run->at, run->left, take, user, err);
            }
        }
        return status;
    }
    for (size_t i = 0; i < sort->n_places && status == SLUICE_OK; i++) {
        status = give_file(sort, sort->places[i].begin, sort->places[i].count, take, user, err);
    }
    return status == SLUICE_OK
               ? give_pairs(sort, sort->buffer + sort->at, sort->filled - sort->at, take, user, err)
               : status;
}
