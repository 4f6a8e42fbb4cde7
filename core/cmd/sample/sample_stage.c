/* Bottom-k by hash: see sample_stage.h. Each worker keeps the k smallest hashes that it saw in a
 * heap; the largest of them bounds the k smallest of all rows from above, so the smallest of these
 * bounds serves every worker. */
#include "cmd/sample/sample_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/column.h"
#include "plugin/stage.h"
#include "sluice_arrays.h"

#define MAX_COLUMNS 200

struct instance {
    struct sampler *sampler;
    uint32_t n; /* columns that are hashed */
    int32_t columns[MAX_COLUMNS];
    int32_t row; /* _row or _pos; -1 = none */
};

struct worker {
    const struct instance *instance;
    uint64_t *heap; /* the largest first */
    uint64_t n, capacity;
    struct hasher *hasher;
    struct sluice_verdict *verdicts;
    int64_t n_verdicts;
};

void sampler_init(struct sampler *sampler, uint64_t seed, uint64_t k)
{
    sampler->seed = seed;
    sampler->k = k;
    atomic_init(&sampler->bound, UINT64_MAX);
}

static sluice_status open_stage(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct instance *instance = calloc(1, sizeof *instance);

    (void)api;
    (void)config;
    if (instance == NULL) {
        return error_nomem(err, "the sample");
    }
    instance->sampler = stage_user(host);
    *shared = instance;
    return SLUICE_OK;
}

static void close_stage(void *shared)
{
    free(shared);
}

/* Text columns tell documents apart; numbers of rows tell copies of one document apart. */
static sluice_status prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct instance *instance = shared;

    instance->n = 0;
    for (uint32_t k = 0; instance->n < MAX_COLUMNS; k++) {
        const char *name;
        const char *type;
        TRY(plan->column(plan, 0, k, &name, &type));
        if (name[0] == '\0') {
            break;
        }
        if (name[0] != '_' && (strncmp(type, "utf8", 4) == 0 || strncmp(type, "json", 4) == 0)) {
            TRY(plan->need(plan, 0, name, "", 0, &instance->columns[instance->n], err));
            instance->n++;
        }
    }
    TRY(plan->need(plan, 0, SLUICE_ROW, "uint64", 1, &instance->row, err));
    if (instance->row < 0) {
        TRY(plan->need(plan, 0, SLUICE_POS, "uint64", 1, &instance->row, err));
    }
    return plan->add(plan, SAMPLE_COLUMN, "utf8", NULL, err);
}

static void close_worker(void *state)
{
    struct worker *worker = state;

    hasher_destroy(worker->hasher);
    free(worker->heap);
    free(worker->verdicts);
    free(worker);
}

static sluice_status open_worker(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return error_nomem(err, "the sample");
    }
    worker->instance = shared;
    worker->hasher = hasher_create();
    if (worker->hasher == NULL) {
        close_worker(worker);
        return error_nomem(err, "the sample");
    }
    *out = worker;
    return SLUICE_OK;
}

static uint64_t hash_row(struct worker *worker, const struct ArrowArray *array, int64_t row)
{
    const struct instance *instance = worker->instance;

    hasher_reset(worker->hasher);
    hasher_add_u64(worker->hasher, instance->sampler->seed);
    for (uint32_t k = 0; k < instance->n; k++) {
        size_t n;
        const char *text = sluice_text(array->children[instance->columns[k]], row, &n);
        hasher_add_u64(worker->hasher, n);
        hasher_add(worker->hasher, text, n);
    }
    if (instance->row >= 0) {
        const uint64_t *rows = array->children[instance->row]->buffers[1];
        hasher_add_u64(worker->hasher, rows[row]);
    }
    return hasher_digest(worker->hasher).lo;
}

static void sink(uint64_t *heap, uint64_t n, uint64_t at)
{
    for (;;) {
        uint64_t child = 2 * at + 1;
        uint64_t swap = heap[at];
        if (child + 1 < n && heap[child + 1] > heap[child]) {
            child++;
        }
        if (child >= n || heap[child] <= swap) {
            return;
        }
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

static void rise(uint64_t *heap, uint64_t at)
{
    while (at > 0 && heap[(at - 1) / 2] < heap[at]) {
        uint64_t swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

/* Whether a row with this hash may be among the k smallest. */
static sluice_status offer(struct worker *worker, uint64_t hash, bool *keep,
                           struct sluice_error *err)
{
    struct sampler *sampler = worker->instance->sampler;
    uint_fast64_t bound = atomic_load_explicit(&sampler->bound, memory_order_relaxed);

    *keep = hash <= bound;
    if (!*keep) {
        return SLUICE_OK;
    }
    if (worker->n < sampler->k) {
        if (worker->n == worker->capacity) {
            uint64_t capacity = worker->capacity * 2 + 1024;
            uint64_t *heap = realloc(worker->heap, capacity * sizeof *heap);
            if (heap == NULL) {
                return error_nomem(err, "the sample");
            }
            worker->heap = heap;
            worker->capacity = capacity;
        }
        worker->heap[worker->n] = hash;
        rise(worker->heap, worker->n++);
    } else if (hash < worker->heap[0]) {
        worker->heap[0] = hash;
        sink(worker->heap, worker->n, 0);
    }
    if (worker->n == sampler->k) {
        *keep = hash <= worker->heap[0];
        while (worker->heap[0] < bound &&
               !atomic_compare_exchange_weak_explicit(&sampler->bound, &bound, worker->heap[0],
                                                      memory_order_relaxed, memory_order_relaxed)) {
        }
    }
    return SLUICE_OK;
}

static sluice_status process(void *state, const struct sluice_batch *batch,
                             struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct ArrowArray column;
    struct ArrowArray columns;
    int32_t end = 0;
    bool room = sluice_bytes_add(&offsets, &end, sizeof end) != 0;
    sluice_status status = SLUICE_OK;

    if (batch->n > worker->n_verdicts) {
        struct sluice_verdict *more =
            realloc(worker->verdicts, (size_t)batch->n * sizeof *worker->verdicts);
        room = room && more != NULL;
        worker->verdicts = more != NULL ? more : worker->verdicts;
        worker->n_verdicts = more != NULL ? batch->n : worker->n_verdicts;
    }
    for (int64_t k = 0; room && status == SLUICE_OK && k < batch->n; k++) {
        uint64_t hash = hash_row(worker, batch->array, sluice_row(batch, k));
        char hex[SAMPLE_DIGITS + 1];
        bool keep;
        status = offer(worker, hash, &keep, err);
        worker->verdicts[k] = (struct sluice_verdict){ .reason = keep ? 0 : 1 };
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)hash);
        room = sluice_bytes_add(&data, hex, SAMPLE_DIGITS) != 0;
        end += SAMPLE_DIGITS;
        room = room && sluice_bytes_add(&offsets, &end, sizeof end) != 0;
    }
    if (status != SLUICE_OK || !room) {
        sluice_bytes_free(&offsets);
        sluice_bytes_free(&data);
        return status != SLUICE_OK ? status : error_nomem(err, "the sample");
    }
    if (sluice_make_text(&column, batch->n, &offsets, &data, NULL, 0) != SLUICE_OK ||
        sluice_make_struct(&columns, batch->n, 1, &column) != SLUICE_OK) {
        return error_nomem(err, "the sample");
    }
    TRY(emit->batch(emit, &columns));
    return emit->verdicts(emit, worker->verdicts, batch->n);
}

static const struct sluice_stage stage = {
    .size = sizeof stage,
    .name = "sample",
    .version = "1.0",
    .summary = "Keeps the rows with the smallest hashes",
    .example = "sluice sample web.lua --at minhash -n 10000 -o s.jsonl.zst",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .reasons = "not_sampled",
    .open = open_stage,
    .prepare = prepare,
    .worker_open = open_worker,
    .process = process,
    .worker_close = close_worker,
    .close = close_stage,
};

sluice_status sampler_add(struct registry *registry, struct sampler *sampler,
                          const struct registry_entry **out, struct sluice_error *err)
{
    return registry_add_user(registry, &stage, sampler, PLUGIN_CORE, "sluice sample",
                             hash_bytes("sample", 6), out, err);
}
