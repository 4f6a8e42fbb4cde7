/* Stages that are careless with memory. */
#include <stdbool.h>

#include "tests/conform/bad.h"

static sluice_status writes_input_process(void *state, const struct sluice_batch *batch,
                                          struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;
    int64_t k = bad_row(worker, batch);

    if (k >= 0) {
        size_t n;
        char *text = (char *)(uintptr_t)bad_text(worker, batch, k, &n);
        if (n > 0) {
            text[0] = 'X';
        }
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status releases_input_process(void *state, const struct sluice_batch *batch,
                                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;
    bool wanted = bad_row(worker, batch) >= 0;
    sluice_status status = bad_process(state, batch, emit, err);
    struct ArrowArray *column = batch->array->children[worker->shared->text];

    if (wanted && column->release != NULL) {
        column->release(column);
    }
    return status;
}

/* Far behind the last row's bytes: SLUICE_PADDING does not reach that far. */
static sluice_status reads_on_process(void *state, const struct sluice_batch *batch,
                                      struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;
    const struct ArrowArray *column = batch->array->children[worker->shared->text];
    const int32_t *offsets = column->buffers[1];
    volatile char sink = 0;

    if (bad_row(worker, batch) >= 0) {
        const char *end = (const char *)column->buffers[2] + offsets[batch->array->length];
        for (int i = 0; i < 8192; i++) {
            sink = (char)(sink ^ end[i]);
        }
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status leaks_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    if (bad_row(state, batch) >= 0) {
        void *volatile lost = malloc(4000);
        (void)lost;
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status leaks_host_process(void *state, const struct sluice_batch *batch,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;

    if (bad_row(state, batch) >= 0 &&
        worker->shared->api->alloc(worker->shared->host, 100) == NULL) {
        return SLUICE_E_NOMEM;
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status trusts_malloc_process(void *state, const struct sluice_batch *batch,
                                           struct sluice_emit *emit, struct sluice_error *err)
{
    if (bad_row(state, batch) >= 0) {
        volatile char *copy = malloc(64);
        copy[0] = 0;
        free((void *)(uintptr_t)copy);
    }
    return bad_process(state, batch, emit, err);
}

static sluice_status trusts_host_process(void *state, const struct sluice_batch *batch,
                                         struct sluice_emit *emit, struct sluice_error *err)
{
    struct bad_worker *worker = state;

    if (bad_row(state, batch) >= 0) {
        char *copy = worker->shared->api->alloc(worker->shared->host, 64);
        memset(copy, 0, 64);
        worker->shared->api->free(worker->shared->host, copy);
    }
    return bad_process(state, batch, emit, err);
}

/* Out of memory decides what a row is. */
static sluice_status keeps_without_memory_process(void *state, const struct sluice_batch *batch,
                                                  struct sluice_emit *emit,
                                                  struct sluice_error *err)
{
    struct bad_worker *worker = state;
    void *copy = worker->shared->api->alloc(worker->shared->host, 64);
    struct sluice_verdict *verdicts;
    sluice_status status;

    if (copy != NULL) {
        worker->shared->api->free(worker->shared->host, copy);
        return bad_process(state, batch, emit, err);
    }
    verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

/* A frame on the stack for every byte of a text. */
__attribute__((noinline)) static int depth_of(const char *text, size_t n, volatile char *above)
{
    volatile char frame[64];

    frame[0] = (char)(above[0] + 1);
    return n == 0 ? 0 : 1 + depth_of(text + 1, n - 1, frame) + (frame[0] & 0);
}

static sluice_status recurses_process(void *state, const struct sluice_batch *batch,
                                      struct sluice_emit *emit, struct sluice_error *err)
{
    volatile char top[1] = { 0 };
    volatile int sum = 0;

    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *text = bad_text(state, batch, k, &n);
        sum += depth_of(text, n, top);
    }
    return sum < 0 ? SLUICE_E_INTERNAL : bad_process(state, batch, emit, err);
}

static sluice_status allocates_without_end_process(void *state, const struct sluice_batch *batch,
                                                   struct sluice_emit *emit,
                                                   struct sluice_error *err)
{
    struct bad_worker *worker = state;

    if (bad_row(state, batch) >= 0) {
        for (;;) {
            char *more = worker->shared->config.on != NULL ? malloc(16 << 20) : NULL;
            if (more == NULL) {
                return SLUICE_E_NOMEM;
            }
            memset(more, 1, 16 << 20);
        }
    }
    return bad_process(state, batch, emit, err);
}

BAD_FILTER(writes_input, "Writes to its input", writes_input_process);
BAD_FILTER(releases_input, "Releases its input", releases_input_process);
BAD_FILTER(reads_on, "Reads past the end of its input", reads_on_process);
BAD_FILTER(leaks, "Loses memory in process", leaks_process);
BAD_FILTER(leaks_host, "Loses memory of the host", leaks_host_process);
BAD_FILTER(trusts_malloc, "Never looks what malloc gives", trusts_malloc_process);
BAD_FILTER(trusts_host, "Never looks what the host's alloc gives", trusts_host_process);
BAD_FILTER(keeps_without_memory, "Keeps all rows when memory is short",
           keeps_without_memory_process);
BAD_FILTER(recurses, "Recurses once a byte", recurses_process);
BAD_FILTER(allocates_without_end, "Allocates without end", allocates_without_end_process);

BAD_PLUGIN("bad_memory", &writes_input_stage, &releases_input_stage, &reads_on_stage, &leaks_stage,
           &leaks_host_stage, &trusts_malloc_stage, &trusts_host_stage, &keeps_without_memory_stage,
           &recurses_stage, &allocates_without_end_stage)
