/* Checks of readers (chunks, ranges, ends of files) and of what writers say about their files. See
 * kitInt.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testkit/kitInt.h"
#include "run/runInt.h"

static bool lines_only(const struct kit *kit)
{
    return kit->kind->cut != NULL && strcmp(kit->kind->cut, "newline") == 0;
}

static bool readers_only(struct kit *kit)
{
    return kit_reader(kit) || kit_skip(kit, "it is no reader");
}

/* Reads a file in two ways. */
static bool read_both(struct kit *kit, struct kit_bench *bench, const struct kit_reading *a,
                      const char *name_a, const struct kit_reading *b, const char *name_b,
                      const char *means)
{
    struct kit_outcome one;
    struct kit_outcome two;
    struct buf why = BUF_INIT;
    bool ok = kit_read(bench, a, &one);

    if (!kit_read(bench, b, &two)) {
        ok = false;
    }
    if (ok && one.status != SLUICE_E_DATA) {
        ok = kit_outcome_fine(kit, &one, name_a);
    }
    if (ok && !kit_outcome_equal(&one, name_a, &two, name_b, &why)) {
        ok = kit_fail(kit, "%s: %s", means, buf_str(&why));
    }
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    buf_deinit(&why);
    return ok;
}

void check_chunks(struct kit *kit)
{
    static const size_t sizes[] = { 1, 7, 64, 1000, 4096, 70000 };
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;

    if (!readers_only(kit)) {
        return;
    }
    if (kit_bench_need(kit, &options, &bench)) {
        for (uint32_t which = 0; which < KIT_FILES && !kit_failed(kit); which++) {
            struct buf file = BUF_INIT;
            struct kit_reading all = { .chunk = SIZE_MAX / 4 };
            if (!kit_file_make(kit, which, kit->options.thorough ? 400000 : 20000, &file)) {
                break;
            }
            all.data = file.data;
            all.n = file.size;
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] && !kit_failed(kit); k++) {
                struct kit_reading parts = all;
                parts.chunk = sizes[k];
                parts.fill = 0xff;
                kit_what(kit, "a file in chunks of about %zu bytes", sizes[k]);
                read_both(kit, &bench, &all, "the file in one chunk", &parts, "smaller chunks",
                          "records depend on where chunks end, or on the bytes behind a chunk");
            }
            buf_deinit(&file);
        }
    }
    kit_bench_close(&bench);
}

void check_file_end(struct kit *kit)
{
    static const char *const files[] = { "",
                                         "\n",
                                         "\n\n\n",
                                         "x",
                                         "{}",
                                         "{\"text\":\"a\"}",
                                         "{\"text\":\"a\"}\r\n",
                                         "[",
                                         "[]",
                                         "\xef\xbb\xbf",
                                         "{\"text\":\"a\"}\n{\"text\":\"b\"",
                                         "\xff\xfe\x00" };
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;

    if (!readers_only(kit)) {
        return;
    }
    if (kit_bench_need(kit, &options, &bench)) {
        for (size_t k = 0; k < sizeof files / sizeof files[0] && !kit_failed(kit); k++) {
            struct kit_reading reading = { .data = files[k],
                                           .n = strlen(files[k]),
                                           .chunk = 1u << 20 };
            struct kit_reading small = reading;
            small.chunk = 1;
            small.fill = 0xff;
            kit_what(kit, "the whole file is \"%s\"",
                     files[k][0] == '\xff' ? "\\xff\\xfe" : files[k]);
            read_both(kit, &bench, &reading, "a small file in one chunk", &small, "byte by byte",
                      "records at the end of a file depend on how it is cut");
        }
    }
    kit_bench_close(&bench);
}

/* ---- ranges ---- */

/* Do _begin and _end of every record lie in order and inside what was read? */
static bool ranges_sane(struct kit *kit, struct kit_bench *bench, const struct buf *file)
{
    int32_t begin_at = schema_find(&bench->prepared.added, SLUICE_BEGIN);
    int32_t end_at = schema_find(&bench->prepared.added, SLUICE_END);
    struct sluice_chunk chunk = { .size = sizeof chunk,
                                  .n = file->size,
                                  .uri = "kit/file",
                                  .flags = SLUICE_CHUNK_FIRST | SLUICE_CHUNK_LAST };
    struct stage_worker *worker = NULL;
    struct stage_result result;
    struct kit_view view;
    struct sluice_error err = ERROR_INIT;
    uint64_t last = 0;
    bool ok;

    if (kit_random(kit)) {
        return true; /* its places are bytes of the stored file, which is its own affair */
    }
    if (begin_at < 0 || end_at < 0) {
        return kit_skip(kit, "it declares no columns _begin and _end");
    }
    stage_result_init(&result);
    ok = kit_view_bytes(file->data, file->size, false, 0, &view, &chunk.data, &err) == SLUICE_OK &&
         stage_worker_open(bench->stage, &worker, &err) == SLUICE_OK;
    kit_enter(kit, "read");
    ok = ok && stage_read(worker, &chunk, &result, &err) == SLUICE_OK;
    kit_leave(kit);
    for (uint32_t k = 0; ok && k < result.n_batches; k++) {
        const struct ArrowArray *batch = &result.batches[k];
        const uint64_t *begins = batch->children[begin_at]->buffers[1];
        const uint64_t *ends = batch->children[end_at]->buffers[1];
        for (int64_t row = 0; ok && row < batch->length; row++) {
            if (begins[row] > ends[row] || ends[row] > file->size || begins[row] < last) {
                ok = kit_fail(kit,
                              "a record says that it is the bytes %llu to %llu of a file of "
                              "%zu, behind one that begins at %llu",
                              (unsigned long long)begins[row], (unsigned long long)ends[row],
                              file->size, (unsigned long long)last);
            }
            last = begins[row];
        }
    }
    for (uint32_t k = 0; ok && k < result.n_bad; k++) {
        if (result.bad[k].end > file->size) {
            ok = kit_fail(kit,
                          "a bad record says that it is the bytes %llu to %llu of a file of %zu",
                          (unsigned long long)result.bad[k].begin,
                          (unsigned long long)result.bad[k].end, file->size);
        }
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_view_deinit(&view);
    return ok;
}

/* The records of two ranges, one after the other, must be those of the whole file. */
static bool halves_equal(struct kit *kit, struct kit_bench *bench, const struct buf *file,
                         uint64_t middle)
{
    struct kit_reading all = { .data = file->data, .n = file->size, .chunk = 5000 };
    struct kit_reading parts[2] = { all, all };
    struct kit_outcome one;
    struct kit_outcome halves[2];
    struct buf why = BUF_INIT;
    struct buf joined = BUF_INIT;
    size_t bad = 0;
    bool ok = kit_read(bench, &all, &one);

    parts[0].to = middle;
    parts[1].from = middle;
    kit_what(kit, "a file in two ranges, cut at byte %llu", (unsigned long long)middle);
    for (int i = 0; i < 2; i++) {
        ok = kit_read(bench, &parts[i], &halves[i]) && ok;
        buf_append(&joined, halves[i].text.data, halves[i].text.size);
        bad += halves[i].bad.size;
    }
    if (ok && one.status == SLUICE_OK && halves[0].status == SLUICE_OK &&
        halves[1].status == SLUICE_OK &&
        (one.text.size != joined.size || one.bad.size != bad ||
         (joined.size > 0 && memcmp(one.text.data, joined.data, joined.size) != 0))) {
        ok = kit_fail(kit,
                      "a file that is read in two ranges, cut at byte %llu, gives other records "
                      "than the whole: %zu and %zu against %zu",
                      (unsigned long long)middle, halves[0].n, halves[1].n, one.n);
    }
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&halves[0]);
    kit_outcome_deinit(&halves[1]);
    buf_deinit(&why);
    buf_deinit(&joined);
    return ok;
}

void check_ranges(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct buf file = BUF_INIT;
    struct kit_random random = kit_random_of(kit->seed, "ranges", 0);

    if (!readers_only(kit)) {
        return;
    }
    if (kit_bench_need(kit, &options, &bench) &&
        kit_file_make(kit, lines_only(kit) ? 0 : 1, 20000, &file) &&
        ranges_sane(kit, &bench, &file) && (lines_only(kit) || kit_random(kit)) &&
        kit->kind->mode == SLUICE_MODE_STATELESS) {
        for (int i = 0; i < 20 && file.size > 0; i++) {
            if (!halves_equal(kit, &bench, &file, 1 + kit_below(&random, file.size))) {
                break;
            }
        }
    }
    buf_deinit(&file);
    kit_bench_close(&bench);
}

/* Units of a file, from the first and from the last, by workers of two instances; the records are
 * the same ones, a unit's in their order. In the second instance each is begun by a worker that is
 * closed while it waits. */
void check_units(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench benches[2];
    struct kit_reading forwards = { .fill = 0 };
    struct kit_reading backwards = { .backwards = true, .abandoned = true, .fill = 0xff };
    struct kit_outcome a;
    struct kit_outcome b;
    struct buf file = BUF_INIT;
    uint64_t held;

    memset(benches, 0, sizeof benches);
    if (!kit_random(kit)) {
        kit_skip(kit, "it is no reader that reads at random");
        return;
    }
    kit_what(kit, "the units of a file in both directions");
    if (kit_file_make(kit, 0, 20000, &file) && kit_bench_need(kit, &options, &benches[0]) &&
        kit_bench_need(kit, &options, &benches[1])) {
        forwards.data = backwards.data = buf_str(&file);
        forwards.n = backwards.n = file.size;
        if (kit_read(&benches[0], &forwards, &a) && kit_read(&benches[1], &backwards, &b)) {
            if (a.status == SLUICE_E_DATA && kit->options.data == NULL) {
                kit_skip(kit, "give a file that it reads: --data FILE (%s)", a.error.message);
            } else if (kit_outcome_fine(kit, &a, "a file") && kit_outcome_fine(kit, &b, "a file") &&
                       !kit_outcome_same_records(&a, &b)) {
                kit_fail(kit,
                         "the units of a file give %zu records from the first to the last and %zu "
                         "others from the last to the first, in another instance",
                         a.n, b.n);
            }
        }
        kit_outcome_deinit(&a);
        kit_outcome_deinit(&b);
    }
    buf_deinit(&file);
    kit_bench_close(&benches[0]);
    held = kit_bench_close(&benches[1]);
    if (held > 0) {
        kit_fail(kit,
                 "%llu bytes of the host's memory are still held after workers were closed while "
                 "they waited for bytes: worker_close frees a worker whatever it waits for",
                 (unsigned long long)held);
    }
}

/* ---- writers ---- */

void check_rolls(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    struct value values;
    struct value item;
    struct option_table table = option_table_of(kit->kind);
    struct sluice_option option;
    bool sized = false;

    if (kit->kind->role != SLUICE_ROLE_WRITER) {
        kit_skip(kit, "it is no writer");
        return;
    }
    kit_outcome_init(&outcome);
    value_map_init(&values);
    /* Small files, where the writer has the customary option. */
    for (uint64_t k = 0; option_at(&table, k, &option); k++) {
        if (strcmp(option.name, "shard_size") == 0 && value_string(&item, "2000", 4)) {
            sized = value_map_set(&values, "shard_size", item);
        }
    }
    options.values = sized ? &values : NULL;
    kit_what(kit, "ordinary rows, files of 2000 bytes");
    if (kit_bench_need(kit, &options, &bench) &&
        kit_exercise(&bench, 200, KIT_ORDINARY, NULL, NULL, &outcome) &&
        kit_outcome_fine(kit, &outcome, "ordinary rows")) {
        if (outcome.rolled_rows > 200) {
            kit_fail(kit,
                     "the files that it ended hold %lld rows by its own count; it was given "
                     "200",
                     (long long)outcome.rolled_rows);
        } else if (sized && outcome.rolls.size == 0) {
            kit_warn(kit, "it never ends a file, though shard_size is 2000 bytes");
        } else if (outcome.written[0] == 0) {
            kit_fail(kit, "it writes nothing into its first output");
        }
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
    value_deinit(&values);
}

/* ---- stopping ---- */

struct stopping {
    struct kit_bench *bench;
    const struct sluice_batch *batch;
    struct sluice_chunk *chunk;
    struct stage_result result;
    struct stage_worker *worker;
    struct sluice_error error;
    sluice_status status;
    _Atomic int begun, over;
    _Atomic int64_t stopped_ns, ended_ns;
    _Atomic int64_t cpu_ns; /* of the call */
};

static int64_t clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static sluice_status stopping_job(void *ctx, void *state, uint32_t i, bool *taken,
                                  struct sluice_error *err)
{
    struct stopping *stopping = ctx;

    (void)state;
    (void)taken;
    (void)err;
    if (i == 0) {
        int64_t cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
        atomic_store(&stopping->begun, 1);
        stopping->status =
            stopping->chunk != NULL
                ? stage_read(stopping->worker, stopping->chunk, &stopping->result, &stopping->error)
                : stage_process(stopping->worker, stopping->batch, &stopping->result,
                                &stopping->error);
        atomic_store(&stopping->cpu_ns, clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
        atomic_store(&stopping->ended_ns, clock_of(CLOCK_MONOTONIC));
        atomic_store(&stopping->over, 1);
        return SLUICE_OK;
    }
    while (atomic_load(&stopping->begun) == 0) {
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    atomic_store(&stopping->stopped_ns, clock_of(CLOCK_MONOTONIC));
    atomic_store(&stopping->bench->cancelled, 1);
    return SLUICE_OK;
}

static void stop(struct kit *kit, struct stopping *stopping)
{
    struct pool_job job = { .ctx = stopping, .n = 2, .n_threads = 2, .run = stopping_job };
    struct sluice_error err = ERROR_INIT;
    bool drained;
    int64_t late;

    kit_enter(kit, kit_reader(kit) ? "read" : "process");
    if (pool_run(&job, &drained, &err) != SLUICE_OK) {
        kit_fail(kit, "%s", err.message);
    }
    kit_leave(kit);
    late = atomic_load(&stopping->ended_ns) - atomic_load(&stopping->stopped_ns);
    /* On a busy machine the wall clock alone says little. */
    if (late > 1000000000 && (atomic_load(&stopping->cpu_ns) > 1000000000 || late > 10000000000)) {
        kit_fail(kit,
                 "it goes on for %.1f s after the run was stopped; it should poll "
                 "host->cancelled and return SLUICE_E_CANCELLED",
                 (double)late / 1e9);
    } else if (stopping->status != SLUICE_OK && stopping->status != SLUICE_E_CANCELLED &&
               stopping->status != SLUICE_E_DATA) {
        kit_fail(kit,
                 "when the run is stopped it answers with another error than "
                 "SLUICE_E_CANCELLED: %s",
                 stopping->error.message);
    }
}

void check_cancel(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct stopping stopping = { .bench = &bench };
    struct sluice_chunk chunk = { .size = sizeof chunk,
                                  .uri = "kit/file",
                                  .flags = SLUICE_CHUNK_FIRST | SLUICE_CHUNK_LAST };
    struct sluice_error err = ERROR_INIT;
    struct kit_view view = { 0 };
    struct kit_rows rows = { 0 };
    struct buf file = BUF_INIT;
    int64_t n = kit->options.thorough ? 8000 : 1500;
    uint64_t *ids = kit_ids(n);
    uint32_t *pick = malloc((size_t)n * sizeof *pick);
    struct kit_rows_spec spec = { .ids = ids, .n = n };
    bool ok = ids != NULL && pick != NULL;

    if ((kit->kind->flags & SLUICE_STAGE_SIDE_INPUT) != 0) {
        kit_skip(kit, "a stage with a side input is stopped between batches");
        ok = false;
    }
    if (kit_random(kit)) {
        kit_skip(kit, "a reader that reads at random is stopped between its asks");
        ok = false;
    }
    stage_result_init(&stopping.result);
    memset(&bench, 0, sizeof bench);
    bench.kit = kit;
    for (int64_t i = 0; ok && i < n; i++) {
        pick[i] = (uint32_t)i;
    }
    kit_what(kit, "a large batch while the run is being stopped");
    ok = ok && kit_bench_need(kit, &options, &bench);
    if (ok && kit_reader(kit)) {
        ok = kit_file_make(kit, lines_only(kit) ? 0 : 1, 2u << 20, &file) &&
             kit_view_bytes(file.data, file.size, false, 0, &view, &chunk.data, &err) == SLUICE_OK;
        chunk.n = file.size;
        stopping.chunk = &chunk;
    } else if (ok) {
        ok = kit_rows_make(&bench, 0, &spec, &rows, &err) == SLUICE_OK &&
             kit_view_make(&rows, 0, pick, n, NULL, 0, false, 0, &view, &err) == SLUICE_OK;
        stopping.batch = &view.batch;
    }
    if (ok && stage_worker_open(bench.stage, &stopping.worker, &err) == SLUICE_OK) {
        stop(kit, &stopping);
        stage_worker_close(stopping.worker);
    } else if (bench.stage != NULL) {
        kit_fail(kit, "a large batch can't be made: %s", err.message);
    }
    stage_result_deinit(&stopping.result);
    kit_view_deinit(&view);
    kit_rows_deinit(&rows);
    kit_bench_close(&bench);
    buf_deinit(&file);
    free(ids);
    free(pick);
}
