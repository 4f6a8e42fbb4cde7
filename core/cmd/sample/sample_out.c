/* The end of `sluice sample`: which of the rows that workers kept are in the sample, and from which
 * files rows came. See sampleInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "run/facts/places.h"
#include "cmd/sample/sampleInt.h"
#include "run/chain/ledger.h"
#include "run/runview.h"
#include "store/input.h"
#include "store/outcodec.h"
#include "store/snapshot.h"

#define PIECE ((size_t)1 << 20)

/* ---- reading what was written ---- */

typedef sluice_status on_line(void *ctx, const char *line, size_t n, struct sluice_error *err);

/* The hash at the end of a line {...,"sluice_sample":"0123456789abcdef"}; *n becomes what stands
 * before it. */
static sluice_status take_hash(const char *line, size_t *n, uint64_t *hash,
                               struct sluice_error *err)
{
    static const char member[] = "\"" SAMPLE_COLUMN "\":\"";
    size_t tail = sizeof member - 1 + SAMPLE_DIGITS + 2;
    char digits[SAMPLE_DIGITS + 1];
    char *end;

    if (*n < tail + 1 || memcmp(line + *n - tail, member, sizeof member - 1) != 0 ||
        memcmp(line + *n - 2, "\"}", 2) != 0) {
        return error_set(err, SLUICE_E_INTERNAL, "a row of the sample has no hash");
    }
    memcpy(digits, line + *n - 2 - SAMPLE_DIGITS, SAMPLE_DIGITS);
    digits[SAMPLE_DIGITS] = '\0';
    *hash = strtoull(digits, &end, 16);
    *n -= tail;
    if (line[*n - 1] == ',') {
        --*n;
    }
    return *end == '\0' ? SLUICE_OK
                        : error_set(err, SLUICE_E_INTERNAL, "a row of the sample has no hash");
}

static sluice_status each_line_of(const char *path, struct buf *bytes, on_line *fn, void *ctx,
                                  struct sluice_error *err)
{
    struct input *input = NULL;
    sluice_status status = input_open(path, &input, err);
    size_t got = 1;

    buf_clear(bytes);
    while (status == SLUICE_OK && got > 0) {
        size_t at = 0;
        const char *newline;
        if (!buf_reserve(bytes, PIECE)) {
            status = error_nomem(err, "the sample");
            break;
        }
        status = input_read(input, bytes->data + bytes->size, PIECE, &got, err);
        bytes->size += status == SLUICE_OK ? got : 0;
        while (status == SLUICE_OK && bytes->size > at &&
               (newline = memchr(bytes->data + at, '\n', bytes->size - at)) != NULL) {
            size_t end = (size_t)(newline - bytes->data);
            status = fn(ctx, bytes->data + at, end - at, err);
            at = end + 1;
        }
        memmove(bytes->data, bytes->data + at, bytes->size - at);
        bytes->size -= at;
    }
    input_close(input);
    return status;
}

static sluice_status each_line(const char *dataset, const struct snapshot *snapshot, on_line *fn,
                               void *ctx, struct sluice_error *err)
{
    struct buf bytes = BUF_INIT;
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < snapshot->n_shards; i++) {
        char *path = snapshot_shard_path(dataset, &snapshot->shards[i]);
        status =
            path == NULL ? error_nomem(err, "a path") : each_line_of(path, &bytes, fn, ctx, err);
        free(path);
    }
    buf_deinit(&bytes);
    return status;
}

/* ---- picking ---- */

struct picking {
    uint64_t *hashes; /* of all lines */
    size_t n, capacity;
    uint64_t bound; /* the largest hash in the sample */
    uint64_t ties;  /* so many rows with that hash are in it */
    struct outcodec *codec;
    struct sample_picked *picked;
};

static sluice_status note_hash(void *ctx, const char *line, size_t n, struct sluice_error *err)
{
    struct picking *picking = ctx;

    if (picking->n == picking->capacity) {
        size_t capacity = picking->capacity * 2 + 4096;
        uint64_t *hashes = realloc(picking->hashes, capacity * sizeof *hashes);
        if (hashes == NULL) {
            return error_nomem(err, "the sample");
        }
        picking->hashes = hashes;
        picking->capacity = capacity;
    }
    return take_hash(line, &n, &picking->hashes[picking->n++], err);
}

static sluice_status put(struct picking *picking, const void *data, size_t n,
                         struct sluice_error *err)
{
    picking->picked->bytes += n;
    if (picking->codec != NULL) {
        return outcodec_write(picking->codec, data, n, err);
    }
    return say_data(data, n)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_IO, "can't write the sample to standard output");
}

static sluice_status write_line(void *ctx, const char *line, size_t n, struct sluice_error *err)
{
    struct picking *picking = ctx;
    uint64_t hash;

    TRY(take_hash(line, &n, &hash, err));
    if (hash > picking->bound || (hash == picking->bound && picking->ties == 0)) {
        return SLUICE_OK;
    }
    picking->ties -= hash == picking->bound;
    picking->picked->rows++;
    TRY(put(picking, line, n, err));
    return put(picking, "}\n", 2, err);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n > m && memcmp(text + n - m, end, m) == 0;
}

static sluice_status write_file(const char *dataset, const struct snapshot *snapshot,
                                const char *path, struct picking *picking, struct sluice_error *err)
{
    const char *name;
    char *dir = store_parent(path, &name);
    struct pending *pending = NULL;
    struct published published;
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK) {
        status = outcodec_create(ends_with(name, ".zst")  ? OUTCODEC_ZSTD
                                 : ends_with(name, ".gz") ? OUTCODEC_GZIP
                                                          : OUTCODEC_NONE,
                                 0, &picking->codec, err);
    }
    if (status == SLUICE_OK) {
        status = pending_open(dir, &pending, err);
    }
    if (status == SLUICE_OK) {
        status = outcodec_begin(picking->codec, pending, err);
    }
    if (status == SLUICE_OK) {
        status = each_line(dataset, snapshot, write_line, picking, err);
    }
    if (status == SLUICE_OK) {
        status = outcodec_finish(picking->codec, err);
    }
    if (status == SLUICE_OK) {
        status = pending_publish(pending, name, 0, &published, err);
        pending = NULL;
        picking->picked->stored = published.bytes;
    }
    pending_abort(pending);
    outcodec_destroy(picking->codec);
    free(dir);
    return status;
}

sluice_status sample_pick(const char *dataset, uint64_t k, const char *path,
                          struct sample_picked *out, struct sluice_error *err)
{
    struct picking picking = { .bound = UINT64_MAX, .ties = UINT64_MAX, .picked = out };
    struct snapshot *snapshot = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    TRY(snapshot_open(dataset, 0, &snapshot, err));
    status = each_line(dataset, snapshot, note_hash, &picking, err);
    if (status == SLUICE_OK && picking.n > k) {
        size_t first = (size_t)k;
        qsort(picking.hashes, picking.n, sizeof *picking.hashes, compare_hashes);
        picking.bound = picking.hashes[k - 1];
        while (first > 0 && picking.hashes[first - 1] == picking.bound) {
            first--;
        }
        picking.ties = k - first;
    }
    if (status == SLUICE_OK) {
        status = path != NULL ? write_file(dataset, snapshot, path, &picking, err)
                              : each_line(dataset, snapshot, write_line, &picking, err);
    }
    free(picking.hashes);
    snapshot_destroy(snapshot);
    return status;
}

/* ---- counting by file ---- */

void sample_counts_deinit(struct sample_counts *counts)
{
    free(counts->files);
    memset(counts, 0, sizeof *counts);
}

struct counting {
    const struct run *run;
    uint32_t phase, task;
    const struct op *writer;
    const char *sampler;
    struct sample_counts *counts;
    struct place *places; /* of the rows of a task */
    size_t n, capacity;
};

static void count_file(struct counting *counting, const struct lane *lane, size_t file,
                       uint64_t rows)
{
    for (uint32_t k = 0; k < lane->index; k++) {
        file += counting->run->plan->lanes[k]->files.n;
    }
    counting->counts->files[file].rows += rows;
}

static sluice_status add_row(struct counting *counting, uint64_t number, struct sluice_error *err)
{
    if (counting->n == counting->capacity) {
        size_t capacity = counting->capacity * 2 + 1024;
        struct place *places = realloc(counting->places, capacity * sizeof *places);
        if (places == NULL) {
            return error_nomem(err, "places");
        }
        counting->places = places;
        counting->capacity = capacity;
    }
    TRY(places_origin(counting->run, counting->phase, counting->task, counting->writer, number,
                      &counting->places[counting->n], err));
    counting->n++;
    return SLUICE_OK;
}

static sluice_status dropped_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                                 struct sluice_error *err)
{
    struct counting *counting = ctx;
    size_t n;
    const char *stage = runview_text(batch, DROPS_STAGE, row, &n);

    (void)stop;
    return n == strlen(counting->sampler) && memcmp(stage, counting->sampler, n) == 0
               ? add_row(counting, runview_u64(batch, DROPS_ROW, row), err)
               : SLUICE_OK;
}

static sluice_status kept_row(void *ctx, const struct batch *batch, int64_t row, bool *stop,
                              struct sluice_error *err)
{
    const struct ArrowArray *list = &batch->columns[TRACE_LIST]->array;
    const int32_t *offsets = list->buffers[1];

    (void)stop;
    return offsets[row] == offsets[row + 1]
               ? SLUICE_OK
               : add_row(ctx, ((const uint64_t *)list->children[0]->buffers[1])[offsets[row]], err);
}

/* The only file of a split, or -1. */
static int64_t only_file(const struct split *split)
{
    for (size_t i = 1; i < split->n_ranges; i++) {
        if (split->ranges[i].file != split->ranges[0].file) {
            return -1;
        }
    }
    return split->n_ranges == 0 ? -1 : (int64_t)split->ranges[0].file;
}

static sluice_status count_task(struct counting *counting, struct sluice_error *err)
{
    const struct run *run = counting->run;
    const struct phase *phase = run->plan->phases[counting->phase];
    uint32_t split = 0;
    const struct lane *lane = phase_lane(phase, counting->task, &split);
    json_t *ledger = run_ledger(run, counting->phase, counting->task);
    uint64_t reached = (uint64_t)ledger_get(ledger, counting->sampler, "in");
    uint64_t known = 0;
    int64_t file = lane->kind == LANE_SPLITS ? only_file(&lane->splits.items[split]) : (int64_t)-1;
    sluice_status status = SLUICE_OK;

    json_decref(ledger);
    counting->counts->reached += reached;
    if (file >= 0 || reached == 0) {
        if (reached > 0) {
            count_file(counting, lane, (size_t)file, reached);
        }
        return SLUICE_OK;
    }
    counting->n = 0;
    status = runview_table(run, counting->phase, counting->task, TABLE_DROPS, dropped_row, counting,
                           err);
    if (status == SLUICE_OK) {
        status = runview_table(run, counting->phase, counting->task, TABLE_TRACE, kept_row,
                               counting, err);
    }
    if (status == SLUICE_OK) {
        status = places_fill(run, counting->places, counting->n, err);
    }
    for (size_t i = 0; i < counting->n; i++) {
        struct place *place = &counting->places[i];
        if (status == SLUICE_OK && place->found) {
            count_file(counting, place->lane, (size_t)(place->file - place->lane->files.files), 1);
            known++;
        }
        place_deinit(place);
    }
    /* Where the way back is not known, the sum still is. */
    counting->counts->elsewhere += reached > known ? reached - known : 0;
    return status == SLUICE_E_DATA ? SLUICE_OK : status;
}

sluice_status sample_count_rows(const struct run *run, const char *sampler, const char *writer,
                                struct sample_counts *out, struct sluice_error *err)
{
    const struct phase *phase = NULL;
    struct counting counting = { .run = run, .sampler = sampler, .counts = out };
    size_t n = 0;
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    counting.writer = plan_find_op(run->plan, writer, &phase);
    if (counting.writer == NULL) {
        return error_set(err, SLUICE_E_INTERNAL, "the plan has no stage '%s'", writer);
    }
    for (uint32_t k = 0; k < run->plan->n_lanes; k++) {
        out->n += run->plan->lanes[k]->files.n;
    }
    out->files = calloc(out->n + 1, sizeof *out->files);
    if (out->files == NULL) {
        return error_nomem(err, "counts");
    }
    for (uint32_t k = 0; k < run->plan->n_lanes; k++) {
        const struct listing *files = &run->plan->lanes[k]->files;
        for (size_t i = 0; i < files->n; i++) {
            out->files[n++].file = files->files[i].name;
        }
    }
    counting.phase = phase->index;
    for (uint32_t t = 0; status == SLUICE_OK && t < phase->n_tasks; t++) {
        counting.task = t;
        status = count_task(&counting, err);
    }
    free(counting.places);
    return status;
}
