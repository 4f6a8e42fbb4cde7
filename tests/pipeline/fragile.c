/* Stages that break on rows with a marker, for the tests of isolation:
 *
 *   fragile          filter. CRASH-ME writes where nothing is, ABORT-ME aborts, EXIT-ME ends the
 *                    process, HANG-ME never returns, DATA-ME is a data
 *                    error, BAD-ME can't be judged, DROP-ME is dropped. Rows with PAIR-A and PAIR-B
 *                    in one batch crash it together. `at` crashes it in a call of its life; `nap`
 *                    makes every batch take that long; `greedy`: there is memory for one call at a
 *                    time in a process.
 *   fragile_reader   a document a line, whose text is the line; CRASH-ME and HANG-ME as above.
 *   fragile_ordered  annotator with a running number from row to row; CRASH-ME and HANG-ME as
 *                    above. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice_arrays.h"

struct config {
    int32_t at;
    int64_t nap;
    int32_t greedy;
};

struct shared {
    struct config config;
    int32_t text;
};

struct worker {
    const struct shared *shared;
    int64_t n;
};

static const struct sluice_option options[] = {
    { .name = "at",
      .doc = "Where to crash at once.",
      .def = "never",
      .choices = "never|open|prepare|worker_open|flush",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, at) },
    { .name = "nap",
      .doc = "Time that a batch takes at least.",
      .def = "0s",
      .type = SLUICE_OPT_DURATION,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct config, nap) },
    { .name = "greedy",
      .doc = "Whether it needs all memory.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct config, greedy) },
};

/* A real fault: signals that a process sends itself may be refused to it. */
static void fault(void)
{
    volatile uintptr_t nowhere = 16;

    *(volatile int *)nowhere = 1;
}

static void crash_at(const struct shared *shared, int32_t at)
{
    if (shared->config.at == at) {
        fault();
    }
}

static sluice_status fragile_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    struct shared *own = calloc(1, sizeof *own);

    (void)api;
    (void)host;
    (void)err;
    if (own == NULL) {
        return SLUICE_E_NOMEM;
    }
    memcpy(&own->config, config, sizeof own->config);
    *shared = own;
    crash_at(own, 1);
    return SLUICE_OK;
}

static sluice_status fragile_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    struct shared *own = shared;

    crash_at(own, 2);
    return plan->need(plan, 0, "text", "utf8?", 0, &own->text, err);
}

static sluice_status fragile_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct worker *own = calloc(1, sizeof *own);

    (void)err;
    if (own == NULL) {
        return SLUICE_E_NOMEM;
    }
    own->shared = shared;
    *worker = own;
    crash_at(shared, 3);
    return SLUICE_OK;
}

static int has(const char *text, size_t n, const char *marker)
{
    return memmem(text, n, marker, strlen(marker)) != NULL;
}

static void break_on(const char *text, size_t n)
{
    if (has(text, n, "CRASH-ME")) {
        fault();
    }
    if (has(text, n, "ABORT-ME")) {
        abort();
    }
    if (has(text, n, "EXIT-ME")) {
        _exit(7);
    }
    while (has(text, n, "HANG-ME")) {
        sleep(1);
    }
}

static void take_nap(const struct shared *shared)
{
    int64_t nap = shared->config.nap;

    nanosleep(&(struct timespec){ nap / 1000000000, nap % 1000000000 }, NULL);
}

static atomic_int calls;

/* Two calls at a time: the later one finds no memory. */
static sluice_status use_memory(const struct shared *shared, struct sluice_error *err)
{
    bool beside = atomic_fetch_add(&calls, 1) > 0;

    if (!beside || !shared->config.greedy) {
        take_nap(shared);
    }
    atomic_fetch_sub(&calls, 1);
    if (beside && shared->config.greedy) {
        snprintf(err->message, sizeof err->message, "another call has the memory");
        return err->code = SLUICE_E_NOMEM;
    }
    return SLUICE_OK;
}

static sluice_status fragile_process(void *worker, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *own = worker;
    const struct ArrowArray *text = batch->array->children[own->shared->text];
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int pair = 0;
    sluice_status status = use_memory(own->shared, err);

    if (verdicts == NULL || status != SLUICE_OK) {
        free(verdicts);
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        size_t n;
        const char *at = sluice_text(text, batch->rows != NULL ? (int64_t)batch->rows[k] : k, &n);
        break_on(at, n);
        pair |= (has(at, n, "PAIR-A") ? 1 : 0) | (has(at, n, "PAIR-B") ? 2 : 0);
        if (has(at, n, "DATA-ME")) {
            snprintf(err->message, sizeof err->message, "this row is bad");
            status = err->code = SLUICE_E_DATA;
        } else if (has(at, n, "BAD-ME")) {
            static const char why[] = "odd: a marker says so";
            verdicts[k].reason = SLUICE_VERDICT_BAD;
            verdicts[k].dup_of = why;
            verdicts[k].dup_of_length = (int32_t)sizeof why - 1;
        } else {
            verdicts[k].reason = has(at, n, "DROP-ME") ? 1 : 0;
            verdicts[k].value = (double)n;
            verdicts[k].limit = 7;
        }
    }
    if (pair == 3) {
        __builtin_trap();
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return status;
}

static void fragile_worker_close(void *worker)
{
    free(worker);
}

static void fragile_close(void *shared)
{
    free(shared);
}

static sluice_status ordered_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    sluice_status status = fragile_prepare(shared, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "n", "int64", NULL, err) : status;
}

static sluice_status ordered_process(void *worker, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *own = worker;
    const struct ArrowArray *text = batch->array->children[own->shared->text];
    struct sluice_bytes numbers = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;

    (void)err;
    take_nap(own->shared);
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *at = sluice_text(text, batch->rows != NULL ? (int64_t)batch->rows[k] : k, &n);
        break_on(at, n);
        if (!sluice_bytes_add(&numbers, &(int64_t){ own->n++ }, sizeof(int64_t))) {
            sluice_bytes_free(&numbers);
            return SLUICE_E_NOMEM;
        }
    }
    if (sluice_make_fixed(&column, batch->n, &numbers, NULL, 0) != SLUICE_OK ||
        sluice_make_struct(&out, batch->n, 1, &column) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

static sluice_status ordered_flush(void *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)emit;
    (void)err;
    crash_at(((struct worker *)worker)->shared, 4);
    return SLUICE_OK;
}

static sluice_status reader_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    sluice_status status = plan->add(plan, "text", "utf8", NULL, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_begin", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_end", "uint64", NULL, err) : status;
}

static sluice_status reader_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct sluice_bytes begins = { 0 };
    struct sluice_bytes ends = { 0 };
    struct ArrowArray columns[3] = { { 0 } };
    struct ArrowArray out;
    int64_t n = 0;
    int ok = 1;

    (void)worker;
    (void)err;
    break_on(chunk->data, chunk->n);
    for (uint64_t at = 0; ok && at < chunk->n; n++) {
        const char *line = memchr(chunk->data + at, '\n', chunk->n - at);
        uint64_t end = line == NULL ? chunk->n : (uint64_t)(line - chunk->data);
        uint64_t first = chunk->offset + at;
        uint64_t last = chunk->offset + end;
        ok = sluice_bytes_add_text(&offsets, &data, chunk->data + at, end - at) &&
             sluice_bytes_add(&begins, &first, sizeof first) &&
             sluice_bytes_add(&ends, &last, sizeof last);
        at = end + 1;
    }
    ok = sluice_make_text(&columns[0], n, &offsets, &data, NULL, 0) == SLUICE_OK && ok;
    ok = sluice_make_fixed(&columns[1], n, &begins, NULL, 0) == SLUICE_OK && ok;
    ok = sluice_make_fixed(&columns[2], n, &ends, NULL, 0) == SLUICE_OK && ok;
    return ok && sluice_make_struct(&out, n, 3, columns) == SLUICE_OK ? emit->batch(emit, &out)
                                                                      : SLUICE_E_NOMEM;
}

static const struct sluice_stage fragile_reader = {
    .size = sizeof fragile_reader,
    .name = "fragile_reader",
    .version = "1",
    .summary = "Reads lines, and breaks on those with a marker.",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    .cut = "newline",
    .prepare = reader_prepare,
    .read = reader_read,
};

static const struct sluice_stage fragile = {
    .size = sizeof fragile,
    .name = "fragile",
    .version = "1",
    .summary = "Breaks on rows with a marker.",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "marked",
    .open = fragile_open,
    .prepare = fragile_prepare,
    .worker_open = fragile_worker_open,
    .process = fragile_process,
    .worker_close = fragile_worker_close,
    .close = fragile_close,
};

static const struct sluice_stage fragile_ordered = {
    .size = sizeof fragile_ordered,
    .name = "fragile_ordered",
    .version = "1",
    .summary = "Numbers rows, and breaks on those with a marker.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .open = fragile_open,
    .prepare = ordered_prepare,
    .worker_open = fragile_worker_open,
    .process = ordered_process,
    .flush = ordered_flush,
    .worker_close = fragile_worker_close,
    .close = fragile_close,
};

static const struct sluice_stage *const stages[] = { &fragile, &fragile_ordered, &fragile_reader,
                                                     NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "fragile",
    .version = "1",
    .license = "MIT",
    .stages = stages,
};

SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
