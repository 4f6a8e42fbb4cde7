/* The least --memory of a plan: see floor.h. Constants are rounded up from what processes were seen
 * to hold. */
#include "run/floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/chain/folders.h"

#define MIB ((uint64_t)1 << 20)
#define PROCESS (12 * MIB)             /* code, Lua, libraries */
#define TASK_BYTES ((uint64_t)2 << 10) /* a done task: its record, hashes of its files and split */
#define SLICE_BYTES ((uint64_t)48)     /* a partition of what it stored, and a frame of it */
#define FILE_BYTES ((uint64_t)512)     /* a listed and probed file, its name twice */
#define FRAME_BYTES ((uint64_t)24)     /* a place where decoding can begin */
#define WINDOW (8 * MIB)               /* of zstd as it is usually called */
#define DECODER (3 * MIB + WINDOW)     /* input buffer, decoder and its window */
#define FEED_MORE (4 * MIB)  /* of a range: the line that crosses its end, rounding to huge pages */
#define EDGE (6 * MIB)       /* an edge file being written or read: frame, its encoding, codec */
#define TABLE (2 * MIB)      /* origin, drops, quarantine, trace */
#define SORTER (8 * MIB)     /* the least of a sorter */
#define COMPRESSOR (6 * MIB) /* of output files, up to level 9 */
#define PART (MIB + MIB / 8) /* a partition that is written: what is no frame yet, its rows */
#define CARRIED 3.0          /* copies of what a stage in a child sees, and of what it gives back */
#define BATCHES 6u           /* copies of a batch, its words and columns at once */

struct floor_phase {
    uint32_t workers;    /* at work at once: no more than there are tasks */
    uint32_t n_sorters;  /* of one worker */
    uint64_t per_worker; /* bytes, with the least of each sorter */
    uint64_t feed;       /* of those: a range of a file that can't be sought */
    uint64_t window;     /* of those: a zstd file with a window above the usual */
};

/* Its reader decodes by itself. */
static bool lane_random(const struct lane *lane)
{
    return lane->kind == LANE_SPLITS && splits_random(splits_cut(lane->node->entry->stage.cut));
}

/* As far as its name tells. */
static bool is_compressed(const struct lane *lane, size_t file)
{
    return !lane_random(lane) && splits_compressed(lane->files.files[file].name);
}

/* Bytes of the process itself: code, plan, what is kept of every task and file, shared parts of
 * stages. */
static uint64_t base_bytes(const struct plan *plan)
{
    uint64_t bytes = PROCESS + plan->n_tasks * TASK_BYTES;

    for (uint32_t k = 0; k < plan->n_edges; k++) {
        const struct plan_edge *edge = plan->edges[k];
        bytes += (uint64_t)plan->phases[edge->producer_phase]->n_tasks * edge->n_partitions *
                 SLICE_BYTES;
    }
    for (uint32_t k = 0; k < plan->n_lanes; k++) {
        const struct lane *lane = plan->lanes[k];
        bytes += lane->files.n * FILE_BYTES;
        /* Frames of files that are cut, at most one in a MiB. */
        for (size_t i = 0; lane->planned && i < lane->splits.n; i++) {
            const struct split *split = &lane->splits.items[i];
            bool cut = split->ranges[0].begin > 0 || !split->ranges[0].last;
            bytes += cut && is_compressed(lane, split->ranges[0].file)
                         ? split->weight / MIB * FRAME_BYTES
                         : 0;
        }
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            bytes += op_declared(op) == NULL ? 0 : op_declared(op)->bytes_shared;
        }
    }
    return bytes;
}

/* The largest range that is decoded before it is read. */
static uint64_t largest_feed(const struct lane *lane, const struct floor_found *found)
{
    uint64_t most = 0;

    for (size_t i = 0; lane->planned && i < lane->splits.n; i++) {
        const struct split *split = &lane->splits.items[i];
        for (size_t k = 0; k < split->n_ranges; k++) {
            const struct split_range *range = &split->ranges[k];
            if (((found->decodes && !lane_random(lane)) || is_compressed(lane, range->file)) &&
                !range->last && range->end - range->begin > most) {
                most = range->end - range->begin;
            }
        }
    }
    return most > 0 ? most + FEED_MORE : 0;
}

static uint64_t largest_split(const struct phase *phase)
{
    uint64_t most = 0;

    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        for (size_t i = 0; phase->lanes[k]->planned && i < phase->lanes[k]->splits.n; i++) {
            uint64_t weight = phase->lanes[k]->splits.items[i].weight;
            most = weight > most ? weight : most;
        }
    }
    return most;
}

/* What decoding takes: 0 where no file is compressed. */
static uint64_t decoder(const struct lane *lane, const struct floor_found *found)
{
    bool compressed = found->decodes && !lane_random(lane);

    for (size_t i = 0; !compressed && i < lane->files.n; i++) {
        compressed = is_compressed(lane, i);
    }
    return !compressed ? 0 : found->window <= WINDOW ? DECODER : DECODER - WINDOW + found->window;
}

/* zstd's tables and windows by level: 1.3 to 5 MiB up to level 9, about 90 at 19 and 750 at 22. */
static uint64_t compressor(const struct stage_output *output)
{
    if (output->codec == NULL || strcmp(output->codec, "zstd") != 0 || output->level <= 9) {
        return COMPRESSOR;
    }
    return output->level <= 12   ? 32 * MIB
           : output->level <= 15 ? 64 * MIB
           : output->level <= 19 ? 100 * MIB
                                 : 768 * MIB;
}

double floor_call(const struct op *op)
{
    const struct sluice_stage *stage = op_declared(op);
    double own = stage->bytes_per_batch > 0 ? stage->bytes_per_batch : SLUICE_BYTES_PER_BATCH;

    return op_isolated(op) ? own + CARRIED : own;
}

static void add_stage(const struct phase *phase, const struct op *op, struct floor_phase *out)
{
    const struct sluice_stage *stage = op_declared(op);

    out->per_worker += stage->bytes_worker;
    if (stage->mode != SLUICE_MODE_STATELESS && stage->bytes_per_input > 0) {
        double bytes = stage->bytes_per_input * (double)largest_split(phase);
        out->per_worker += bytes < 1e18 ? (uint64_t)bytes : UINT64_C(1000000000000000000);
    }
    if (op_writes(op)) {
        out->per_worker += folders_most(op) * PART;
    }
    for (uint32_t k = 0; op->kind == OP_STAGE && k < op_stage(op)->n_outputs; k++) {
        out->per_worker += compressor(&op_stage(op)->outputs[k]);
    }
}

/* Bytes for a byte of what it sees. */
static double dearest_call(const struct phase *phase)
{
    double most = 0;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        double call = op_declared(phase->ops[i]) == NULL ? 0 : floor_call(phase->ops[i]);
        most = call > most ? call : most;
    }
    return most;
}

static uint64_t largest_call(const struct phase *phase, uint64_t batch_bytes)
{
    double most = dearest_call(phase) * (double)batch_bytes;

    return most < 1e18 ? (uint64_t)most : UINT64_C(1000000000000000000);
}

static void floor_of_phase(const struct phase *phase, const struct floor_found *found,
                           uint32_t workers, uint64_t batch_bytes, struct floor_phase *out)
{
    memset(out, 0, sizeof *out);
    out->workers = phase->n_tasks < workers ? phase->n_tasks : workers;
    out->per_worker = BATCHES * batch_bytes + TABLE;
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        const struct plan_edge *edge = op_edge(op);
        bool sorts = edge != NULL && (edge->load == LOAD_KEYED || edge->load == LOAD_BY_SPLIT);
        switch (op->kind) {
        case OP_READ: {
            const struct lane *lane = phase->lanes[op_read(op)->lane];
            uint64_t feed = largest_feed(lane, found);
            out->per_worker += 2 * batch_bytes + TABLE + decoder(lane, found);
            out->feed = feed > out->feed ? feed : out->feed;
            out->window = found->window > WINDOW ? found->window : 0;
            add_stage(phase, op, out);
            break;
        }
        case OP_LOAD:
        case OP_STORE:
            out->n_sorters += sorts;
            out->per_worker += sorts ? SORTER : EDGE;
            break;
        case OP_STAGE:
            add_stage(phase, op, out);
            if (op_declared(op)->resume != NULL) {
                out->per_worker +=
                    FLOOR_WAITING * (op_declared(op)->bytes_worker + 2 * batch_bytes);
            }
            break;
        case OP_COLLECT:
            out->per_worker += 2 * batch_bytes;
            break;
        case OP_UNION:
            break;
        }
    }
    /* One stage is at work at a time. */
    out->per_worker += out->feed + largest_call(phase, batch_bytes);
}

static uint64_t saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX / 2 || b > UINT64_MAX / 2 ? UINT64_MAX : a + b;
}

/* Of the dearest phase with so many workers. */
static uint64_t floor_of(const struct plan *plan, const struct floor_found *found, uint32_t workers,
                         uint64_t batch_bytes, const struct phase **dearest, struct floor_phase *of)
{
    uint64_t most = 0;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct floor_phase one;
        uint64_t bytes;
        floor_of_phase(plan->phases[p], found, workers, batch_bytes, &one);
        bytes = one.workers > 0 && one.per_worker > UINT64_MAX / 4 / one.workers
                    ? UINT64_MAX / 4
                    : one.workers * one.per_worker;
        if (bytes >= most) {
            most = bytes;
            *dearest = plan->phases[p];
            *of = one;
        }
    }
    return saturated(most, base_bytes(plan));
}

/* Test hook: SLUICE_TEST_FLOOR=off lets any memory pass, so that small inputs are sorted in
 * runs. */
static bool floor_off(void)
{
    const char *text = hook_text("SLUICE_TEST_FLOOR");
    return text != NULL && strcmp(text, "off") == 0;
}

static unsigned long long mib(uint64_t bytes)
{
    return (unsigned long long)(bytes / MIB + (bytes % MIB > 0));
}

sluice_status floor_check(const struct plan *plan, const struct floor_found *found,
                          uint32_t workers, uint64_t batch_bytes, uint64_t memory,
                          struct sluice_error *err)
{
    const struct phase *dearest = NULL;
    const struct phase *ignored = NULL;
    struct floor_phase of;
    struct floor_phase one;
    uint64_t need = floor_of(plan, found, workers, batch_bytes, &dearest, &of);
    char feed[200] = "";
    char window[200] = "";
    char fewer[100] = "";

    if (plan->n_phases == 0 || memory >= need || floor_off()) {
        return SLUICE_OK;
    }
    if (of.feed > 0) {
        snprintf(feed, sizeof feed,
                 ", %llu MiB of that for a range of a compressed file: a smaller split needs less",
                 mib(of.feed));
    }
    if (of.window > 0) {
        snprintf(window, sizeof window,
                 ", %llu MiB of that for the window of a zstd file: compressed without --long and "
                 "--ultra it needs less",
                 mib(of.window));
    }
    if (of.workers > 1) {
        snprintf(fewer, sizeof fewer, " or --workers 1 (%llu MiB)",
                 mib(floor_of(plan, found, 1, batch_bytes, &ignored, &one)));
    }
    return error_field(err, SLUICE_E_NOMEM, ERROR_MEMORY,
                       "found %llu MiB of memory, expected at least %llu MiB for %u worker%s: the "
                       "process takes %llu MiB, and a worker in %s %llu MiB%s%s; give "
                       "--memory %lluMiB%s",
                       (unsigned long long)(memory / MIB), mib(need), of.workers,
                       of.workers == 1 ? "" : "s", mib(base_bytes(plan)), dearest->name,
                       mib(of.per_worker), feed, window, mib(need), fewer);
}

uint64_t floor_sorter(const struct plan *plan, const struct phase *phase,
                      const struct floor_found *found, uint32_t workers, uint64_t batch_bytes,
                      uint64_t memory)
{
    struct floor_phase of;
    uint64_t need;

    if (floor_off()) {
        return memory / 8 / workers;
    }
    floor_of_phase(phase, found, workers, batch_bytes, &of);
    need = saturated(base_bytes(plan), of.workers * of.per_worker);
    if (of.n_sorters == 0 || of.workers == 0 || memory <= need) {
        return SORTER;
    }
    /* Three eighths of what is left: a sorter's own reckoning leaves out what malloc adds, and its
     * merge needs blocks; giants have half. */
    return SORTER + (memory - need) / 8 * 3 / of.workers / of.n_sorters;
}

/* What is left for giants of a phase. */
static uint64_t spare_of(const struct plan *plan, const struct floor_phase *of, uint64_t memory)
{
    uint64_t need = saturated(base_bytes(plan), of->workers * of->per_worker);
    uint64_t spare = memory > need ? memory - need : 0;

    return of->n_sorters > 0 ? spare / 2 : spare; /* the other half: floor_sorter */
}

/* Bytes of --memory that one byte more for a giant costs. */
static double price(const struct floor_phase *of)
{
    double divided = of->workers <= 1 ? 1 : 2.0 * of->workers / (of->workers + 1.0);

    return of->n_sorters > 0 ? 2 * divided : divided;
}

/* What a giant has before it in the whole plan. */
static void look_ahead(const struct plan *plan, uint32_t workers, uint64_t batch_bytes,
                       struct rooms *out)
{
    const struct floor_found nothing = { .decodes = false };

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct floor_phase of;
        uint64_t need;
        double call = dearest_call(plan->phases[p]);
        floor_of_phase(plan->phases[p], &nothing, workers, batch_bytes, &of);
        need = saturated(base_bytes(plan), of.workers * of.per_worker);
        out->dearest_floor = need > out->dearest_floor ? need : out->dearest_floor;
        out->dearest_call = call > out->dearest_call ? call : out->dearest_call;
        out->dearest_per_byte =
            price(&of) > out->dearest_per_byte ? price(&of) : out->dearest_per_byte;
    }
}

sluice_status floor_rooms(const struct plan *plan, const struct phase *phase, uint32_t workers,
                          uint64_t batch_bytes, uint64_t memory, struct rooms *out,
                          struct sluice_error *err)
{
    const struct floor_found nothing = { .decodes = false };
    struct floor_phase of;
    uint64_t spare;

    floor_of_phase(phase, &nothing, workers, batch_bytes, &of);
    spare = spare_of(plan, &of, memory);
    if (floor_off() || of.workers == 0) {
        return rooms_init(out, UINT64_MAX, 0, err);
    }
    TRY(of.workers == 1 ? rooms_init(out, spare, 0, err)
                        : rooms_init(out, spare / 2 / of.workers, spare / 2, err));
    out->per_byte = price(&of);
    out->memory = memory;
    out->workers = of.workers;
    look_ahead(plan, workers, batch_bytes, out);
    return SLUICE_OK;
}

void floor_shrink(const struct plan *plan, const struct phase *phase,
                  const struct floor_found *found, uint32_t workers, uint64_t batch_bytes,
                  uint64_t memory, struct rooms *rooms)
{
    struct floor_phase of;
    uint64_t spare;

    floor_of_phase(phase, found, workers, batch_bytes, &of);
    spare = spare_of(plan, &of, memory);
    if (!floor_off() && of.workers == 1) {
        rooms_shrink(rooms, spare, 0);
    } else if (!floor_off() && of.workers > 1) {
        rooms_shrink(rooms, spare / 2 / of.workers, spare / 2);
    }
}
