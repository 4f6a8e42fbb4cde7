/* Stages that do not do what they say: about verdicts, columns, locality, threads, state, and their
 * input. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sluice_arrays.h"
#include "tests/conform/bad.h"

#define PROCESS(NAME)                                                                  \
    static sluice_status NAME##_process(void *state, const struct sluice_batch *batch, \
                                        struct sluice_emit *emit, struct sluice_error *err)

#define FILTER(NAME, SUMMARY) BAD_FILTER(NAME, SUMMARY, NAME##_process)

/* ---- verdicts ---- */

PROCESS(too_many_verdicts)
{
    (void)err;
    return bad_verdicts(state, batch, emit, bad_row(state, batch) >= 0 ? 1 : 0);
}

PROCESS(no_verdicts)
{
    return bad_row(state, batch) >= 0 ? SLUICE_OK : bad_process(state, batch, emit, err);
}

/* Emits honest verdicts but for the reason and value of the k-th row. */
static sluice_status altered(struct bad_worker *worker, const struct sluice_batch *batch,
                             struct sluice_emit *emit, int64_t at, int32_t reason, double value)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(worker, batch, k, &n);
        verdicts[k].reason = k == at ? reason : n < 20 ? 1 : 0;
        verdicts[k].value = k == at ? value : (double)n;
        verdicts[k].limit = 20;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

PROCESS(unknown_reason)
{
    (void)err;
    return altered(state, batch, emit, bad_row(state, batch), 2, 0);
}

/* ---- locality, splits, threads, time ---- */

/* A row is dropped when the one before it was long. */
PROCESS(remembers)
{
    struct bad_worker *worker = state;
    int64_t at = bad_row(state, batch);
    int64_t before = worker->bytes;
    sluice_status status = altered(state, batch, emit, at, before % 2 == 0 ? 0 : 1, (double)before);

    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(worker, batch, k, &n);
        worker->bytes += (int64_t)n;
    }
    return status;
}

/* The first row of each batch is another one when batches are cut otherwise. */
PROCESS(counts_batches)
{
    struct bad_worker *worker = state;

    (void)err;
    return altered(state, batch, emit, bad_row(state, batch), 0, (double)worker->batches++);
}

/* All workers share one buffer. */
PROCESS(races)
{
    static volatile double shared_value;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int64_t at = bad_row(state, batch);
    sluice_status status;

    (void)err;
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(state, batch, k, &n);
        shared_value = (double)n;
        if (at >= 0 && k % 16 == 0) {
            usleep(20); /* somebody else's turn */
        }
        verdicts[k].value = at >= 0 ? shared_value : (double)n;
        verdicts[k].reason = verdicts[k].value < 20 ? 1 : 0;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

PROCESS(reads_clock)
{
    struct timespec now;

    (void)err;
    clock_gettime(CLOCK_REALTIME, &now);
    return altered(state, batch, emit, bad_row(state, batch), 0, (double)now.tv_nsec);
}

/* The same in one process, another in the next. */
PROCESS(reads_process_id)
{
    (void)err;
    return altered(state, batch, emit, bad_row(state, batch), 0, (double)getpid());
}

PROCESS(reads_home)
{
    const char *home = getenv("HOME");

    (void)err;
    return altered(state, batch, emit, bad_row(state, batch), 0,
                   home == NULL ? 0 : (double)strlen(home));
}

PROCESS(goes_on)
{
    volatile double sum = 0;
    struct timespec begin;
    struct timespec now;
    double budget = batch->n > 500 ? 1.4 : 0; /* seconds for a large batch, whoever stops the run */

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 1000; i++) {
            sum += i;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (sum >= 0 &&
             (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
                 budget);
    return bad_process(state, batch, emit, err);
}

/* ---- batches ---- */

PROCESS(ignores_selection)
{
    struct sluice_batch all = *batch;

    all.rows = NULL;
    return bad_process(state, &all, emit, err);
}

PROCESS(needs_a_row)
{
    const struct bad_worker *worker = state;
    const struct ArrowArray *column = batch->array->children[worker->shared->text];
    const int32_t *offsets = column->buffers[1];

    if (batch->array->length == 0) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "", "a batch without rows");
    }
    (void)offsets;
    return bad_process(state, batch, emit, err);
}

PROCESS(believes_nulls)
{
    const struct bad_worker *worker = state;

    for (int64_t k = 0; k < batch->n; k++) {
        if (sluice_is_null(batch->array->children[worker->shared->text], bad_row_of(batch, k))) {
            return sluice_fail(err, SLUICE_E_INTERNAL, "text", "a null where none was expected");
        }
    }
    return bad_process(state, batch, emit, err);
}

/* ---- columns ---- */

static sluice_status add_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "length", "int64", NULL, err) : status;
}

/* n values of a column, of as many bytes each. */
static sluice_status emit_column(struct sluice_emit *emit, int64_t n, size_t width)
{
    struct sluice_bytes bytes = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    static const char zeros[16];

    for (int64_t k = 0; k < n; k++) {
        if (!sluice_bytes_add(&bytes, zeros, width)) {
            sluice_bytes_free(&bytes);
            return SLUICE_E_NOMEM;
        }
    }
    if (sluice_make_fixed(&column, n, &bytes, NULL, 0) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    if (sluice_make_struct(&out, n, 1, &column) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

PROCESS(too_few_rows)
{
    (void)err;
    return emit_column(emit, bad_row(state, batch) >= 0 ? batch->n - 1 : batch->n, 8);
}

/* Text that was promised, and is none. */
static sluice_status text_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "title", "utf8", NULL, err) : status;
}

PROCESS(bad_text_column)
{
    struct sluice_bytes ends = { 0 };
    struct sluice_bytes text = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    int32_t end = 0;
    int ok = sluice_bytes_add(&ends, &end, sizeof end);
    int64_t at = bad_row(state, batch);

    (void)err;
    for (int64_t k = 0; ok && k < batch->n; k++) {
        ok = sluice_bytes_add(&text, k == at ? "\xff\xfe" : "ok", 2);
        end += 2;
        ok = ok && sluice_bytes_add(&ends, &end, sizeof end);
    }
    if (!ok) {
        sluice_bytes_free(&ends);
        sluice_bytes_free(&text);
        return SLUICE_E_NOMEM;
    }
    if (sluice_make_text(&column, batch->n, &ends, &text, NULL, 0) != SLUICE_OK ||
        sluice_make_struct(&out, batch->n, 1, &column) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

/* ---- _origin ---- */

static sluice_status origin_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "_origin", "uint64", NULL, err) : status;
}

PROCESS(invents_origin)
{
    struct sluice_bytes bytes = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;

    (void)state;
    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        uint64_t origin = 70000 + (uint64_t)k;
        if (!sluice_bytes_add(&bytes, &origin, sizeof origin)) {
            sluice_bytes_free(&bytes);
            return SLUICE_E_NOMEM;
        }
    }
    if (sluice_make_fixed(&column, batch->n, &bytes, NULL, 0) != SLUICE_OK ||
        sluice_make_struct(&out, batch->n, 1, &column) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

/* ---- prepare ---- */

static sluice_status changes_its_mind_prepare(void *state, struct sluice_plan *plan,
                                              struct sluice_error *err)
{
    static int times;
    sluice_status status = add_prepare(state, plan, err);

    if (status == SLUICE_OK && ++times > 2) {
        status = plan->add(plan, "more", "int64", NULL, err);
    }
    return status;
}

PROCESS(length)
{
    (void)state;
    (void)err;
    return emit_column(emit, batch->n, 8);
}

/* ---- state ---- */

static sluice_status save_nothing(void *state, struct sluice_io *io, struct sluice_error *err)
{
    int64_t zero = 0;

    (void)state;
    (void)err;
    return io->write(io, &zero, sizeof zero);
}

static sluice_status load_rows(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct bad_worker *worker = state;

    (void)version;
    (void)err;
    return io->read(io, &worker->rows, sizeof worker->rows);
}

/* Each tenth row is dropped, counted over the whole split. */
PROCESS(every_tenth)
{
    struct bad_worker *worker = state;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    (void)err;
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        verdicts[k].reason = ++worker->rows % 10 == 0 ? 1 : 0;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

/* A length from the state is believed. */
static sluice_status save_list(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct bad_worker *worker = state;
    uint32_t n = 4;
    char items[4] = { 1, 2, 3, 4 };
    sluice_status status = io->write(io, &worker->rows, sizeof worker->rows);

    (void)err;
    if (status == SLUICE_OK) {
        status = io->write(io, &n, sizeof n);
    }
    return status == SLUICE_OK ? io->write(io, items, n) : status;
}

static sluice_status load_list(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct bad_worker *worker = state;
    char items[64];
    uint32_t n = 0;
    sluice_status status = io->read(io, &worker->rows, sizeof worker->rows);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = io->read(io, &n, sizeof n);
    }
    if (status == SLUICE_OK && n > sizeof items) {
        char *volatile wild = items;
        wild[n] = 1; /* as a loop without a check would */
        memset(items + (n & 63), 1, n);
    }
    return status == SLUICE_OK ? io->read(io, items, n) : status;
}

/* ---- gates ---- */

PROCESS(last_row_counts)
{
    struct bad_worker *worker = state;

    (void)emit;
    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(worker, batch, k, &n);
        worker->rows = worker->rows / 2 + (int64_t)n; /* not the same in another order */
    }
    return SLUICE_OK;
}

static sluice_status save_rows(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct bad_worker *worker = state;

    (void)err;
    return io->write(io, &worker->rows, sizeof worker->rows);
}

static sluice_status merge_rows(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct bad_worker *worker = state;
    int64_t rows = 0;
    sluice_status status = io->read(io, &rows, sizeof rows);

    (void)version;
    (void)err;
    worker->rows = worker->rows / 2 + rows;
    return status;
}

static sluice_status judge_rows(void *state, struct sluice_verdict_io *io, struct sluice_error *err)
{
    const struct bad_worker *worker = state;

    (void)err;
    snprintf(io->message, sizeof io->message, "weight %lld", (long long)worker->rows);
    return SLUICE_OK;
}

/* ---- writers and readers ---- */

static sluice_status output_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    return status == SLUICE_OK ? plan->output(plan, ".txt", "none", 0, err) : status;
}

PROCESS(heads_batches)
{
    char head[64];
    int n = snprintf(head, sizeof head, "batch of %lld\n", (long long)batch->n);
    sluice_status status = emit->write(emit, 0, head, (uint64_t)n);

    (void)err;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t size;
        const char *text = bad_text(state, batch, k, &size);
        status = emit->write(emit, 0, text, size);
    }
    return status;
}

static sluice_status reader_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)state;
    return plan->add(plan, "text", "binary", NULL, err);
}

/* A chunk is a record, though it may hold many lines. */
static sluice_status chunk_is_record(void *state, struct sluice_chunk *chunk,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes ends = { 0 };
    struct sluice_bytes text = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    int32_t end = 0;

    (void)state;
    (void)err;
    if (!sluice_bytes_add(&ends, &end, sizeof end) ||
        !sluice_bytes_add(&text, chunk->data, chunk->n)) {
        sluice_bytes_free(&ends);
        sluice_bytes_free(&text);
        return SLUICE_E_NOMEM;
    }
    end = (int32_t)chunk->n;
    if (!sluice_bytes_add(&ends, &end, sizeof end)) {
        sluice_bytes_free(&ends);
        sluice_bytes_free(&text);
        return SLUICE_E_NOMEM;
    }
    if (sluice_make_text(&column, 1, &ends, &text, NULL, 0) != SLUICE_OK ||
        sluice_make_struct(&out, 1, 1, &column) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

/* Not bad: a reader of a format that nobody else knows. */
static sluice_status picky(void *state, struct sluice_chunk *chunk, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    (void)state;
    (void)emit;
    return chunk->n == 0 || chunk->data[0] == '!'
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_DATA, "", "lines begin with an exclamation mark");
}

FILTER(too_many_verdicts, "Gives a verdict too many");
FILTER(no_verdicts, "Gives no verdicts");
FILTER(unknown_reason, "Names a reason that it does not have");
FILTER(remembers, "Stateless by its word, with a memory");
BAD_STAGE(counts_batches, "Ordered, and counts batches", SLUICE_ROLE_FILTER, SLUICE_MODE_ORDERED,
          "short", bad_open, bad_prepare, bad_worker_open, counts_batches_process, NULL, free,
          free);
FILTER(races, "Workers share a static variable");
FILTER(reads_clock, "Depends on the time");
FILTER(reads_process_id, "Depends on the process");
FILTER(reads_home, "Depends on the environment");
FILTER(goes_on, "Goes on when the run is stopped");
FILTER(ignores_selection, "Judges rows that nobody selected");
FILTER(needs_a_row, "Fails on a batch without rows");
FILTER(believes_nulls, "Asks for nullable text and fails on a null");
BAD_STAGE(too_few_rows, "Gives a row too few", SLUICE_ROLE_ANNOTATOR, SLUICE_MODE_STATELESS, NULL,
          bad_open, add_prepare, bad_worker_open, too_few_rows_process, NULL, free, free);
BAD_STAGE(bad_text_column, "Promises text and gives other bytes", SLUICE_ROLE_ANNOTATOR,
          SLUICE_MODE_STATELESS, NULL, bad_open, text_prepare, bad_worker_open,
          bad_text_column_process, NULL, free, free);
BAD_STAGE(invents_origin, "Names input rows that are not there", SLUICE_ROLE_TRANSFORM,
          SLUICE_MODE_STATELESS, NULL, bad_open, origin_prepare, bad_worker_open,
          invents_origin_process, NULL, free, free);
BAD_STAGE(changes_its_mind, "Declares other columns each time", SLUICE_ROLE_ANNOTATOR,
          SLUICE_MODE_STATELESS, NULL, bad_open, changes_its_mind_prepare, bad_worker_open,
          length_process, NULL, free, free);
BAD_STAGE_WITH(forgets, "Saves nothing of its state", SLUICE_ROLE_FILTER, SLUICE_MODE_ORDERED,
               "tenth", bad_open, bad_prepare, bad_worker_open, every_tenth_process, NULL, free,
               free, .state_version = 1, .save = save_nothing, .load = load_rows);
BAD_STAGE_WITH(believes_state, "Believes what a state says", SLUICE_ROLE_FILTER,
               SLUICE_MODE_ORDERED, "tenth", bad_open, bad_prepare, bad_worker_open,
               every_tenth_process, NULL, free, free, .state_version = 1, .save = save_list,
               .load = load_list);
BAD_STAGE_WITH(last_row_counts, "Judges by order", SLUICE_ROLE_GATE, SLUICE_MODE_ORDERED, NULL,
               bad_open, bad_prepare, bad_worker_open, last_row_counts_process, NULL, free, free,
               .state_version = 1, .save = save_rows, .merge = merge_rows, .judge = judge_rows);
BAD_STAGE(heads_batches, "Writes batches, not rows", SLUICE_ROLE_WRITER, SLUICE_MODE_ORDERED, NULL,
          bad_open, output_prepare, bad_worker_open, heads_batches_process, NULL, free, free);
BAD_STAGE_WITH(reads_chunks, "Takes a chunk for a record", SLUICE_ROLE_READER,
               SLUICE_MODE_STATELESS, NULL, bad_open, reader_prepare, bad_worker_open, NULL, NULL,
               free, free, .cut = "newline", .read = chunk_is_record);

BAD_STAGE_WITH(picky, "Knows one format", SLUICE_ROLE_READER, SLUICE_MODE_STATELESS, NULL, bad_open,
               reader_prepare, bad_worker_open, NULL, NULL, free, free, .cut = "newline",
               .read = picky);

BAD_PLUGIN("bad_lies", &too_many_verdicts_stage, &no_verdicts_stage, &unknown_reason_stage,
           &remembers_stage, &counts_batches_stage, &races_stage, &reads_clock_stage,
           &reads_process_id_stage, &reads_home_stage, &goes_on_stage, &ignores_selection_stage,
           &needs_a_row_stage, &believes_nulls_stage, &too_few_rows_stage, &bad_text_column_stage,
           &invents_origin_stage, &changes_its_mind_stage, &forgets_stage, &believes_state_stage,
           &last_row_counts_stage, &heads_batches_stage, &reads_chunks_stage, &picky_stage)
