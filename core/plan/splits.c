/* Input splits: see splits.h. */
#include "plan/splits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PIECES_MAX (UINT64_C(1) << 24) /* of one file; more would only slow the plan down */
#define RATIO 4u      /* decoded bytes of a compressed file's byte: text gives 3 to 5 */
#define RATIO_MOST 8u /* what a large one is cut for: an empty range costs less than a long one */

struct interval {
    size_t begin, end; /* files [begin, end) */
};

struct planner {
    const struct split_input *files;
    size_t n;
    uint64_t target;
    enum split_cut cut;
    uint64_t *before;   /* weight of all files before this one; n + 1 */
    uint64_t *hashes;   /* of names */
    uint32_t *smallest; /* tournament over hashes: index of the file with the smallest one */
    struct interval *stack;
    size_t depth, stack_capacity;
    struct splits *out;
    size_t items_capacity, n_ranges, ranges_capacity;
    size_t *first_range; /* of each split */
};

bool splits_compressed(const char *name)
{
    static const char *const suffixes[] = { ".gz", ".gzip", ".bgz", ".tgz", ".zst", ".zstd" };
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t k = strlen(suffixes[i]);
        if (n > k && strcasecmp(name + n - k, suffixes[i]) == 0) {
            return true;
        }
    }
    return false;
}

enum split_cut splits_cut(const char *cut)
{
    return cut == NULL                   ? SPLIT_CUT_NONE
           : strcmp(cut, "newline") == 0 ? SPLIT_CUT_NEWLINE
           : strcmp(cut, "own") == 0     ? SPLIT_CUT_OWN
           : strcmp(cut, "sync") == 0    ? SPLIT_CUT_SYNC
                                         : SPLIT_CUT_NONE;
}

static uint64_t times(uint64_t size, uint64_t ratio)
{
    return size > UINT64_MAX / 2 / ratio ? UINT64_MAX / 2 : size * ratio;
}

/* Decoded bytes of a file, as far as its name and size tell. */
static uint64_t input_weight(const struct planner *p, const struct split_input *file)
{
    return !splits_random(p->cut) && splits_compressed(file->name) ? times(file->size, RATIO)
                                                                   : file->size;
}

/* Decoded bytes that it is cut for. */
static uint64_t input_most(const struct planner *p, const struct split_input *file)
{
    return !splits_random(p->cut) && splits_compressed(file->name) ? times(file->size, RATIO_MOST)
                                                                   : file->size;
}

static bool grow(void *array, size_t *capacity, size_t need, size_t item)
{
    void **memory = array;
    size_t n = *capacity == 0 ? 64 : *capacity;
    void *larger;

    if (need <= *capacity) {
        return true;
    }
    while (n < need) {
        n *= 2;
    }
    larger = realloc(*memory, n * item);
    if (larger == NULL) {
        return false;
    }
    *memory = larger;
    *capacity = n;
    return true;
}

static sluice_status range_add(struct planner *p, size_t file, uint64_t begin, uint64_t end,
                               bool last, struct sluice_error *err)
{
    if (!grow(&p->out->ranges, &p->ranges_capacity, p->n_ranges + 1, sizeof *p->out->ranges)) {
        return error_nomem(err, "input splits");
    }
    p->out->ranges[p->n_ranges++] = (struct split_range){ begin, end, (uint32_t)file, last };
    return SLUICE_OK;
}

/* Begins a split whose first range will be added next. */
static sluice_status split_begin(struct planner *p, uint64_t weight, struct sluice_error *err)
{
    size_t first = p->items_capacity;
    size_t n = p->out->n + 1;

    if (!grow(&p->first_range, &first, n, sizeof *p->first_range) ||
        !grow(&p->out->items, &p->items_capacity, n, sizeof *p->out->items)) {
        return error_nomem(err, "input splits");
    }
    p->out->items[p->out->n].weight = weight;
    p->first_range[p->out->n] = p->n_ranges;
    p->out->n++;
    return SLUICE_OK;
}

static sluice_status split_group(struct planner *p, size_t begin, size_t end,
                                 struct sluice_error *err)
{
    TRY(split_begin(p, p->before[end] - p->before[begin], err));
    for (size_t i = begin; i < end; i++) {
        TRY(range_add(p, i, 0, SPLIT_TO_END, true, err));
    }
    return SLUICE_OK;
}

static sluice_status split_large(struct planner *p, size_t file, struct sluice_error *err)
{
    uint64_t weight = input_weight(p, &p->files[file]);
    uint64_t pieces = 1;

    if (p->cut != SPLIT_CUT_NONE) {
        weight = input_most(p, &p->files[file]);
        pieces = weight / p->target + (weight % p->target >= (p->target + 3) / 4 ? 1 : 0);
        pieces = pieces == 0 ? 1 : pieces;
    }
    if (pieces > PIECES_MAX) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s would be cut into %" PRIu64 " pieces, expected at most %" PRIu64
                         "; give a larger split "
                         "size than %" PRIu64 " bytes",
                         p->files[file].name, pieces, PIECES_MAX, p->target);
    }
    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t begin = i * p->target;
        bool last = i + 1 == pieces;
        TRY(split_begin(p, last ? weight - begin : p->target, err));
        TRY(range_add(p, file, begin, last ? SPLIT_TO_END : begin + p->target, last, err));
    }
    return SLUICE_OK;
}

/* ---- groups of small files ---- */

static uint32_t smaller(const struct planner *p, uint32_t a, uint32_t b)
{
    if (a == UINT32_MAX || b == UINT32_MAX) {
        return a == UINT32_MAX ? b : a;
    }
    if (p->hashes[a] != p->hashes[b]) {
        return p->hashes[a] < p->hashes[b] ? a : b;
    }
    return a < b ? a : b;
}

/* The file of the smallest hash in [begin, end). */
static uint32_t smallest_in(const struct planner *p, size_t begin, size_t end)
{
    uint32_t best = UINT32_MAX;

    for (begin += p->n, end += p->n; begin < end; begin /= 2, end /= 2) {
        if ((begin & 1) != 0) {
            best = smaller(p, best, p->smallest[begin++]);
        }
        if ((end & 1) != 0) {
            best = smaller(p, best, p->smallest[--end]);
        }
    }
    return best;
}

/* First index k in (begin, end] with before[k] - before[begin] >= weight. */
static size_t index_at(const struct planner *p, size_t begin, size_t end, uint64_t weight)
{
    size_t lo = begin + 1;
    size_t hi = end;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->before[mid] - p->before[begin] >= weight) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/* Where the run [begin, end), above twice the target, is cut. All its files weigh at most the
 * target, so there is a place. */
static size_t cut_place(const struct planner *p, size_t begin, size_t end)
{
    uint64_t edge = (p->target + 3) / 4;
    uint64_t weight = p->before[end] - p->before[begin];
    size_t first = index_at(p, begin, end, edge);
    size_t last = index_at(p, begin, end, weight - edge + 1) - 1;

    /* Cutting at k is cutting behind file k - 1. */
    return (size_t)smallest_in(p, first - 1, last) + 1;
}

static bool stack_push(struct planner *p, size_t begin, size_t end)
{
    if (!grow(&p->stack, &p->stack_capacity, p->depth + 1, sizeof *p->stack)) {
        return false;
    }
    p->stack[p->depth++] = (struct interval){ begin, end };
    return true;
}

static sluice_status split_run(struct planner *p, size_t begin, size_t end,
                               struct sluice_error *err)
{
    if (begin == end) {
        return SLUICE_OK;
    }
    if (!stack_push(p, begin, end)) {
        return error_nomem(err, "input splits");
    }
    while (p->depth > 0) {
        struct interval run = p->stack[--p->depth];
        if (p->before[run.end] - p->before[run.begin] <= 2 * p->target) {
            TRY(split_group(p, run.begin, run.end, err));
        } else {
            size_t k = cut_place(p, run.begin, run.end);
            if (!stack_push(p, k, run.end) || !stack_push(p, run.begin, k)) {
                return error_nomem(err, "input splits");
            }
        }
    }
    return SLUICE_OK;
}

/* ---- the whole ---- */

static sluice_status planner_prepare(struct planner *p, struct sluice_error *err)
{
    p->before = calloc(p->n + 1, sizeof *p->before);
    p->hashes = calloc(p->n + 1, sizeof *p->hashes);
    p->smallest = calloc(2 * p->n + 2, sizeof *p->smallest);
    if (p->before == NULL || p->hashes == NULL || p->smallest == NULL) {
        return error_nomem(err, "input splits");
    }
    for (size_t i = 0; i < p->n; i++) {
        uint64_t weight = input_weight(p, &p->files[i]);
        if (i > 0 && strcmp(p->files[i - 1].name, p->files[i].name) >= 0) {
            return error_set(
                err, SLUICE_E_CONFIG,
                "input files are not sorted: '%s' before '%s'; sort them bytewise by name, each "
                "once",
                p->files[i - 1].name, p->files[i].name);
        }
        /* Large files end a run, so only the weights of small ones count here. */
        p->before[i + 1] = p->before[i] + (weight <= p->target ? weight : 0);
        if (p->before[i + 1] < p->before[i]) {
            return error_set(err, SLUICE_E_CONFIG,
                             "the input files have more than 2^64 bytes in all at '%s', expected "
                             "fewer; give fewer "
                             "files",
                             p->files[i].name);
        }
        p->hashes[i] = hash_bytes(p->files[i].name, strlen(p->files[i].name)).lo;
        p->smallest[p->n + i] = (uint32_t)i;
    }
    for (size_t i = p->n; i-- > 1;) {
        p->smallest[i] = smaller(p, p->smallest[2 * i], p->smallest[2 * i + 1]);
    }
    return SLUICE_OK;
}

static sluice_status planner_run(struct planner *p, struct sluice_error *err)
{
    size_t begin = 0;

    TRY(planner_prepare(p, err));
    for (size_t i = 0; i < p->n; i++) {
        if (input_weight(p, &p->files[i]) > p->target) {
            TRY(split_run(p, begin, i, err));
            TRY(split_large(p, i, err));
            begin = i + 1;
        }
    }
    return split_run(p, begin, p->n, err);
}

static void layout_range(struct hasher *hasher, const struct split_input *file,
                         const struct split_range *range)
{
    hasher_add_string(hasher, file->name);
    hasher_add_u64(hasher, range->begin);
    hasher_add_u64(hasher, range->end);
    hasher_add_u64(hasher, file->n_parts);
    for (size_t i = 0; i < file->n_parts; i++) {
        hasher_add_u64(hasher, file->values[i] != NULL);
        if (file->values[i] != NULL) {
            hasher_add_string(hasher, file->values[i]);
        }
    }
}

/* Everything has its place now: pointers and hashes. */
static sluice_status planner_finish(struct planner *p, struct sluice_error *err)
{
    struct splits *out = p->out;
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "input splits");
    }
    for (size_t i = 0; i < out->n; i++) {
        struct split *split = &out->items[i];
        size_t end = i + 1 < out->n ? p->first_range[i + 1] : p->n_ranges;
        split->ranges = out->ranges + p->first_range[i];
        split->n_ranges = (uint32_t)(end - p->first_range[i]);
        hasher_reset(hasher);
        for (size_t k = 0; k < split->n_ranges; k++) {
            layout_range(hasher, &p->files[split->ranges[k].file], &split->ranges[k]);
        }
        split->layout = hasher_digest(hasher);
    }
    hasher_destroy(hasher);
    return SLUICE_OK;
}

sluice_status splits_plan(const struct split_input *files, size_t n,
                          const struct split_options *options, struct splits *out,
                          struct sluice_error *err)
{
    struct planner p = { .files = files, .n = n, .cut = options->cut, .out = out };
    sluice_status status;

    memset(out, 0, sizeof *out);
    p.target = options->target == 0 ? SPLIT_TARGET : options->target;
    if (n >= UINT32_MAX || p.target > UINT64_MAX / 16) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found %zu files and a split size of %" PRIu64
                         " bytes, expected fewer than 2^32 files and "
                         "at most 2^60 bytes",
                         n, p.target);
    }
    status = planner_run(&p, err);
    if (status == SLUICE_OK) {
        status = planner_finish(&p, err);
    }
    free(p.before);
    free(p.hashes);
    free(p.smallest);
    free(p.stack);
    free(p.first_range);
    if (status != SLUICE_OK) {
        splits_deinit(out);
    }
    return status;
}

const char *split_name(const struct split *split, const char *file, char buffer[SPLIT_NAME])
{
    snprintf(buffer, SPLIT_NAME, "%s@%" PRIu64, file, split->ranges[0].begin);
    return buffer;
}

void splits_deinit(struct splits *splits)
{
    free(splits->items);
    free(splits->ranges);
    memset(splits, 0, sizeof *splits);
}
